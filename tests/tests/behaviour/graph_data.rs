//! The graph as data and as a picture: all that was written, and nothing else.

use graphweft::prelude::*;
use graphweft::{Graph, GraphNodeKind, GraphWay};

#[value]
struct Order {
    id: u32,
}

/// Looks the order over.
#[node]
async fn validate(order: Order) -> Result<Order, String> {
    Ok(order)
}

#[node]
async fn charge(order: Order) -> u32 {
    order.id
}

#[node]
async fn refuse(why: String) -> u32 {
    why.len() as u32
}

#[node]
async fn notify(n: u32) -> String {
    n.to_string()
}

#[node]
async fn draft(n: u32) -> u32 {
    n
}

#[node]
async fn review(n: u32) -> bool {
    n > 1
}

#[node]
async fn redraft(_good: bool) -> u32 {
    0
}

#[node]
async fn count(n: u32) -> Vec<u32> {
    vec![n]
}

#[node]
async fn sum(a: u32, b: Option<u32>) -> u32 {
    a + b.unwrap_or(0)
}

#[node(collect)]
async fn first(n: u32) -> Option<u32> {
    Some(n)
}

workflow! {
    /// From the cart to the doorstep.
    checkout(Order) -> String {
        START => validate => <ok: charge, err: refuse> => notify;
    }
}

workflow! {
    writing(u32) -> bool {
        START => draft => review => <false: redraft => draft, true: END>;
    }
}

workflow! {
    shapes(u32) -> u32 {
        START => draft => <0: (notify, count), _: count>;
        count => [draft_again] => total;
        (total, notify) => tally => END;
        let draft_again = draft();
    }
}

#[node]
async fn total(items: Vec<u32>) -> u32 {
    items.iter().sum()
}

#[node]
async fn tally(n: u32, text: Option<String>) -> u32 {
    n + text.map_or(0, |text| text.len() as u32)
}

workflow! {
    race(u32) -> u32 { START => (draft, again); draft | again => first; let again = draft(); }
}

workflow! {
    optional(u32) -> u32 {
        START => (draft, review_input);
        review_input => review => <true: redraft, false: other>;
        (draft, redraft) => sum => END;
        let review_input = draft();
        let other = redraft();
    }
}

workflow! {
    around(u32) -> bool { START => writing; }
}

fn name(graph: &Graph, at: usize) -> &str {
    &graph.nodes[at].name
}

fn edges(graph: &Graph) -> Vec<String> {
    let labels = |from: usize, arms: &[usize]| {
        let labels: Vec<&str> = arms.iter().map(|arm| graph.nodes[from].labels[*arm].as_str()).collect();
        if labels.is_empty() { String::new() } else { format!(" {}", labels.join(", ")) }
    };
    let mut edges: Vec<String> = graph
        .edges
        .iter()
        .map(|edge| format!("{} -> {}{}", name(graph, edge.from), name(graph, edge.to), labels(edge.from, &edge.arms)))
        .collect();
    edges.sort();
    edges
}

fn node<'g>(graph: &'g Graph, name: &str) -> &'g graphweft::GraphNode {
    graph.nodes.iter().find(|node| node.name == name).unwrap()
}

#[test]
fn every_node_is_there_in_the_order_of_writing() {
    let graph = checkout::graph();
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["START", "END", "validate", "charge", "refuse", "notify"]);
}

#[test]
fn every_edge_is_there_with_its_label() {
    assert_eq!(
        edges(&checkout::graph()),
        [
            "START -> validate",
            "charge -> notify",
            "notify -> END",
            "refuse -> notify",
            "validate -> charge ok",
            "validate -> refuse err"
        ]
    );
}

#[test]
fn the_labels_of_a_node_are_there_in_order() {
    assert_eq!(node(&checkout::graph(), "validate").labels, ["ok", "err"]);
}

#[test]
fn doc_comments_are_there() {
    let graph = checkout::graph();
    assert_eq!(
        (graph.doc.trim(), node(&graph, "validate").doc.trim()),
        ("From the cart to the doorstep.", "Looks the order over.")
    );
}

#[test]
fn the_schema_of_the_input_is_there() {
    let schema = serde_json::to_value(checkout::graph().input).unwrap();
    assert_eq!(schema["properties"]["id"]["type"], "integer");
}

#[test]
fn the_schema_of_the_output_is_there() {
    assert_eq!(serde_json::to_value(checkout::graph().output).unwrap()["type"], "string");
}

#[test]
fn a_loop_is_there_with_its_head_and_members() {
    let graph = writing::graph();
    let one = &graph.loops[0];
    let names = |nodes: &[usize]| nodes.iter().map(|at| name(&graph, *at).to_owned()).collect::<Vec<_>>();
    let mut members = names(&one.members);
    members.sort();
    assert_eq!(
        (names(&one.heads), members),
        (vec!["draft".to_owned()], vec!["draft".to_owned(), "redraft".to_owned(), "review".to_owned()])
    );
}

#[test]
fn only_the_edge_back_is_marked_as_one() {
    let graph = writing::graph();
    let back: Vec<(&str, &str)> = graph
        .edges
        .iter()
        .filter(|edge| edge.back.is_some())
        .map(|edge| (name(&graph, edge.from), name(&graph, edge.to)))
        .collect();
    assert_eq!(back, [("redraft", "draft")]);
}

#[test]
fn a_graph_without_loops_has_none() {
    assert!(checkout::graph().loops.is_empty());
}

#[test]
fn a_join_says_which_of_its_places_a_route_may_skip() {
    let graph = optional::graph();
    let GraphWay::All { optional, .. } = &node(&graph, "sum").ways[0] else { panic!("not a join") };
    assert_eq!(*optional, [false, true]);
}

#[test]
fn a_collecting_node_has_one_way_for_all_its_members() {
    let graph = race::graph();
    let ways = &node(&graph, "first").ways;
    assert!(matches!(ways.as_slice(), [GraphWay::Any(edges)] if edges.len() == 2), "{ways:?}");
}

#[test]
fn brackets_hold_a_graph_of_their_own() {
    let graph = shapes::graph();
    let inside = graph.nodes.iter().find_map(|node| match &node.kind {
        GraphNodeKind::Each(inside) => Some(inside.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(inside.unwrap(), ["START", "END", "draft_again"]);
}

#[test]
fn a_nested_workflow_is_there_by_its_name() {
    assert_eq!(node(&around::graph(), "writing").kind, GraphNodeKind::Workflow("writing".to_owned()));
}

#[test]
fn a_graph_reads_back_from_json_as_it_was() {
    for graph in [checkout::graph(), writing::graph(), shapes::graph(), race::graph(), around::graph()] {
        let read: Graph = serde_json::from_str(&serde_json::to_string(&graph).unwrap()).unwrap();
        assert_eq!(read, graph);
    }
}

#[test]
fn a_graph_that_was_read_back_gives_the_same_picture() {
    let graph = shapes::graph();
    let read: Graph = serde_json::from_str(&serde_json::to_string(&graph).unwrap()).unwrap();
    assert_eq!(read.to_mermaid(), graph.to_mermaid());
}

#[test]
fn the_mermaid_of_the_order_job_is_this() {
    assert_eq!(
        checkout::graph().to_mermaid(),
        r#"flowchart TD
    n0(["START"])
    n1(["END"])
    n2["validate"]
    n3["charge"]
    n4["refuse"]
    n5["notify"]
    n0 --> n2
    n2 -->|"ok"| n3
    n2 -->|"err"| n4
    n3 --> n5
    n4 --> n5
    n5 --> n1
"#
    );
}

#[test]
fn mermaid_shows_the_edge_back_of_a_loop() {
    let text = writing::graph().to_mermaid();
    assert_eq!(text.lines().filter(|line| line.contains("-->")).count(), 5, "{text}");
}

#[test]
fn mermaid_shows_what_a_join_waits_for() {
    let text = optional::graph().to_mermaid();
    assert_eq!(text.matches("--o").count(), 2, "{text}");
}

#[test]
fn mermaid_shows_what_a_node_collects() {
    let text = race::graph().to_mermaid();
    assert_eq!(text.matches("-.->").count(), 2, "{text}");
}

#[test]
fn mermaid_frames_what_runs_for_each_item() {
    let text = shapes::graph().to_mermaid();
    assert_eq!(text.matches("subgraph").count(), 1, "{text}");
}

#[test]
fn mermaid_draws_a_nested_workflow_as_a_double_box() {
    assert!(around::graph().to_mermaid().contains(r#"[["writing"]]"#));
}

#[test]
fn dot_shows_every_edge_with_its_label() {
    let text = checkout::graph().to_dot();
    let edges = ["n0 -> n2;", r#"n2 -> n3 [label="ok"];"#, r#"n2 -> n4 [label="err"];"#, "n5 -> n1;"];
    assert!(edges.iter().all(|edge| text.contains(edge)), "{text}");
}

#[test]
fn a_flow_in_expression_position_has_its_graph_too() {
    let flow = workflow! { START => draft => notify };
    assert_eq!(edges(&flow.graph()), ["START -> draft", "draft -> notify", "notify -> END"]);
}

#[test]
fn shared_labels_stand_together() {
    let flow = workflow! { START => draft => <0 | 1: notify, _: other>; let other = notify(); };
    assert!(flow.graph().to_mermaid().contains(r#"-->|"0 | 1"|"#), "{}", flow.graph().to_mermaid());
}

mod stored {
    use graphweft::GraphNodeKind;
    use graphweft::prelude::*;
    use graphweft::store::SqliteStore;

    /// Doubles a number.
    #[node]
    async fn double(n: u32) -> u32 {
        2 * n
    }

    workflow! { twice(u32) -> u32 { START => double; } }
    workflow! { each_twice(Vec<u32>) -> Vec<u32> { START => [twice] => END; } }
    workflow! { outer(u32) -> u32 { let first = twice(); let second = twice(); START => first => second; } }

    #[test]
    fn a_registered_workflow_has_its_graph_and_each_one_inside_it_once() {
        let engine = Engine::builder().register::<outer>().register::<each_twice>().build().unwrap();
        let graphs = engine.graph("outer").unwrap();
        assert_eq!(graphs.graph, outer::graph());
        assert_eq!(graphs.nested, [twice::graph()]);
        assert_eq!(graphs.graph.nodes[2].kind, GraphNodeKind::Workflow("twice".to_owned()));
        assert_eq!(engine.graph("each_twice").unwrap().nested, [twice::graph()], "`[..]` is no workflow");
        assert_eq!(engine.graph("twice"), None);
    }

    #[tokio::test]
    async fn a_program_without_the_workflow_draws_a_run_by_its_store() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        let store = SqliteStore::open(&path).await.unwrap();
        let engine = Engine::builder().register::<each_twice>().store(store).build().unwrap();
        engine.start::<each_twice>(vec![1, 2]).id("x").await.unwrap().result().await.unwrap();
        let expected = engine.graph("each_twice");
        drop(engine);

        let viewer = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();

        assert_eq!(viewer.run_graph("x").await.unwrap(), expected);
        assert_eq!(viewer.run_graph("y").await.unwrap(), None);
        assert_eq!(viewer.run_graph("x").await.unwrap().unwrap().nested[0].nodes[2].doc, "Doubles a number.");
    }
}

#[node]
async fn spell(n: u32) -> String {
    match n {
        0 => String::new(),
        1 => "\u{1f}".to_owned(),
        2 => "größer, \"0\"\n".to_owned(),
        _ => "🚢".to_owned(),
    }
}

#[node]
async fn length(text: String) -> u32 {
    text.len() as u32
}

/// What a macro hands over as text comes back as it was written.
#[tokio::test]
async fn labels_of_any_text_are_as_they_were_written() {
    workflow! {
        spelled(u32) -> u32 {
            START => spell => <"": length, "\u{1f}": length, "größer, \"0\"\n" | "🚢": length, _: length>;
            length => END;
        }
    }
    let graph = spelled::graph();
    let node = graph.nodes.iter().find(|node| node.name == "spell").expect("a node");
    assert_eq!(node.labels, [r#""""#, r#""\u{1f}""#, r#""größer, \"0\"\n" | "🚢""#, "_"]);
    for (n, length) in [(0, 0), (1, 1), (2, 14), (3, 4)] {
        assert_eq!(spelled(n).await.expect("a label for each"), length);
    }
}
