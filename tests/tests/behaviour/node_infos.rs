//! What is known of a node before it runs: its facts, the resources that it needs, and the nodes that it may call.

use std::io;

use graphweft::prelude::*;
use graphweft::{DynNode, MissingResources, NodeFacts, NodeInfo, Payload, ResourceNeed, RouteOf, StartError, json};
use graphweft_tests::failure;

struct Archive(&'static str);

/// Searches an archive. Written by hand, with the public items only.
#[derive(Clone, Default)]
struct Search;

impl Node for Search {
    type Input = (String, Option<u32>);
    type Output = Vec<String>;
    type Error = io::Error;
    const FACTS: NodeFacts<(String, Option<u32>), io::Error> = NodeFacts::named("search")
        .doc("Searches the archive.")
        .parameters(&["query", "limit"])
        .error_text(|error| vec![error.to_string(), "in the archive".to_owned()]);

    async fn run(&self, (query, limit): (String, Option<u32>), ctx: &Context) -> Result<Vec<String>, io::Error> {
        let Some(Archive(name)) = ctx.resource() else { return Err(io::Error::other("no archive")) };
        if query.is_empty() {
            return Err(io::Error::other("no query"));
        }
        Ok(vec![format!("{query} of {name} {limit:?}")])
    }

    fn resources(&self) -> Vec<ResourceNeed> {
        vec![ResourceNeed::of::<Archive>()]
    }
}

/// Calls what is written by hand.
#[node(uses(Search))]
async fn answer(question: String, ctx: &Context) -> Result<String, String> {
    let input = if question == "?" { String::new() } else { question };
    match ctx.call::<Search>((input, Some(3))).error_as_text().await {
        Ok(found) => Ok(found.join(", ")),
        Err(error) => Err(error.to_string()),
    }
}

/// Calls it by a node between.
#[node(uses(answer, again))]
async fn again(question: String, ctx: &Context) -> Result<String, String> {
    ctx.call::<answer>(question).await.map_err(|error| error.to_string())
}

workflow! { asking(String) -> String { START => again; } }

workflow! { searching(String, Option<u32>) -> Vec<String> { let found: Search = Search; START => found; } }

#[node(uses(searching))]
async fn by_workflow(question: String, ctx: &Context) -> Vec<String> {
    ctx.call::<searching>((question, None)).await.unwrap_or_default()
}

workflow! { outer(String) -> Vec<String> { START => by_workflow; } }

#[test]
fn a_node_that_is_written_by_hand_says_what_it_is() {
    let info = NodeInfo::of::<Search>();
    assert_eq!((info.name(), info.doc()), ("search", "Searches the archive."));
    assert_eq!(info.parameters(), ["query", "limit"]);
    assert_eq!(info.resources(), [ResourceNeed::of::<Archive>()]);
    assert!(!info.is_workflow());
    assert_eq!(info.output_schema().as_value()["type"], json!("array"));
    let tool = DynNode::error_as_text::<Search>();
    assert_eq!((tool.name(), tool.description()), ("search", "Searches the archive."));
    assert_eq!(tool.input_schema()["required"], json!(["query"]));
    assert_eq!(tool.info().parameters(), ["query", "limit"]);
}

#[test]
fn what_a_node_uses_is_known_of_nodes_and_of_workflows() {
    let names = |infos: Vec<NodeInfo>| infos.iter().map(|info| info.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(NodeInfo::of::<again>().uses()), ["answer", "again"]);
    let workflow = &NodeInfo::of::<by_workflow>().uses()[0];
    assert!(workflow.is_workflow());
    assert_eq!(names(workflow.uses()), ["found"], "its nodes");
}

#[tokio::test]
async fn the_resources_of_what_a_node_uses_are_missed_before_the_run_starts() {
    let engine = Engine::builder().build().unwrap();
    let missing = |started: Result<(), StartError>| match started {
        Err(StartError::MissingResources(MissingResources(missing))) => missing[0].nodes.clone(),
        other => panic!("{other:?}"),
    };
    let started = engine.start::<asking>("ants".into()).await.map(drop);
    assert_eq!(missing(started), ["asking/again/answer/search"]);
    let started = engine.start::<outer>("ants".into()).await.map(drop);
    assert_eq!(missing(started), ["outer/by_workflow/searching/found"]);
}

#[tokio::test]
async fn with_its_resources_it_runs_and_its_error_is_what_it_says_of_it() {
    let engine = Engine::builder().resource(Archive("Kew")).build().unwrap();
    assert_eq!(engine.start::<asking>("ants".into()).await.unwrap().result().await.unwrap(), "ants of Kew Some(3)");
    let failed = failure(engine.start::<asking>("?".into()).await.unwrap().result().await);
    assert!(failed.to_string().contains("no query"), "{failed}");
    let failed = failure(engine.start::<searching>((String::new(), None)).await.unwrap().result().await);
    assert_eq!(failed.cause.chain, ["no query", "in the archive"]);
}

#[tokio::test]
async fn what_a_node_uses_can_be_mocked_and_then_needs_nothing() {
    let engine = Engine::builder()
        .register::<asking>()
        .mock::<Search>(|(query, _), _| async move { Ok(vec![format!("a mock of {query}")]) })
        .build()
        .unwrap();
    assert_eq!(engine.start::<asking>("ants".into()).await.unwrap().result().await.unwrap(), "a mock of ants");
}

#[test]
fn the_graph_shows_what_a_node_uses() {
    let graph = asking::graph();
    let uses = &graph.nodes[2].uses;
    assert_eq!(uses[0].name, "answer");
    assert_eq!((uses[0].uses[0].name.as_str(), uses[0].uses[0].doc.as_str()), ("search", "Searches the archive."));
    assert!(uses[1].uses.is_empty() || uses[1].uses[0].name == "answer");
    assert!(graph.to_mermaid().contains("-. uses .->"), "{}", graph.to_mermaid());
    let read: graphweft::Graph = serde_json::from_str(&serde_json::to_string(&graph).unwrap()).unwrap();
    assert_eq!(read, graph);
    assert!(outer::graph().nodes[2].uses[0].uses.is_empty(), "a workflow has a graph of its own");
}

#[test]
fn a_value_is_written_and_read_as_it_is_recorded() {
    let value = (f64::NEG_INFINITY, Some(None::<u8>));
    assert_eq!(<(f64, Option<Option<u8>>)>::from_record(&value.to_record().unwrap()).unwrap(), value);
    let error = <Vec<u8>>::from_record(&json!([1, "two"])).unwrap_err();
    assert_eq!(error.to_string(), "at `[1]`: invalid type: string \"two\", expected u8");
}

#[value]
#[derive(Debug, PartialEq, Route)]
enum Desk {
    /// Money back.
    ///
    /// In any currency.
    Refund(String),
    BugReport {
        mail: String,
    },
    Spam,
}

#[derive(Debug, PartialEq, Route)]
enum Pair<T> {
    Both(T, u8),
    Neither,
}

#[test]
fn a_label_and_a_value_make_the_variant() {
    assert_eq!(Desk::LABELS, ["refund", "bug_report", "spam"]);
    assert_eq!(Desk::DOCS, ["Money back.\n\nIn any currency.", "", ""]);
    let mail = || "mail".to_owned();
    assert_eq!(Desk::at(0, mail()), Some(Desk::Refund(mail())));
    assert_eq!(Desk::at(1, mail()), Some(Desk::BugReport { mail: mail() }));
    assert_eq!(Desk::at(2, mail()), Some(Desk::Spam));
    assert_eq!(Desk::at(3, mail()), None);
    assert_eq!(Pair::at(0, ("a", 7)), Some(Pair::Both("a", 7)));
    assert_eq!(<Pair<char> as RouteOf<(char, u8)>>::at(1, ('a', 7)), Some(Pair::Neither));
}
