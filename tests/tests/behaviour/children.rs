//! Children of a node, `ctx.call::<node>(..)`: identity, errors as values, retries, limits, state.

use std::sync::Arc;
use std::time::Duration;

use futures::join;
use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft::{AfterFailure, ChildError, EventKind, RetryPolicy};
use graphweft_tests::{Journal, failure, paths, records, records_of, retried_after, seconds_since, started};
use tokio::sync::{Barrier, Notify};
use tokio::time::Instant;

/// Fails for an empty topic.
#[node]
async fn search(topic: String) -> Result<String, String> {
    if topic.is_empty() { Err("no topic".to_owned()) } else { Ok(format!("all about {topic}")) }
}

type SearchError = ChildError<String>;

#[node]
async fn plan(topics: Vec<String>, ctx: &Context) -> Vec<String> {
    let mut found = Vec::new();
    for topic in topics {
        let text = ctx.call::<search>(topic.clone()).key(topic).await;
        found.push(text.unwrap_or_else(|error| error.to_string()));
    }
    found
}

workflow! { research(Vec<String>) -> Vec<String> { START => plan; } }

fn topics(all: &[&str]) -> Vec<String> {
    all.iter().map(|topic| (*topic).to_owned()).collect()
}

#[tokio::test]
async fn a_child_gives_its_output_to_its_parent() {
    assert_eq!(research(topics(&["ants", "bees"])).await.unwrap(), ["all about ants", "all about bees"]);
}

#[tokio::test]
async fn the_error_of_a_child_is_a_value() {
    assert_eq!(research(topics(&["", "bees"])).await.unwrap(), ["no topic", "all about bees"]);
}

#[tokio::test]
async fn a_child_is_on_record_below_its_parent_and_done_before_it() {
    let events = records_of::<research>(topics(&["ants", "be/es"])).await;
    let done = paths(&events, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    assert_eq!(started(&events), ["research/plan", "research/plan/search:ants", "research/plan/search:be%2Fes"]);
    assert_eq!(done, ["research/plan/search:ants", "research/plan/search:be%2Fes", "research/plan"]);
}

#[tokio::test]
async fn the_record_of_a_child_holds_its_input_and_its_output() {
    let events = records_of::<research>(topics(&["ants"])).await;
    let kinds: Vec<&EventKind> =
        events.iter().filter(|event| event.path.ends_with(":ants")).map(|event| &event.kind).collect();
    let [EventKind::NodeStarted { attempt: 1, input: Some(input), .. }, EventKind::NodeCompleted { output, .. }] =
        kinds.as_slice()
    else {
        panic!("{kinds:?}")
    };
    assert_eq!((input, output), (&"ants".into(), &Some("all about ants".into())));
}

#[tokio::test]
async fn the_record_of_a_failed_child_holds_its_error() {
    let events = records_of::<research>(topics(&[""])).await;
    let failed = events.iter().find_map(|event| match &event.kind {
        EventKind::NodeFailed { attempt, cause, then, error, .. } => Some((*attempt, cause.to_string(), then, error)),
        _ => None,
    });
    assert_eq!(failed, Some((1, "no topic".to_owned(), &AfterFailure::Fails, &Some("no topic".into()))));
}

#[tokio::test]
async fn a_second_use_of_an_identity_is_an_error_that_names_the_path() {
    #[node]
    async fn twice(topic: String, ctx: &Context) -> Result<String, SearchError> {
        ctx.call::<search>(topic.clone()).await?;
        Ok(ctx.call::<search>(topic).await.unwrap_err().to_string())
    }
    workflow! { asking_twice(String) -> String { START => twice; } }
    let expected = "duplicate request `asking_twice/twice/search` in one node; give each call a unique `.key(..)`";
    assert_eq!(asking_twice("ants".to_owned()).await.unwrap(), expected);
}

#[tokio::test]
async fn children_of_a_join_run_at_once() {
    #[node]
    async fn meet(n: u32, #[resource] barrier: &Barrier) -> u32 {
        barrier.wait().await;
        n
    }
    #[node]
    async fn together(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
        let (a, b, c) = join!(
            ctx.call::<meet>(n).key("a"),
            ctx.call::<meet>(n + 1).key("b"),
            ctx.step("meet", || async move {
                ctx.resource::<Barrier>().ok_or("no barrier")?.wait().await;
                Ok::<u32, &str>(n + 2).map_err(str::to_owned)
            }),
        );
        Ok(a? + b? + c.unwrap_or_default())
    }
    workflow! { meeting(u32) -> u32 { START => together; } }
    let engine = Engine::builder().resource(Barrier::new(3)).build().unwrap();
    assert_eq!(engine.start::<meeting>(1).await.unwrap().result().await.unwrap(), 6);
}

#[tokio::test]
async fn a_node_may_be_a_child_of_its_own() {
    #[node]
    async fn countdown(n: u32, ctx: &Context) -> Result<u32, String> {
        if n == 0 {
            return Ok(0);
        }
        let below = ctx.call::<countdown>(n - 1).await.map_err(|error| error.to_string())?;
        Ok(below + 1)
    }
    workflow! { counting(u32) -> u32 { START => countdown; } }
    assert_eq!(counting(20).await.unwrap(), 20);
}

#[node]
async fn deepest(ctx: &Context) -> String {
    ctx.path()
}

#[node]
async fn deeper(ctx: &Context) -> Result<String, ChildError<Never>> {
    ctx.call::<deepest>(()).key(3).await
}

#[node]
async fn deep(ctx: &Context) -> Result<String, ChildError<ChildError<Never>>> {
    ctx.call::<deeper>(()).key(2).await
}

#[node]
async fn top(ctx: &Context) -> Result<String, ChildError<ChildError<ChildError<Never>>>> {
    ctx.call::<deep>(()).key(1).await
}

workflow! { depths(()) -> String { START => top; } }

#[tokio::test]
async fn children_have_children_of_their_own() {
    assert_eq!(depths(()).await.unwrap(), "depths/top/deep:1/deeper:2/deepest:3");
}

#[tokio::test]
async fn nested_children_are_recorded_from_the_inside_out() {
    let events = records_of::<depths>(()).await;
    let done = paths(&events, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    let expected =
        ["depths/top/deep:1/deeper:2/deepest:3", "depths/top/deep:1/deeper:2", "depths/top/deep:1", "depths/top"];
    assert_eq!(done, expected);
}

#[tokio::test]
async fn the_idempotency_key_of_a_child_is_its_own() {
    #[node]
    async fn keyed(ctx: &Context) -> String {
        ctx.idempotency_key()
    }
    #[node]
    async fn asks(ctx: &Context) -> Result<String, ChildError<Never>> {
        ctx.call::<keyed>(()).key("a").await
    }
    workflow! { keys(()) -> String { START => asks; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<keys>(()).id("r1").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "r1:keys/asks/keyed:a");
}

#[tokio::test]
async fn a_node_by_value_is_a_child_under_the_name_it_is_given() {
    struct Add(u32);
    impl Node for Add {
        type Input = u32;
        type Output = u32;
        type Error = Never;
        async fn run(&self, n: u32, _: &Context) -> Result<u32, Never> {
            Ok(n + self.0)
        }
    }
    #[node]
    async fn adds(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
        ctx.call_as("plus", Add(3), n).await
    }
    workflow! { adding(u32) -> u32 { START => adds; } }
    let events = records_of::<adding>(1).await;
    assert_eq!(started(&events), ["adding/adds", "adding/adds/plus"]);
    assert!(
        matches!(events.last().map(|last| &last.kind), Some(EventKind::RunCompleted { output, .. }) if *output == 4)
    );
}

#[tokio::test]
async fn a_node_that_implements_the_trait_by_hand_is_called_like_its_type() {
    #[derive(Default)]
    struct Shout;
    impl Node for Shout {
        type Input = String;
        type Output = String;
        type Error = Never;
        async fn run(&self, _: String, context: &Context) -> Result<String, Never> {
            Ok(context.path())
        }
    }
    #[node]
    async fn shouts(text: String, ctx: &Context) -> Result<String, ChildError<Never>> {
        ctx.call::<Shout>(text).await
    }
    workflow! { shouting(String) -> String { START => shouts; } }
    assert_eq!(shouting(String::new()).await.unwrap(), "shouting/shouts/Shout");
}

#[node(retry(max_attempts = 3, initial_delay = "2s", backoff_factor = 1.0, jitter = 0.0))]
async fn third_time(ctx: &Context) -> Result<u32, String> {
    if ctx.attempt() < 3 { Err(format!("attempt {}", ctx.attempt())) } else { Ok(ctx.attempt()) }
}

#[node]
async fn tries(ctx: &Context) -> Result<u32, SearchError> {
    ctx.call::<third_time>(()).await
}

#[node]
async fn tries_twice(ctx: &Context) -> Result<u32, SearchError> {
    ctx.call::<third_time>(()).retry(RetryPolicy::with_max_attempts(2).initial_delay(Duration::ZERO)).await
}

workflow! { trying(()) -> u32 { START => tries; } }

#[tokio::test(start_paused = true)]
async fn a_child_is_tried_as_often_as_its_node_says() {
    let start = Instant::now();
    assert_eq!(trying(()).await.unwrap(), 3);
    assert_eq!(seconds_since(start), 4);
}

#[tokio::test(start_paused = true)]
async fn a_child_is_tried_as_often_as_the_call_says() {
    let flow = workflow! { START => tries_twice };
    assert_eq!(failure(flow.run(()).await).cause.to_string(), "attempt 2");
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_are_on_record() {
    let events = records_of::<trying>(()).await;
    let attempts: Vec<(u32, u64)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeFailed { attempt, .. } => Some((*attempt, retried_after(event)?.as_secs())),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [(1, 2), (2, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_takes_too_long_is_a_timeout() {
    #[node]
    async fn slow(#[resource] journal: &Journal) -> u32 {
        let _told = journal.when_dropped("stopped");
        std::future::pending().await
    }
    #[node]
    async fn hurries(ctx: &Context, #[resource] journal: &Journal) -> String {
        let error = ctx.call::<slow>(()).timeout(Duration::from_secs(3)).await.unwrap_err();
        assert!(matches!(error, ChildError::Fault(Fault::Timeout { .. })));
        format!("{error}, {:?}", journal.lines())
    }
    workflow! { hurrying(()) -> String { START => hurries; } }
    let engine = Engine::builder().resource(Journal::default()).build().unwrap();
    let run = engine.start::<hurrying>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), r#"timed out after 3s, ["stopped"]"#);
}

#[tokio::test]
async fn a_child_that_panics_is_a_fault() {
    #[node]
    async fn panics() -> u32 {
        panic!("no way")
    }
    #[node]
    async fn survives(ctx: &Context) -> String {
        ctx.call::<panics>(()).await.unwrap_err().to_string()
    }
    let flow = workflow! { START => survives };
    assert_eq!(flow.run(()).await.unwrap(), "panicked: no way");
}

#[tokio::test]
async fn what_a_child_asks_of_its_context_in_vain_fails_the_child() {
    #[node]
    async fn stateful(#[state] missing: u32) -> u32 {
        missing
    }
    #[node]
    async fn survives(ctx: &Context) -> String {
        ctx.call::<stateful>(()).await.unwrap_err().to_string()
    }
    let flow = workflow! { START => survives };
    assert!(flow.run(()).await.unwrap().starts_with("state key `missing` has no value"));
}

#[tokio::test]
async fn a_resource_that_is_missing_is_a_fault_before_the_child_starts() {
    #[node]
    async fn needy(#[resource] notify: &Notify) -> u32 {
        notify.notified().await;
        1
    }
    #[node]
    async fn survives(ctx: &Context) -> String {
        ctx.call::<needy>(()).retry(RetryPolicy::default()).await.unwrap_err().to_string()
    }
    workflow! { surviving(()) -> String { START => survives; } }
    let events = records_of::<surviving>(()).await;
    assert_eq!(started(&events), ["surviving/survives"]);
    let Some(EventKind::RunCompleted { output, .. }) = events.last().map(|last| &last.kind) else {
        panic!("no output")
    };
    assert!(output.as_str().unwrap().contains("no resource of type `tokio::sync"), "{output}");
}

#[tokio::test]
async fn a_child_can_be_replaced() {
    let engine = Engine::builder().mock::<search>(|topic, _| async move { Ok(topic + "!") }).build().unwrap();
    let run = engine.start::<research>(topics(&["ants"])).await.unwrap();
    assert_eq!(run.result().await.unwrap(), ["ants!"]);
}

#[tokio::test]
async fn a_child_whose_future_is_dropped_stops() {
    #[node]
    async fn slow(#[resource] journal: &Journal, #[resource] began: &Notify) -> u32 {
        let _told = journal.when_dropped("stopped");
        began.notify_one();
        std::future::pending().await
    }
    #[node]
    async fn impatient(ctx: &Context, #[resource] journal: &Journal, #[resource] began: &Notify) -> Vec<String> {
        tokio::select! {
            biased;
            _ = ctx.call::<slow>(()) => {}
            () = began.notified() => {}
        }
        journal.lines()
    }
    workflow! { leaving(()) -> Vec<String> { START => impatient; } }
    let engine = Engine::builder().resource(Journal::default()).resource(Notify::new()).build().unwrap();
    assert_eq!(engine.start::<leaving>(()).await.unwrap().result().await.unwrap(), ["stopped"]);
}

#[tokio::test]
async fn a_child_is_told_when_its_parent_is_cancelled() {
    #[node]
    async fn listens(ctx: &Context, #[resource] journal: &Journal, #[resource] began: &Arc<Notify>) -> u32 {
        began.notify_one();
        ctx.cancelled().await;
        journal.note("cleaned up");
        7
    }
    #[node]
    async fn waits(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ChildError<Never>> {
        let given = ctx.call::<listens>(()).await?;
        journal.note(format!("given {given}"));
        Ok(given)
    }
    workflow! { listening(()) -> u32 { START => waits; } }
    let (journal, began) = (Journal::default(), Arc::new(Notify::new()));
    let engine = Engine::builder().resource(journal.clone()).resource(Arc::clone(&began)).build().unwrap();
    let run = engine.start::<listening>(()).await.unwrap();
    began.notified().await;
    run.cancel().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
    assert_eq!(journal.lines(), ["cleaned up", "given 7"]);
    let done = paths(&records(&run).await, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    assert!(done.is_empty(), "{done:?}");
}

#[tokio::test]
async fn the_nodes_of_a_child_workflow_are_told_as_well() {
    #[node]
    async fn listens(ctx: &Context, #[resource] journal: &Journal, #[resource] began: &Arc<Notify>) -> u32 {
        began.notify_one();
        ctx.cancelled().await;
        journal.note("cleaned up");
        7
    }
    workflow! { listening(()) -> u32 { START => listens; } }
    #[node]
    async fn waits(ctx: &Context) -> Result<u32, ChildError<Failure>> {
        ctx.call::<listening>(()).await
    }
    workflow! { waiting(()) -> u32 { START => waits; } }
    let (journal, began) = (Journal::default(), Arc::new(Notify::new()));
    let engine = Engine::builder().resource(journal.clone()).resource(Arc::clone(&began)).build().unwrap();
    let run = engine.start::<waiting>(()).await.unwrap();
    began.notified().await;
    run.cancel().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
    assert_eq!(journal.lines(), ["cleaned up"]);
    let asked = paths(&records(&run).await, |kind| matches!(kind, EventKind::CancelRequested));
    assert_eq!(asked, ["waiting"]);
}

const CALLS: StateKey<u32, Sum> = StateKey::new("calls");
const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn calls(n: u32, ctx: &Context, #[writes(CALLS)] calls: StateWriter<u32, Sum>) -> Result<u32, String> {
    calls.merge(n);
    if n == 0 { Err("nothing".to_owned()) } else { Ok(ctx.state().get(CALLS).ok().flatten().unwrap_or_default()) }
}

#[node]
async fn total(_seen: Vec<u32>, #[state] calls: u32) -> u32 {
    calls
}

#[tokio::test]
async fn a_child_sees_what_its_parent_has_written_and_its_writes_become_its_parents() {
    #[node]
    async fn counts(ctx: &Context, #[writes(CALLS)] to_calls: StateWriter<u32, Sum>) -> Result<Vec<u32>, SearchError> {
        to_calls.merge(100);
        let first = ctx.call::<calls>(1).key(1).await?;
        let second = ctx.call::<calls>(2).key(2).await?;
        let own = ctx.state().get(CALLS).ok().flatten().unwrap_or_default();
        Ok(vec![first, second, own])
    }
    #[node]
    async fn both(seen: Vec<u32>, #[state] calls: u32) -> (Vec<u32>, u32) {
        (seen, calls)
    }
    let flow = workflow! { START => counts => both };
    assert_eq!(flow.run(()).await.unwrap(), (vec![101, 103, 103], 103));
}

#[tokio::test]
async fn what_a_failed_child_has_written_is_lost() {
    #[node]
    async fn fails_first(ctx: &Context, #[writes(CALLS)] to_calls: StateWriter<u32, Sum>) -> Vec<u32> {
        to_calls.merge(5);
        assert!(ctx.call::<calls>(0).await.is_err());
        Vec::new()
    }
    let flow = workflow! { START => fails_first => total };
    assert_eq!(flow.run(()).await.unwrap(), 5);
}

#[tokio::test]
async fn children_that_replace_one_key_at_once_are_an_error() {
    #[node]
    async fn claims(name: String, #[resource] barrier: &Barrier, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
        owner.set(name);
        barrier.wait().await;
        0
    }
    #[node]
    async fn races(ctx: &Context, #[may_write(OWNER)] _owner: StateWriter<String>) -> String {
        let (a, b) = join!(ctx.call::<claims>("a".to_owned()).key("a"), ctx.call::<claims>("b".to_owned()).key("b"),);
        let error = a.and(b).unwrap_err();
        let ChildError::Fault(Fault::StateConflict { key, first, second }) = error else { panic!("{error}") };
        let mut paths = [first.to_string(), second.to_string()];
        paths.sort();
        format!("{key}: {}", paths.join(", "))
    }
    workflow! { racing(()) -> String { START => races; } }
    let engine = Engine::builder().resource(Barrier::new(2)).build().unwrap();
    let run = engine.start::<racing>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "owner: racing/races/claims:a, racing/races/claims:b");
}

workflow! { inner(u32) -> u32 { START => calls => doubled; } }

#[node]
async fn doubled(n: u32) -> u32 {
    n * 2
}

#[node]
async fn runs_inner(
    n: u32,
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<u32>, ChildError<Failure>> {
    Ok(vec![ctx.call::<inner>(n).key(n).await?])
}

workflow! { outer(u32) -> u32 { START => runs_inner => total; } }

#[tokio::test]
async fn a_workflow_is_a_child_and_its_nodes_stand_below_it() {
    let started = started(&records_of::<outer>(4).await);
    let expected = [
        "outer/runs_inner",
        "outer/runs_inner/inner:4",
        "outer/runs_inner/inner:4/calls",
        "outer/runs_inner/inner:4/doubled",
        "outer/total",
    ];
    assert_eq!(started, expected);
}

#[tokio::test]
async fn what_the_nodes_of_a_child_workflow_write_becomes_its_parents() {
    let engine = Engine::builder().build().unwrap();
    let recorded = engine.start::<outer>(4).await.unwrap().result().await.unwrap();
    assert_eq!((outer(4).await.unwrap(), recorded), (4, 4));
}

#[tokio::test]
async fn the_failure_of_a_child_workflow_is_a_value_that_says_where_it_was() {
    #[node]
    async fn survives(ctx: &Context, #[may_write(CALLS)] _calls: StateWriter<u32, Sum>) -> String {
        let error = ctx.call::<inner>(0).await.unwrap_err();
        error.into_inner().map_or_else(String::new, |failure| failure.path)
    }
    workflow! { surviving(()) -> String { START => survives; } }
    assert_eq!(surviving(()).await.unwrap(), "surviving/survives/inner/calls");
}

#[tokio::test]
async fn a_child_workflow_is_entered_afresh_by_each_attempt() {
    #[node]
    async fn survives(ctx: &Context, #[may_write(CALLS)] _calls: StateWriter<u32, Sum>) -> u32 {
        let policy = RetryPolicy::with_max_attempts(3).initial_delay(Duration::ZERO);
        ctx.call::<inner>(0).retry(policy).await.unwrap_or_default()
    }
    workflow! { surviving(()) -> u32 { START => survives; } }
    let started = started(&records_of::<surviving>(()).await);
    assert_eq!(started.iter().filter(|path| path.ends_with("inner/calls")).count(), 3);
}

#[tokio::test]
async fn a_child_may_ask_a_question() {
    #[node]
    async fn approval(text: String, ctx: &Context) -> bool {
        ctx.ask::<bool>("approve", text).await
    }
    #[node]
    async fn asks(text: String, ctx: &Context) -> Result<bool, ChildError<Never>> {
        ctx.call::<approval>(text).key("a").await
    }
    workflow! { asking(String) -> bool { START => asks; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking>("fine?".to_owned()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("there is a question") };
    assert_eq!(questions[0].id, "asking/asks/approval:a/approve");
    run.answer("approve", true).await.unwrap();
    assert!(run.result().await.unwrap());
}

#[tokio::test]
async fn a_run_waits_for_the_question_of_a_child_workflow() {
    #[node]
    async fn approval(ctx: &Context) -> bool {
        ctx.ask::<bool>("approve", "fine?").await
    }
    workflow! { approving(()) -> bool { START => approval; } }
    #[node]
    async fn asks(ctx: &Context) -> Result<bool, ChildError<Failure>> {
        ctx.call::<approving>(()).await
    }
    workflow! { asking(()) -> bool { START => asks; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("there is a question") };
    assert_eq!(questions[0].id, "asking/asks/approving/approval/approve");
    run.answer("approve", true).await.unwrap();
    assert!(run.result().await.unwrap());
}

#[tokio::test]
async fn a_run_whose_child_workflow_waits_outside_of_the_memory_goes_on_with_the_answer() {
    #[node]
    async fn notes(#[resource] journal: &Journal) -> u32 {
        journal.note("notes");
        1
    }
    #[node]
    async fn approval(ctx: &Context, #[resource] journal: &Journal) -> bool {
        let _leaves = journal.when_dropped("approval is dropped");
        ctx.ask::<bool>("approve", "fine?").await
    }
    workflow! { approving(()) -> bool { START => notes => approval; } }
    #[node]
    async fn asks(ctx: &Context) -> Result<bool, ChildError<Failure>> {
        ctx.call::<approving>(()).await
    }
    workflow! { asking(()) -> bool { START => asks; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).max_resident_waiting(0);
    let engine = engine.register::<asking>().build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    while journal.count("approval is dropped") == 0 {
        tokio::task::yield_now().await;
    }
    run.answer("approve", true).await.unwrap();
    while let Outcome::Waiting(_) = run.outcome().await.unwrap() {
        tokio::task::yield_now().await;
    }
    assert!(run.result().await.unwrap());
    assert_eq!(journal.count("notes"), 1);
    let resumed = paths(&records(&run).await, |kind| matches!(kind, EventKind::RunResumed { .. }));
    assert_eq!(resumed.len(), 1);
}

#[tokio::test]
async fn a_run_with_a_child_that_may_run_at_most_once_stays_in_memory_while_it_waits() {
    #[node]
    async fn approval(ctx: &Context) -> bool {
        ctx.ask::<bool>("approve", "fine?").await
    }
    #[node]
    async fn asks(ctx: &Context) -> Result<bool, ChildError<Never>> {
        ctx.call::<approval>(()).at_most_once().await
    }
    workflow! { asking(()) -> bool { START => asks; } }
    let engine = Engine::builder().max_resident_waiting(0).register::<asking>().build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("approve", true).await.unwrap();
    assert!(run.result().await.unwrap());
}

#[tokio::test]
async fn a_child_workflow_that_a_sibling_of_its_parent_stops_says_nothing_of_the_run() {
    #[node]
    async fn hangs(#[resource] began: &Arc<Notify>) -> u32 {
        began.notify_one();
        std::future::pending().await
    }
    workflow! { hanging(()) -> u32 { START => hangs; } }
    #[node]
    async fn waits(ctx: &Context) -> Result<u32, ChildError<Failure>> {
        ctx.call::<hanging>(()).await
    }
    #[node]
    async fn fails(#[resource] began: &Arc<Notify>) -> Result<u32, String> {
        began.notified().await;
        Err("down".to_owned())
    }
    #[node]
    async fn both(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! { failing(()) -> u32 { START => (waits, fails) => both; } }
    let engine = Engine::builder().resource(Arc::new(Notify::new())).build().unwrap();
    let run = engine.start::<failing>(()).await.unwrap();
    assert_eq!(failure(run.result().await).path, "failing/fails");
    let asked = paths(&records(&run).await, |kind| matches!(kind, EventKind::CancelRequested));
    assert!(asked.is_empty(), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_child_workflow_that_its_parent_left_is_entered_afresh() {
    #[node]
    async fn notes(#[resource] journal: &Journal) -> u32 {
        journal.note("notes");
        1
    }
    #[node]
    async fn hangs_once(n: u32, #[resource] journal: &Journal) -> u32 {
        if journal.count("notes") == 1 { std::future::pending().await } else { n }
    }
    workflow! { hanging(()) -> u32 { START => notes => hangs_once; } }
    #[node(retry(max_attempts = 2, initial_delay = "0s"), timeout = "1s")]
    async fn asks(ctx: &Context) -> Result<u32, ChildError<Failure>> {
        ctx.call::<hanging>(()).await
    }
    workflow! { asking(()) -> u32 { START => asks; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 1);
    let attempts: Vec<u32> = records(&run)
        .await
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::NodeStarted { attempt, inside: Some(_), .. } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!((attempts, journal.count("notes")), (vec![1, 2], 2));
}

#[node(retry(max_attempts = 2, initial_delay = "0s"))]
async fn second_time(ctx: &Context, #[resource] journal: &Journal) -> Result<Vec<u32>, SearchError> {
    let noted = ctx.call::<noted>("done".to_owned()).await.unwrap_or_default();
    let failed = ctx.call::<second_run>(()).await;
    journal.note(format!("parent {}: {}", ctx.attempt(), failed.is_ok()));
    Ok(vec![noted, failed?])
}

#[node]
async fn noted(line: String, #[resource] journal: &Journal) -> u32 {
    journal.note(line);
    1
}

#[node]
async fn second_run(ctx: &Context) -> Result<u32, String> {
    if ctx.attempt() < 2 { Err("not yet".to_owned()) } else { Ok(ctx.attempt()) }
}

#[tokio::test]
async fn another_attempt_of_the_parent_reuses_what_is_done_and_tries_again_what_had_failed() {
    workflow! { again(()) -> Vec<u32> { START => second_time; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    let run = engine.start::<again>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [1, 2]);
    assert_eq!(journal.lines(), ["done", "parent 1: false", "parent 2: true"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_never_waits_for_a_question_while_a_child_is_at_work() {
    #[node]
    async fn asks(ctx: &Context) -> bool {
        ctx.ask::<bool>("fine", "fine?").await
    }
    #[node]
    async fn small(n: u32) -> u32 {
        tokio::task::yield_now().await;
        n
    }
    workflow! { small_flow(u32) -> u32 { START => small; } }
    #[node]
    async fn works(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ChildError<Failure>> {
        let mut sum = 0;
        for n in 0..20 {
            sum += ctx.call::<small>(n).key(n).await.unwrap_or_default();
            sum += ctx.call::<small_flow>(n).key(n).await?;
            sum += ctx.step("tiny", || async move { Ok::<u32, String>(n) }).key(n).await.unwrap_or_default();
            tokio::select! {
                biased;
                _ = ctx.call::<small>(n).key(format!("left {n}")) => {}
                () = std::future::ready(()) => {}
            }
        }
        journal.note("done");
        Ok(sum)
    }
    #[node]
    async fn both(fine: bool, sum: u32) -> u32 {
        if fine { sum } else { 0 }
    }
    workflow! { working(()) -> u32 { START => (asks, works) => both; } }
    for _ in 0..20 {
        let journal = Journal::default();
        let engine = Engine::builder().resource(journal.clone()).build().unwrap();
        let run = engine.start::<working>(()).await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        assert_eq!(journal.lines(), ["done"]);
        run.answer("fine", true).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 570);
    }
}

#[value]
#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer {
    source: Inner,
}

#[value]
#[derive(Debug, thiserror::Error)]
#[error("inner")]
struct Inner;

#[tokio::test]
async fn the_sources_of_a_childs_error_are_kept() {
    #[node]
    async fn refuses(_n: u32) -> Result<u32, Outer> {
        Err(Outer { source: Inner })
    }
    #[node]
    async fn asks_it(n: u32, ctx: &Context) -> Result<u32, ChildError<Outer>> {
        let given = ctx.call::<refuses>(n).await;
        let source = given.as_ref().err().and_then(std::error::Error::source).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("inner"));
        given
    }
    let flow = workflow! { START => asks_it };
    let Err(graphweft::RunError::Failed(failure)) = flow.run(1).await else { panic!("it fails") };
    assert_eq!(failure.cause.chain, ["outer", "inner"]);
}

#[tokio::test]
async fn a_child_that_was_dropped_was_not_interrupted() {
    #[node]
    async fn begins(n: u32, #[resource] began: &Arc<Notify>) -> u32 {
        began.notify_one();
        std::future::pending::<()>().await;
        n
    }
    #[node]
    async fn drops(n: u32, ctx: &Context, #[resource] began: &Arc<Notify>) -> String {
        {
            let mut child = std::pin::pin!(ctx.call::<begins>(n).at_most_once());
            tokio::select! {
                _ = &mut child => {}
                () = began.notified() => {}
            }
        }
        format!("{:?}", ctx.call::<begins>(n).at_most_once().await)
    }
    let engine = Engine::builder().resource(Arc::new(Notify::new())).build().unwrap();
    let flow = workflow! { START => drops };
    let result = engine.start_flow(&flow, 1).await.unwrap().result().await;
    assert_eq!(result.unwrap(), "Err(Fault(Dropped))");
}
