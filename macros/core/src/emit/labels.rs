//! The labels of a route map as patterns, which rustc checks against their type.

use std::collections::BTreeMap;

use graphweft_graph::{NodeIx, START};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};

use super::mention::{Emission, argument, before, glue};
use crate::ir::{Arm, Label};
use crate::names::{label_ident, snake_case};

/// The value to which the labels of a route map belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// `ok`, `err`, `_`: of the `Result` that the node returns.
    Result,
    /// Of the value, by name.
    Names {
        /// `err` is beside them, and is matched first.
        error_first: bool,
    },
    /// Of the value, by literals and ranges.
    Literals {
        /// `err` is beside them, and is matched first.
        error_first: bool,
    },
    /// There is nothing but `_`, perhaps beside `err`.
    Default {
        /// `err` is beside it, and is matched first.
        error_first: bool,
    },
}

impl Routing {
    /// Whether the map sees the node's errors.
    pub fn sees_errors(self) -> bool {
        match self {
            Routing::Result => true,
            Routing::Names { error_first } | Routing::Literals { error_first } | Routing::Default { error_first } => {
                error_first
            }
        }
    }
}

fn is_error(label: &Label) -> bool {
    matches!(label, Label::Name(name) if snake_case(&name.to_string()) == "err")
}

impl Emission<'_> {
    /// How to read the route map of a node.
    pub fn routing(&self, node: NodeIx) -> Routing {
        let literal = self.labels(node).any(|label| matches!(label, Label::Literal { .. }));
        let names = self.label_names(node);
        let has = |name: &str| names.iter().any(|one| one == name);
        let others = names.iter().any(|name| name != "err");
        let error_first = node != START && has("err");
        match () {
            () if node != START && has("ok") => Routing::Result,
            () if literal => Routing::Literals { error_first },
            () if node == START && !names.is_empty() => Routing::Names { error_first: false },
            () if others => Routing::Names { error_first },
            () if self.labels(node).any(|label| matches!(label, Label::Default(_))) => Routing::Default { error_first },
            () => Routing::Result,
        }
    }

    /// The types and functions by which rustc checks the labels of a node: each exists, and none is missing.
    pub fn label_checks(&self, node: NodeIx) -> TokenStream {
        let is_routed = self.flow.nodes.get(node).is_some_and(|node| !node.arms.is_empty());
        if !is_routed || self.flow.unknown.contains(&node) {
            return TokenStream::new();
        }
        let span = glue(self.map_span(node));
        let source = self.source_type(node);
        let (alias, check) = (labels_alias(node, span), format_ident!("__labels_{node}", span = span));
        let routing = self.routing(node);
        let error = self.error_check(node, routing);
        let is_matched = |label: &&Label| routing == Routing::Result || node == START || !is_error(label);
        let patterns = self.labels(node).filter(is_matched).map(|label| match label {
            Label::Name(name) => {
                let variant = variant(name);
                quote_spanned!(span=> #alias::#variant(_) => {})
            }
            Label::Literal { pattern, .. } => quote_spanned!(span=> #pattern => {}),
            Label::Default(at) => {
                // The user's own: rustc says there that the other labels are all.
                let default = quote_spanned!(*at=> _);
                quote_spanned!(glue(*at)=> #default => {})
            }
        });
        // The last arm keeps rustc from offering `todo!()` in the user's sight.
        let no_offer =
            quote_spanned!(Span::call_site()=> #[allow(unreachable_patterns, reason = "see above")] _ if false => {});
        // A label that could not be read may be the one that is missing.
        let lost = self
            .flow
            .holes
            .contains(&node)
            .then(|| quote_spanned!(span=> #[allow(unreachable_patterns, reason = "a label was lost")] _ => {}));
        let lost = lost.or_else(|| {
            self.flow
                .nodes
                .get(node)
                .filter(|node| node.leaves_texts_out())
                .map(|_| quote_spanned!(span=> #[allow(unreachable_patterns, reason = "reported")] _ => {}))
        });
        let known = known_alias(node, span);
        let check = match routing {
            Routing::Default { .. } => TokenStream::new(),
            // None is missing, and whether each is a label at all is checked beside this.
            Routing::Literals { .. } if self.has_every_literal(node) => TokenStream::new(),
            Routing::Literals { .. } => quote_spanned! {span=>
                #[allow(dead_code, reason = "a check")]
                fn #check(__value: &<#source as __gw::Source>::Output) {
                    match __gw::view::<_, #known>(__value) { #(#patterns)* #lost #no_offer }
                }
            },
            _ => quote_spanned! {span=>
                #[allow(dead_code, reason = "a check")]
                fn #check(__value: #alias) {
                    match __value { #(#patterns)* #lost #no_offer }
                }
            },
        };
        let alias = self.labels_type(node, routing, &alias, span);
        quote!(#alias #check #error)
    }

    fn labels_type(&self, node: NodeIx, routing: Routing, alias: &Ident, span: Span) -> TokenStream {
        let source = self.source_type(node);
        let source_type = argument(&source);
        match routing {
            Routing::Result => {
                let by = by_alias(node, span);
                let (known, check) =
                    self.names_check(node, &quote!(__gw::Probe::<<#source as __gw::Source>::Error>::OCCURS));
                let by_known = quote!(__gw::By<#known>);
                let (taken, all) =
                    self.all_labels(node, &known, &quote!(<#by_known as __gw::ByName<#source_type>>::LABELS));
                quote_spanned! {span=>
                    #check
                    #all
                    type #by = __gw::By<#taken>;
                    type #alias = <#by as __gw::ByName<#source_type>>::Labels;
                }
            }
            Routing::Names { .. } => {
                let by = by_alias(node, span);
                let (known, check) =
                    self.names_check(node, &quote!(__gw::Probe::<<#source as __gw::Source>::Output>::ROUTES));
                let by_known = quote!(__gw::Named<#known>);
                let (taken, all) =
                    self.all_labels(node, &known, &quote!(<#by_known as __gw::ByValue<#source_type>>::LABELS));
                quote_spanned! {span=>
                    #check
                    #all
                    type #by = __gw::Named<#taken>;
                    type #alias = <#by as __gw::ByValue<#source_type>>::Labels;
                }
            }
            Routing::Literals { .. } => self.literals_check(node),
            Routing::Default { .. } => TokenStream::new(),
        }
    }

    /// A constant that checks that the names of a route map are labels of the node's output. Its value is `is_first`,
    /// or an error after which rustc reports no other.
    fn names_check(&self, node: NodeIx, is_first: &TokenStream) -> (Ident, TokenStream) {
        let at = self.labels(node).find_map(|label| match label {
            Label::Name(name) => Some(name.span()),
            _ => None,
        });
        let span = glue(at.unwrap_or_else(|| self.map_span(node)));
        let (known, source) = (known_alias(node, span), self.source_type(node));
        let (output, error) = (quote!(<#source as __gw::Source>::Output), quote!(<#source as __gw::Source>::Error));
        let labels = quote! {
            __gw::labels_of(
                __gw::Probe::<#output>::ROUTES, __gw::Probe::<#error>::OCCURS, __gw::LiteralProbe::<#output>::LITERAL,
            )
        };
        // The type has a name, so that the error points to the label and not to the node.
        let given = format_ident!("__Given{node}", span = span);
        let check = quote_spanned! {span=>
            type #given = #output;
            const #known: ::core::primitive::bool = {
                type __Listed = <#source as __gw::Source>::Listed;
                <#given as __gw::HasNames<__Listed, { #labels }>>::HAS_NAMES
                    & <#given as __gw::HasLabels<__Listed, { #labels }>>::HAS_LABELS
                    & { #is_first }
            };
        };
        (known, check)
    }

    /// A constant that checks that each name of a route map is a label of the node's output, and that each label has an
    /// arm. Its value is `known`, or an error after which rustc reports no other.
    fn all_labels(&self, node: NodeIx, known: &Ident, labels: &TokenStream) -> (Ident, TokenStream) {
        let span = glue(self.map_span(node));
        let taken = format_ident!("__TAKEN_{node}", span = span);
        let Some(data) = self.flow.nodes.get(node) else { return (taken, TokenStream::new()) };
        let (name, routing) = (&data.name, self.routing(node));
        let is_matched = |label: &Label| routing == Routing::Result || node == START || !is_error(label);
        let text = |name: &Ident| {
            let variant = variant(name).to_string();
            crate::names::plain(&variant).to_owned()
        };
        let names: Vec<&Ident> = self
            .labels(node)
            .filter(|label| is_matched(label))
            .filter_map(|label| match label {
                Label::Name(name) => Some(name),
                _ => None,
            })
            .collect();
        let known_labels = names.iter().map(|name_of_label| {
            let (at, text) = (glue(name_of_label.span()), text(name_of_label));
            quote_spanned!(at=> __gw::known_label(#name, #labels, #text);)
        });
        // A label that could not be read may be the one that is missing.
        let is_whole =
            !self.labels(node).any(|label| matches!(label, Label::Default(_))) && !self.flow.holes.contains(&node);
        let every_label = is_whole.then(|| {
            let (texts, spent) = (names.iter().map(|name| text(name)), data.spent().is_some());
            let (first, last) = (names.first(), names.last());
            let (first, last) = (first.map_or(span, |one| glue(one.span())), last.map_or(span, |one| glue(one.span())));
            let mut check = quote_spanned!(first=> __gw::every_label);
            check.extend(quote_spanned!(last=> (#name, #labels, &[#(#texts),*], #spent);));
            check
        });
        let check = quote_spanned! {span=>
            const #taken: ::core::primitive::bool = { #(#known_labels)* #every_label #known };
        };
        (taken, check)
    }

    /// The same for literals: one check for each kind of them, at the first of its kind.
    fn literals_check(&self, node: NodeIx) -> TokenStream {
        let source = self.source_type(node);
        let output = quote!(<#source as __gw::Source>::Output);
        let mut kinds = BTreeMap::new();
        for label in self.labels(node) {
            if let Label::Literal { pattern, span, .. } = label {
                kinds.entry(kind_of(pattern.clone())).or_insert(*span);
            }
        }
        let checks = kinds.into_iter().filter_map(|(kind, span)| {
            let span = glue(span);
            if kind == LiteralKind::Negative {
                let listed = quote!(<#source as __gw::Source>::Listed);
                let has = quote_spanned!(span=> < <#source as __gw::Source>::Output as __gw::HasNegatives<#listed>>::HAS_NEGATIVES);
                return Some(has);
            }
            let ty = match kind {
                LiteralKind::Bool => quote_spanned!(span=> ::core::primitive::bool),
                LiteralKind::Char => quote_spanned!(span=> ::core::primitive::char),
                LiteralKind::Text => quote_spanned!(span=> ::std::string::String),
                LiteralKind::Integer => quote_spanned!(span=> ::core::primitive::i32),
                LiteralKind::Negative | LiteralKind::Other => return None,
            };
            Some(quote_spanned!(span=> <#ty as __gw::IsLabelOf<<#source as __gw::Source>::Listed, #output>>::IS_LABEL))
        });
        let span = glue(self.map_span(node));
        let known = known_alias(node, span);
        quote_spanned!(span=> const #known: ::core::primitive::bool = #(#checks &)* true;)
    }

    /// Whether literals as labels plainly leave nothing out: `true` and `false` are both there, or `_` is.
    pub fn has_every_literal(&self, node: NodeIx) -> bool {
        let has = |value| self.labels(node).any(|label| matches!(label, Label::Literal { text, .. } if text == value));
        self.labels(node).any(|label| matches!(label, Label::Default(_))) || has("true") && has("false")
    }

    /// The labels that a node gives: `spent` of a bounded loop is none of them.
    pub fn labels(&self, node: NodeIx) -> impl Iterator<Item = &Label> {
        self.flow.nodes.get(node).into_iter().flat_map(|node| node.labels().map(|(_, label)| label))
    }

    /// Checks that a routed error is a payload, since an edge carries it, and that it can occur.
    fn error_check(&self, node: NodeIx, routing: Routing) -> TokenStream {
        if !routing.sees_errors() || node == START {
            return TokenStream::new();
        }
        let label = self.labels(node).find_map(|label| match label {
            Label::Name(name) if is_error(label) => Some(name.span()),
            _ => None,
        });
        let span = glue(label.unwrap_or_else(|| self.map_span(node)));
        let source = self.source_type(node);
        let source_type = argument(&source);
        let travels = travels_alias(node, span);
        let travels = quote_spanned! {span=>
            const #travels: ::core::primitive::bool = <<#source as __gw::Source>::Error as __gw::RoutedError<
                #source_type, { __gw::Probe::<<#source as __gw::Source>::Error>::LENDS },
            >>::TRAVELS;
        };
        if routing == Routing::Result {
            return travels;
        }
        // An error that cannot occur is no payload either, which is reported where the arm takes it.
        let alias = error_alias(node, span);
        let known = format_ident!("__CAN_FAIL_{node}", span = span);
        let error = quote!(<#source as __gw::Source>::Error);
        quote_spanned! {span=>
            const #known: ::core::primitive::bool =
                <<#source as __gw::Source>::Listed as __gw::CanFail<{ __gw::Probe::<#error>::OCCURS }>>::CAN_FAIL;
            #travels
            type #alias = <#error as __gw::Fails<#known>>::Error;
        }
    }

    /// The span of an error about the route map as a whole.
    pub fn map_span(&self, node: NodeIx) -> Span {
        let data = self.flow.nodes.get(node);
        data.and_then(|data| data.arms.first()).map_or_else(Span::call_site, |arm| arm.map)
    }

    /// The arm of `err`.
    pub fn error_arm(&self, node: NodeIx) -> Option<(usize, &Arm)> {
        let arms = self.flow.nodes.get(node).map_or(&[][..], |node| &node.arms);
        arms.iter().enumerate().find(|(_, arm)| arm.labels.iter().any(is_error))
    }

    /// The labels that are matched on, each with the place of its arm; without `err` if that is matched first.
    pub fn matched_labels(&self, node: NodeIx) -> impl Iterator<Item = (usize, &Label)> {
        let routing = self.routing(node);
        let labels = self.flow.nodes.get(node).into_iter().flat_map(|node| node.labels());
        labels.filter(move |(_, label)| routing == Routing::Result || node == START || !is_error(label))
    }
}

/// The alias of the enum that holds a node's labels.
pub fn labels_alias(node: NodeIx, span: Span) -> Ident {
    format_ident!("__Labels{node}", span = span)
}

/// The constant that checks that a routed error is a payload.
pub fn travels_alias(node: NodeIx, span: Span) -> Ident {
    format_ident!("__TRAVELS_{node}", span = span)
}

/// The alias of the choice between a node's `Result` and its value.
pub fn by_alias(node: NodeIx, span: Span) -> Ident {
    format_ident!("__By{node}", span = span)
}

/// The constant that checks that the labels in a node's route map are labels of its output.
pub fn known_alias(node: NodeIx, span: Span) -> Ident {
    format_ident!("__LABELS_{node}", span = span)
}

/// The kinds of literals, of which only equal ones can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LiteralKind {
    Bool,
    Char,
    Text,
    Integer,
    /// A number below zero, which not every integer can be.
    Negative,
    /// A literal that cannot be a label, which rustc reports.
    Other,
}

/// The kind of the first literal of a pattern.
fn kind_of(pattern: TokenStream) -> LiteralKind {
    let is_negative =
        matches!(pattern.clone().into_iter().next(), Some(TokenTree::Punct(minus)) if minus.as_char() == '-');
    let kind = |token| match token {
        TokenTree::Ident(_) => Some(LiteralKind::Bool),
        TokenTree::Literal(literal) => Some(match syn::Lit::new(literal) {
            syn::Lit::Str(_) => LiteralKind::Text,
            syn::Lit::Char(_) => LiteralKind::Char,
            syn::Lit::Int(_) if is_negative => LiteralKind::Negative,
            syn::Lit::Int(_) | syn::Lit::Byte(_) => LiteralKind::Integer,
            _ => LiteralKind::Other,
        }),
        _ => None,
    };
    pattern.into_iter().find_map(kind).unwrap_or(LiteralKind::Other)
}

/// The alias of the error of a node that is routed beside the labels of its value.
pub fn error_alias(node: NodeIx, span: Span) -> Ident {
    format_ident!("__Error{node}", span = span)
}

/// The variant of a label, where the user wrote it.
pub fn variant(name: &Ident) -> Ident {
    label_ident(&snake_case(&name.to_string()), name.span())
}

/// A label as a pattern: the variant, where the user wrote it, of the enum that holds the node's labels.
pub fn aliased(node: NodeIx, name: &Ident) -> TokenStream {
    let (alias, variant) = (labels_alias(node, before(name.span())), variant(name));
    quote!(#alias::#variant)
}
