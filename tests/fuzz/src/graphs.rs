//! Graphs, printed and read back: as the line of text of the analysis' tests, as JSON, as a picture, as a program.

use std::str::FromStr;

use arbitrary::{Result, Unstructured};
use graphweft::{Graph, Json};
use graphweft_graph::analyse;
use graphweft_judge::notation;
use graphweft_macros_core::expand_workflow;
use proc_macro2::TokenStream;

use crate::drawn::Drawn;
use crate::{flows, parse, programs, shapes};

/// JSON is that of a graph; anything else is made into a graph, a picture or a program.
pub fn graphs(data: &[u8]) {
    if data.first() == Some(&b'{') {
        if let Ok(graph) = serde_json::from_slice::<Graph>(data) {
            json(&graph);
        }
        return;
    }
    // Bytes that run out end what is being made.
    let _made = from_bytes(&mut Unstructured::new(data));
}

fn from_bytes(bytes: &mut Unstructured<'_>) -> Result<()> {
    match bytes.int_in_range(0..=3u8)? {
        0 => notation(bytes),
        1 => picture(bytes),
        2 => program(bytes),
        _ => changed_json(bytes),
    }
}

fn notation(bytes: &mut Unstructured<'_>) -> Result<()> {
    let graph = shapes::graph(bytes)?;
    let text = notation::write(&graph);
    let again = notation::read(&text);
    assert_eq!(shapes::meaning(&graph), shapes::meaning(&again), "{text}");
    assert_eq!(analyse(&graph).is_ok(), analyse(&again).is_ok(), "{text}");
    Ok(())
}

fn picture(bytes: &mut Unstructured<'_>) -> Result<()> {
    let picture = shapes::picture(bytes, 2)?;
    let drawn = Drawn::of(&picture);
    assert_eq!(Drawn::read_mermaid(&picture.to_mermaid()), drawn, "{}", picture.to_mermaid());
    let counts = Drawn::count_dot(&picture.to_dot());
    assert_eq!(counts, (drawn.nodes.len(), drawn.edges.len()), "{}", picture.to_dot());
    Ok(())
}

/// A program that is sound has its picture in its docs, and that shows the nodes and edges that were written.
fn program(bytes: &mut Unstructured<'_>) -> Result<()> {
    let text = programs::program(bytes)?;
    let Ok(tokens) = TokenStream::from_str(&text) else { panic!("{text} does not lex") };
    parse::program(tokens.clone());
    if let (Some(workflow), diagnostics) = graphweft_macros_core::workflow(tokens.clone())
        && workflow.item.is_some()
        && !diagnostics.has_errors()
    {
        let drawn = Drawn::read_mermaid(&in_docs(expand_workflow(tokens), &text));
        let flow = &workflow.flow;
        let top = |id: &str| !id.contains('_');
        let steps = drawn.nodes.iter().filter(|(id, kind, _)| top(id) && *kind != "boundary");
        let names: Vec<&str> = steps.map(|(_, _, name)| name.as_str()).collect();
        let written: Vec<&str> = flow.nodes.iter().skip(2).map(|node| node.name.as_str()).collect();
        assert_eq!(names, written, "{text}");
        let mut edges: Vec<(String, String)> = flow
            .graph
            .edges
            .iter()
            .filter(|edge| {
                !(flow.unit_output && (edge.from, edge.to) == (graphweft_graph::START, graphweft_graph::END))
            })
            .map(|edge| (format!("n{}", edge.from), format!("n{}", edge.to)))
            .collect();
        let drawn = drawn.edges.into_iter().filter(|(from, ..)| top(from)).map(|(from, to, ..)| (from, to));
        let mut drawn: Vec<(String, String)> = drawn.collect();
        drawn.retain(|edge| !(flow.unit_output && edge.1 == "n1") || edges.contains(edge));
        edges.sort();
        drawn.sort();
        assert_eq!(drawn, edges, "{text}");
    }
    proc_macro2::extra::invalidate_current_thread_spans();
    Ok(())
}

/// The picture in the docs of an expansion.
fn in_docs(expansion: TokenStream, text: &str) -> String {
    let file: syn::File = syn::parse2(expansion).unwrap_or_else(|error| panic!("{error}: {text}"));
    let docs = file.items.iter().filter_map(|item| match item {
        syn::Item::Struct(twin) => Some(&twin.attrs),
        _ => None,
    });
    let lines = docs.flatten().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(syn::MetaNameValue { value: syn::Expr::Lit(literal), .. }) => match &literal.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let mut pictures = lines.filter_map(|doc| {
        let (_, picture) = doc.split_once("```text\n")?;
        Some(picture.strip_suffix("```")?.to_owned())
    });
    pictures.next_back().unwrap_or_else(|| panic!("no picture in the docs of {text}"))
}

/// The graph of a workflow, as JSON, with something changed in it.
fn changed_json(bytes: &mut Unstructured<'_>) -> Result<()> {
    let all = flows::graphs();
    let mut graph: Json = bytes.choose(&all)?.clone();
    for _ in 0..bytes.int_in_range(0..=3u8)? {
        crate::logs::change(bytes, &mut graph)?;
    }
    if let Ok(graph) = serde_json::from_value::<Graph>(graph) {
        json(&graph);
    }
    Ok(())
}

/// The graphs of the workflows here as JSON, each with a name: seeds for a corpus.
pub fn real_graphs() -> Vec<(String, String)> {
    flows::graphs()
        .iter()
        .map(|graph| (format!("{}.json", graph["name"].as_str().unwrap_or("flow")), graph.to_string()))
        .collect()
}

fn json(graph: &Graph) {
    let written = serde_json::to_value(graph).expect("a graph is JSON");
    let read: Graph = serde_json::from_value(written.clone()).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(&read, graph);
    Drawn::read_mermaid(&graph.to_mermaid());
    Drawn::count_dot(&graph.to_dot());
}
