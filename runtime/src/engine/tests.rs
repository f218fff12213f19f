use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::runs::Found;
use super::{BuildError, Engine, Outcome, Run, RunFilter, Start, StartError};
use crate::box_value::BoxValue;
use crate::context::Context;
use crate::event::{AfterFailure, Event, EventKind};
use crate::fault::{Cause, Failure, Fault};
use crate::json_graphs::{Made, Step, made};
use crate::node::Node;
use crate::replacement::Replacement;
use crate::state::{StateKey, Sum};
use crate::store::{MemoryStore, NewRun, Record, Store};
use crate::table::{Definition, ScopeKind};
use crate::workflow::Workflow;

fn engine() -> Engine {
    Engine::builder().build().expect("nothing is wrong with it")
}

fn start(engine: &Engine, flow: Made, input: Value) -> Start<Value> {
    Start::new(engine, &flow.build(), Ok(BoxValue::new(input)))
}

fn chain() -> Made {
    made("START>a; a>b; b>END")
}

async fn run(flow: Made) -> Run<Value> {
    start(&engine(), flow, json!(1)).await.expect("it starts")
}

async fn kinds(run: &Run<Value>, from: u64) -> Vec<String> {
    let name = |event: Event| {
        let kind = serde_json::to_value(&event.kind).expect("JSON");
        format!("{} {}", event.path, kind["type"].as_str().unwrap_or_default())
    };
    run.events_from(from).map(name).collect().await
}

/// A workflow that does nothing with a typed input, for what needs a type.
struct Waits;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Order {
    lines: Vec<Line>,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Line {
    price: u32,
}

impl Node for Waits {
    type Input = Order;
    type Output = Value;
    type Error = Failure;

    async fn run(&self, input: Order, context: &Context) -> Result<Value, Failure> {
        crate::workflow::run_within::<Waits>(input, context).await
    }
}

impl Workflow for Waits {
    type Keys<D: crate::typed::Depth> = crate::typed::NoKeys;
    const NAME: &'static str = "waits";

    fn definition() -> &'static Arc<Definition> {
        static DEFINITION: std::sync::LazyLock<Arc<Definition>> = std::sync::LazyLock::new(|| {
            let Ok(mut definition) = Arc::try_unwrap(made("START>a; a>END").named("waits").build()) else {
                panic!("nobody else holds it")
            };
            definition.door.read_plain_input = |json| {
                let order: Order = crate::value::from_plain(json)?;
                Ok(BoxValue::new(json!(order.lines.iter().map(|line| line.price).sum::<u32>())))
            };
            Arc::new(definition)
        });
        &DEFINITION
    }
}

#[tokio::test]
async fn a_run_has_an_outcome() {
    let run = run(chain()).await;
    assert_eq!(run.outcome().await, Ok(Outcome::Completed(json!(1))));
}

#[tokio::test]
async fn an_outcome_may_be_asked_for_again() {
    let run = run(chain()).await;
    assert_eq!(run.outcome().await, run.clone().outcome().await);
}

#[tokio::test]
async fn a_failed_run_says_which_node_failed() {
    let run = run(chain().node("b", |_, _| async { Step::Fail("boom") })).await;
    let Ok(Outcome::Failed(failure)) = run.outcome().await else { panic!("it did not fail") };
    assert_eq!(failure.to_string(), "node `w/b` failed after 1 attempt: boom");
}

#[tokio::test]
async fn a_cancelled_run_is_cancelled() {
    let run = run(chain().node("b", |_, _| std::future::pending())).await;
    run.cancel().await.expect("it is recorded");
    assert_eq!(run.outcome().await, Ok(Outcome::Cancelled));
}

#[tokio::test]
async fn dropping_its_handles_leaves_a_run_going() {
    let done = Arc::new(Notify::new());
    let says = Arc::clone(&done);
    let flow = chain().node("b", move |input, _| {
        let says = Arc::clone(&says);
        async move {
            tokio::task::yield_now().await;
            says.notify_one();
            Step::Give(input)
        }
    });
    drop(run(flow).await);
    done.notified().await;
}

#[tokio::test]
async fn the_same_id_gives_the_same_run() {
    let engine = engine();
    let flow = chain().build();
    let first: Run<Value> = Start::new(&engine, &flow, Ok(BoxValue::new(json!(1)))).id("x").await.unwrap();
    let again: Run<Value> = Start::new(&engine, &flow, Ok(BoxValue::new(json!(1)))).id("x").await.unwrap();
    first.outcome().await.unwrap();
    assert_eq!(again.events().count().await, first.events().count().await);
    assert_eq!(kinds(&again, 0).await.iter().filter(|kind| kind.contains("run_started")).count(), 1);
}

#[tokio::test]
async fn the_same_id_with_another_input_is_an_error() {
    let engine = engine();
    let flow = chain().build();
    let _: Run<Value> = Start::new(&engine, &flow, Ok(BoxValue::new(json!(1)))).id("x").await.unwrap();
    let again = Start::<Value>::new(&engine, &flow, Ok(BoxValue::new(json!(2)))).id("x").await;
    let (id, workflow) = ("x".to_owned(), "w".to_owned());
    assert_eq!(again.unwrap_err(), StartError::OtherInput { id, workflow });
}

#[tokio::test]
async fn the_same_id_for_another_workflow_is_an_error() {
    let engine = engine();
    start(&engine, chain(), json!(1)).id("x").await.unwrap();
    let error = start(&engine, chain().named("v"), json!(1)).id("x").await.unwrap_err();
    assert_eq!(error.to_string(), "run `x` is a run of `w`, not of `v`; choose another id");
}

#[tokio::test]
async fn events_tell_the_whole_run() {
    let run = run(chain()).await;
    run.outcome().await.unwrap();
    assert_eq!(
        kinds(&run, 0).await,
        [
            "w run_started",
            "w/a node_started",
            "w/a node_completed",
            "w/b node_started",
            "w/b node_completed",
            "w run_completed"
        ]
    );
}

#[tokio::test]
async fn events_are_given_from_any_number_on() {
    let run = run(chain()).await;
    run.outcome().await.unwrap();
    assert_eq!(kinds(&run, 4).await, ["w/b node_completed", "w run_completed"]);
    assert!(kinds(&run, 40).await.is_empty());
}

#[tokio::test]
async fn events_are_numbered_without_gaps() {
    let run = run(chain().node("a", |input, context: Context| async move {
        context.message("hello");
        context.progress(json!({"done": 1}));
        Step::Give(input)
    }))
    .await;
    let events: Vec<Event> = run.events().filter(|event| std::future::ready(!is_progress(event))).collect().await;
    assert!(events.iter().enumerate().all(|(at, event)| event.seq == at as u64));
}

fn is_progress(event: &Event) -> bool {
    matches!(event.kind, EventKind::Progress { .. })
}

#[tokio::test]
async fn events_come_live_and_end_with_the_run() {
    let go = Arc::new(Notify::new());
    let waits = Arc::clone(&go);
    let flow = chain().node("b", move |input, context: Context| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            context.progress(json!(50));
            Step::Give(input)
        }
    });
    let run = run(flow).await;
    let mut events = run.events();
    while let Some(event) = events.next().await {
        if event.path == "w/b" && matches!(event.kind, EventKind::NodeStarted { .. }) {
            break;
        }
    }
    go.notify_one();
    let rest: Vec<Event> = events.collect().await;
    assert!(rest.iter().any(|event| event.kind == EventKind::Progress { data: json!(50), number: 1 }));
    assert!(rest.last().is_some_and(Event::is_terminal));
}

#[tokio::test]
async fn a_completed_node_has_its_label_output_and_state_on_record() {
    const COST: StateKey<u32, Sum> = StateKey::new("cost");
    let flow = made("START>a; a>yes:END; a>no:b; b>END").node("a", |input, context: Context| async move {
        context.state_writer(COST).merge(5);
        Step::Take("yes", input)
    });
    let run = run(flow.may_write(const { &[COST.fact()] })).await;
    let events: Vec<Event> = run.events().collect().await;
    let completed = serde_json::to_value(&events[2].kind).unwrap();
    let state = json!([{"key": "cost", "op": "add", "value": 5}]);
    assert_eq!(completed, json!({"type": "node_completed", "label": "yes", "output": 1, "state": state}));
}

#[tokio::test]
async fn a_node_sees_what_was_on_record_when_it_began_though_more_happened_before_its_body_ran() {
    const BY_C: StateKey<u32> = StateKey::new("by_c");
    let write = |input, context: Context| async move {
        context.state_writer(BY_C).set(1);
        Step::Give(input)
    };
    let read = |_, context: Context| async move { Step::Give(json!(context.state().get(BY_C).unwrap())) };
    // `b` and `c` end at once, so that `d` is due before the state that `c` has written is.
    let run =
        run(made("START>a; a>b; a>c; b>d; d>END").node("c", write).node("d", read).may_write(const { &[BY_C.fact()] }))
            .await;
    let seen = run.result().await.unwrap();
    let events = kinds(&run, 0).await;
    let at = |kind: &str| events.iter().position(|event| event == kind).unwrap();
    assert_eq!(seen == json!(1), at("w/c node_completed") < at("w/d node_started"), "{events:?}");
}

#[tokio::test]
async fn a_skipped_node_is_on_record() {
    let flow = made("START>a; a>yes:END; a>no:b; b>END").node("a", |input, _| async { Step::Take("yes", input) });
    let run = run(flow).await;
    assert!(kinds(&run, 0).await.contains(&"w/b node_skipped".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_on_record_with_its_delay() {
    let once = |input, context: Context| async move {
        if context.attempt() == 1 { Step::Fail("boom") } else { Step::Give(input) }
    };
    let flow = made("START>a; a>END").node("a", once).options("a", |of| {
        of.retry.max_attempts = 2;
        of.retry.jitter = 0.0;
    });
    let events: Vec<Event> = run(flow).await.events().collect().await;
    let cause = Cause { chain: vec!["boom".to_owned()], fault: None };
    let EventKind::NodeFailed { then: AfterFailure::RetryAt { time }, .. } = &events[2].kind else {
        panic!("{:?}", events[2])
    };
    let delay = time.duration_since(events[2].time).unwrap();
    assert_eq!(delay.as_secs_f64().round(), 1.0);
    let then = AfterFailure::RetryAt { time: *time };
    assert_eq!(events[2].kind, EventKind::NodeFailed { attempt: 1, cause, then, error: None });
}

#[test]
fn an_event_is_read_back_as_it_was_written() {
    let failure = Failure::at("w/a".to_owned(), 2, Cause::from(Fault::Interrupted));
    let kinds = [
        EventKind::RunStarted {
            workflow: "w".to_owned(),
            input: json!({"a": 1}),
            state: serde_json::Map::new(),
            tags: Default::default(),
            previous: None,
            begins: None,
            limit: None,
        },
        EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None },
        EventKind::NodeCompleted { label: None, output: Some(json!(null)), state: Vec::new(), items: None },
        EventKind::NodeFailed {
            attempt: 1,
            cause: failure.cause.clone(),
            then: AfterFailure::RetryAt { time: std::time::UNIX_EPOCH + Duration::from_millis(1500) },
            error: None,
        },
        EventKind::NodeFailed {
            attempt: 1,
            cause: failure.cause.clone(),
            then: AfterFailure::Routed { label: "err".to_owned(), error: json!("no") },
            error: None,
        },
        EventKind::RunRetried { voids: vec![1..3, 7..8], from_nodes: Vec::new(), rerun: Vec::new(), requested: false },
        EventKind::NodeSkipped,
        EventKind::NodeCancelled,
        EventKind::Message { text: "hello".to_owned() },
        EventKind::Note { name: "cost".to_owned(), payload: json!({ "cents": 3 }) },
        EventKind::Progress { data: json!(0.5), number: 1 },
        EventKind::RunFailed { failure },
        EventKind::RunCancelled,
    ];
    for kind in kinds {
        let time = std::time::UNIX_EPOCH + Duration::from_millis(1_763_762_400_123);
        let (run_id, path) = ("r".to_owned(), "w/a".to_owned());
        let event = Event { version: Event::VERSION, run_id, seq: 7, time, path, derived: false, kind };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
}

#[tokio::test]
async fn a_run_begins_with_the_state_that_it_was_given() {
    const LIMIT: StateKey<u32> = StateKey::new("limit");
    let read = |_, context: Context| async move { Step::Give(json!(context.state().get(LIMIT).unwrap_or_default())) };
    let run = start(&engine(), chain().node("a", read), json!(1)).state(LIMIT, 9).await.unwrap();
    assert_eq!(run.result().await, Ok(json!(9)));
}

#[tokio::test]
async fn missing_resources_are_named_with_the_nodes_that_want_them_and_nothing_runs() {
    struct Pool;
    let flow = chain().wants::<Pool>("a").wants::<Pool>("b").node("a", |_, _| async { panic!("it ran") });
    let error = start(&engine(), flow, json!(1)).await.unwrap_err();
    let StartError::MissingResources(missing) = error else { panic!("{error}") };
    assert_eq!(missing.0.len(), 1);
    assert!(missing.to_string().contains("`w/a`, `w/b` need;"), "{missing}");
}

#[tokio::test]
async fn a_node_finds_its_resource() {
    let engine = Engine::builder().resource(41u32).build().unwrap();
    let read = |_, context: Context| async move { Step::Give(json!(context.resource::<u32>().map(|found| found + 1))) };
    let run = start(&engine, chain().wants::<u32>("a").node("a", read), json!(1)).await.unwrap();
    assert_eq!(run.result().await, Ok(json!(42)));
}

#[test]
fn two_resources_of_one_type_are_an_error() {
    let error = Engine::builder().resource(1u32).resource(2u32).build().unwrap_err();
    assert_eq!(error, BuildError::DuplicateResource { type_name: "u32" });
}

#[tokio::test]
async fn json_that_does_not_fit_is_refused_with_the_field() {
    let engine = Engine::builder().register::<Waits>().build().unwrap();
    let error = engine.start_json("waits", json!({"lines": [{"price": 1}, {"price": "two"}]})).await.unwrap_err();
    let StartError::InvalidInput { field, .. } = &error else { panic!("{error}") };
    assert_eq!(field, "lines[1].price");
}

#[tokio::test]
async fn json_that_fits_runs() {
    let engine = Engine::builder().register::<Waits>().build().unwrap();
    let run = engine.start_json("waits", json!({"lines": [{"price": 1}, {"price": 2}]})).await.unwrap();
    assert_eq!(run.result().await, Ok(json!(3)));
}

#[tokio::test]
async fn an_unknown_workflow_is_refused_with_those_that_there_are() {
    let engine = Engine::builder().register::<Waits>().build().unwrap();
    let error = engine.start_json("wait", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "workflow `wait` is not registered; registered: `waits`");
}

#[tokio::test]
async fn a_run_is_found_by_its_id() {
    let engine = engine();
    start(&engine, chain(), json!(4)).id("x").await.unwrap();
    let found = engine.get_run("x").await.unwrap().expect("it is there");
    assert_eq!(found.result().await, Ok(json!(4)));
}

#[tokio::test]
async fn a_list_of_no_runs_is_empty() {
    let engine = engine();
    start(&engine, chain(), json!(1)).await.expect("it starts").result().await.expect("it completes");
    let list = async |limit| engine.list_runs(RunFilter::default().limit(limit)).await.expect("it is read").len();
    assert_eq!((list(0).await, list(1).await), (0, 1));
}

#[tokio::test]
async fn runs_that_ended_long_ago_are_forgotten() {
    let engine = Engine::builder().max_resident_finished(1).build().unwrap();
    for id in ["x", "y"] {
        start(&engine, chain(), json!(4)).id(id).await.unwrap().outcome().await.unwrap();
    }
    let found = [engine.get_run("x").await.unwrap(), engine.get_run("y").await.unwrap()];
    assert_eq!(found.map(|run| run.is_some()), [false, true]);
}

#[tokio::test]
async fn a_nested_workflow_that_is_replaced_is_not_entered() {
    let engine = Engine::builder().mock::<Waits>(|_, _| async { Ok(json!(7)) }).build().unwrap();
    let inside = made("START>x; x>END").node("x", |_, _| async { panic!("it was entered") });
    // The closure is looked up by the typed layer; here the node's own body stands for that.
    let body = |_, context: Context| async move {
        let Some(replacement) = Replacement::<Waits>::of(&context) else { return Step::Fail("nothing replaces it") };
        match replacement.run(Order { lines: Vec::new() }, context).await {
            Ok(output) => Step::Give(output),
            Err(_) => Step::Fail("it failed"),
        }
    };
    let flow = made("START>n; n>END").inside("n", ScopeKind::Nested, inside).node("n", body).of_type::<Waits>("n");
    let run = start(&engine, flow, json!(1)).await.unwrap();
    assert_eq!(run.result().await, Ok(json!(7)));
}

#[tokio::test(start_paused = true)]
async fn max_concurrency_counts_over_all_runs_and_a_time_limit_from_the_turn() {
    let engine = Engine::builder().max_concurrency(1).build().expect("nothing is wrong with it");
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waits) = (Arc::clone(&begun), Arc::clone(&go_on));
    let slow = made("START>a; a>END").node("a", move |input, _| {
        let (told, waits) = (Arc::clone(&told), Arc::clone(&waits));
        async move {
            told.notify_one();
            waits.notified().await;
            Step::Give(input)
        }
    });
    let first = start(&engine, slow, json!(1)).await.expect("it starts");
    begun.notified().await;
    let limited = |of: &mut crate::NodeOptions| of.timeout = Some(Duration::from_millis(1));
    let second = start(&engine, made("START>b; b>END").options("b", limited), json!(2)).await.expect("it starts");
    tokio::time::advance(Duration::from_secs(60)).await;
    go_on.notify_one();
    assert_eq!(first.outcome().await, Ok(Outcome::Completed(json!(1))));
    assert_eq!(second.outcome().await, Ok(Outcome::Completed(json!(2))));
}

#[test]
fn a_run_that_may_not_leave_the_memory_rests_there() {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let engine = Engine::builder().max_resident_waiting(0).build().expect("nothing is wrong with it");
            let asks = |_, context: Context| async move { Step::Give(context.ask::<Value>("q", "?").await) };
            let flow = made("START>a; a>END").node("a", asks).options("a", |of| of.at_most_once = true);
            let run = start(&engine, flow, json!(1)).await.expect("it starts");
            assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))));
            // Paused time passes where nothing is to do.
            tokio::time::sleep(Duration::from_secs(3600)).await;
            run.answer("q", json!(2)).await.expect("it is taken");
            tell.send(run.result().await).expect("somebody listens");
        });
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(Ok(json!(2))), "it does something all the time");
}

#[tokio::test]
async fn who_waits_for_an_id_is_told_also_where_it_was_free_before_the_wait_began() {
    let engine = engine();
    let Found::Free(first) = engine.0.runs.reserve("x") else { panic!("it was free") };
    let Found::Reserved(over) = engine.0.runs.reserve("x") else { panic!("it is reserved") };
    drop(first);
    tokio::time::timeout(Duration::from_secs(10), over.cancelled()).await.expect("it is told");
}

/// The process died between the two records of an attempt that could not enter its graph.
#[tokio::test]
async fn an_attempt_that_was_about_to_enter_its_graph_fails_when_the_run_is_resumed() {
    let flow = made("START>n; n>END").inside("n", ScopeKind::Nested, made("START>x; x>END").named("inner")).build();
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).knows(&flow).build().unwrap();
    let begins = EventKind::RunStarted {
        workflow: "w".to_owned(),
        input: json!(1),
        state: serde_json::Map::new(),
        tags: Default::default(),
        previous: None,
        begins: None,
        limit: None,
    };
    let enters = EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None };
    let record = |path: &str, kind| Record { path: path.to_owned(), kind };
    let new = NewRun {
        id: "x".to_owned(),
        workflow: "w".to_owned(),
        owner: None,
        graph: engine.graph_of(&flow),
        forked_from: None,
        previous: None,
        started_by: None,
        tags: Default::default(),
        wake_at: None,
        time: SystemTime::now(),
        records: vec![record("w", begins), record("w/n", enters)],
    };
    store.create(new).await.unwrap();
    engine.recover().await.unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    let outcome = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await.expect("it ends");
    let Outcome::Failed(failure) = outcome.unwrap() else { panic!("it fails") };
    assert_eq!(failure.path, "w/n");
}
