//! The input with which a node has started, read from the records.

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{EventKind, Fault, FromFault};
use serde_json::{Value, json};

#[value]
#[derive(Debug)]
struct Order {
    id: u32,
    cents: u32,
}

#[value]
struct Priced {
    order: u32,
}

impl From<Order> for Priced {
    fn from(order: Order) -> Self {
        Priced { order: order.id }
    }
}

#[value]
#[derive(Route)]
enum Verdict {
    Again(u32),
    Fine(Order),
}

#[node]
async fn parse(id: u32) -> Order {
    Order { id, cents: 100 * id }
}

#[node]
async fn price(priced: Priced) -> u32 {
    priced.order + 1
}

#[node]
async fn same(order: Order) -> Order {
    order
}

#[node]
async fn both(order: Order, n: u32) -> Verdict {
    if n < 3 { Verdict::Again(n) } else { Verdict::Fine(order) }
}

#[node(retry(max_attempts = 2, initial_delay = "0s"))]
async fn check(order: Order, ctx: &Context) -> Result<u32, String> {
    if ctx.attempt() == 1 { Err("not yet".to_owned()) } else { Ok(order.cents) }
}

#[node]
async fn items(n: u32) -> Vec<u32> {
    (0..3).map(|at| n + at).collect()
}

#[node]
async fn add_one(n: u32, ctx: &Context) -> Result<u32, ChildError<String>> {
    let n = ctx.step("copy", || async move { Ok::<_, String>(n) }).await?;
    Ok(ctx.call::<double>(n).await.unwrap_or(n) + 1)
}

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn sum(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

workflow! { inner(u32) -> u32 { START => items => [add_one] => sum; } }

workflow! {
    shop(u32) -> u32 {
        START => parse => (same, price) => both => <again: parse, fine: check>;
        check => <ok: inner, err: never>;
        inner => END;
        never => END;
    }
}

#[node]
async fn never(why: String) -> u32 {
    why.len() as u32
}

async fn input(run: &Run<impl graphweft::Payload>, path: &str) -> Option<Value> {
    run.input_of(path).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[tokio::test]
async fn each_node_has_the_input_that_it_got() {
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<shop>(1).id("x").await.unwrap();
    run.outcome().await.unwrap();
    let wanted = [
        ("shop", json!(1)),
        ("shop/parse", json!(1)),
        ("shop/parse#2", json!(2)),
        ("shop/same#2", json!({ "id": 2, "cents": 200 })),
        ("shop/price", json!({ "order": 1 })),
        ("shop/both#2", json!([{ "id": 2, "cents": 200 }, 3])),
        ("shop/check", json!({ "id": 2, "cents": 200 })),
        ("shop/inner", json!(200)),
        ("shop/inner/items", json!(200)),
        ("shop/inner/sum", json!([401, 403, 405])),
    ];
    for (path, wanted) in &wanted {
        assert_eq!(input(&run, path).await.as_ref(), Some(wanted), "{path}");
    }
    let started = run.events().collect::<Vec<_>>().await;
    let paths = started.iter().filter(|event| matches!(event.kind, EventKind::NodeStarted { .. }));
    for event in paths.filter(|event| !event.path.ends_with("/copy")) {
        assert!(input(&run, &event.path).await.is_some(), "{}", event.path);
    }
    let items: Vec<&str> = started
        .iter()
        .filter(|event| matches!(event.kind, EventKind::NodeStarted { .. }))
        .filter_map(|event| event.path.strip_suffix("/copy"))
        .collect();
    let mut inputs = Vec::new();
    for item in &items {
        inputs.push(input(&run, item).await);
    }
    inputs.sort_by_key(|input| input.as_ref().and_then(Value::as_u64));
    assert_eq!(inputs, [Some(json!(200)), Some(json!(201)), Some(json!(202))], "{items:?}");
    let item = items[0];
    let own = input(&run, item).await;
    assert_eq!(input(&run, &format!("{item}/double")).await, own, "that of a child is recorded");
    assert_eq!(input(&run, &format!("{item}/copy")).await, None, "a step has none");
    assert_eq!(input(&run, "shop/never").await, None, "it has not started");
    assert_eq!(input(&run, "shop/missing").await, None);
    drop(engine);
    // The next process, in which the run is over.
    let engine = Engine::builder().store(store.clone()).register::<shop>().build().unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    for (path, wanted) in &wanted {
        assert_eq!(input(&run, path).await.as_ref(), Some(wanted), "{path}");
    }
    let stranger = Engine::builder().store(store).build().unwrap();
    let run = stranger.get_run("x").await.unwrap().unwrap();
    let error = run.input_of("shop/both").await.unwrap_err();
    assert!(matches!(error, graphweft::RunError::NotRegistered { .. }), "{error}");
    assert_eq!(run.input_of("shop").await.unwrap(), Some(json!(1)));
}

#[tokio::test]
async fn the_input_of_a_node_that_is_under_way_is_known_beside_one_that_may_run_once() {
    #[node(at_most_once)]
    async fn stays(n: u32) -> u32 {
        std::future::pending::<()>().await;
        n
    }
    #[node]
    async fn asks(n: u32, ctx: &Context) -> u32 {
        ctx.ask::<u32>("more", "how many?").await + n
    }
    #[node]
    async fn two(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! { waits(u32) -> u32 { START => double => (stays, asks) => two; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<waits>(4).await.unwrap();
    let mut events = run.events();
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::QuestionAsked { .. }) {
            break;
        }
    }
    assert_eq!(input(&run, "waits/stays").await, Some(json!(8)));
    assert_eq!(input(&run, "waits/asks").await, Some(json!(8)));
    assert_eq!(input(&run, "waits/two").await, None);
    assert_eq!(run.questions().await.unwrap().len(), 1, "nothing has changed");
    run.cancel().await.unwrap();
}

#[tokio::test]
async fn an_error_on_an_arm_is_an_input_as_well() {
    #[value]
    struct Why(String);
    impl FromFault<u32> for Why {
        fn from_fault(fault: Fault, n: u32) -> Self {
            Why(format!("{n}: {fault}"))
        }
    }
    #[node]
    async fn fails(n: u32) -> Result<u32, Why> {
        if n == 0 { Ok(n) } else { panic!("no") }
    }
    #[node]
    async fn says(why: Why) -> u32 {
        why.0.len() as u32
    }
    workflow! { failing(u32) -> u32 { START => fails => <ok: END, err: says>; says => END; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<failing>(7).await.unwrap();
    run.outcome().await.unwrap();
    assert_eq!(input(&run, "failing/says").await, Some(json!("7: panicked: no")));
}

/// Calls workflows that no graph has: one is named, one is registered as a node, one is neither.
mod callers {
    use graphweft::prelude::*;

    use super::{Order, Priced, double};

    #[node]
    pub(super) async fn order(id: u32) -> Order {
        Order { id, cents: 7 }
    }

    #[node]
    pub(super) async fn number(priced: Priced) -> u32 {
        priced.order
    }

    #[node]
    pub(super) async fn list(n: u32) -> Vec<u32> {
        vec![n, n + 10]
    }

    #[node]
    pub(super) async fn fails_first(n: u32, ctx: &Context) -> Result<u32, String> {
        let first = ctx.step("first", || async { Ok::<_, String>(()) }).await.is_ok();
        if super::FAILS.swap(false, std::sync::atomic::Ordering::Relaxed) && first {
            Err("not yet".into())
        } else {
            Ok(n)
        }
    }

    #[node]
    pub(super) async fn most(all: Vec<u32>) -> u32 {
        all.into_iter().max().unwrap_or_default()
    }

    workflow! { pub(super) innermost(u32) -> u32 { START => double => fails_first; } }

    #[node(uses(innermost))]
    pub(super) async fn calls_innermost(n: u32, ctx: &Context) -> Result<u32, String> {
        ctx.call::<innermost>(n).await.map_err(|error| error.to_string())
    }

    workflow! { pub(super) called(u32) -> u32 { START => order => number => list => [calls_innermost] => most; } }
    workflow! { pub(super) only_called(u32) -> u32 { START => double => double_again; let double_again = double(); } }

    #[node(uses(called))]
    pub(super) async fn calls(n: u32, ctx: &Context) -> Result<u32, String> {
        let n = ctx.call::<called>(n).await.map_err(|error| error.to_string())?;
        ctx.call::<only_called>(n).await.map_err(|error| error.to_string())
    }

    workflow! { pub(super) calling(u32) -> u32 { START => calls => double; } }
}

static FAILS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

fn inputs_in_children() -> Vec<(&'static str, Value)> {
    vec![
        ("calling/calls/called", json!(3)),
        ("calling/calls/called/order", json!(3)),
        ("calling/calls/called/number", json!({ "order": 3 })),
        ("calling/calls/called/[calls_innermost]", json!([3, 13])),
        ("calling/calls/called/calls_innermost[1]", json!(13)),
        ("calling/calls/called/calls_innermost[1]/innermost", json!(13)),
        ("calling/calls/called/calls_innermost[1]/innermost/fails_first", json!(26)),
        ("calling/calls/called/most", json!([6, 26])),
        ("calling/calls/only_called/double_again", json!(52)),
        ("calling/double", json!(104)),
    ]
}

#[tokio::test]
async fn the_inputs_of_nodes_in_a_called_workflow_are_known() {
    use callers::*;
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).register::<calling>().build().unwrap();
    FAILS.store(true, std::sync::atomic::Ordering::Relaxed);
    let run = engine.start::<calling>(3).id("x").await.unwrap();
    run.result().await.unwrap_err();
    // What was under way continues from its records, and what had failed begins anew.
    engine.retry("x").await.unwrap().outcome().await.unwrap();
    for (path, wanted) in inputs_in_children() {
        assert_eq!(input(&run, path).await, Some(wanted), "{path}");
    }
    drop(engine);

    // Another process. It has not called anything.
    let engine = Engine::builder().store(store.clone()).register::<calling>().build().unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    let all = run.inputs().await.unwrap();
    for (path, wanted) in inputs_in_children() {
        if path.contains("/only_called/") {
            let error = run.input_of(path).await.unwrap_err();
            assert!(matches!(&error, RunError::NotRegistered { workflow } if workflow == "only_called"), "{error}");
            assert_eq!(all[path].as_ref().unwrap_err().to_string(), error.to_string());
        } else {
            assert_eq!(input(&run, path).await, Some(wanted.clone()), "{path}");
            assert_eq!(all[path].as_ref().unwrap(), &wanted, "{path}");
        }
    }
    let engine = Engine::builder().store(store.clone()).register_node::<only_called>().build().unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    assert_eq!(input(&run, "calling/calls/only_called/double_again").await, Some(json!(52)));
    let unknown = run.input_of("calling/calls/called/order").await.unwrap_err();
    assert!(matches!(&unknown, RunError::NotRegistered { workflow } if workflow == "called"), "{unknown}");
    let stranger = run.input_of("calling/double").await.unwrap_err();
    assert!(matches!(&stranger, RunError::NotRegistered { workflow } if workflow == "calling"), "{stranger}");
}

/// A workflow of the same name with another graph cannot say what the input was.
#[tokio::test]
async fn a_called_workflow_with_another_graph_is_not_asked() {
    mod other {
        use graphweft::prelude::*;
        workflow! { pub(crate) called(u32) -> u32 { START => super::double => super::sum_one; } }
    }
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    engine.start::<callers::calling>(3).id("y").await.unwrap().outcome().await.unwrap();
    let engine = Engine::builder().store(store).register::<other::called>().build().unwrap();
    let run = engine.get_run("y").await.unwrap().unwrap();
    let error = run.input_of("calling/calls/called/number").await.unwrap_err();
    assert!(matches!(&error, RunError::GraphChanged { workflow, .. } if workflow == "called"), "{error}");
}

#[node]
async fn sum_one(n: u32) -> u32 {
    n + 1
}

#[tokio::test]
async fn all_inputs_are_what_is_asked_for_one_by_one() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<shop>(1).await.unwrap();
    run.outcome().await.unwrap();
    let all = run.inputs().await.unwrap();
    let mut starts = 0;
    for event in engine.history(run.id()).await.unwrap().unwrap() {
        if matches!(event.kind, EventKind::NodeStarted { .. } | EventKind::RunStarted { .. }) {
            assert_eq!(all.get(&event.path).map(|input| input.clone().unwrap()), input(&run, &event.path).await);
            starts += 1;
        }
    }
    assert!(starts > all.len() && all.len() > 12, "{starts} starts, {} inputs", all.len());
}
