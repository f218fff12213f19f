//! What is on record, turned back into what went along the edges.

use std::collections::BTreeMap;

use graphweft::prelude::*;
use graphweft::table::{Emitted, Entry, Moment, Token, Tokens, Unreadable};
use graphweft::{Flow, Json, Workflow, json};
use graphweft_tests::failure;

#[value]
struct Order {
    id: u32,
    lines: Vec<Line>,
}

#[value]
struct Line {
    cents: u32,
}

#[value]
struct Refused {
    why: String,
}

#[value]
#[derive(Route)]
enum Verdict {
    Good(u32),
    Redo { text: String, tries: u32 },
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Refused { why: fault.to_string() }
    }
}

#[node]
async fn validate(order: Order) -> Result<Order, Refused> {
    Ok(order)
}

#[node]
async fn sum(order: Order) -> u32 {
    order.lines.iter().map(|line| line.cents).sum()
}

#[node]
async fn refuse(why: Refused) -> u32 {
    why.why.len() as u32
}

#[node]
async fn judge(n: u32) -> Verdict {
    Verdict::Good(n)
}

#[node]
async fn again(text: String, tries: u32) -> u32 {
    tries + text.len() as u32
}

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn number(_n: u32) -> Result<u32, Refused> {
    Ok(1)
}

#[node]
async fn parts(n: u32) -> Vec<u32> {
    vec![n]
}

#[node]
async fn total(all: Vec<u32>) -> u32 {
    all.iter().sum()
}

#[node]
async fn blame(failure: Failure) -> u32 {
    failure.attempts
}

workflow! {
    checkout(Order) -> u32 {
        START => validate => <ok: sum, err: refuse> => judge => <good: double, redo: again>;
        (double, again) => END;
    }
}

fn with<R>(entries: &[Entry], name: &str, use_it: impl FnOnce(&Entry) -> R) -> R {
    use_it(entries.iter().find(|entry| entry.name == name).expect("a node of that name"))
}

fn output(entries: &[Entry], name: &str, json: &Json) -> Result<Emitted, Unreadable> {
    with(entries, name, |entry| match (&entry.scope, &entry.node) {
        (Some(scope), _) => scope.restore(json, 0),
        (None, node) => node.as_ref().expect("a body").restore(json, 0),
    })
}

fn error(entries: &[Entry], name: &str, json: &Json) -> Result<Emitted, Unreadable> {
    with(entries, name, |entry| match (&entry.scope, &entry.node) {
        (Some(scope), _) => scope.restore_error(json, 0),
        (None, node) => node.as_ref().expect("a body").restore_error(json, 0),
    })
}

fn entries_of<W: Workflow>() -> &'static [Entry] {
    &W::definition().entries
}

fn in_flow<I: graphweft::Payload, O: graphweft::Payload>(flow: &Flow<I, O>) -> &[Entry] {
    &flow.definition().entries
}

/// What a target that takes a `T` is handed.
fn handed<T: 'static>(mut token: Token) -> T {
    let mut slot: Option<T> = None;
    (token.hand)(&mut token.value, &mut slot);
    slot.expect("a value of that type")
}

fn only<T: 'static>(emitted: Emitted) -> (usize, T) {
    match emitted.tokens {
        Tokens::One(token) => (emitted.choice, handed(token)),
        tokens => panic!("not one token: {tokens:?}"),
    }
}

#[test]
fn an_output_goes_where_it_went() {
    let emitted = output(entries_of::<checkout>(), "validate", &json!({"id": 7, "lines": []})).unwrap();
    let (choice, order) = only::<Order>(emitted);
    assert_eq!((choice, order.id), (0, 7));
}

#[test]
fn an_error_goes_along_its_arm() {
    let emitted = error(entries_of::<checkout>(), "validate", &json!({"why": "empty"})).unwrap();
    let (choice, refused) = only::<Refused>(emitted);
    assert_eq!((choice, refused.why), (1, "empty".to_owned()));
}

#[test]
fn a_label_is_found_again_by_the_value() {
    let emitted = output(entries_of::<checkout>(), "judge", &json!({"Redo": {"text": "x", "tries": 2}})).unwrap();
    assert_eq!(only::<(String, u32)>(emitted), (1, ("x".to_owned(), 2)));
}

#[test]
fn what_cannot_be_read_names_its_field() {
    let problem = output(entries_of::<checkout>(), "validate", &json!({"id": 7, "lines": [{"cents": 1}, {}]}));
    let problem = problem.unwrap_err();
    assert_eq!(problem.field, "lines[1]");
    assert_eq!(problem.to_string(), "at `lines[1]`: missing field `cents`");
}

#[test]
fn what_is_wrong_as_a_whole_has_no_field() {
    let problem = output(entries_of::<checkout>(), "sum", &json!("three")).unwrap_err();
    assert_eq!(problem.field, ".");
}

#[test]
fn an_error_that_is_no_longer_routed_cannot_be_read() {
    let flow = workflow! { START => validate => sum };
    let problem = error(in_flow(&flow), "validate", &json!({"why": "empty"})).unwrap_err();
    assert_eq!(problem.to_string(), "at `.`: the error went along the arm `err`, which the node no longer has");
}

#[test]
fn an_error_that_reads_otherwise_now_names_its_field() {
    let problem = error(entries_of::<checkout>(), "validate", &json!({"why": 3})).unwrap_err();
    assert_eq!(problem.field, "why");
}

#[test]
fn a_plain_edge_beside_routes_carries_the_result_again() {
    #[node]
    async fn log(result: Result<Order, Refused>) {
        let _ = result;
    }
    let flow = workflow! { START => validate => <ok: sum, err: refuse>; validate => log; (sum, refuse) => END };
    let emitted = error(in_flow(&flow), "validate", &json!({"why": "empty"})).unwrap();
    let Tokens::Many(tokens) = emitted.tokens else { panic!("two edges") };
    let types: Vec<bool> = tokens.iter().map(|token| token.value.get::<Result<Order, Refused>>().is_some()).collect();
    assert_eq!(types.iter().filter(|is_result| **is_result).count(), 1);
}

#[test]
fn a_fan_out_is_copied_again() {
    let flow = workflow! { START => double => (parts, judge) => either };
    #[node]
    async fn either(parts: Vec<u32>, verdict: Verdict) -> usize {
        let _ = verdict;
        parts.len()
    }
    let emitted = output(in_flow(&flow), "double", &json!(5)).unwrap();
    let Tokens::Many(tokens) = emitted.tokens else { panic!("two edges") };
    assert_eq!(tokens.into_iter().map(handed::<u32>).collect::<Vec<_>>(), [5, 5]);
}

#[test]
fn the_conversion_of_an_edge_waits_for_its_target() {
    struct Converted;
    impl Node for Converted {
        type Input = Picky;
        type Output = u32;
        type Error = Never;
        async fn run(&self, input: Picky, _: &Context) -> Result<u32, Never> {
            Ok(input.0)
        }
    }
    #[value]
    struct Picky(u32);
    impl From<u32> for Picky {
        fn from(_: u32) -> Self {
            panic!("a conversion runs where its target runs")
        }
    }
    let flow = workflow! { let converted: Converted = Converted; START => double => converted };
    let emitted = output(in_flow(&flow), "double", &json!(5)).unwrap();
    assert!(matches!(emitted.tokens, Tokens::One(_)));
}

#[test]
fn a_collecting_node_gives_what_it_had_collected() {
    #[node(collect)]
    async fn first(n: u32) -> Option<u32> {
        Some(n)
    }
    let flow = workflow! { START => (double, number); double | number => first => total; let total = parts() };
    assert_eq!(only::<u32>(output(in_flow(&flow), "first", &json!(5)).unwrap()), (0, 5));
    assert!(output(in_flow(&flow), "first", &json!(null)).is_err(), "it had collected nothing");
}

#[tokio::test]
async fn a_collecting_node_that_gives_nothing_of_note_is_on_record_as_that() {
    #[node(collect)]
    async fn enough(n: u32) -> Option<()> {
        (n > 0).then_some(())
    }
    #[node]
    async fn after(_done: ()) -> u32 {
        1
    }
    let flow = workflow! { START => (double, number); double | number => enough => after };
    assert_eq!(flow.run(1).await.unwrap(), 1);
    assert_eq!(only::<()>(output(in_flow(&flow), "enough", &json!(null)).unwrap()), (0, ()));
}

workflow! {
    doubled(u32) -> u32 { START => double; }
}

#[test]
fn a_nested_workflow_gives_what_it_gave() {
    let flow = workflow! { START => doubled => <ok: judge, err: blame>; judge => <_: END>; blame => judged => END;
    let judged = judge() };
    assert_eq!(only::<u32>(output(in_flow(&flow), "doubled", &json!(5)).unwrap()), (0, 5));
}

#[test]
fn the_failure_of_a_nested_workflow_goes_along_its_arm() {
    let flow = workflow! { START => doubled => <ok: double, err: blame> => total; let total = parts() };
    let failure = json!({"path": "w/doubled/double", "attempts": 3, "cause": {"chain": ["no"], "fault": null}});
    let (choice, failure) = only::<Failure>(error(in_flow(&flow), "doubled", &failure).unwrap());
    assert_eq!((choice, failure.attempts), (1, 3));
}

workflow! {
    each(u32) -> u32 { START => parts => [double] => total; }
}

#[test]
fn brackets_give_what_their_items_gave() {
    let graph = each::graph();
    let name = &graph.nodes[3].name;
    assert_eq!(only::<Vec<u32>>(output(entries_of::<each>(), name, &json!([2, 4])).unwrap()), (0, vec![2, 4]));
    let problem = output(entries_of::<each>(), name, &json!([2, "four"])).unwrap_err();
    assert_eq!(problem.field, "[1]");
    let problem = output(entries_of::<each>(), name, &json!({"2": 4})).unwrap_err();
    assert_eq!(problem.to_string(), "at `.`: the output of `[..]` must be a list");
}

#[test]
fn a_fault_comes_with_the_error_that_it_became() {
    let node = |records| {
        with(entries_of::<checkout>(), "validate", |entry| {
            entry
                .node
                .as_ref()
                .expect("a body")
                .route_fault(&Fault::Interrupted, None, records, Moment::START)
                .expect("`From<Fault>`")
        })
    };
    let written = node(Some(graphweft::__::MaxSize::DEFAULT)).error.expect("as JSON");
    assert!(written["why"].as_str().unwrap().starts_with("interrupted"));
    assert!(node(None).error.is_none(), "nobody asked for it");
}

/// It has no form that can be written down.
#[value]
struct Table {
    #[serde(serialize_with = "refuse_cells")]
    cells: BTreeMap<String, u32>,
}

fn refuse_cells<S: serde::Serializer>(_: &BTreeMap<String, u32>, _: S) -> Result<S::Ok, S::Error> {
    Err(serde::ser::Error::custom("it is secret"))
}

#[node(retry(max_attempts = 2, initial_delay = "0s"))]
async fn fill(_n: u32) -> Result<u32, Table> {
    Err(Table { cells: BTreeMap::from([("a".to_owned(), 3)]) })
}

#[node]
async fn spell(table: Table) -> u32 {
    table.cells.len() as u32
}

workflow! {
    filling(u32) -> u32 { START => fill => <ok: double, err: spell> => END; }
}

#[tokio::test]
async fn an_error_that_cannot_be_recorded_takes_no_arm() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<filling>(1).await.unwrap();
    let failure = failure(match run.outcome().await {
        Ok(Outcome::Failed(failure)) => Err(graphweft::RunError::Failed(failure)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err::<u32, _>(error),
    });
    assert_eq!(failure.attempts, 2, "it is retried like any other");
    assert!(failure.cause.to_string().contains("the error cannot be recorded, so it is not routed"));
    assert!(matches!(failure.cause.fault, Some(Fault::Context { .. })));
}

#[tokio::test]
async fn where_nothing_is_recorded_any_error_takes_its_arm() {
    assert_eq!(filling(1).await.unwrap(), 1);
}
