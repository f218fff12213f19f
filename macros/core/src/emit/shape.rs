//! The graph as two texts.

use graphweft_graph::picture::{Picture, PictureKind, PictureNode, labelled};
use graphweft_graph::state_proof::pack;
use graphweft_graph::{Graph, NodeIx, Way};
use proc_macro2::TokenStream;
use quote::quote;

use super::mention::Emission;
use crate::ir::{Arm, Label, NodeKind};

/// `Shape { .. }`, as `runtime` reads it.
pub fn shape(emission: &Emission<'_>) -> TokenStream {
    let nodes = &emission.flow.nodes;
    let names = nodes.iter().map(|node| node.name.clone());
    let labels = nodes.iter().map(|node| node.arms.iter().map(label_text).collect::<Vec<_>>());
    let (names, labels): (Vec<_>, Vec<_>) = (names.collect(), labels.collect());
    let lengths = |out: &mut Vec<usize>, texts: &[String]| {
        out.push(texts.len());
        out.extend(texts.iter().map(String::len));
    };
    let mut numbers = Vec::new();
    lengths(&mut numbers, &names);
    edges_and_nodes(&mut numbers, &emission.flow.graph);
    labels.iter().for_each(|labels| lengths(&mut numbers, labels));
    let bounds = nodes.iter().enumerate().flat_map(|(node, data)| {
        let arms = data.arms.iter().enumerate();
        arms.filter_map(move |(arm, data)| Some([node, arm, data.bound?.at_most as usize]))
    });
    let bounds: Vec<_> = bounds.collect();
    numbers.push(bounds.len());
    numbers.extend(bounds.iter().flatten());
    let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
    let (numbers, texts) = (pack(&numbers), names.iter().chain(labels.iter().flatten()).cloned().collect::<String>());
    let is_unit = emission.flow.unit_output;
    quote!(__gw::Shape { numbers: #numbers, texts: #texts, is_unit: #is_unit })
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

fn edges_and_nodes(out: &mut Vec<usize>, graph: &Graph<NodeIx>) {
    out.push(graph.edges.len());
    out.extend(graph.edges.iter().flat_map(|edge| [edge.from, edge.to]));
    for node in &graph.nodes {
        out.push(node.choices.len());
        for choice in &node.choices {
            list(out, &choice.edges);
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
                        list(out, place);
                    }
                }
                Way::Any(edges) => {
                    out.push(2);
                    list(out, edges);
                }
            }
        }
    }
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
