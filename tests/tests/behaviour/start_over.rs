//! A run that starts over: the next run begins in its place, with an empty journal.

use std::time::Duration;

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::{ForkError, Retention, RetryError, RunError, SignalError, Signalled, StartError, json};
use graphweft_tests::{Gauge, Journal, failure, records};

pub(super) const MESSAGE: Signal<String> = Signal::new("message");

/// Counts up to 3, with a run for each.
#[node]
async fn count(n: u32, ctx: &Context) -> u32 {
    if n < 3 {
        ctx.start_over::<counting>(n + 1).await
    }
    n
}

workflow! { counting(u32) -> u32 { START => count; } }

fn kinds(events: &[graphweft::Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}

/// How the run ends, when the runs that follow it have ended.
async fn ended<T: graphweft::Payload>(run: &Run<T>) -> Result<T, RunError> {
    tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("the run ends")
}

/// Until a run has this status.
async fn until<T>(run: &Run<T>, status: RunStatus) {
    let waits = async {
        while run.status().await.unwrap() != status {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("it gets there");
}

#[tokio::test]
async fn each_run_is_followed_by_the_next_and_a_handle_to_the_first_gives_the_last_result() {
    let engine = Engine::builder().register::<counting>().build().unwrap();
    let run = engine.start::<counting>(0).id("c").tag("tenant", "acme").await.unwrap();

    assert_eq!(ended(&run).await, Ok(3));
    assert_eq!(ended(&run).await, Ok(3), "again, from the records");
    let events = records(&run).await;
    assert_eq!(kinds(&events), ["run_started", "node_started", "run_starting_over", "run_started_over"]);
    assert_eq!(events[2].path, "counting/count");
    assert!(matches!(&events[3].kind, EventKind::RunStartedOver { next, .. } if next == "c~1"));

    let mut at = run.clone();
    for (id, next) in [("c", "c~1"), ("c~1", "c~2"), ("c~2", "c~3")] {
        let info = at.info().await.unwrap();
        assert_eq!((info.id.as_str(), info.next.as_deref()), (id, Some(next)));
        assert_eq!((info.status, info.tags.get("tenant").unwrap().as_str()), (RunStatus::StartedOver, "acme"));
        let following = at.next().await.unwrap().unwrap();
        assert_eq!(following.info().await.unwrap().previous.as_deref(), Some(id));
        at = following;
    }
    assert_eq!((at.status().await.unwrap(), at.id()), (RunStatus::Completed, "c~3"));
    assert!(at.next().await.unwrap().is_none());
    let first = &records(&at).await[0].kind;
    assert!(matches!(first, EventKind::RunStarted { previous: Some(of), tags, .. } if of == "c~2" && tags.len() == 1));

    let again = engine.start::<counting>(0).id("c").await.unwrap();
    assert_eq!((again.status().await.unwrap(), ended(&again).await), (RunStatus::StartedOver, Ok(3)));
    let other = engine.start::<counting>(1).id("c").await.unwrap_err();
    assert!(matches!(other, StartError::OtherInput { .. }), "{other}");
    assert_eq!(engine.run_to_end::<counting>(0).await.unwrap(), 3);
    let outcomes = engine.wait_all(["c", "c~1"]).await;
    assert!(outcomes.iter().all(|(_, outcome)| *outcome == Ok(Outcome::Completed(json!(3)))), "{outcomes:?}");
}

#[tokio::test]
async fn a_run_that_a_user_has_named_like_a_next_one_has_numbers_of_its_own() {
    let engine = Engine::builder().build().unwrap();
    assert_eq!(ended(&engine.start::<counting>(2).id("c~7").await.unwrap()).await, Ok(3));
    assert!(engine.get_run("c~7~1").await.unwrap().is_some());
    assert!(engine.get_run("c~8").await.unwrap().is_none());
}

/// Waits for the others to be under way, and starts over once.
#[node]
async fn leaves(first: bool, ctx: &Context, #[resource] gauge: &Gauge, #[resource] journal: &Journal) -> String {
    if first {
        gauge.stay_inside().await;
        journal.note("starts over");
        ctx.start_over::<with_others>(false).await
    }
    "left".to_owned()
}

#[node]
async fn cleans_up(first: bool, ctx: &Context, #[resource] gauge: &Gauge, #[resource] journal: &Journal) -> String {
    if first {
        assert!(!ctx.is_cancelled());
        gauge.stay_inside().await;
        ctx.cancelled().await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        journal.note("has cleaned up");
    } else {
        journal.note("the next run");
    }
    "cleaned".to_owned()
}

#[node]
async fn asks(first: bool, ctx: &Context, #[resource] gauge: &Gauge) -> String {
    if first {
        let question = ctx.ask::<String>("name", "Who?");
        let (name, ()) = futures::join!(question, gauge.stay_inside());
        return name;
    }
    "asked".to_owned()
}

#[node]
async fn slow(first: bool, #[resource] journal: &Journal, #[resource] gauge: &Gauge) -> String {
    let _dropped = journal.when_dropped("the child is dropped");
    if first {
        gauge.stay_inside().await;
        std::future::pending::<()>().await;
    }
    "slow".to_owned()
}

#[node]
async fn calls(first: bool, ctx: &Context) -> Result<String, ChildError<Never>> {
    ctx.call::<slow>(first).await
}

#[node]
async fn all(a: String, b: String, c: String, d: String) -> String {
    [a, b, c, d].join(" ")
}

workflow! {
    with_others(bool) -> String { START => (leaves, cleans_up, asks, calls) => all; }
}

#[tokio::test]
async fn what_else_is_under_way_is_stopped_before_the_next_run_begins() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(Gauge::expecting(4)).resource(journal.clone()).build().unwrap();
    let run = engine.start::<with_others>(true).id("o").await.unwrap();

    assert_eq!(ended(&run).await, Ok("left cleaned asked slow".to_owned()));
    let lines = journal.lines();
    let at = |line: &str| lines.iter().position(|at| at == line).unwrap_or_else(|| panic!("{line} in {lines:?}"));
    assert!(at("starts over") < at("has cleaned up"), "{lines:?}");
    assert!(at("the child is dropped") < at("the next run"), "{lines:?}");
    assert!(at("has cleaned up") < at("the next run"), "{lines:?}");
    let events = records(&run).await;
    let cancelled = events.iter().filter(|event| event.kind == EventKind::NodeCancelled && !event.derived);
    assert_eq!(cancelled.count(), 3);
    assert_eq!(run.questions().await.unwrap(), []);
    assert!(matches!(events.last().unwrap().kind, EventKind::RunStartedOver { .. }));
}

/// Takes so many messages, and leaves the others to the next run; ends when it is told to.
#[node]
async fn takes(taken: Vec<String>, ctx: &Context) -> Vec<String> {
    let mut taken = taken;
    loop {
        match ctx.wait(MESSAGE).await.as_str() {
            "end" => return taken,
            "over" => ctx.start_over::<chat>(taken).await,
            message => taken.push(message.to_owned()),
        }
    }
}

workflow! { pub(super) chat(Vec<String>) -> Vec<String> { START => takes; } }

#[tokio::test]
async fn signals_that_no_node_has_taken_go_over_to_the_next_run_with_their_ids() {
    let engine = Engine::builder().register::<chat>().build().unwrap();
    // All of them come before the run begins.
    let run = engine.start::<chat>(Vec::new()).id("chat").after(Duration::from_millis(300)).await.unwrap();
    for message in ["a", "over", "b", "c", "over", "d"] {
        engine.signal("chat", MESSAGE, message.to_owned()).id(format!("{message}1")).by("ada").await.unwrap();
    }
    engine.signal("chat", MESSAGE, "e".to_owned()).id("e").await.unwrap();
    // One of the same id: there is one.
    assert_eq!(engine.signal("chat", MESSAGE, "e".to_owned()).id("e").await, Ok(Signalled::Duplicate));

    let last = async {
        while run.next().await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        run.next().await.unwrap().unwrap()
    };
    let next = tokio::time::timeout(Duration::from_secs(20), last).await.unwrap();
    assert_eq!(next.id(), "chat~1");
    // `over1` is counted once, so the run has started over once.
    // One that goes over, and two that were taken by the run before.
    for known in ["d1", "a1", "over1"] {
        assert_eq!(engine.signal("chat", MESSAGE, "again".to_owned()).id(known).await, Ok(Signalled::Duplicate));
    }
    assert_eq!(engine.signal("chat", MESSAGE, "f".to_owned()).id("f").await, Ok(Signalled::New));
    engine.signal("chat", MESSAGE, "end".to_owned()).await.unwrap();
    assert_eq!(ended(&run).await.unwrap(), ["a", "b", "c", "d", "e", "f"]);
    let carried = records(&next).await.into_iter().filter_map(|event| match event.kind {
        EventKind::SignalReceived { id, by, .. } if event.seq < 6 => Some((id.unwrap(), by)),
        _ => None,
    });
    let by_ada = |id: &str| (id.to_owned(), Some("ada".to_owned()));
    assert_eq!(carried.collect::<Vec<_>>(), [by_ada("b1"), by_ada("c1"), by_ada("d1"), ("e".to_owned(), None)]);
    let late = engine.signal("chat", MESSAGE, "late".to_owned()).await;
    assert!(matches!(late, Err(SignalError::RunOver { status: RunStatus::Completed, .. })), "{late:?}");
}

const OWNER: StateKey<String> = StateKey::new("owner");
const TURN: StateKey<u32> = StateKey::new("turn");

#[node]
async fn owned(n: u32, #[state(OWNER)] owner: String, #[state(TURN)] turn: u32, ctx: &Context) -> String {
    match n {
        0 => ctx.start_over::<given>(1).state(OWNER, format!("{owner}'s heir")).state(TURN, turn + 1).await,
        1 => ctx.start_over::<given>(2).state(OWNER, owner).await,
        _ => format!("{owner} {turn}"),
    }
}

workflow! {
    #[given(OWNER, TURN)]
    given(u32) -> String { START => owned; }
}

#[tokio::test]
async fn keys_of_the_state_are_given_to_the_next_run_and_one_that_is_missing_is_named() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<given>(0).id("g").state(OWNER, "Ada".to_owned()).state(TURN, 6).await.unwrap();

    let failed = failure(ended(&run).await);
    let text = failed.to_string();
    assert!(text.contains("`given/owned` cannot start over") && text.contains("state key `turn`"), "{text}");
    assert!(text.contains(".state(KEY, ..)"), "{text}");
    let next = run.next().await.unwrap().unwrap();
    assert_eq!(next.state(OWNER).await.unwrap().unwrap(), "Ada's heir");
    assert_eq!(next.state(TURN).await.unwrap().unwrap(), 7);
    assert_eq!(next.status().await.unwrap(), RunStatus::Failed);
}

/// Where a run starts over.
#[value]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Item,
    Child,
    Step,
    Task,
    Nowhere,
}

#[node]
async fn starts_over(place: Place, ctx: &Context) -> Result<u32, Never> {
    match place {
        Place::Nowhere => Ok(1),
        _ => ctx.start_over::<places>(Place::Nowhere).await,
    }
}

#[node]
async fn one(place: Place, ctx: &Context) -> u32 {
    match place {
        Place::Item => ctx.start_over::<places>(Place::Nowhere).await,
        Place::Child => ctx.call::<starts_over>(place).await.unwrap_or(100),
        Place::Step => {
            let step = || async {
                if place == Place::Step { ctx.start_over::<places>(Place::Nowhere).await } else { Ok::<u32, String>(1) }
            };
            ctx.step("step", step).await.unwrap_or(100)
        }
        Place::Task => {
            let ctx = ctx.clone();
            let task = tokio::spawn(async move { ctx.start_over::<places>(Place::Nowhere).await });
            task.await.unwrap()
        }
        Place::Nowhere => 1,
    }
}

#[node]
async fn five(place: Place) -> Vec<Place> {
    let at = |item| if item == 3 { place } else { Place::Nowhere };
    (0..5).map(at).collect()
}

#[node]
async fn total(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

workflow! { inner(Place) -> u32 { START => five => [one] => total; } }
workflow! { places(Place) -> u32 { START => inner; } }

#[tokio::test]
async fn a_run_starts_over_from_an_item_a_child_a_step_and_a_task() {
    for place in [Place::Item, Place::Child, Place::Step, Place::Task] {
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<places>(place).id("p").await.unwrap();
        assert_eq!(ended(&run).await, Ok(5), "{place:?}");
        let events = records(&run).await;
        let over = events.iter().find(|event| matches!(event.kind, EventKind::RunStartingOver { .. })).unwrap();
        assert_eq!(over.path, "places/inner/one[3]", "{place:?}");
    }
}

#[node]
async fn wrong(n: u32, ctx: &Context) -> u32 {
    ctx.start_over::<counting>(n).await
}

workflow! { mistaken(u32) -> u32 { START => wrong; } }

#[node]
async fn calls_counting(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
    ctx.call::<counting>(n).await
}

workflow! { calling(u32) -> u32 { START => calls_counting; } }

#[node]
async fn unrecordable(text: String, ctx: &Context) -> u32 {
    ctx.start_over::<growing>(text.repeat(1000)).await
}

workflow! { growing(String) -> u32 { START => unrecordable; } }

#[tokio::test]
async fn mistakes_are_faults_of_the_node_that_say_what_to_do() {
    let engine = Engine::builder().max_value_size(3000).build().unwrap();
    let says = |failed: Failure, words: &[&str]| {
        let text = failed.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(matches!(failed.cause.fault, Some(Fault::Context { .. })), "{failed:?}");
    };

    let run = engine.start::<mistaken>(1).await.unwrap();
    says(
        failure(ended(&run).await),
        &["`mistaken/wrong` cannot start over", "a run of `mistaken`, and not of `counting`"],
    );
    let memory = failure(counting(1).await);
    says(memory, &["needs an engine", "engine.start::<counting>(..)"]);
    let child = failure(ended(&engine.start::<calling>(1).id("parent").await.unwrap()).await);
    assert!(child.to_string().contains("child workflow, which is a part of run `parent`"), "{child}");
    let long = "x".repeat(1023);
    let long = failure(ended(&engine.start::<counting>(1).id(long).await.unwrap()).await);
    says(long, &["would have 1025 bytes", "1024 are allowed"]);
    let large = failure(ended(&engine.start::<growing>("much".to_owned()).await.unwrap()).await);
    says(large, &["`growing/unrecordable` cannot start over", "the input cannot be recorded"]);
    let runs = engine.list_runs(RunFilter::default()).await.unwrap();
    assert!(runs.iter().all(|run| run.next.is_none() && run.previous.is_none()));
}

#[tokio::test]
async fn an_id_that_is_taken_fails_the_run_which_loses_nothing_and_can_be_retried() {
    let engine = Engine::builder().register::<chat>().register::<counting>().build().unwrap();
    engine.start::<counting>(3).id("chat~1").await.unwrap().result().await.unwrap();
    let run = engine.start::<chat>(Vec::new()).id("chat").await.unwrap();
    for message in ["a", "over", "b"] {
        engine.signal("chat", MESSAGE, message.to_owned()).id(message).await.unwrap();
    }

    let failed = failure(ended(&run).await);
    assert!(failed.to_string().contains("cannot start over") && failed.to_string().contains("`chat~1`"), "{failed}");
    assert_eq!(run.status().await.unwrap(), RunStatus::Failed);
    engine.delete_run("chat~1").await.unwrap();
    // Its id is kept.
    let kept = failure(ended(&engine.retry("chat").await.unwrap().typed::<chat>().unwrap()).await);
    assert!(kept.to_string().contains("was deleted"), "{kept}");

    let engine = Engine::builder().retention(Retention::default().ids(Duration::ZERO)).register::<chat>();
    let engine = engine.register::<counting>().build().unwrap();
    engine.start::<counting>(3).id("chat~1").await.unwrap().result().await.unwrap();
    let run = engine.start::<chat>(Vec::new()).id("chat").await.unwrap();
    for message in ["a", "over", "b"] {
        engine.signal("chat", MESSAGE, message.to_owned()).id(message).await.unwrap();
    }
    failure(ended(&run).await);
    engine.delete_run("chat~1").await.unwrap();
    engine.retry("chat").await.unwrap();
    until(&run, RunStatus::StartedOver).await;
    engine.signal("chat", MESSAGE, "end".to_owned()).await.unwrap();
    assert_eq!(ended(&run).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_cancellation_of_a_run_that_has_started_over_reaches_the_last_one() {
    let engine = Engine::builder().register::<chat>().build().unwrap();
    let run = engine.start::<chat>(Vec::new()).id("chat").await.unwrap();
    engine.signal("chat", MESSAGE, "over".to_owned()).await.unwrap();
    until(&run, RunStatus::StartedOver).await;

    run.cancel().await.unwrap();
    assert_eq!(ended(&run).await, Err(RunError::Cancelled));
    assert_eq!(run.status().await.unwrap(), RunStatus::StartedOver);
    assert_eq!(run.next().await.unwrap().unwrap().status().await.unwrap(), RunStatus::Cancelled);
    run.cancel().await.unwrap();
}

#[node]
async fn lingers(_n: u32, ctx: &Context, #[resource] gauge: &Gauge, #[resource] journal: &Journal) -> u32 {
    assert!(!ctx.is_cancelled());
    gauge.stay_inside().await;
    ctx.cancelled().await;
    journal.note("lingers");
    tokio::time::sleep(Duration::from_millis(200)).await;
    1
}

#[node]
async fn goes(_n: u32, ctx: &Context, #[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    ctx.start_over::<lingering>(1).await
}

#[node]
async fn both(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { lingering(u32) -> u32 { START => (goes, lingers) => both; } }

#[tokio::test]
async fn a_cancellation_while_the_others_stop_wins() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(Gauge::expecting(2)).resource(journal.clone()).build().unwrap();
    let run = engine.start::<lingering>(0).id("l").await.unwrap();
    let lingers = async {
        while journal.lines().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), lingers).await.unwrap();

    run.cancel().await.unwrap();
    assert_eq!(ended(&run).await, Err(RunError::Cancelled));
    let kinds = kinds(&records(&run).await);
    assert_eq!(kinds[kinds.len() - 4..], ["cancel_requested", "run_cancelling", "node_cancelled", "run_cancelled"]);
    assert!(engine.get_run("l~1").await.unwrap().is_none());
}

/// Both start over at once.
#[node]
async fn left(_n: u32, ctx: &Context, #[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    ctx.start_over::<racing>(1).await
}

#[node]
async fn right(n: u32, ctx: &Context, #[resource] gauge: &Gauge) -> u32 {
    if n > 0 {
        return n;
    }
    gauge.stay_inside().await;
    ctx.start_over::<racing>(2).await
}

#[node]
async fn left_once(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
    if n > 0 { Ok(n) } else { ctx.call::<left>(n).await }
}

workflow! { racing(u32) -> u32 { START => (left_once, right) => both; } }

#[tokio::test(flavor = "multi_thread")]
async fn if_two_nodes_start_over_at_once_one_of_them_counts() {
    for _ in 0..20 {
        let engine = Engine::builder().resource(Gauge::expecting(2)).build().unwrap();
        let run = engine.start::<racing>(0).id("r").await.unwrap();
        let sum = ended(&run).await.unwrap();
        assert!(sum == 2 || sum == 4, "{sum}");
        assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
    }
}

#[node]
async fn asked_in_turns(turn: u32, ctx: &Context) -> String {
    let name = ctx.ask::<String>("name", format!("Who, in turn {turn}?")).await;
    if name == "next" {
        ctx.start_over::<asking>(turn + 1).await
    }
    format!("{name} in turn {turn}")
}

workflow! { asking(u32) -> String { START => asked_in_turns; } }

#[tokio::test]
async fn an_answer_to_a_run_that_has_started_over_reaches_the_last_one() {
    let engine = Engine::builder().register::<asking>().build().unwrap();
    let run = engine.start::<asking>(1).id("a").await.unwrap();
    for turn in 1..4 {
        let Outcome::Waiting(open) = run.outcome().await.unwrap() else { panic!("it waits") };
        assert_eq!(open[0].prompt, format!("Who, in turn {turn}?"));
        engine.answer("a", "name", "next").await.unwrap();
    }
    let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it waits") };
    run.answer("name", "Ada").await.unwrap();
    assert_eq!(ended(&run).await.unwrap(), "Ada in turn 4");
    assert_eq!(run.questions().await.unwrap(), []);
}

#[tokio::test]
async fn a_run_that_has_started_over_is_not_retried_and_its_fork_starts_over_by_itself() {
    let engine = Engine::builder().register::<counting>().build().unwrap();
    ended(&engine.start::<counting>(2).id("c").await.unwrap()).await.unwrap();

    let refused = engine.retry("c").await.unwrap_err();
    assert!(matches!(&refused, RetryError::NotFailed { state: "has started over", .. }), "{refused}");
    let fork = engine.fork("c").id("fork").await.unwrap();
    assert_eq!(ended(&fork).await.unwrap(), json!(3));
    assert_eq!(fork.info().await.unwrap().next.as_deref(), Some("fork~1"));
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 4);
    // Before the node has started over.
    let early = engine.fork("c").before(2).id("early").await.unwrap();
    assert_eq!(ended(&early).await.unwrap(), json!(3));
    let taken = engine.fork("c").id("c~1").await.unwrap_err();
    assert!(matches!(taken, ForkError::IdTaken { .. }), "{taken}");
}

#[tokio::test]
async fn runs_that_have_started_over_are_deleted_like_completed_ones() {
    let engine = Engine::builder().retention(Retention::completed(Duration::ZERO)).register::<counting>();
    let engine = engine.build().unwrap();
    let run = engine.start::<counting>(0).id("c").await.unwrap();
    ended(&run).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;

    let filter = RunFilter::default().status(RunStatus::StartedOver);
    assert_eq!(engine.count_runs(filter.clone()).await.unwrap(), 3);
    engine.delete_run("c~1").await.unwrap();
    // What is between the two is gone.
    assert_eq!(ended(&run).await, Err(RunError::NotFound));
    assert_eq!(engine.delete_expired().await.unwrap(), 3);
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 0);
}

#[value]
#[derive(Debug)]
struct Odd {
    turn: u32,
    number: f64,
    nested: Option<Option<u32>>,
    text: String,
    unit: (),
}

#[node]
async fn odd(odd: Odd, ctx: &Context) -> Vec<String> {
    if odd.turn < 3 {
        ctx.start_over::<odds>(Odd { turn: odd.turn + 1, ..odd }).await
    }
    vec![odd.number.is_nan().to_string(), format!("{:?}", odd.nested), odd.text]
}

workflow! { odds(Odd) -> Vec<String> { START => odd; } }

#[tokio::test]
async fn odd_values_go_over_as_they_are() {
    let engine = Engine::builder().build().unwrap();
    for nested in [None, Some(None), Some(Some(7))] {
        let input = Odd { turn: 0, number: f64::NAN, nested, text: "\u{0}~1\"".to_owned(), unit: () };
        let run = engine.start::<odds>(input).await.unwrap();
        assert_eq!(ended(&run).await.unwrap(), ["true".to_owned(), format!("{nested:?}"), "\u{0}~1\"".to_owned()]);
    }
}

#[node]
async fn races(n: u32, ctx: &Context) -> u32 {
    tokio::select! {
        biased;
        never = ctx.start_over::<select>(n + 1) => never,
        () = std::future::ready(()) => n,
    }
}

workflow! { select(u32) -> u32 { START => races; } }

#[tokio::test]
async fn a_node_that_returns_in_the_same_moment_has_not_started_over() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<select>(5).await.unwrap();
    assert_eq!(ended(&run).await, Ok(5));
    assert!(run.next().await.unwrap().is_none());
}

#[tokio::test]
async fn the_events_of_a_run_end_where_it_starts_over() {
    let engine = Engine::builder().register::<asking>().build().unwrap();
    let run = engine.start::<asking>(1).id("e").await.unwrap();
    let events = run.events();
    run.outcome().await.unwrap();
    run.answer("name", "next").await.unwrap();
    let seen: Vec<_> = tokio::time::timeout(Duration::from_secs(20), events.collect()).await.expect("they end");
    assert_eq!(*kinds(&seen).last().unwrap(), "run_started_over");
    assert!(seen.iter().all(|event| event.run_id == "e"));
}
