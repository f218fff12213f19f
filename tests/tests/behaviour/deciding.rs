//! A node that decides by what came first decides the same when it runs again: after a restart, a takeover, or since its run
//! had left the memory.

use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::{Either, select};
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, MemoryStore, Record, Store};
use graphweft::{AnswerError, EventKind, Never};
use graphweft_tests::{Death, Journal, Remains, event, life, paths, records};

const SOON: Duration = Duration::from_millis(40);
const LATER: Duration = Duration::from_secs(3600);

/// Records an answer as another process does, without any that continues the run.
async fn record_answer(remains: &Remains, question: &str, answer: u32) {
    let header = remains.store.header("run").await.unwrap().unwrap();
    let kind = event(graphweft::json!({ "type": "answered", "answer": answer, "unchecked": true }));
    let records = vec![Record::new(question, kind)];
    let mut append = Append::new(header.key, header.records, SystemTime::now(), records);
    append.header.nudge = true;
    assert_eq!(remains.store.append(append).await, Ok(Appended::Done));
}

/// `biased` as tokio means it, or not.
async fn decide(ctx: &Context, biased: bool, deadline: Duration) -> String {
    let in_time = |yes: bool| format!("answered {yes}");
    let late = || "deadline passed".to_owned();
    if biased {
        tokio::select! {
            biased;
            () = ctx.sleep(deadline) => late(),
            yes = ctx.ask::<bool>("approve", "Ship it?") => in_time(yes),
        }
    } else {
        tokio::select! {
            () = ctx.sleep(deadline) => late(),
            yes = ctx.ask::<bool>("approve", "Ship it?") => in_time(yes),
        }
    }
}

#[node]
async fn review(
    (biased, deadline): (bool, Duration),
    ctx: &Context,
    #[resource] journal: &Journal,
    #[resource] death: &Death,
) -> String {
    let decided = decide(ctx, biased, deadline).await;
    journal.note(decided.clone());
    death.come("decided").await;
    ctx.step("publish", || std::future::ready(Ok::<_, Never>(()))).await.ok();
    death.come("published").await;
    decided
}

workflow! { reviewed((bool, Duration)) -> String { START => review; } }

#[test]
fn a_question_that_was_answered_in_time_was_so_also_when_the_deadline_passes_during_a_restart() {
    for attempt in 0..20 {
        let remains = Remains::default();
        life(async {
            let death = Death::at(if attempt % 4 < 2 { "decided" } else { "published" });
            let engine = remains.engine(&death).build().unwrap();
            let run = engine.start::<reviewed>((attempt % 2 == 0, LATER)).id("run").await.unwrap();
            assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
            run.answer("approve", true).await.unwrap();
            death.came().await;
        });
        let (output, events) = remains.goes_on_after::<reviewed>(LATER);
        assert_eq!(output.unwrap(), "answered true");
        assert_eq!(remains.journal.lines(), ["answered true"; 2]);
        let withdrawn = paths(&events, |kind| *kind == EventKind::RequestWithdrawn);
        assert_eq!(withdrawn, ["reviewed/review/sleep:1"]);
    }
}

#[test]
fn a_deadline_that_passed_first_did_so_also_when_the_question_is_asked_again() {
    for attempt in 0..10 {
        let remains = Remains::default();
        remains.dies_at::<reviewed>((attempt % 2 == 0, SOON), "decided");
        let (output, _) = remains.goes_on::<reviewed>();
        assert_eq!(output.unwrap(), "deadline passed");
        life(async {
            let engine = remains.engine(&Death::default()).register::<reviewed>().build().unwrap();
            let refused = engine.answer("run", "approve", true).await.unwrap_err();
            assert!(matches!(refused, AnswerError::Withdrawn { .. }), "{refused}");
        });
    }
}

#[node]
async fn within(deadline: Duration, ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> String {
    let asked = ctx.ask::<bool>("approve", "Ship it?").key("7").within(deadline).await;
    let decided = match asked {
        Ok(yes) => format!("answered {yes}"),
        Err(elapsed) => elapsed.to_string(),
    };
    journal.note(decided.clone());
    death.come("decided").await;
    ctx.step("publish", || std::future::ready(Ok::<_, Never>(()))).await.ok();
    death.come("published").await;
    decided
}

workflow! { asked_within(Duration) -> String { START => within; } }

#[test]
fn a_question_with_a_deadline_was_answered_in_time_also_when_that_passes_during_a_restart() {
    for place in ["decided", "published"] {
        let remains = Remains::default();
        life(async {
            let death = Death::at(place);
            let engine = remains.engine(&death).build().unwrap();
            let run = engine.start::<asked_within>(LATER).id("run").await.unwrap();
            assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
            run.answer("approve:7", true).await.unwrap();
            death.came().await;
        });
        let (output, events) = remains.goes_on_after::<asked_within>(LATER);
        assert_eq!(output.unwrap(), "answered true");
        assert_eq!(remains.journal.lines(), ["answered true"; 2]);
        let withdrawn = paths(&events, |kind| *kind == EventKind::RequestWithdrawn);
        assert_eq!(withdrawn, ["asked_within/within/within:approve%3A7"]);
    }
}

#[test]
fn a_question_whose_deadline_has_passed_is_withdrawn_in_every_process() {
    for place in ["decided", "published"] {
        let remains = Remains::default();
        remains.dies_at::<asked_within>(SOON, place);
        let (output, events) = remains.goes_on::<asked_within>();
        assert_eq!(output.unwrap(), "nothing came within 40ms");
        assert_eq!(remains.journal.lines(), ["nothing came within 40ms"; 2]);
        let withdrawn = paths(&events, |kind| *kind == EventKind::RequestWithdrawn);
        assert_eq!(withdrawn, ["asked_within/within/approve:7"]);
        life(async {
            let engine = remains.engine(&Death::default()).register::<asked_within>().build().unwrap();
            let refused = engine.answer("run", "approve:7", true).await.unwrap_err();
            assert!(matches!(refused, AnswerError::Withdrawn { .. }), "{refused}");
        });
    }
}

#[test]
fn of_two_answers_the_first_decides_in_every_process() {
    #[node]
    async fn first_of_two(ctx: &Context, #[resource] death: &Death) -> String {
        let first = tokio::select! {
            left = ctx.ask::<u32>("left", "?") => format!("left {left}"),
            right = ctx.ask::<u32>("right", "?") => format!("right {right}"),
        };
        death.come("decided").await;
        first
    }
    workflow! { racing(()) -> String { START => first_of_two; } }
    for attempt in 0..20 {
        let remains = Remains::default();
        life(async {
            let engine = remains.engine(&Death::default()).build().unwrap();
            let run = engine.start::<racing>(()).id("run").await.unwrap();
            assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        });
        // Both are answered before anybody runs it: the one that is on record first counts.
        life(async {
            let (first, second) = if attempt % 2 == 0 { ("left", "right") } else { ("right", "left") };
            record_answer(&remains, &format!("racing/first_of_two/{first}"), 1).await;
            record_answer(&remains, &format!("racing/first_of_two/{second}"), 2).await;
        });
        let expected = if attempt % 2 == 0 { "left 1" } else { "right 1" };
        life(async {
            let death = Death::at("decided");
            let engine = remains.engine(&death).register::<racing>().build().unwrap();
            engine.recover().await.unwrap();
            death.came().await;
        });
        let (output, _) = remains.goes_on::<racing>();
        assert_eq!(output.unwrap(), expected);
    }
}

#[test]
fn a_child_that_was_faster_than_a_timer_was_so_in_every_process() {
    #[node]
    async fn quick(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("quick");
        n + 1
    }
    #[node]
    async fn either(ctx: &Context, #[resource] death: &Death) -> String {
        let child = ctx.call::<quick>(1);
        let timer = ctx.sleep(LATER);
        let first = match select(timer, child).await {
            Either::Left(((), _)) => "timer".to_owned(),
            Either::Right((output, _)) => format!("child {output:?}"),
        };
        death.come("decided").await;
        first
    }
    workflow! { hurrying(()) -> String { START => either; } }
    for _ in 0..10 {
        let remains = Remains::default();
        remains.dies_at::<hurrying>((), "decided");
        let (output, _) = remains.goes_on_after::<hurrying>(LATER);
        assert_eq!(output.unwrap(), "child Ok(2)");
        assert_eq!(remains.journal.lines(), ["quick"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_decides_the_same_when_its_run_had_left_the_memory() {
    #[node]
    async fn twice(ctx: &Context) -> String {
        let first = decide(ctx, false, LATER).await;
        let second = ctx.ask::<u32>("amount", "How much?").await;
        format!("{first}, {second}")
    }
    workflow! { asking_twice(()) -> String { START => twice; } }
    for _ in 0..20 {
        let engine = Engine::builder().register::<asking_twice>().max_resident_waiting(0).build().unwrap();
        let run = engine.start::<asking_twice>(()).await.unwrap();
        while !matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)) {}
        run.answer("approve", true).await.unwrap();
        let open = loop {
            match run.outcome().await.unwrap() {
                Outcome::Waiting(open) if open.iter().any(|question| question.name == "amount") => break open,
                _ => tokio::task::yield_now().await,
            }
        };
        assert_eq!(open.len(), 1, "{open:?}");
        tokio::time::advance(2 * LATER).await;
        run.answer("amount", 3).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "answered true, 3");
    }
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_is_withdrawn() {
    #[node]
    async fn gives_up(ctx: &Context) -> u32 {
        tokio::select! {
            _ = ctx.ask::<u32>("slow", "?") => {}
            _ = ctx.ask::<u32>("quick", "?") => {}
        }
        ctx.ask::<u32>("last", "?").await
    }
    workflow! { giving_up(()) -> u32 { START => gives_up; } }
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<giving_up>(()).await.unwrap();
    let names = |outcome| match outcome {
        Outcome::Waiting(open) => open.into_iter().map(|question| question.name).collect::<Vec<_>>(),
        other => panic!("it does not wait: {other:?}"),
    };
    assert_eq!(names(run.outcome().await.unwrap()), ["quick", "slow"]);
    run.answer("quick", 1).await.unwrap();
    loop {
        let open = names(run.outcome().await.unwrap());
        if open == ["last"] {
            break;
        }
        tokio::task::yield_now().await;
    }
    let here = run.answer("slow", 1).await.unwrap_err();
    assert!(matches!(here, AnswerError::Withdrawn { .. }), "{here}");
    let elsewhere = Engine::builder().store(store).register::<giving_up>().build().unwrap();
    let there = elsewhere.answer(run.id(), "slow", 1).await.unwrap_err();
    assert!(matches!(there, AnswerError::Withdrawn { .. }), "{there}");
    run.answer("last", 2).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 2);
}

#[test]
fn a_question_that_is_asked_again_after_a_reminder_is_open_again() {
    #[node]
    async fn reminds(ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> String {
        for round in 1.. {
            tokio::select! {
                yes = ctx.ask::<bool>("approve", "Ship it?") => return format!("{yes} in round {round}"),
                () = ctx.sleep(Duration::from_millis(20)) => journal.note(format!("reminder {round}")),
            }
            if round == 3 {
                death.come("third").await;
            }
        }
        unreachable!("it goes on for ever")
    }
    workflow! { reminding(()) -> String { START => reminds; } }
    let remains = Remains::default();
    remains.dies_at::<reminding>((), "third");
    assert_eq!(remains.journal.lines(), ["reminder 1", "reminder 2", "reminder 3"]);
    life(async {
        let engine = remains.engine(&Death::default()).register::<reminding>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        while !matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)) {}
        while run.answer("approve", true).await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let output = run.result().await.unwrap();
        let round: u32 = output.as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        assert!(round > 3, "{output}");
        assert_eq!(
            &remains.journal.lines()[..6],
            ["reminder 1", "reminder 2", "reminder 3", "reminder 1", "reminder 2", "reminder 3"]
        );
    });
}

#[tokio::test]
async fn a_request_is_not_ready_in_the_poll_that_makes_it() {
    #[node]
    async fn looks(ctx: &Context) -> Vec<bool> {
        let done = ctx.step("step", || std::future::ready(Ok::<_, Never>(()))).now_or_never().is_some();
        vec![done, ctx.sleep(Duration::ZERO).now_or_never().is_some()]
    }
    workflow! { looking(()) -> Vec<bool> { START => looks; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<looking>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [false, false]);
    assert_eq!(looking(()).await.unwrap(), [false, false]);
}

#[tokio::test]
async fn requests_of_a_task_that_the_node_has_spawned_are_answered() {
    #[node]
    async fn spawns(ctx: &Context) -> Vec<u32> {
        let asks = |name: &'static str| {
            let ctx = ctx.clone();
            tokio::spawn(async move { ctx.ask::<u32>(name, "?").await })
        };
        let (a, b) = (asks("a"), asks("b"));
        let c = ctx.ask::<u32>("c", "?").await;
        vec![a.await.unwrap(), b.await.unwrap(), c]
    }
    workflow! { spawning(()) -> Vec<u32> { START => spawns; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<spawning>(()).await.unwrap();
    for (name, answer) in [("b", 2), ("c", 3), ("a", 1)] {
        while run.answer(name, answer).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(run.result().await.unwrap(), [1, 2, 3]);
    let withdrawn = paths(&records(&run).await, |kind| *kind == EventKind::RequestWithdrawn);
    assert!(withdrawn.is_empty(), "{withdrawn:?}");
}

#[tokio::test]
async fn a_question_that_is_asked_again_in_each_round_can_be_answered_in_any() {
    #[node]
    async fn reminds(ctx: &Context, #[resource] journal: &Journal) -> u32 {
        for round in 1.. {
            tokio::select! {
                _ = ctx.ask::<bool>("approve", "Ship it?") => return round,
                () = ctx.sleep(Duration::from_millis(5)) => journal.note("reminder"),
            }
        }
        unreachable!("it goes on for ever")
    }
    workflow! { reminding(()) -> u32 { START => reminds; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    let run = engine.start::<reminding>(()).await.unwrap();
    while journal.lines().len() < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while run.answer("approve", true).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let round = tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("it ends").unwrap();
    assert!(round > 3, "{round}");
}

/// `tokio::time::timeout` is a timer of the node's own: it is not recorded, and keeps the body from coming to rest.
#[tokio::test]
async fn a_question_under_a_timer_of_the_nodes_own_is_open_in_every_round() {
    #[node]
    async fn waits_a_while(ctx: &Context, #[resource] journal: &Journal) -> u32 {
        for round in 1.. {
            let answer = tokio::time::timeout(Duration::from_millis(20), ctx.ask::<u32>("amount", "?")).await;
            if let Ok(answer) = answer {
                return answer + round;
            }
            journal.note("round");
            ctx.step("look", || std::future::ready(Ok::<_, Never>(()))).key(round).await.ok();
        }
        unreachable!("it goes on for ever")
    }
    workflow! { waiting_a_while(()) -> u32 { START => waits_a_while; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    let run = engine.start::<waiting_a_while>(()).await.unwrap();
    while journal.lines().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while run.answer("amount", 10).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let sum = tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("it ends").unwrap();
    assert!(sum > 12, "{sum}");
}

/// The question is dropped for a reminder and asked again. That it was answered before the work was done is still so when
/// the node starts again.
#[test]
fn a_question_that_was_asked_again_wins_in_every_process() {
    #[node]
    async fn works(ctx: &Context, #[resource] journal: &Journal) -> String {
        let slow = ctx.step("slow", || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<u32, Never>(0)
        });
        let mut slow = std::pin::pin!(slow);
        let mut round = 0;
        let first = loop {
            round += 1;
            tokio::select! {
                yes = ctx.ask::<bool>("approve", "?") => break format!("answered {yes} in round {round}"),
                _ = &mut slow => break "work is done".to_owned(),
                () = ctx.sleep(SOON).key(round), if round < 2 => {
                    ctx.step("remind", || std::future::ready(Ok::<u32, Never>(0))).key(round).await.ok();
                    journal.note("reminded");
                }
            }
        };
        // Until here it has decided; the work ends in the meantime.
        slow.await.ok();
        journal.note(first.clone());
        ctx.ask::<String>("second", "?").await;
        first
    }
    workflow! { working(()) -> String { START => works; } }
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<working>(()).id("run").await.unwrap();
        while remains.journal.lines().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while run.answer("approve", true).await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while !matches!(run.outcome().await.unwrap(), Outcome::Waiting(open) if open[0].name == "second") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    life(async {
        let engine = remains.engine(&Death::default()).register::<working>().build().unwrap();
        engine.answer("run", "second", "go on").await.unwrap();
    });
    let (output, events) = remains.goes_on::<working>();
    assert_eq!(output.unwrap(), "answered true in round 2");
    // What is on record is not withdrawn once more.
    let withdrawn = events.iter().filter(|event| event.kind == EventKind::RequestWithdrawn);
    let approved = withdrawn.filter(|event| event.path.ends_with("approve")).count();
    assert_eq!(approved, 1, "{events:#?}");
}

#[test]
fn answers_that_were_recorded_before_reach_the_tasks_that_a_node_has_spawned() {
    #[node]
    async fn spawns(ctx: &Context) -> u32 {
        let asks = |name: &'static str| {
            let ctx = ctx.clone();
            tokio::spawn(async move { ctx.ask::<u32>(name, "?").await })
        };
        let (a, b, c) = (asks("a"), asks("b"), asks("c"));
        let last = c.await.unwrap();
        last + a.await.unwrap() + b.await.unwrap()
    }
    workflow! { spawning(()) -> u32 { START => spawns; } }
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<spawning>(()).id("run").await.unwrap();
        while !matches!(run.outcome().await.unwrap(), Outcome::Waiting(open) if open.len() == 3) {
            tokio::task::yield_now().await;
        }
    });
    life(async {
        for (name, answer) in [("a", 1), ("b", 2), ("c", 3)] {
            record_answer(&remains, &format!("spawning/spawns/{name}"), answer).await;
        }
    });
    let (output, _) = remains.goes_on::<spawning>();
    assert_eq!(output.unwrap(), 6);
}

#[tokio::test]
async fn a_mock_may_hand_its_context_to_a_task() {
    #[node]
    async fn asks(n: u32, ctx: &Context) -> u32 {
        n + ctx.ask::<u32>("amount", "?").await
    }
    workflow! { asking(u32) -> u32 { START => asks; } }
    let engine = Engine::builder().mock::<asks>(|n, ctx| async move {
        let asked = tokio::spawn(async move { ctx.ask::<u32>("amount", "?").await });
        Ok(n * asked.await.unwrap())
    });
    let engine = engine.build().unwrap();
    let run = engine.start::<asking>(3).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("amount", 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 15);
}

#[tokio::test(start_paused = false)]
async fn a_node_that_wakes_itself_lets_others_run() {
    #[node]
    async fn spins(ctx: &Context) -> u32 {
        ctx.step("first", || std::future::ready(Ok::<_, Never>(()))).await.ok();
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let other = std::sync::Arc::clone(&flag);
        tokio::spawn(async move { other.store(true, std::sync::atomic::Ordering::SeqCst) });
        let mut rounds = 0;
        while !flag.load(std::sync::atomic::Ordering::SeqCst) {
            rounds += 1;
            assert!(rounds < 1000, "nobody else runs");
            let mut was_pending = false;
            std::future::poll_fn(|waker| {
                if std::mem::replace(&mut was_pending, true) {
                    return std::task::Poll::Ready(());
                }
                waker.waker().wake_by_ref();
                std::task::Poll::Pending
            })
            .await;
        }
        7
    }
    workflow! { spinning(()) -> u32 { START => spins; } }
    assert_eq!(spinning(()).await.unwrap(), 7);
    let engine = Engine::builder().build().unwrap();
    assert_eq!(engine.start::<spinning>(()).await.unwrap().result().await.unwrap(), 7);
}
