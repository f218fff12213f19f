//! How the output of a node is routed: its plain edges, or a function that matches on its label.

use graphweft_graph::{END, EdgeIx, NodeIx, START, Way};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::labels::{Routing, aliased, by_alias, error_alias, known_alias, travels_alias};
use super::mention::{Emission, argument, glue, out};
use crate::ir::{Bound, Label, MentionIx};

impl Emission<'_> {
    /// The `Exit` of a node.
    pub fn exit(&self, node: NodeIx) -> TokenStream {
        let exit = self.exit_of_values(node);
        if node == START && self.flow.unit_output { quote!(__gw::and_unit(#exit)) } else { exit }
    }

    /// The same without the implied edge by which a workflow without output reaches END.
    fn exit_of_values(&self, node: NodeIx) -> TokenStream {
        if self.flow.nodes.get(node).is_some_and(|node| !node.arms.is_empty()) {
            return self.routed(node);
        }
        let choices = self.flow.graph.nodes.get(node).map_or(&[][..], |node| &node.choices);
        let edges: Vec<EdgeIx> = choices.iter().flat_map(|choice| choice.edges.iter().copied()).collect();
        let span =
            glue(edges.first().and_then(|edge| self.flow.edges.get(*edge)).map_or_else(Span::call_site, |e| e.arrow));
        let typed: Vec<TokenStream> =
            edges.iter().filter(|edge| self.carries(**edge)).map(|edge| self.plain_edge(*edge)).collect();
        match typed.as_slice() {
            [] => quote!(__gw::exit_none()),
            [one] => quote_spanned!(span=> __gw::exit_one(#one)),
            several => {
                let source =
                    edges.first().and_then(|edge| self.flow.edges.get(*edge)).map(|edge| self.source(edge.from));
                quote_spanned!(span=> __gw::exit_many(#source, [#(#several),*]))
            }
        }
    }

    /// The only edge of a node that is no join and does not collect, and leads to another by one plain edge. Most nodes are
    /// like that, and a single call costs rustc least.
    pub fn only_edge(&self, node: NodeIx) -> Option<(TokenStream, Span)> {
        let data = self.flow.graph.nodes.get(node)?;
        let is_plain = data.ways.iter().all(|way| matches!(way, Way::Plain(_)));
        let is_routed = self.flow.nodes.get(node).is_none_or(|node| !node.arms.is_empty());
        let [choice] = data.choices.as_slice() else { return None };
        let [edge] = choice.edges.as_slice() else { return None };
        let data = self.flow.edges.get(*edge)?;
        (is_plain && !is_routed && self.carries(*edge)).then(|| (self.plain_edge(*edge), glue(data.arrow)))
    }

    /// Whether a value goes along an edge, and its types can be checked.
    fn carries(&self, edge: EdgeIx) -> bool {
        let to_end = self.flow.graph.edges.get(edge).is_none_or(|edge| edge.to == END);
        // Which of several outputs is meant is not known.
        let has_several = || self.flow.graph.edges.iter().filter(|edge| edge.to == END).count() > 1;
        let is_open = to_end && self.flow.plan.is_none() && has_several();
        !self.is_unknown(edge) && !is_open && (!to_end || !self.flow.unit_output)
    }

    /// An edge that is taken under every label.
    fn plain_edge(&self, edge: EdgeIx) -> TokenStream {
        let Some(data) = self.flow.edges.get(edge) else { return TokenStream::new() };
        let to = self.flow.graph.edges.get(edge).map_or(END, |edge| edge.to);
        let span = glue(data.arrow);
        if self.feeds_place(edge) {
            let source = argument(&self.whole_source_type(data.from));
            return quote_spanned!(span=> __gw::place_edge::<#source>());
        }
        if to == END {
            let (out, end, source) = (out(), self.end_type(data.to), self.whole_source(data.from));
            return quote_spanned!(span=> <#end as __gw::Ends<_, _, _, _>>::edge(#out, __gw::leaves(#source), 0));
        }
        if self.inside(to).is_some() {
            let (each, first, input) = self.each_types(to, data.to);
            let (shown, output) = (self.shown(data.from), self.output_of(data.from));
            return quote_spanned! {span=>
                <#first as __gw::Follows<_, _, #input, _>>::edge_of_items(
                    <#each as __gw::Items<#shown, #output, _>>::of_output(), 0,
                )
            };
        }
        let (follows, target) = (self.follows(data.from, data.to), self.target_type(data.to));
        if self.is_alone_in_join(edge) {
            quote_spanned!(span=> <#target as __gw::FollowsAlone #follows>::edge_alone(0))
        } else {
            quote_spanned!(span=> <#target as __gw::Follows #follows>::edge(0))
        }
    }

    fn routed(&self, node: NodeIx) -> TokenStream {
        let span = glue(self.map_span(node));
        let source = self.source_type(node);
        let routing = self.routing(node);
        let plain = self.plain_edges(node);
        let whole = Ident::new("__whole", span);
        let copies: Vec<TokenStream> = plain
            .iter()
            .map(|edge| {
                let (name, typed) = (plain_token(*edge, span), self.plain_edge(*edge));
                quote_spanned!(span=> let #name = #typed.token(__gw::copied(&#whole));)
            })
            .collect();
        let value = Ident::new("__value", span);
        let by_value = self.match_value(node, routing, &value);
        let (output, error) = (quote!(<#source as __gw::Source>::Output), quote!(<#source as __gw::Source>::Error));
        let moment = moment(span);
        if !routing.sees_errors() {
            return quote_spanned! {span=>
                __gw::exit_value(move |#whole: #output, #moment: __gw::Moment<'_>| {
                    #(#copies)*
                    let #value = #whole;
                    #by_value
                })
            };
        }
        let travels = travels_alias(node, span);
        let carried = quote!(<#error as __gw::Checked<#travels>>::Type);
        let (ty, source_type) = (self.node_type(node), argument(&source));
        let input = quote!(<#ty as __gw::Target>::Input);
        let by_result = if routing == Routing::Result {
            let by = by_alias(node, span);
            quote_spanned!(span=> let #value = <#by as __gw::ByName<#source_type>>::split(#whole); #by_value)
        } else {
            let failed = self.error_arm(node).map(|(arm, _)| {
                let checked = error_alias(node, span);
                let problem = quote_spanned!(span=> {
                    let __error: #checked = __gw::Fails::failed(__error);
                    __error
                });
                self.emit_arm(node, arm, &problem)
            });
            quote_spanned! {span=>
                match #whole {
                    ::core::result::Result::Err(__error) => #failed,
                    ::core::result::Result::Ok(#value) => { #by_value }
                }
            }
        };
        quote_spanned! {span=>
            __gw::exit_whole(
                move |#whole: ::core::result::Result<#output, #error>, #moment: __gw::Moment<'_>| {
                    #(#copies)*
                    #by_result
                },
                __gw::FaultForms {
                    alone: __gw::FaultProbe::<#error, #input>::FROM_FAULT,
                    with_input: __gw::FaultProbe::<#error, #input>::WITH_INPUT,
                },
                __gw::ErrorProbe::<#carried>::ERROR_JSON,
            )
        }
    }

    /// The `match` on the value, or on the `Result` as a twin enum.
    fn match_value(&self, node: NodeIx, routing: Routing, value: &Ident) -> TokenStream {
        let span = value.span();
        let source = argument(&self.source_type(node));
        let payload = Ident::new("__payload", span);
        let default = |rest: TokenStream| match routing {
            Routing::Result => {
                let by = by_alias(node, span);
                quote_spanned!(span=> <#by as __gw::ByName<#source>>::whole(#rest))
            }
            _ => {
                let by = by_alias(node, span);
                quote_spanned!(span=> <#by as __gw::ByValue<#source>>::whole(#rest))
            }
        };
        let arms: Vec<TokenStream> = self
            .matched_labels(node)
            .map(|(arm, label)| match (label, routing) {
                (Label::Name(name), _) => {
                    let pattern = aliased(node, name);
                    let body = self.emit_arm(node, arm, &quote!(#payload));
                    quote_spanned!(span=> #pattern(#payload) => #body)
                }
                (Label::Literal { pattern, .. }, _) => {
                    let body = self.emit_arm(node, arm, &quote!(#value));
                    quote_spanned!(span=> #pattern => #body)
                }
                (Label::Default(_), Routing::Default { .. }) => self.emit_arm(node, arm, &quote!(#value)),
                (Label::Default(at), Routing::Literals { .. }) => {
                    let body = self.emit_arm(node, arm, &quote!(#value));
                    let default = quote_spanned!(*at=> _);
                    quote_spanned!(span=> #default => #body)
                }
                (Label::Default(_), _) => {
                    let body = self.emit_arm(node, arm, &default(quote!(#payload)));
                    quote_spanned!(span=> #payload => #body)
                }
            })
            .collect();
        let subject = match routing {
            Routing::Names { .. } => {
                let by = by_alias(node, span);
                quote_spanned!(span=> <#by as __gw::ByValue<#source>>::split(#value))
            }
            _ => quote!(#value),
        };
        let missing = quote_spanned! {span=>
            #[allow(unreachable_patterns, reason = "a missing label is reported once")]
            _ => __gw::unrouted(),
        };
        match routing {
            Routing::Default { .. } => quote!(#(#arms)*),
            Routing::Literals { .. } => {
                let known = known_alias(node, span);
                let missing = (!self.has_every_literal(node)).then_some(missing);
                quote_spanned!(span=> match __gw::view::<_, #known>(&#value) { #(#arms)* #missing })
            }
            _ => quote_spanned! {span=>
                match #subject { #(#arms)* #missing }
            },
        }
    }

    /// The emission for a label: that of its arm, or that of the arm `spent` if the bound of its arm is spent.
    fn emit_arm(&self, node: NodeIx, arm: usize, payload: &TokenStream) -> TokenStream {
        let taken = self.emit_choice(node, arm, payload);
        let Some(data) = self.flow.nodes.get(node) else { return taken };
        let bound = data.arms.get(arm).and_then(|arm| arm.bound);
        let level = self.flow.plan.as_ref().and_then(|plan| plan.turned(&self.flow.graph, node, arm));
        let (Some(Bound { at_most, span }), Some(spent), Some(level)) = (bound, data.spent(), level) else {
            return taken;
        };
        let instead = self.emit_choice(node, spent, payload);
        let (span, moment) = (glue(span), moment(glue(self.map_span(node))));
        let level = self.flow.plan.as_ref().map_or(0, |plan| plan.level(level));
        quote_spanned!(span=> if #moment.is_spent(#level, #at_most, #spent) { #instead } else { #taken })
    }

    /// A token for each edge of a choice.
    fn emit_choice(&self, node: NodeIx, arm: usize, payload: &TokenStream) -> TokenStream {
        let Some(data) = self.flow.nodes.get(node).and_then(|node| node.arms.get(arm)) else {
            return TokenStream::new();
        };
        let choice = self.flow.graph.nodes.get(node).and_then(|node| node.choices.get(arm));
        let edges = choice.map_or(&[][..], |choice| &choice.edges);
        let edges: Vec<EdgeIx> = edges.iter().filter(|edge| self.carries(**edge)).copied().collect();
        let span = glue(data.span);
        let given = Ident::new("__given", span);
        let target = |edge: EdgeIx| data.targets.iter().find(|(one, _)| *one == edge).map(|(_, mention)| *mention);
        // Most arms are like that, and a single call costs rustc least.
        if let ([edge], Some(mention)) = (edges.as_slice(), edges.first().and_then(|edge| target(*edge)))
            && self.leads_to_a_node(*edge)
            && let Some(source) = self.flow.edges.get(*edge).map(|edge| edge.from)
        {
            let (shown, input, target) = (self.arm_shown(source), self.input_of(mention), self.target_type(mention));
            let moment = moment(glue(self.map_span(node)));
            return quote_spanned!(span=> { <#target as __gw::Follows<#shown, _, #input, _>>::emit(#moment, #arm, #payload, 0) });
        }
        let last = edges.iter().rev().find(|edge| target(**edge).is_some()).copied();
        let tokens: Vec<TokenStream> = edges
            .iter()
            .map(|edge| match target(*edge) {
                None => {
                    let name = plain_token(*edge, glue(self.map_span(node)));
                    quote!(#name)
                }
                Some(mention) => {
                    let given =
                        if Some(*edge) == last { quote!(#given) } else { quote_spanned!(span=> #given.again()) };
                    self.arm_token(*edge, mention, &given, span)
                }
            })
            .collect();
        if last.is_none() {
            let ignored = quote_spanned!(span=> let _ = #payload;);
            return quote_spanned!(span=> { #ignored __gw::emit_many(#arm, ::std::vec![#(#tokens),*]) });
        }
        let source = data
            .targets
            .first()
            .and_then(|(edge, _)| self.flow.edges.get(*edge))
            .map_or_else(TokenStream::new, |edge| self.source(edge.from));
        let emit = match tokens.as_slice() {
            [one] => quote_spanned!(span=> __gw::emit_one(#arm, #one)),
            several => quote_spanned!(span=> __gw::emit_many(#arm, ::std::vec![#(#several),*])),
        };
        quote_spanned!(span=> { let #given = __gw::give(#source, #payload); #emit })
    }

    /// Whether an edge leads neither to END nor into a `[..]`.
    fn leads_to_a_node(&self, edge: EdgeIx) -> bool {
        let to = self.flow.graph.edges.get(edge).map_or(END, |edge| edge.to);
        to != END && self.inside(to).is_none()
    }

    fn arm_token(&self, edge: EdgeIx, mention: MentionIx, given: &TokenStream, span: Span) -> TokenStream {
        let to = self.flow.graph.edges.get(edge).map_or(END, |edge| edge.to);
        if to == END {
            let (out, end) = (out(), self.end_type(mention));
            return quote_spanned!(span=> <#end as __gw::Ends<_, _, _, _>>::token(#out, #given, 0));
        }
        if self.inside(to).is_some() {
            let (each, first, input) = self.each_types(to, mention);
            return quote_spanned! {span=>
                <#first as __gw::Follows<_, _, #input, _>>::token_of_items(
                    <#each as __gw::Items<_, _, _>>::of_given(#given), 0,
                )
            };
        }
        let (target, input) = (self.target_type(mention), self.input_of(mention));
        quote_spanned!(span=> <#target as __gw::Follows<_, _, #input, _>>::token(#given, 0))
    }

    /// The edges of a routed node that are in no arm.
    fn plain_edges(&self, node: NodeIx) -> Vec<EdgeIx> {
        let arms = self.flow.nodes.get(node).map_or(&[][..], |node| &node.arms);
        let choices = self.flow.graph.nodes.get(node).map_or(&[][..], |node| &node.choices);
        let Some(first) = choices.first() else { return Vec::new() };
        let in_arm = |edge: &EdgeIx| arms.iter().any(|arm| arm.targets.iter().any(|(one, _)| one == edge));
        first.edges.iter().filter(|edge| !in_arm(edge) && self.carries(**edge)).copied().collect()
    }
}

/// The variable that holds the turn.
fn moment(span: Span) -> Ident {
    Ident::new("__moment", span)
}

fn plain_token(edge: EdgeIx, span: Span) -> Ident {
    format_ident!("__plain_{edge}", span = span)
}
