//! Timers of a node, `ctx.sleep(..)`: they outlive the process.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::{Event, EventKind};
use graphweft_tests::{Death, Remains, life, paths, records, records_of, seconds_since};
use tokio::sync::Notify;
use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);
/// In milliseconds.
const AN_HOUR: u64 = 3_600_000;

#[node]
async fn naps(ctx: &Context) -> u32 {
    ctx.sleep(HOUR).await;
    ctx.sleep(HOUR).await;
    2
}

workflow! { napping(()) -> u32 { START => naps; } }

fn timers(events: &[Event]) -> Vec<String> {
    paths(events, |kind| matches!(kind, EventKind::TimerSet { .. } | EventKind::TimerFired))
}

#[tokio::test(start_paused = true)]
async fn a_sleep_takes_its_time_in_memory() {
    let start = Instant::now();
    napping(()).await.unwrap();
    assert_eq!(seconds_since(start), 7200);
}

#[tokio::test(start_paused = true)]
async fn a_sleep_takes_its_time_in_an_engine() {
    let engine = Engine::builder().build().unwrap();
    let start = Instant::now();
    engine.start::<napping>(()).await.unwrap().result().await.unwrap();
    assert!((7199..=7201).contains(&seconds_since(start)), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn timers_are_on_record_in_the_order_of_the_calls() {
    let events = records_of::<napping>(()).await;
    assert_eq!(
        timers(&events),
        ["napping/naps/sleep:1", "napping/naps/sleep:1", "napping/naps/sleep:2", "napping/naps/sleep:2"]
    );
}

#[tokio::test(start_paused = true)]
async fn timers_of_a_join_run_at_once() {
    #[node]
    async fn both(ctx: &Context) -> u64 {
        let start = Instant::now();
        tokio::join!(ctx.sleep(HOUR), ctx.sleep(HOUR / 2).key("short"));
        seconds_since(start)
    }
    workflow! { dozing(()) -> u64 { START => both; } }
    assert_eq!(dozing(()).await.unwrap(), 3600);
    let events = records_of::<dozing>(()).await;
    let fired = paths(&events, |kind| matches!(kind, EventKind::TimerFired));
    assert_eq!(fired, ["dozing/both/sleep:short", "dozing/both/sleep:1"]);
}

#[tokio::test]
async fn a_second_use_of_a_key_fails_the_node() {
    #[node]
    async fn twice(ctx: &Context) -> u32 {
        ctx.sleep(Duration::ZERO).key("k").await;
        ctx.sleep(Duration::ZERO).key("k").await;
        1
    }
    workflow! { repeating(()) -> u32 { START => twice; } }
    let failure = graphweft_tests::failure(repeating(()).await);
    assert!(failure.cause.to_string().contains("duplicate request `repeating/twice/sleep:k`"), "{failure}");
}

#[tokio::test]
async fn a_run_that_only_sleeps_says_so_in_the_store_with_the_time_at_which_it_goes_on() {
    use graphweft::store::{MemoryStore, RunStatus, Store};
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<napping>(()).id("run").await.unwrap();
    let mut events = run.events();
    while let Some(event) = futures::StreamExt::next(&mut events).await {
        if let EventKind::TimerSet { .. } = event.kind {
            break;
        }
    }
    let header = loop {
        let header = store.header("run").await.unwrap().unwrap();
        if header.status == RunStatus::Sleeping {
            break header;
        }
        tokio::task::yield_now().await;
    };
    let wakes_in = header.wake_at.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(wakes_in > HOUR - Duration::from_secs(60) && wakes_in <= HOUR, "{wakes_in:?}");
}

#[tokio::test(start_paused = true)]
async fn a_sleep_that_is_dropped_wakes_nobody() {
    use graphweft::store::{MemoryStore, RunStatus, Store};
    #[node]
    async fn impatient(ctx: &Context) -> bool {
        tokio::select! {
            biased;
            () = ctx.sleep(Duration::from_secs(5)) => {}
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        ctx.ask::<bool>("fine", "fine?").await
    }
    workflow! { waiting(()) -> bool { START => impatient; } }
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<waiting>(()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    let header = store.header("run").await.unwrap().unwrap();
    assert_eq!((header.status, header.wake_at), (RunStatus::Waiting, None));
}

#[tokio::test(start_paused = true)]
async fn a_child_may_sleep() {
    #[node]
    async fn asks(ctx: &Context) -> Result<u32, graphweft::ChildError<Never>> {
        ctx.call::<naps>(()).await
    }
    workflow! { asking(()) -> u32 { START => asks; } }
    let events = records_of::<asking>(()).await;
    assert_eq!(timers(&events)[0], "asking/asks/naps/sleep:1");
}

#[tokio::test]
async fn a_run_that_sleeps_outside_of_the_memory_goes_on_when_its_time_has_come() {
    #[node]
    async fn nap(ctx: &Context) -> u32 {
        ctx.sleep(Duration::from_millis(400)).await;
        1
    }
    workflow! { short_nap(()) -> u32 { START => nap; } }
    let engine = Engine::builder().register::<short_nap>().max_resident_waiting(0).build().unwrap();
    let run = engine.start::<short_nap>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 1);
    let events = records(&run).await;
    assert_eq!(timers(&events), ["short_nap/nap/sleep:1", "short_nap/nap/sleep:1"]);
    assert_eq!(paths(&events, |kind| matches!(kind, EventKind::RunResumed { .. })).len(), 1);
}

#[tokio::test]
async fn a_run_that_sleeps_in_memory_goes_on_there() {
    #[node]
    async fn nap(ctx: &Context) -> u32 {
        ctx.sleep(Duration::from_millis(300)).await;
        1
    }
    workflow! { short_nap(()) -> u32 { START => nap; } }
    let engine = Engine::builder().register::<short_nap>().build().unwrap();
    let run = engine.start::<short_nap>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 1);
    let events = records(&run).await;
    assert_eq!(paths(&events, |kind| matches!(kind, EventKind::RunResumed { .. })).len(), 0);
}

#[node]
async fn wakes(millis: u64, ctx: &Context, #[resource] death: &Death) -> u64 {
    ctx.step("early", || async { Ok::<u32, String>(1) }).await.unwrap_or_default();
    let sleep = ctx.sleep(Duration::from_millis(millis));
    let dies = async {
        ctx.sleep(Duration::from_millis(50)).key("soon").await;
        death.come("asleep").await;
    };
    tokio::join!(sleep, dies);
    death.come("awake").await;
    millis
}

workflow! { waking(u64) -> u64 { START => wakes; } }

#[test]
fn a_timer_that_came_due_while_nothing_ran_fires_at_once() {
    let remains = Remains::default();
    remains.dies_at::<waking>(AN_HOUR, "asleep");
    let (result, _) = remains.goes_on_after::<waking>(HOUR);
    assert_eq!(result.unwrap(), AN_HOUR);
}

#[test]
fn after_a_restart_the_rest_of_a_timer_is_waited_for() {
    let remains = Remains::default();
    let begin = std::time::Instant::now();
    remains.dies_at::<waking>(AN_HOUR, "asleep");
    let rest = Duration::from_secs(1);
    let (result, events) = remains.goes_on_after::<waking>(HOUR - rest);
    assert_eq!(result.unwrap(), AN_HOUR);
    assert!(begin.elapsed() >= rest - Duration::from_millis(10), "{:?}", begin.elapsed());
    let set = paths(&events, |kind| matches!(kind, EventKind::TimerSet { .. }));
    assert_eq!(set, ["waking/wakes/sleep:1", "waking/wakes/sleep:soon"]);
}

#[test]
fn a_timer_that_has_fired_is_over_after_a_restart() {
    let remains = Remains::default();
    remains.dies_at::<waking>(60, "awake");
    let (_, events) = remains.goes_on::<waking>();
    let set = paths(&events, |kind| matches!(kind, EventKind::TimerSet { .. }));
    assert_eq!(set.len(), 2);
}

#[test]
fn a_sleep_outlives_two_processes() {
    let remains = Remains::default();
    remains.dies_at::<waking>(AN_HOUR, "asleep");
    life(async {
        let engine = remains.engine(&Death::default()).register::<waking>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let waits = tokio::time::timeout(Duration::from_millis(50), run.outcome()).await;
        assert!(waits.is_err());
    });
    let (result, _) = remains.goes_on_after::<waking>(HOUR);
    assert_eq!(result.unwrap(), AN_HOUR);
}

mod set_back {
    //! The clock is set back by an hour. A delay lasts no longer for that.

    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use graphweft::store::{MemoryStore, SqliteStore, Store};
    use graphweft::{EngineBuilder, RetryPolicy};

    use super::*;

    const DELAY: Duration = Duration::from_secs(2);
    /// The store is looked at four times a second.
    const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

    /// Fails the first time that it is asked.
    #[derive(Default)]
    struct Once(AtomicU32);

    impl Once {
        fn has_failed(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 0
        }
    }

    #[node]
    async fn sleeps(ctx: &Context) -> u32 {
        ctx.sleep(DELAY).await;
        1
    }

    #[node(retry(max_attempts = 2, initial_delay = "2s", jitter = 0.0))]
    async fn is_retried(#[resource] once: &Once) -> Result<u32, String> {
        if once.has_failed() { Ok(1) } else { Err("not yet".to_owned()) }
    }

    #[node]
    async fn retries_a_step(ctx: &Context, #[resource] once: &Once) -> Result<u32, String> {
        let step = ctx.step("s", || async { if once.has_failed() { Ok(1) } else { Err("not yet".to_owned()) } });
        let policy = RetryPolicy::with_max_attempts(2).initial_delay(DELAY).jitter(0.0);
        step.retry(policy).await.map_err(|error| error.to_string())
    }

    #[node]
    async fn never(_begin: ()) -> u32 {
        std::future::pending().await
    }

    workflow! { limited(()) -> u32 { START => never; } }
    workflow! { by_a_timer(()) -> u32 { START => sleeps; } }
    workflow! { by_a_retry(()) -> u32 { START => is_retried; } }
    workflow! { by_a_step(()) -> u32 { START => retries_a_step; } }
    workflow! { by_a_limit(()) -> u32 { let inner = limited(timeout = "2s"); START => inner; } }

    /// A clock that shows the paused time of tokio, and can be set back.
    #[derive(Clone)]
    struct Wall(Instant, Arc<AtomicBool>);

    impl Wall {
        fn new() -> Wall {
            Wall(Instant::now(), Arc::default())
        }

        fn set_back(&self) {
            self.1.store(true, Ordering::Relaxed);
        }

        fn engine(&self) -> EngineBuilder {
            let Wall(begun, is_set_back) = self.clone();
            let now = move || {
                let back = if is_set_back.load(Ordering::Relaxed) { HOUR } else { Duration::ZERO };
                SystemTime::UNIX_EPOCH + 1000 * HOUR + begun.elapsed() - back
            };
            let engine = Engine::builder().clock(now).resource(Once::default());
            engine.register::<by_a_timer>().register::<by_a_retry>().register::<by_a_step>().register::<by_a_limit>()
        }

        /// How long it takes from now on until a run has ended.
        async fn end_of(&self, engine: &Engine) -> Duration {
            let begun = Instant::now();
            let run = engine.get_run("run").await.unwrap().expect("it is there");
            let _ = run.outcome().await;
            begun.elapsed()
        }
    }

    /// How long the delay of a run lasts in the second of two processes, half a second after it was set in the first.
    async fn in_the_next_process<W: graphweft::Workflow<Input = ()>>(store: impl Store + Clone) -> Duration {
        let (wall, engine) = recovered::<W>(store).await;
        wall.end_of(&engine).await
    }

    /// The second of two processes, half a second after the delay was set in the first.
    async fn recovered<W: graphweft::Workflow<Input = ()>>(store: impl Store + Clone) -> (Wall, Engine) {
        let wall = Wall::new();
        let engine = wall.engine().store(store.clone()).build().unwrap();
        engine.start::<W>(()).id("run").await.unwrap();
        tokio::time::sleep(DELAY / 4).await;
        engine.shutdown().await;
        drop(engine);
        wall.set_back();
        let engine = wall.engine().store(store).build().unwrap();
        engine.recover().await.unwrap();
        (wall, engine)
    }

    fn is_at_most_the_delay(took: Duration) {
        assert!(took <= DELAY + BETWEEN_LOOKS, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_lasts_no_longer_in_the_next_process() {
        is_at_most_the_delay(in_the_next_process::<by_a_timer>(MemoryStore::new()).await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_delay_before_another_attempt_lasts_no_longer_in_the_next_process() {
        let took = in_the_next_process::<by_a_retry>(MemoryStore::new()).await;
        is_at_most_the_delay(took);
        assert!(took >= DELAY / 2, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_delay_before_another_attempt_at_a_step_lasts_no_longer_in_the_next_process() {
        is_at_most_the_delay(in_the_next_process::<by_a_step>(MemoryStore::new()).await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_limit_of_a_graph_lasts_no_longer_in_the_next_process() {
        is_at_most_the_delay(in_the_next_process::<by_a_limit>(MemoryStore::new()).await);
    }

    /// By the time of a run that is started then: a machine that does other things is late with both.
    #[tokio::test]
    async fn a_timer_in_a_file_lasts_no_longer_in_the_next_process() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
        let (_wall, engine) = recovered::<by_a_timer>(store).await;
        tokio::time::sleep(BETWEEN_LOOKS).await;

        engine.start::<by_a_timer>(()).await.unwrap().result().await.unwrap();

        let records = engine.history("run").await.unwrap().expect("it is there");
        assert!(matches!(records.last().unwrap().kind, EventKind::RunCompleted { .. }), "{records:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_left_the_memory_sleeps_no_longer() {
        let wall = Wall::new();
        let engine = wall.engine().max_resident_waiting(0).build().unwrap();
        engine.start::<by_a_timer>(()).id("run").await.unwrap();
        tokio::time::sleep(DELAY / 4).await;
        wall.set_back();
        is_at_most_the_delay(wall.end_of(&engine).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_leaves_the_memory_again_and_again_sleeps_no_longer() {
        #[node]
        async fn sleeps_beside_naps(ctx: &Context) -> u32 {
            let naps = async {
                for nap in 0..8 {
                    ctx.sleep(DELAY / 8).key(nap).await;
                }
            };
            tokio::join!(ctx.sleep(DELAY).key("long"), naps);
            1
        }
        workflow! { napping(()) -> u32 { START => sleeps_beside_naps; } }
        let wall = Wall::new();
        let engine = wall.engine().register::<napping>().max_resident_waiting(0).build().unwrap();
        engine.start::<napping>(()).id("run").await.unwrap();
        tokio::time::sleep(DELAY / 16).await;
        wall.set_back();
        let took = wall.end_of(&engine).await;
        assert!(took <= 2 * DELAY, "{took:?}");
    }
}

static HAS_COME: Notify = Notify::const_new();

/// Woken by a hint, which its next life does not get.
#[node]
async fn hinted(ctx: &Context) -> bool {
    ctx.sleep(HOUR).or_when(HAS_COME.notified()).await;
    ctx.ask("fine", "Is it fine?").await
}

workflow! { hinting(()) -> bool { START => hinted; } }

#[test]
fn a_sleep_that_a_hint_has_ended_is_over_for_the_next_process_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engine = async || {
        let store = SqliteStore::open(&path).await.unwrap();
        Engine::builder().store(store).register::<hinting>().build().unwrap()
    };
    life(async {
        let engine = engine().await;
        let run = engine.start::<hinting>(()).id("one").await.unwrap();
        HAS_COME.notify_one();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it asks") };
        engine.shutdown().await;
    });
    life(async {
        let engine = engine().await;
        engine.recover().await.unwrap();
        let run = engine.get_run_of::<hinting>("one").await.unwrap().unwrap();
        run.answer("fine", true).await.unwrap();
        assert!(run.result().await.unwrap());
        assert_eq!(timers(&run.recorded(0..u64::MAX).await.unwrap()).len(), 2);
        engine.shutdown().await;
    });
}

#[tokio::test]
async fn a_hint_does_not_keep_a_run_in_memory() {
    struct Dropped(Arc<Notify>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    #[node]
    async fn waits(#[resource] dropped: &Arc<Notify>, ctx: &Context) {
        let hint = Dropped(Arc::clone(dropped));
        let never = async move {
            let _hint = hint;
            std::future::pending::<()>().await;
        };
        ctx.sleep(HOUR).or_when(never).await;
    }

    workflow! { unloading(()) -> () { START => waits; } }

    let dropped = Arc::new(Notify::new());
    let builder = Engine::builder().resource(Arc::clone(&dropped)).max_resident_waiting(0);
    let engine = builder.register::<unloading>().build().unwrap();
    let run = engine.start::<unloading>(()).await.unwrap();
    dropped.notified().await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
}
