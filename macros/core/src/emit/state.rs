//! What the nodes of a graph do with the state, as constants: the compiler proves that no node reads a key that may not have
//! been written (P8), and that no two nodes overwrite one at the same time (P9).
//!
//! The proof is one constant for each workflow. It fails to compile at the token of the node that is to blame, for which it
//! has one arm for each node.

use graphweft_graph::NodeIx;
use graphweft_graph::state_proof::{NodeRoles, StateGraph, pack, pack_names};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned as _;

use super::mention::{Emission, argument, glue, is_inferred, is_item, is_made_of_item, places_beside};
use super::shape::label_text;
use crate::ir::{Let, LetValue, NodeKind, Workflow};

/// The graph of a workflow, and those of the `[..]` in it.
pub struct StateEmission<'a> {
    graphs: Vec<PackedFlow<'a>>,
    given: &'a [Path],
    /// The most numbers that one of the graphs has.
    words: usize,
}

struct PackedFlow<'a> {
    emission: Emission<'a>,
    numbers: String,
    /// The graph and the node that it is inside of.
    around: (usize, NodeIx),
    /// The number of its first node among all.
    first: usize,
}

impl<'a> StateEmission<'a> {
    /// `None` if the graph is not sound.
    pub fn of(workflow: &'a Workflow) -> Option<Self> {
        let emission = Emission { lets: &workflow.lets, flow: &workflow.flow, is_item: workflow.item.is_some() };
        let mut all = StateEmission { graphs: Vec::new(), given: &workflow.given, words: 0 };
        all.add(emission, (0, 0))?;
        Some(all)
    }

    fn add(&mut self, emission: Emission<'a>, around: (usize, NodeIx)) -> Option<()> {
        let plan = emission.flow.plan.as_ref()?;
        let numbers = StateGraph::encode(&emission.flow.graph, plan, &emission);
        self.words = self.words.max(numbers.len());
        let first = self.graphs.last().map_or(0, |last| last.first + last.emission.flow.nodes.len());
        let at = self.graphs.len();
        self.graphs.push(PackedFlow { emission, numbers: pack(&numbers), around, first });
        for node in 0..emission.flow.nodes.len() {
            if let Some(inside) = emission.inside(node) {
                self.add(inside, (at, node))?;
            }
        }
        Some(())
    }

    /// The proof as items. Consts in functions are only evaluated if a node uses the state; they are generic,
    /// since rustc's lints look at the constants in all others.
    pub fn proof(&self) -> TokenStream {
        let name = facts_name();
        let graphs = 0..self.graphs.len();
        let own = graphs.clone().map(|graph| {
            let (name, own) = (own_name(graph), self.own_facts(graph, Form::Items));
            quote!(const fn #name<__T>() -> &'static [__gw::StateFacts] { &const { #own } })
        });
        let functions = graphs.map(|graph| {
            let (own, facts, deep) = (own_name(graph), found_name(graph), deep_name(graph));
            let of_graphs = self.of_graphs(graph, &quote!(__D), Form::Items);
            quote! {
                const fn #facts() -> &'static [__gw::StateFacts] {
                    if __gw::have_workflows(#own::<()>()) { Self::#deep() } else { #own::<()>() }
                }

                const fn #deep() -> &'static [__gw::StateFacts] {
                    &const { __gw::facts_of(#own::<()>(), #of_graphs) }
                }
            }
        });
        let (have_state, proof, places) = (self.have_state(), self.proven(Form::Items), self.places(Form::Items));
        quote! {
            #(#own)*
            #[allow(dead_code, unreachable_pub, non_camel_case_types, reason = "what a proof is made of")]
            pub struct #name<__D>(::core::marker::PhantomData<fn() -> __D>);
            #[allow(long_running_const_eval, reason = "it ends")]
            impl<__D: __gw::Depth> #name<__D> {
                #(#functions)*
            }
            #[allow(long_running_const_eval, reason = "it ends")]
            const fn __proof<__T>() -> &'static __gw::StateProof {
                &const { #proof }
            }
            #[track_caller]
            const fn __refuse_at(__place: ::core::primitive::usize) {
                __gw::refuse_at(__proof::<()>(), __place)
            }
            const __HAVE_STATE: ::core::primitive::bool = #have_state;
            const fn __have_state() -> ::core::primitive::bool {
                __HAVE_STATE
            }
            const _: () = if __HAVE_STATE && __proof::<()>().place != 0 {
                #(#places)*
            };
        }
    }

    /// What the graph is as a node of another, beside its [`proof`](Self::proof). `id` is the constant of its number. It
    /// asks a function whether there is state: the constant, named in a generic `impl`, would be evaluated a second time, and
    /// those of all nodes with it.
    pub fn keys(&self, id: &TokenStream) -> TokenStream {
        let Some(PackedFlow { numbers, .. }) = self.graphs.first() else { return TokenStream::new() };
        let (name, facts, given, words) = (facts_name(), found_name(0), self.given(), self.words());
        quote! {
            #[allow(long_running_const_eval, reason = "it ends")]
            impl<__D: __gw::Depth> __gw::HasKeys for #name<__D> {
                const KEYS: &'static __gw::NodeKeys = &if __have_state() {
                    __gw::NodeKeys::of_workflow::<#words>(#numbers, Self::#facts(), &#given, #id)
                } else {
                    __gw::NodeKeys::of_nothing(&#given, #id)
                };
            }
        }
    }

    /// The proof of a workflow that is an expression. A type that is written in a `let` may be one that only the function
    /// around it knows, of which an item cannot be made. The constant is then an expression too, which the compiler
    /// evaluates when it makes code of the function.
    pub fn proof_in_place(&self) -> TokenStream {
        let names_items =
            self.graphs.iter().all(|graph| graph.emission.names_items()) && self.given.iter().all(is_item);
        if names_items {
            return self.proof();
        }
        let (name, proof, places) = (proof_name(), self.proven(Form::InPlace), self.places(Form::InPlace));
        quote! {
            #[allow(long_running_const_eval, reason = "it ends")]
            let () = const {
                let #name = &#proof;
                if #name.place != 0 {
                    #(#places)*
                }
            };
        }
    }

    /// Whether a node of any graph has to do with the state, or is a workflow.
    fn have_state(&self) -> TokenStream {
        let nodes = |graph: &PackedFlow<'a>| 0..graph.emission.flow.nodes.len();
        let types =
            self.graphs.iter().flat_map(|graph| nodes(graph).filter_map(|node| graph.emission.known_type(node)));
        let types: Vec<_> = types.collect();
        let parts = types.chunks(8).map(|types| match types {
            [_, _, _, _, _, _, _, _] => quote!(__gw::NodesProbe::<(#(#types),*)>::USE_STATE),
            few => {
                let few = few.iter().map(argument);
                quote!(__gw::any(&[#(__gw::NodeProbe::<#few>::USE_STATE),*]))
            }
        });
        quote!(__gw::any(&[#(#parts),*]))
    }

    /// For each node a call that refuses the graph, at the token of the node.
    fn places(&self, form: Form) -> impl Iterator<Item = TokenStream> {
        self.graphs.iter().flat_map(move |graph| graph.emission.places(graph.first, form))
    }

    fn proven(&self, form: Form) -> TokenStream {
        let graphs = self.graphs.iter().enumerate().map(|(at, graph)| {
            let facts = self.found_facts(at, &quote!(__gw::FullDepth), form);
            let PackedFlow { numbers, around: (outer, node), first, .. } = graph;
            let (nodes, choices) = graph.emission.packed_names();
            let [outer, node, first] = [outer, node, first].map(|number| Literal::usize_unsuffixed(*number));
            quote! {
                __gw::PackedGraph {
                    numbers: #numbers, facts: #facts, names: __gw::GraphNames { nodes: #nodes, choices: #choices },
                    around: (#outer, #node), first: #first,
                }
            }
        });
        let (words, given) = (self.words(), self.given());
        quote!(__gw::StateProof::of::<#words>(&[#(#graphs),*], &#given))
    }

    /// What the nodes of a graph do, with what workflows inside them do.
    fn found_facts(&self, graph: usize, depth: &TokenStream, form: Form) -> TokenStream {
        match form {
            Form::Items => {
                let (name, facts) = (facts_name(), found_name(graph));
                quote!(#name::<#depth>::#facts())
            }
            Form::InPlace => {
                let (own, of_graphs) = (self.own_facts(graph, form), self.of_graphs(graph, depth, form));
                quote!(&__gw::facts_of(&#own, #of_graphs))
            }
        }
    }

    /// What the nodes of a graph say of themselves. They are asked several at a time: each question costs rustc time.
    fn own_facts(&self, graph: usize, form: Form) -> TokenStream {
        let Some(PackedFlow { emission, .. }) = self.graphs.get(graph) else { return quote!([]) };
        let nodes = emission.flow.nodes.len();
        let mut parts = Vec::new();
        let mut asked: Vec<TokenStream> = Vec::new();
        for node in 0..nodes {
            if let Some(ty) = emission.known_type(node) {
                asked.push(ty);
                if asked.len() == 8 {
                    parts.push(quote!(&__gw::NodesProbe::<(#(#asked),*)>::OWN_OF_8));
                    asked.clear();
                }
                continue;
            }
            let facts = match self.inside(graph, node) {
                Some(inside) => {
                    let own = match form {
                        Form::Items => {
                            let name = own_name(inside);
                            quote!(#name::<()>())
                        }
                        Form::InPlace => {
                            let own = self.own_facts(inside, form);
                            quote!(&#own)
                        }
                    };
                    self.items(inside, &own)
                }
                None => quote!(__gw::StateFacts::NONE),
            };
            let few = asked.drain(..).map(|ty| argument(&ty));
            parts.push(quote!(&[#(__gw::NodeProbe::<#few>::OWN,)* #facts]));
        }
        let (nodes, few) = (Literal::usize_unsuffixed(nodes), asked.iter().map(argument));
        quote!(__gw::joined::<#nodes>(&[#(#parts,)* &[#(__gw::NodeProbe::<#few>::OWN),*]]))
    }

    /// What the graphs inside the nodes do.
    fn of_graphs(&self, graph: usize, depth: &TokenStream, form: Form) -> TokenStream {
        let Some(PackedFlow { emission, .. }) = self.graphs.get(graph) else { return quote!([]) };
        let of_nodes = self.depth_inside(graph, depth);
        let facts = (0..emission.flow.nodes.len()).map(|node| {
            if let Some(inside) = self.inside(graph, node) {
                let items = self.items(inside, &self.found_facts(inside, depth, form));
                return quote!(::core::option::Option::Some(#items));
            }
            match emission.known_type(node) {
                Some(ty) => {
                    let ty = argument(&ty);
                    quote!(__gw::WorkflowProbe::<#ty, #of_nodes>::OF_GRAPH)
                }
                None => quote!(::core::option::Option::None),
            }
        });
        quote!([#(#facts),*])
    }

    /// The depth of the nodes of a graph: each `[..]` around it takes one.
    fn depth_inside(&self, graph: usize, depth: &TokenStream) -> TokenStream {
        match self.graphs.get(graph) {
            Some(inside) if inside.first > 0 => {
                let around = self.depth_inside(inside.around.0, depth);
                quote!(<#around as __gw::Depth>::Inside)
            }
            _ => depth.clone(),
        }
    }

    /// `[..]` as a node.
    fn items(&self, inside: usize, facts: &TokenStream) -> TokenStream {
        let numbers = self.graphs.get(inside).map_or("", |inside| &inside.numbers);
        let words = self.words();
        quote!(__gw::NodeKeys::facts(&const { __gw::NodeKeys::of_items::<#words>(#numbers, #facts) }))
    }

    /// The graph inside a node.
    fn inside(&self, graph: usize, node: NodeIx) -> Option<usize> {
        self.graphs.iter().position(|inside| inside.around == (graph, node) && inside.first > 0)
    }

    fn given(&self) -> TokenStream {
        let given = self.given.iter().map(|key| {
            let (span, key) = (glue(key.span()), given_key(key));
            quote_spanned!(span=> __gw::key_fact(&#key))
        });
        quote!([#(#given),*])
    }

    fn words(&self) -> Literal {
        Literal::usize_unsuffixed(self.words)
    }
}

/// What the facts of a graph are written as.
#[derive(Clone, Copy)]
enum Form {
    /// Items, which are only evaluated where they are needed.
    Items,
    /// Expressions, which know the types that a function around them knows.
    InPlace,
}

/// A key as a value. Its type is written, so that a constant that is no key is the same error in each place, which rustc
/// reports once.
pub fn given_key(key: &Path) -> TokenStream {
    quote_spanned!(glue(key.span())=> { let key: __gw::StateKey<_, _> = #key; key })
}

fn own_name(graph: usize) -> Ident {
    format_ident!("__own_{graph}")
}

fn found_name(graph: usize) -> Ident {
    format_ident!("facts_{graph}")
}

fn deep_name(graph: usize) -> Ident {
    format_ident!("deep_{graph}")
}

/// The type that has the facts of a workflow's graph.
pub fn facts_name() -> Ident {
    Ident::new("__Facts", Span::mixed_site())
}

fn proof_name() -> Ident {
    Ident::new("__proof", Span::mixed_site())
}

impl Emission<'_> {
    /// The type of a node, if it is one that a constant can name.
    fn known_type(&self, node: NodeIx) -> Option<TokenStream> {
        let is_known = match &self.flow.nodes.get(node)?.kind {
            NodeKind::Path(_) => true,
            NodeKind::Let(at) => match &self.lets.get(*at)?.value {
                LetValue::Configured { .. } => true,
                LetValue::Value { ty, .. } => !is_inferred(quote!(#ty)),
                LetValue::Unknown => false,
            },
            NodeKind::Start | NodeKind::End | NodeKind::Each(_) => false,
        };
        is_known.then(|| self.bare_type(node))
    }

    fn packed_names(&self) -> (String, String) {
        let names = self.flow.nodes.iter().map(|node| node.name.as_str());
        let choices: Vec<String> = (0..self.flow.nodes.len()).flat_map(|node| self.choice_names(node)).collect();
        (pack_names(names), pack_names(choices.iter().map(String::as_str)))
    }

    /// A text for each choice.
    fn choice_names(&self, node: NodeIx) -> Vec<String> {
        let arms = self.flow.nodes.get(node).map_or(&[][..], |node| &node.arms);
        let count = self.flow.graph.nodes.get(node).map_or(0, |data| data.choices.len());
        (0..count).map(|choice| arms.get(choice).map_or_else(String::new, label_text)).collect()
    }

    fn places(&self, first: usize, form: Form) -> Vec<TokenStream> {
        let mut seen = vec![false; self.flow.nodes.len()];
        let mut places = Vec::new();
        for mention in &self.flow.mentions {
            let is_boundary = match self.flow.nodes.get(mention.node).map(|node| &node.kind) {
                Some(kind) => matches!(kind, NodeKind::Start | NodeKind::End),
                None => true,
            };
            let Some(seen) = seen.get_mut(mention.node) else { continue };
            if is_boundary || std::mem::replace(seen, true) {
                continue;
            }
            let place = Literal::usize_unsuffixed(first + mention.node);
            let [open, close] = places_beside(mention);
            let mut place = match form {
                Form::Items => [quote_spanned!(open=> __refuse_at), quote_spanned!(close=> (#place))],
                Form::InPlace => {
                    let proof = proof_name();
                    [quote_spanned!(open=> __gw::refuse_at), quote_spanned!(close=> (#proof, #place))]
                }
            };
            places.push(place.iter_mut().map(std::mem::take).chain([quote!(;)]).collect());
        }
        places
    }

    /// Whether all of its nodes are items, which a constant can name anywhere.
    fn names_items(&self) -> bool {
        self.flow.nodes.iter().all(|node| match &node.kind {
            NodeKind::Start | NodeKind::End | NodeKind::Each(_) | NodeKind::Path(_) => true,
            NodeKind::Let(at) => match self.lets.get(*at).map(|one| &one.value) {
                Some(LetValue::Value { ty, value }) => is_made_of_item(ty, value),
                Some(LetValue::Configured { .. } | LetValue::Unknown) | None => true,
            },
        })
    }
}

/// Holds the nodes of which a part of the type is left to the compiler to have nothing to do with the state.
pub fn held_to_have_no_state(lets: &[Let]) -> TokenStream {
    let of = |Let { name, value }: &Let| {
        let LetValue::Value { ty, .. } = value else { return None };
        let span = glue(name.span());
        is_inferred(quote!(#ty)).then(|| quote_spanned!(span=> __gw::of_type(&#name, const { __gw::no_state() });))
    };
    lets.iter().filter_map(of).collect()
}

impl NodeRoles for Emission<'_> {
    fn is_failure(&self, node: NodeIx, choice: usize) -> bool {
        let Some(data) = self.flow.nodes.get(node).filter(|_| self.routes_errors(node)) else { return false };
        let has_err = data.labels().any(|(_, label)| label.key() == "err");
        let of_error = |at: usize| {
            data.labels()
                .any(|(arm, label)| arm == at && if has_err { label.key() == "err" } else { label.key() == "_" })
        };
        // `spent` is taken in the place of the arms that have a bound.
        let is_bounded = |at: usize| data.arms.get(at).is_some_and(|arm| arm.bound.is_some());
        of_error(choice)
            || data.spent() == Some(choice) && (0..data.arms.len()).any(|at| is_bounded(at) && of_error(at))
    }

    fn runs_for_items(&self, node: NodeIx) -> bool {
        self.inside(node).is_some()
    }
}
