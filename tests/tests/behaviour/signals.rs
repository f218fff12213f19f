//! Signals, `engine.signal(..)` and `ctx.wait(..)`: kept until a wait takes them, each once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use futures::poll;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{AwaitedSignal, Event, Json, Signal, SignalError, Signalled, json, value};
use graphweft_tests::{Death, Remains, failure, life, paths};
use tokio::sync::Notify;

pub(super) const MESSAGE: Signal<String> = Signal::new("message");
const PAID: Signal<u64> = Signal::new("paid");

const HOUR: Duration = Duration::from_secs(3600);

/// Takes messages until one says that it is the last.
#[node]
async fn takes(ctx: &Context) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let message = ctx.wait(MESSAGE).await;
        if message == "end" {
            return all;
        }
        all.push(message);
    }
}

workflow! { pub(super) taking(()) -> Vec<String> { START => takes; } }

fn engine() -> Engine {
    Engine::builder().build().unwrap()
}

async fn send(engine: &Engine, messages: &[&str]) {
    for message in messages {
        assert_eq!(engine.signal("run", MESSAGE, (*message).to_owned()).await, Ok(Signalled::New));
    }
}

fn awaited(outcome: Outcome<impl std::fmt::Debug>) -> Vec<AwaitedSignal> {
    match outcome {
        Outcome::AwaitingSignals(signals) => signals,
        other => panic!("{other:?}"),
    }
}

/// The payloads of what was delivered to each wait, by its path.
fn delivered(events: &[Event]) -> Vec<(String, String)> {
    let payload = |signal: u64| match &events.iter().find(|event| event.seq == signal).unwrap().kind {
        EventKind::SignalReceived { payload, .. } => payload.as_str().unwrap_or_default().to_owned(),
        other => panic!("{other:?}"),
    };
    let all = events.iter().filter_map(|event| match event.kind {
        EventKind::SignalDelivered { signal, .. } => Some((event.path.clone(), payload(signal))),
        _ => None,
    });
    all.collect()
}

#[tokio::test]
async fn signals_are_taken_in_their_order_whether_they_come_before_the_wait_or_after_it() {
    let engine = engine();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    send(&engine, &["a", "b", "c"]).await;
    let waits = awaited(run.outcome().await.unwrap());
    assert_eq!((waits[0].name.as_str(), waits[0].path.as_str(), waits[0].until), ("message", "taking/takes", None));
    send(&engine, &["d", "end"]).await;
    assert_eq!(run.result().await.unwrap(), ["a", "b", "c", "d"]);
    let events = engine.history("run").await.unwrap().unwrap();
    let taken = paths(&events, |kind| *kind == EventKind::SignalTaken);
    assert_eq!(taken, (1..=5).map(|at| format!("taking/takes/wait:message.{at}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_signal_with_an_id_counts_once() {
    let engine = engine();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    let first = engine.signal("run", MESSAGE, "a".to_owned()).id("evt_1").by("bank").await;
    let second = engine.signal("run", MESSAGE, "a".to_owned()).id("evt_1").await;
    assert_eq!((first, second), (Ok(Signalled::New), Ok(Signalled::Duplicate)));
    // Another signal may have the same id.
    assert_eq!(engine.signal_json("run", "other", json!(1)).id("evt_1").await, Ok(Signalled::New));
    let at_once = join_all((0..5).map(|_| run.signal(MESSAGE, "b".to_owned()).id("evt_2"))).await;
    assert_eq!(at_once.iter().filter(|sent| **sent == Ok(Signalled::New)).count(), 1, "{at_once:?}");
    send(&engine, &["end"]).await;
    assert_eq!(run.result().await.unwrap(), ["a", "b"]);
    // Also after the end of the run.
    assert_eq!(run.signal(MESSAGE, "b".to_owned()).id("evt_2").await, Ok(Signalled::Duplicate));
    let events = engine.history("run").await.unwrap().unwrap();
    let by = events.iter().find_map(|event| match &event.kind {
        EventKind::SignalReceived { by, id, .. } => Some((by.clone(), id.clone())),
        _ => None,
    });
    assert_eq!(by, Some((Some("bank".to_owned()), Some("evt_1".to_owned()))));
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_and_changes_nothing() {
    let engine = Engine::builder().max_value_size(2_000).build().unwrap();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    awaited(run.outcome().await.unwrap());
    let before = engine.history("run").await.unwrap().unwrap();
    let long = "x".repeat(1025);
    let empty: Signal<u64> = Signal::new("");
    for refused in [
        engine.signal("run", empty, 1),
        engine.signal_json("run", long.clone(), json!(1)),
        engine.signal("run", PAID, 1).id(""),
        engine.signal("run", PAID, 1).id(long.clone()),
        engine.signal("run", PAID, 1).by(long.clone()),
    ] {
        let refused = refused.await;
        assert!(matches!(refused, Err(SignalError::InvalidLength { .. })), "{refused:?}");
    }
    for refused in [
        engine.signal("run", MESSAGE, "x".repeat(3000)),
        engine.signal_json("run", "message", json!("x".repeat(3000))),
        engine.signal_json("run", "message", (0..5000).fold(json!(1), |inner, _| Json::Array(vec![inner]))),
    ] {
        let refused = refused.await;
        assert!(matches!(refused, Err(SignalError::NotRecordable { .. })), "{refused:?}");
    }
    // The node that waits is here, and says the type.
    let refused = engine.signal_json("run", "message", json!({"text": 1})).await.unwrap_err();
    assert!(refused.to_string().starts_with("invalid payload of signal `message`: "), "{refused}");
    let unknown = engine.signal("nothing", PAID, 1).await;
    assert_eq!(unknown, Err(SignalError::UnknownRun { run: "nothing".to_owned() }));
    assert_eq!(engine.history("run").await.unwrap().unwrap(), before);
    send(&engine, &["end"]).await;
    run.result().await.unwrap();
    let over = run.signal(PAID, 1).await.unwrap_err();
    assert_eq!(over.to_string(), "run `run` has ended (completed), so `paid` cannot reach it; retry the run first");
}

#[tokio::test]
async fn a_payload_of_another_type_that_came_before_the_wait_is_dropped() {
    let engine = engine();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    engine.signal_json("run", "message", json!(5)).await.unwrap();
    engine.signal_json("run", "message", json!(["no"])).await.unwrap();
    send(&engine, &["a", "end"]).await;
    assert_eq!(run.result().await.unwrap(), ["a"]);
    let events = engine.history("run").await.unwrap().unwrap();
    let rejected = paths(&events, |kind| matches!(kind, EventKind::SignalRejected { .. }));
    assert_eq!(rejected, ["taking/takes/wait:message.1", "taking/takes/wait:message.1"]);
}

/// Waits until so many signals were rejected.
async fn rejects(run: &Run<impl graphweft::Payload>, count: usize) {
    let mut events = run.events();
    for _ in 0..count {
        while !matches!(events.next().await.expect("the run continues").kind, EventKind::SignalRejected { .. }) {}
    }
}

#[tokio::test]
async fn a_rejected_signal_does_not_keep_out_a_corrected_one_with_its_id() {
    let engine = engine();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    assert_eq!(engine.signal_json("run", "message", json!(5)).id("evt_1").await, Ok(Signalled::New));
    rejects(&run, 1).await;
    assert_eq!(engine.signal_json("run", "message", json!("a")).id("evt_1").await, Ok(Signalled::New));
    assert_eq!(engine.signal_json("run", "message", json!("a")).id("evt_1").await, Ok(Signalled::Duplicate));
    send(&engine, &["end"]).await;
    assert_eq!(run.result().await.unwrap(), ["a"]);
    assert_eq!(engine.signal_json("run", "message", json!("a")).id("evt_1").await, Ok(Signalled::Duplicate));
}

#[test]
fn a_signal_to_a_run_that_is_not_in_memory_may_be_corrected_as_well() {
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<taking>(()).id("run").await.unwrap();
        awaited(run.outcome().await.unwrap());
    });
    life(async {
        let engine = remains.engine(&Death::default()).register::<taking>().build().unwrap();
        // Its type is known to the node, which does not run yet, and may be another one than before.
        assert_eq!(engine.signal_json("run", "message", json!(5)).id("evt_1").await, Ok(Signalled::New));
        let run = engine.get_run("run").await.unwrap().unwrap();
        tokio::time::timeout(Duration::from_secs(20), rejects(&run, 1)).await.unwrap();
        assert_eq!(engine.signal_json("run", "message", json!("a")).id("evt_1").await, Ok(Signalled::New));
    });
    life(async {
        let engine = remains.engine(&Death::default()).register::<taking>().build().unwrap();
        assert_eq!(engine.signal_json("run", "message", json!("a")).id("evt_1").await, Ok(Signalled::Duplicate));
        engine.recover().await.unwrap();
        send(&engine, &["end"]).await;
        let run = engine.get_run("run").await.unwrap().unwrap();
        let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await.unwrap();
        assert_eq!(result.unwrap(), json!(["a"]));
    });
}

#[tokio::test]
async fn a_run_without_an_engine_cannot_wait() {
    let failure = failure(taking(()).await);
    assert!(failure.cause.to_string().contains("needs an engine"), "{failure}");
}

#[tokio::test]
async fn a_node_shows_what_it_waits_for() {
    for resident in [0, 100] {
        let engine = Engine::builder().register::<taking>().max_resident_waiting(resident).build().unwrap();
        let run = engine.start::<taking>(()).id("run").await.unwrap();
        assert_eq!(awaited(run.outcome().await.unwrap()).len(), 1);
        assert_eq!(awaited(run.outcome().await.unwrap()), run.awaited_signals().await.unwrap());
        let error = run.result().await.unwrap_err();
        assert_eq!(error.to_string(), "the run waits for a signal: `message`");
        while run.status().await.unwrap() != RunStatus::Waiting {
            tokio::task::yield_now().await;
        }
        let info = run.info().await.unwrap();
        assert_eq!((info.awaited_signals, info.open_questions), (vec!["message".to_owned()], 0));
        assert_eq!(info.position.unwrap().path, "taking/takes/wait:message.1");
        send(&engine, &["end"]).await;
        run.result().await.unwrap();
        assert!(run.awaited_signals().await.unwrap().is_empty());
        assert!(run.info().await.unwrap().awaited_signals.is_empty());
    }
}

/// The same after a restart: each wait gets what it had got.
#[node]
async fn takes_and_dies(ctx: &Context, #[resource] death: &Death) -> Vec<String> {
    let mut all = Vec::new();
    for at in 0..4 {
        all.push(ctx.wait(MESSAGE).await);
        death.come(["one", "two", "three", "four"][at]).await;
    }
    all
}

workflow! { taking_four(()) -> Vec<String> { START => takes_and_dies; } }

#[test]
fn after_a_restart_the_same_waits_get_the_same_signals() {
    for place in ["one", "two", "three", "four"] {
        let remains = Remains::default();
        life(async {
            let death = Death::at(place);
            let engine = remains.engine(&death).build().unwrap();
            engine.start::<taking_four>(()).id("run").await.unwrap();
            for message in ["a", "b", "c", "d"] {
                engine.signal("run", MESSAGE, message.to_owned()).id(message).await.unwrap();
            }
            death.came().await;
        });
        let (result, events) = remains.goes_on::<taking_four>();
        assert_eq!(result.unwrap(), json!(["a", "b", "c", "d"]), "{place}");
        let to: Vec<String> = delivered(&events).into_iter().map(|(_, payload)| payload).collect();
        assert_eq!(to, ["a", "b", "c", "d"], "{place}");
    }
}

#[test]
fn a_signal_that_comes_while_no_process_is_there_is_taken_by_the_next_one() {
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<taking>(()).id("run").await.unwrap();
        awaited(run.outcome().await.unwrap());
    });
    life(async {
        // It does not know the workflow.
        let engine = Engine::builder().store(remains.store.clone()).build().unwrap();
        send(&engine, &["a", "b"]).await;
        assert_eq!(engine.signal("run", MESSAGE, "c".to_owned()).id("c").await, Ok(Signalled::New));
        assert_eq!(engine.signal("run", MESSAGE, "c".to_owned()).id("c").await, Ok(Signalled::Duplicate));
    });
    life(async {
        let engine = remains.engine(&Death::default()).register::<taking>().build().unwrap();
        assert_eq!(engine.signal("run", MESSAGE, "c".to_owned()).id("c").await, Ok(Signalled::Duplicate));
        engine.recover().await.unwrap();
        assert_eq!(engine.signal("run", MESSAGE, "c".to_owned()).id("c").await, Ok(Signalled::Duplicate));
        send(&engine, &["end"]).await;
        let run = engine.get_run("run").await.unwrap().unwrap();
        let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await.unwrap();
        assert_eq!(result.unwrap(), json!(["a", "b", "c"]));
    });
}

#[tokio::test]
async fn a_run_that_was_unloaded_is_woken_by_each_signal() {
    let engine = Engine::builder().register::<taking>().max_resident_waiting(0).build().unwrap();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    for message in ["a", "b", "c"] {
        awaited(run.outcome().await.unwrap());
        send(&engine, &[message]).await;
    }
    send(&engine, &["end"]).await;
    let result = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            match run.outcome().await.unwrap() {
                Outcome::Completed(all) => return all,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    assert_eq!(result.await.unwrap(), ["a", "b", "c"]);
}

#[node]
async fn chooses(ctx: &Context) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..3 {
        tokio::select! {
            message = ctx.wait(MESSAGE) => all.push(message),
            () = ctx.sleep(HOUR) => all.push("late".to_owned()),
            fine = ctx.ask::<bool>("fine", "Is it?").key(all.len()) => all.push(fine.to_string()),
        }
    }
    all
}

workflow! { choosing(()) -> Vec<String> { START => chooses; } }

#[tokio::test(start_paused = true)]
async fn a_wait_that_has_lost_a_race_leaves_the_signal_to_the_next_one() {
    let engine = engine();
    let run = engine.start::<choosing>(()).id("run").await.unwrap();
    tokio::time::sleep(HOUR + HOUR / 2).await;
    run.answer("fine:1", true).await.unwrap();
    tokio::time::sleep(HOUR / 4).await;
    send(&engine, &["a"]).await;
    assert_eq!(run.result().await.unwrap(), ["late", "true", "a"]);
    let events = engine.history("run").await.unwrap().unwrap();
    assert_eq!(delivered(&events), [("choosing/chooses/wait:message.3".to_owned(), "a".to_owned())]);
}

#[test]
fn a_race_is_decided_the_same_after_a_restart() {
    #[node]
    async fn races(ctx: &Context, #[resource] death: &Death) -> Vec<String> {
        let mut all = Vec::new();
        for at in 0..3 {
            tokio::select! {
                message = ctx.wait(MESSAGE) => all.push(message),
                paid = ctx.wait(PAID) => all.push(paid.to_string()),
                fine = ctx.ask::<bool>("fine", "Is it?").key(at) => all.push(fine.to_string()),
            }
        }
        death.come("end").await;
        all
    }
    workflow! { racing(()) -> Vec<String> { START => races; } }
    for _ in 0..20 {
        let remains = Remains::default();
        life(async {
            let death = Death::at("end");
            let engine = remains.engine(&death).build().unwrap();
            let run = engine.start::<racing>(()).id("run").await.unwrap();
            engine.signal("run", PAID, 1).await.unwrap();
            send(&engine, &["a"]).await;
            engine.signal("run", PAID, 2).await.unwrap();
            let _maybe_too_late = run.answer("fine:2", true).await;
            death.came().await;
        });
        let before = life(async {
            let engine = remains.engine(&Death::default()).build().unwrap();
            engine.history("run").await.unwrap().unwrap()
        });
        let (result, events) = remains.goes_on::<racing>();
        assert_eq!(result.unwrap().as_array().unwrap().len(), 3);
        assert_eq!(delivered(&events), delivered(&before));
    }
}

struct Gate(Arc<Notify>);

/// Waits, and ends without having looked whether the signal came.
#[node]
async fn leaves(ctx: &Context, #[resource] gate: &Gate) -> u32 {
    let mut wait = std::pin::pin!(ctx.wait(MESSAGE));
    assert!(poll!(wait.as_mut()).is_pending());
    gate.0.notified().await;
    1
}

#[node]
async fn takes_one(n: u32, ctx: &Context) -> String {
    format!("{n} {}", ctx.wait(MESSAGE).await)
}

workflow! { leaving(()) -> String { START => leaves => takes_one; } }

#[tokio::test]
async fn a_signal_that_a_node_was_given_and_did_not_take_goes_to_the_next_one() {
    let gate = Arc::new(Notify::new());
    let engine = Engine::builder().resource(Gate(Arc::clone(&gate))).build().unwrap();
    let run = engine.start::<leaving>(()).id("run").await.unwrap();
    let mut events = run.events();
    send(&engine, &["a"]).await;
    while let Some(event) = events.next().await {
        if let EventKind::SignalDelivered { .. } = event.kind {
            break;
        }
    }
    gate.notify_one();
    assert_eq!(run.result().await.unwrap(), "1 a");
    let events = engine.history("run").await.unwrap().unwrap();
    let to: Vec<String> = delivered(&events).into_iter().map(|(path, _)| path).collect();
    assert_eq!(to, ["leaving/leaves/wait:message.1", "leaving/takes_one/wait:message.1"]);
}

#[tokio::test]
async fn a_signal_that_a_node_takes_and_ends_with_is_not_given_to_the_next_one() {
    #[node]
    async fn takes_first(ctx: &Context) -> String {
        ctx.wait(MESSAGE).await
    }
    #[node]
    async fn takes_second(first: String, ctx: &Context) -> String {
        format!("{first} {}", ctx.wait(MESSAGE).await)
    }
    workflow! { in_turn(()) -> String { START => takes_first => takes_second; } }
    let engine = engine();
    let run = engine.start::<in_turn>(()).id("run").await.unwrap();
    send(&engine, &["a"]).await;
    while awaited(run.outcome().await.unwrap())[0].path != "in_turn/takes_second" {
        tokio::task::yield_now().await;
    }
    send(&engine, &["b"]).await;
    assert_eq!(run.result().await.unwrap(), "a b");
}

#[node]
async fn takes_with_a_key(at: u32, ctx: &Context) -> String {
    ctx.wait(MESSAGE).key(at).await
}

#[node]
async fn three(_: ()) -> Vec<u32> {
    vec![0, 1, 2]
}

workflow! { three_waiting(()) -> Vec<String> { START => three => [takes_with_a_key]; } }

#[tokio::test]
async fn of_several_nodes_the_one_that_has_waited_longest_is_first() {
    let engine = engine();
    let run = engine.start::<three_waiting>(()).id("run").await.unwrap();
    assert_eq!(awaited(run.outcome().await.unwrap()).len(), 3);
    send(&engine, &["a", "b", "c"]).await;
    assert_eq!(run.result().await.unwrap(), ["a", "b", "c"]);
    let events = engine.history("run").await.unwrap().unwrap();
    let path = |at: usize| format!("three_waiting/takes_with_a_key[{at}]/wait:message@{at}");
    let expected = ["a", "b", "c"].into_iter().enumerate().map(|(at, message)| (path(at), message.to_owned()));
    assert_eq!(delivered(&events), expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn several_waits_of_one_node_may_be_open() {
    #[node]
    async fn both(ctx: &Context) -> String {
        let (a, b, c) = tokio::join!(ctx.wait(MESSAGE), ctx.wait(PAID), ctx.wait(MESSAGE));
        format!("{a} {b} {c}")
    }
    workflow! { joining(()) -> String { START => both; } }
    let engine = engine();
    let run = engine.start::<joining>(()).id("run").await.unwrap();
    send(&engine, &["a", "b"]).await;
    engine.signal("run", PAID, 7).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "a 7 b");
}

#[tokio::test]
async fn a_second_use_of_a_key_fails_the_node() {
    #[node]
    async fn twice(ctx: &Context) -> String {
        ctx.wait(MESSAGE).key(1).await + &ctx.wait(MESSAGE).await + &ctx.wait(MESSAGE).key(1).await
    }
    workflow! { repeating(()) -> String { START => twice; } }
    let engine = engine();
    let run = engine.start::<repeating>(()).id("run").await.unwrap();
    send(&engine, &["a", "b"]).await;
    let failure = failure(run.result().await);
    assert!(failure.cause.to_string().contains("duplicate request `repeating/twice/wait:message@1`"), "{failure}");
}

#[tokio::test]
async fn tasks_of_a_node_wait_each_for_its_own() {
    #[node]
    async fn spawns(ctx: &Context) -> u64 {
        let task = |at: u64| {
            let ctx = ctx.clone();
            tokio::spawn(async move { ctx.wait(PAID).key(at).await })
        };
        let tasks = [task(0), task(1), task(2)];
        join_all(tasks).await.into_iter().map(Result::unwrap).sum()
    }
    workflow! { spawning(()) -> u64 { START => spawns; } }
    let engine = engine();
    let run = engine.start::<spawning>(()).id("run").await.unwrap();
    for paid in [1, 10, 100] {
        run.signal(PAID, paid).await.unwrap();
    }
    let mut events = run.events();
    while let Some(event) = events.next().await {
        if let EventKind::RunCompleted { output, .. } = event.kind {
            assert_eq!(output, json!(111));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_may_be_as_long_as_the_limit_says() {
    const LONG: Signal<u64> = Signal::new(LONGEST);
    #[node]
    async fn takes_long(ctx: &Context) -> String {
        let first = ctx.wait(LONG).key("k".repeat(1000)).within(HOUR).await;
        format!("{first:?} {}", ctx.wait(LONG).within(HOUR).await.unwrap_err())
    }
    workflow! { long(()) -> String { START => takes_long; } }
    let engine = engine();
    let run = engine.start::<long>(()).id("run").await.unwrap();
    engine.signal("run", LONG, 1).id("i".repeat(1024)).by("b".repeat(1024)).await.unwrap();
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(run.result().await.unwrap(), "Ok(1) nothing came within 3600s");
}

const LONGEST: &str = {
    const BYTES: [u8; 1024] = [b'/'; 1024];
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

#[value]
#[derive(Debug, Clone, PartialEq)]
struct Odd {
    float: f64,
    large: u128,
    nothing: Option<Option<u32>>,
    by_number: BTreeMap<u32, String>,
}

const ODD: Signal<Odd> = Signal::new("odd / name: #1");

#[node]
async fn takes_odd(ctx: &Context, #[resource] death: &Death) -> String {
    let odd = ctx.wait(ODD).await;
    death.come("odd").await;
    format!("{odd:?}")
}

workflow! { odd(()) -> String { START => takes_odd; } }

#[test]
fn a_payload_comes_as_it_was_sent_also_after_a_restart() {
    let odd_one =
        Odd { float: f64::NAN, large: u128::MAX, nothing: Some(None), by_number: [(7, "seven".to_owned())].into() };
    let remains = Remains::default();
    life(async {
        let death = Death::at("odd");
        let engine = remains.engine(&death).build().unwrap();
        let run = engine.start::<odd>(()).id("run").await.unwrap();
        run.signal(ODD, odd_one.clone()).await.unwrap();
        death.came().await;
    });
    let (result, _) = remains.goes_on::<odd>();
    assert_eq!(result.unwrap(), json!(format!("{odd_one:?}")));
}

#[node]
async fn waits_in_time(ctx: &Context, #[resource] death: &Death) -> String {
    let mut all = Vec::new();
    for _ in 0..2 {
        match ctx.wait(PAID).within(HOUR).await {
            Ok(paid) => all.push(paid.to_string()),
            Err(elapsed) => all.push(elapsed.to_string()),
        }
        death.come("between").await;
    }
    all.join(", ")
}

workflow! { limited(()) -> String { START => waits_in_time; } }

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_its_time_is_over_and_a_later_signal_is_kept() {
    let engine = Engine::builder().resource(Death::default()).build().unwrap();
    let run = engine.start::<limited>(()).id("run").await.unwrap();
    let waits = awaited(run.outcome().await.unwrap());
    let until = waits[0].until.unwrap().duration_since(std::time::SystemTime::now()).unwrap();
    assert!(until > HOUR / 2 && until < 2 * HOUR, "{until:?}");
    tokio::time::sleep(HOUR + HOUR / 2).await;
    run.signal(PAID, 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "nothing came within 3600s, 5");
}

#[test]
fn what_came_in_time_came_in_time_after_a_restart() {
    let remains = Remains::default();
    life(async {
        let death = Death::at("between");
        let engine = remains.engine(&death).build().unwrap();
        let run = engine.start::<limited>(()).id("run").await.unwrap();
        run.signal(PAID, 5).await.unwrap();
        death.came().await;
        run.signal(PAID, 6).await.unwrap();
    });
    let (result, _) = remains.goes_on::<limited>();
    assert_eq!(result.unwrap(), json!("5, 6"));
}

/// Another process sends it, by a clock that shows an hour and a half more.
#[test]
fn what_came_late_while_no_process_was_there_goes_to_the_next_wait() {
    let directory = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(directory.path().join("runs.db"));
    life(async {
        let engine = Engine::builder().store(open().await.unwrap()).resource(Death::default());
        let run = engine.register::<limited>().build().unwrap().start::<limited>(()).id("run").await.unwrap();
        awaited(run.outcome().await.unwrap());
    });
    let later = || SystemTime::now() + HOUR + HOUR / 2;
    life(async {
        let engine = Engine::builder().store(open().await.unwrap()).clock(later).build().unwrap();
        engine.signal("run", PAID, 5).await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(run.awaited_signals().await.unwrap().len(), 1, "the wait is open until its timer fires");
    });
    life(async {
        let engine = Engine::builder().store(open().await.unwrap()).clock(later).resource(Death::default());
        let engine = engine.register::<limited>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run_of::<limited>("run").await.unwrap().unwrap();
        assert_eq!(run.result().await.unwrap(), "nothing came within 3600s, 5");
    });
}

#[node(name = "takes")]
async fn takes_in_time(ctx: &Context) -> u64 {
    ctx.wait(PAID).within(HOUR).await.unwrap_or_default()
}

#[node(name = "takes")]
async fn takes_at_any_time(ctx: &Context) -> u64 {
    ctx.wait(PAID).await
}

#[node]
async fn dies_beside(#[resource] death: &Death) -> u64 {
    death.come("beside").await;
    1
}

#[node]
async fn add(a: u64, b: u64) -> u64 {
    a + b
}

mod in_time {
    workflow! { pub(super) patient(()) -> u64 { START => super::takes_in_time; } }
    workflow! { pub(super) busy(()) -> u64 { START => (super::takes_in_time, super::dies_beside) => super::add; } }
    use graphweft::prelude::*;
}

mod at_any_time {
    workflow! { pub(super) patient(()) -> u64 { START => super::takes_at_any_time; } }
    workflow! { pub(super) busy(()) -> u64 { START => (super::takes_at_any_time, super::dies_beside) => super::add; } }
    use graphweft::prelude::*;
}

/// The next program delivers it, and only then its node says that it waits without a limit.
#[test]
fn a_signal_that_came_between_two_programs_reaches_a_node_that_waits_for_it_in_another_way() {
    let remains = Remains::default();
    remains.dies_at::<in_time::busy>((), "beside");
    life(async {
        let other = Engine::builder().store(remains.store.clone()).build().unwrap();
        other.signal("run", PAID, 5).await.unwrap();
    });
    assert_eq!(remains.goes_on::<at_any_time::busy>().0.unwrap(), 6);
}

#[test]
fn a_wait_that_the_next_program_does_not_limit_gets_a_signal_at_any_time() {
    let store = MemoryStore::new();
    life(async {
        let engine = Engine::builder().store(store.clone()).register::<in_time::patient>().build().unwrap();
        let run = engine.start::<in_time::patient>(()).id("run").await.unwrap();
        awaited(run.outcome().await.unwrap());
        engine.shutdown().await;
    });
    life(async {
        let later = Engine::builder().store(store.clone()).clock(|| SystemTime::now() + 2 * HOUR);
        let engine = later.register::<at_any_time::patient>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run_of::<at_any_time::patient>("run").await.unwrap().unwrap();
        assert_eq!(awaited(run.outcome().await.unwrap())[0].until, None);
        run.signal(PAID, 5).await.unwrap();
        let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await;
        assert_eq!(result.expect("it gets it").unwrap(), 5);
    });
}

#[tokio::test]
async fn a_run_that_waits_for_a_signal_can_be_cancelled() {
    let engine = Engine::builder().store(MemoryStore::new()).register::<taking>().build().unwrap();
    let run = engine.start::<taking>(()).id("run").await.unwrap();
    awaited(run.outcome().await.unwrap());
    run.cancel().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
    let refused = run.signal(MESSAGE, "late".to_owned()).await;
    assert!(matches!(refused, Err(SignalError::RunOver { .. })), "{refused:?}");
}

#[node]
async fn takes_what_is_there(ctx: &Context) -> Vec<u64> {
    let mut taken = Vec::new();
    while let Ok(cents) = ctx.wait(PAID).within(Duration::ZERO).await {
        taken.push(cents);
    }
    taken
}

workflow! { taking_what_is_there() -> Vec<u64> { START => takes_what_is_there; } }

#[tokio::test]
async fn a_signal_that_was_there_before_comes_in_time_however_short_that_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let hours = Arc::new(AtomicU32::new(0));
    let shown = Arc::clone(&hours);
    let clock = move || SystemTime::now() + shown.load(Ordering::SeqCst) * HOUR;
    let engine = Engine::builder().clock(clock).store(store).register::<taking_what_is_there>().build().unwrap();
    for at in 0..10 {
        let start = engine.start::<taking_what_is_there>(()).id(format!("run {at}"));
        let run = start.after(HOUR).await.unwrap();
        for cents in 0..5 {
            run.signal(PAID, cents).await.unwrap();
        }
        hours.fetch_add(1, Ordering::SeqCst);
        let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("it ends");
        assert_eq!(result.unwrap(), [0, 1, 2, 3, 4]);
    }
}
