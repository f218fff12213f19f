//! A whole graph: the expression that makes its `Definition`, or, for a graph with errors, as much as can be checked.

use graphweft_graph::{END, START};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::mention::{Emission, argument, out};
use super::shape::shape;
use crate::ir::{FlowNode, Let, LetValue, NodeKind, Workflow};

/// How the type of a workflow's output is known where its graph is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputType {
    /// It is `__Output`, which functions of their own can name.
    Named,
    /// Only the variable `__out` knows.
    Inferred,
}

/// The `Definition` of a flow. `__Input` and `__out` are in scope.
pub fn definition(emission: &Emission<'_>, name: &TokenStream, doc: &str, output: OutputType) -> TokenStream {
    let shape = shape(emission);
    let out = out();
    let checks = label_checks(emission);
    let sightings = emission.sightings();
    let (start, end) = (emission.exit(START), emission.joins(END));
    let nodes = END + 1..emission.flow.nodes.len();
    let apart: Option<Vec<_>> = match output {
        OutputType::Named => nodes.clone().map(|node| emission.entry_apart(node)).collect(),
        OutputType::Inferred => None,
    };
    let (functions, entries) = match apart {
        Some(apart) => {
            let (functions, names): (Vec<_>, Vec<_>) = apart.into_iter().unzip();
            (functions, quote!(__gw::made_by(&[#(#names),*])))
        }
        None => {
            let entries = nodes.map(|node| emission.entry(node));
            (Vec::new(), quote!(::std::vec![#(#entries),*]))
        }
    };
    quote! {
        #(#functions)*
        #checks
        #sightings
        static __SHAPE: __gw::Shape = #shape;
        __gw::define::<__Input, _>(#name, #doc, &__SHAPE, #out, #start, #end, #entries)
    }
}

/// Everything of a refused graph that rustc can still check: names, labels, the sound edges.
pub fn checks(emission: &Emission<'_>) -> TokenStream {
    let labels = label_checks(emission);
    let sightings = emission.sightings();
    let is_known = |node: &usize| {
        *node != END
            && !emission.flow.unknown.contains(node)
            && !(emission.flow.plan.is_none() && emission.collects(*node))
    };
    let exits = (START..emission.flow.nodes.len()).filter(is_known).map(|node| {
        let source = emission.source_type(node);
        let exit = emission.exit(node);
        let mention = emission.flow.mentions.iter().position(|mention| mention.node == node).map(|at| {
            let source = emission.source(at);
            quote!(let _ = #source;)
        });
        let inside = emission.inside(node).map(|inside| {
            let (first, last) = emission.ends_of_each(node);
            let checks = checks(&inside);
            let out = out();
            quote! {{
                type __Input = <#first as __gw::Target>::Input;
                let #out = __gw::gives::<<#last as __gw::Source>::Output>();
                #checks
            }}
        });
        quote! {
            #inside
            #mention
            let _: __gw::Exit<<#source as __gw::Source>::Output, <#source as __gw::Source>::Error> = #exit;
        }
    });
    let broken = emission.flow.unknown.iter().filter_map(|node| emission.inside(*node)).map(|inside| inside.names());
    quote!(#labels #sightings #(#exits)* #(#broken)*)
}

fn label_checks(emission: &Emission<'_>) -> TokenStream {
    let of = |node| [emission.node_check(node), emission.label_checks(node)];
    (START..emission.flow.nodes.len()).flat_map(of).collect()
}

/// `max_parallel` of a `let`, outside of `[..]`: it limits the nodes of a nested workflow, so that the node has to be
/// one.
pub fn limits_of_nested(workflow: &Workflow) -> TokenStream {
    let of = |node: &FlowNode| {
        let NodeKind::Let(at) = node.kind else { return None };
        let Let { value: LetValue::Configured { path, options }, .. } = workflow.lets.get(at)? else { return None };
        let (_, word) = options.max_parallel?;
        let ty = argument(&quote!(#path));
        Some(quote_spanned!(word=> __gw::limits_nodes_of::<#ty>();))
    };
    workflow.flow.nodes.iter().filter_map(of).collect()
}

/// The `let`s of a workflow, as lets.
pub fn lets(lets: &[Let]) -> TokenStream {
    lets.iter()
        .map(|Let { name, value }| match value {
            LetValue::Configured { path, .. } => {
                let ty = argument(&quote!(#path));
                quote!(let #name = __gw::of::<#ty>(); let _ = &#name;)
            }
            LetValue::Value { ty, value } => quote!(let #name: #ty = #value;),
            LetValue::Unknown => TokenStream::new(),
        })
        .collect()
}
