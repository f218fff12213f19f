//! Runs that one program has begun and another continues.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use graphweft::Graph;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft_inspector::view::State;
use tokio::sync::Semaphore;

use crate::History;
use crate::read::Read;

#[derive(Route)]
#[value]
enum Level {
    Low(u32),
    Medium(u32),
    High(u32),
}

#[node]
async fn look(n: u32) -> Level {
    if n < 10 { Level::Low(n) } else { Level::High(n) }
}

#[node]
async fn much(n: u32) -> u32 {
    n
}

#[node]
async fn asks(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("more", "How many more?").await
}

mod then {
    use super::{asks, look, much};
    use graphweft::prelude::*;
    workflow! { pub(super) levels(u32) -> u32 { START => look => <low | medium: asks, high: much>; (asks, much) => END; } }
}

mod turned_around {
    use super::{asks, look, much};
    use graphweft::prelude::*;
    workflow! { pub(super) levels(u32) -> u32 { START => look => <high: much, medium | low: asks>; (asks, much) => END; } }
}

fn edges_of(graph: &Graph, read: &Read) -> BTreeSet<String> {
    let name = |node: usize| graph.nodes[node].name.as_str();
    let taken = read.taken.iter().map(|[_, _, edge]| &graph.edges[usize::try_from(*edge).unwrap()]);
    taken.map(|edge| format!("{} => {}", name(edge.from), name(edge.to))).collect()
}

#[tokio::test]
async fn an_edge_is_taken_also_if_its_labels_have_changed_places_since() {
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).register::<then::levels>().build().unwrap();
    let run = engine.start::<then::levels>(5).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    engine.shutdown().await;

    let engine = Engine::builder().store(store).register::<turned_around::levels>().build().unwrap();
    engine.recover().await.unwrap();
    engine.answer("run", "more", 3u32).await.unwrap();
    let run = engine.get_run_of::<turned_around::levels>("run").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 8);

    let history = History::of::<turned_around::levels>(&engine, "run").await;
    let taken = edges_of(&turned_around::levels::graph(), &Read::of(&history.view()));
    assert_eq!(taken, ["START => look", "look => asks", "asks => END"].map(str::to_owned).into());
}

const PAID: Signal<u32> = Signal::new("paid");

#[node(name = "takes")]
async fn takes_in_time(ctx: &Context) -> u32 {
    ctx.wait(PAID).within(Duration::from_secs(3600)).await.unwrap_or_default()
}

#[node(name = "takes")]
async fn takes_at_any_time(ctx: &Context) -> u32 {
    let paid = ctx.wait(PAID).await;
    paid + ctx.ask::<u32>("more", "How many more?").await
}

#[node]
async fn works(#[resource] gate: &Arc<Semaphore>) -> u32 {
    gate.acquire().await.map(drop).map_or(0, |()| 1)
}

#[node]
async fn add(a: u32, b: u32) -> u32 {
    a + b
}

mod in_time {
    use super::{add, takes_in_time, works};
    use graphweft::prelude::*;
    workflow! { pub(super) paying() -> u32 { START => (takes_in_time, works) => add; } }
}

mod at_any_time {
    use super::{add, takes_at_any_time, works};
    use graphweft::prelude::*;
    workflow! { pub(super) paying() -> u32 { START => (takes_at_any_time, works) => add; } }
}

#[tokio::test]
async fn a_wait_that_got_its_signal_between_two_programs_is_over() {
    let (store, gate) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let builder = || Engine::builder().store(store.clone()).resource(Arc::clone(&gate));
    let engine = builder().register::<in_time::paying>().build().unwrap();
    let run = engine.start::<in_time::paying>(()).id("run").await.unwrap();
    while run.awaited_signals().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    engine.shutdown().await;
    Engine::builder().store(store.clone()).build().unwrap().signal("run", PAID, 5u32).await.unwrap();

    gate.add_permits(1);
    let engine = builder().register::<at_any_time::paying>().build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.get_run_of::<at_any_time::paying>("run").await.unwrap().unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    let history = History::of::<at_any_time::paying>(&engine, "run").await;
    let said = history.events.iter().filter(|event| matches!(event.kind, EventKind::SignalAwaited { .. }));
    let [then, now] = said.collect::<Vec<_>>()[..] else {
        panic!("each program has said how it waits: {:#?}", history.events)
    };
    assert_eq!(then.path, now.path);
    assert_eq!(history.view().state_of(&now.path), State::Completed);
    assert_eq!(history.view().state_of("paying/takes/more"), State::Waiting);
}
