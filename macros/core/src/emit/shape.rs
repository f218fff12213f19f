//! The graph as numbers and names.

use graphweft_graph::picture::{Picture, PictureKind, PictureNode, labelled};
use graphweft_graph::{Graph, NodeIx, Way};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::mention::Emission;
use crate::ir::{Arm, Label, NodeKind};

/// `Shape { .. }`, as `runtime` reads it.
pub fn shape(emission: &Emission<'_>) -> TokenStream {
    let names = emission.flow.nodes.iter().map(|node| &node.name);
    let numbers = numbers(&emission.flow.graph).into_iter().map(|number| Literal::u32_unsuffixed(number as u32));
    let labels = emission.flow.nodes.iter().map(|node| {
        let texts = node.arms.iter().map(label_text);
        quote!(&[#(#texts),*])
    });
    let is_unit = emission.flow.unit_output;
    let bounds = emission.flow.nodes.iter().enumerate().flat_map(|(node, data)| {
        let arms = data.arms.iter().enumerate();
        arms.filter_map(move |(arm, data)| {
            let numbers = [node as u32, arm as u32, data.bound?.at_most].map(Literal::u32_unsuffixed);
            Some(quote!([#(#numbers),*]))
        })
    });
    quote! {
        __gw::Shape {
            names: &[#(#names),*], numbers: &[#(#numbers),*], labels: &[#(#labels),*], bounds: &[#(#bounds),*],
            is_unit: #is_unit,
        }
    }
}

/// `low | medium`, as the picture of the graph and its events spell it.
pub fn label_text(arm: &Arm) -> String {
    let texts: Vec<String> = arm
        .labels
        .iter()
        .map(|label| match label {
            Label::Name(name) => crate::names::snake_case(&name.to_string()),
            Label::Literal { text, .. } => text.clone(),
            Label::Default(_) => "_".to_owned(),
        })
        .collect();
    texts.join(" | ")
}

fn numbers(graph: &Graph<NodeIx>) -> Vec<usize> {
    let mut out = vec![graph.edges.len()];
    out.extend(graph.edges.iter().flat_map(|edge| [edge.from, edge.to]));
    for node in &graph.nodes {
        out.push(node.choices.len());
        for choice in &node.choices {
            list(&mut out, &choice.edges);
        }
    }
    for node in &graph.nodes {
        out.push(node.ways.len());
        for way in &node.ways {
            match way {
                Way::Plain(edge) => out.extend([0, *edge]),
                Way::All(places) => {
                    out.extend([1, places.len()]);
                    for place in places {
                        list(&mut out, place);
                    }
                }
                Way::Any(edges) => {
                    out.push(2);
                    list(&mut out, edges);
                }
            }
        }
    }
    out
}

fn list(out: &mut Vec<usize>, edges: &[usize]) {
    out.push(edges.len());
    out.extend(edges);
}

/// The picture of the graph, for the docs of a workflow.
pub fn picture(emission: &Emission<'_>) -> Picture {
    let flow = emission.flow;
    let nodes = flow.nodes.iter().enumerate().map(|(node, data)| PictureNode {
        name: data.name.clone(),
        uses: Vec::new(),
        kind: match (&data.kind, emission.inside(node)) {
            (NodeKind::Start | NodeKind::End, _) => PictureKind::Boundary,
            (_, Some(inside)) => PictureKind::Each(Box::new(picture(&inside))),
            _ => PictureKind::Step,
        },
    });
    let label = |arm: &Arm| labelled(&label_text(arm), arm.bound.map(|bound| bound.at_most));
    let labels: Vec<Vec<String>> = flow.nodes.iter().map(|node| node.arms.iter().map(label).collect()).collect();
    Picture::of(&flow.graph, nodes.collect(), &labels, flow.unit_output)
}
