//! Which types have to be checked to be payloads, and the types of a workflow's signature.

use graphweft_graph::{END, NodeIx, START};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{GenericArgument, PathArguments, Type, TypePath};

use super::mention::Emission;
use crate::ir::{NodeKind, Workflow};

/// Whether a type of this name is always a payload, so that it needs no check: each check costs rustc time. If a
/// program has another type of such a name, the bounds of `Node` check it.
pub fn is_known_payload(ty: &Type) -> bool {
    const KNOWN: [&str; 15] = [
        "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "String",
    ];
    match ty {
        Type::Tuple(tuple) => tuple.elems.iter().all(is_known_payload),
        Type::Path(TypePath { qself: None, path, .. }) if path.segments.len() == 1 => {
            path.segments.iter().all(|segment| {
                let name = segment.ident.to_string();
                match &segment.arguments {
                    PathArguments::None => KNOWN.contains(&&*name),
                    PathArguments::AngleBracketed(of) if name == "Vec" || name == "Option" => {
                        of.args.iter().all(|one| matches!(one, GenericArgument::Type(ty) if is_known_payload(ty)))
                    }
                    _ => false,
                }
            })
        }
        _ => false,
    }
}

/// `__Input` and `__Output` from the signature; without one, `__Input` from the first node. A type that is no payload
/// is an error here only if it is no error at the nodes beside START and END.
pub fn signature_types(workflow: &Workflow, emission: &Emission<'_>) -> TokenStream {
    let Some(signature) = &workflow.signature else {
        let input = inferred_input(emission, workflow.flow.plan.is_some());
        // The check of the first node, as it is among those of the graph, whose scope is another one.
        let first = emission.flow.graph.edges.iter().find(|edge| edge.from == START && edge.to != END);
        let check = first.map(|edge| emission.node_check(edge.to));
        return quote!(#check type __Input = #input;);
    };
    let input = match signature.inputs.as_slice() {
        _ if !signature.knows_inputs => quote!(__Unknown),
        [] => quote!(()),
        [one] => apart(one),
        several => quote!((#(#several),*)),
    };
    let output = match &signature.output {
        _ if !signature.knows_output => quote!(__Unknown),
        output => output.as_ref().map_or_else(|| quote!(()), apart),
    };
    let (behind_start, before_end) = neighbours(workflow, emission);
    let inputs = signature.inputs.iter().filter(|ty| !is_known_payload(ty)).map(|ty| (ty, &behind_start));
    let outputs = signature.output.iter().filter(|ty| !is_known_payload(ty)).map(|ty| (ty, &before_end));
    let check = |(ty, same): (&Type, &TokenStream)| {
        let ty = apart(ty);
        quote!(<#ty as __gw::Travels<#same>>::TRAVELS)
    };
    let checks: Vec<TokenStream> = inputs.chain(outputs).map(check).collect();
    if checks.is_empty() {
        return quote!(type __Input = #input; type __Output = #output;);
    }
    let check = quote!(const __TRAVELS: ::core::primitive::bool = #(#checks)&*;);
    let check = match workflow.item {
        Some(_) => {
            quote!(__halves::compiled! { {} { #check } { const __TRAVELS: ::core::primitive::bool = true; } })
        }
        None => check,
    };
    quote! {
        #check
        type __Input = <#input as __gw::Checked<__TRAVELS>>::Type;
        type __Output = <#output as __gw::Checked<__TRAVELS>>::Type;
    }
}

/// A type as it can be before `as`: bounds, which may end with a `+`, are in parentheses.
fn apart(ty: &Type) -> TokenStream {
    match ty {
        Type::TraitObject(_) | Type::ImplTrait(_) => quote!((#ty)),
        _ => quote!(#ty),
    }
}

/// The input of the first node behind START.
fn inferred_input(emission: &Emission<'_>, is_proven: bool) -> TokenStream {
    let first = emission.flow.graph.edges.iter().find(|edge| edge.from == START && edge.to != END);
    match first {
        Some(edge) => {
            let first = emission.node_type(edge.to);
            quote!(<#first as __gw::Target>::Input)
        }
        None if is_proven => quote!(()),
        None => quote!(__Unknown),
    }
}

/// The input of a node behind START, and the output of one before END, in the same tokens as in the checks of the edges
/// there, so that an error of such a node is reported once. The unit type if a node is not a plain one, or is the workflow
/// itself, whose types are computed from these.
fn neighbours(workflow: &Workflow, emission: &Emission<'_>) -> (TokenStream, TokenStream) {
    let is_proven = emission.flow.plan.is_some();
    let is_plain = |node: NodeIx| {
        let kind = emission.flow.nodes.get(node).map(|node| &node.kind);
        let Some(NodeKind::Path(path)) = kind else { return false };
        let last = path.segments.last().map(|last| &last.ident);
        let is_itself = last.is_some() && last == workflow.item.as_ref().map(|item| &item.name);
        !is_itself && !emission.is_checked(node)
    };
    let edges = || emission.flow.graph.edges.iter().zip(&emission.flow.edges).filter(|_| is_proven);
    let behind_start = edges().find(|(edge, _)| edge.from == START && is_plain(edge.to));
    let before_end = edges().find(|(edge, _)| edge.to == END && is_plain(edge.from));
    let unit = || quote!(());
    (
        behind_start.map_or_else(unit, |(_, written)| emission.input_of(written.to)),
        before_end.map_or_else(unit, |(_, written)| emission.output_of(written.from)),
    )
}
