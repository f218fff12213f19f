//! Children when the process dies and another goes on: what is on record is given back, what was under way begins
//! again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft::store::{Append, Appended, Record, Store};
use graphweft::{AfterFailure, ChildError, EventKind, RetryPolicy, RunError};
use graphweft_tests::{Death, Journal, Remains, event, failure, life, paths};
use serde::{Deserialize, Deserializer};
use tokio::sync::Semaphore;

const CALLS: StateKey<u32, Sum> = StateKey::new("calls");

/// Writes its name down, and comes to the place of that name.
#[node]
async fn work(
    name: String,
    #[resource] journal: &Journal,
    #[resource] death: &Death,
    #[writes(CALLS)] calls: StateWriter<u32, Sum>,
) -> String {
    journal.note(&name);
    calls.merge(1);
    death.come(&name).await;
    name.to_uppercase()
}

#[node]
async fn three(
    ctx: &Context,
    #[resource] journal: &Journal,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<String>, ChildError<Never>> {
    journal.note("parent");
    let mut done = Vec::new();
    for name in ["a", "b", "c"] {
        done.push(ctx.call::<work>(name.to_owned()).key(name).await?);
    }
    Ok(done)
}

#[node]
async fn with_calls(done: Vec<String>, #[state] calls: u32) -> String {
    format!("{} in {calls}", done.concat())
}

workflow! { in_turn(()) -> String { START => three => with_calls; } }

#[test]
fn a_child_that_is_done_is_not_run_again() {
    let remains = Remains::default();
    remains.dies_at::<in_turn>((), "b");
    let (result, _) = remains.goes_on::<in_turn>();
    assert_eq!(result.unwrap(), "ABC in 3");
    assert_eq!(remains.journal.lines(), ["parent", "a", "b", "parent", "b", "c"]);
}

#[test]
fn a_child_that_was_under_way_begins_the_same_attempt_again() {
    let remains = Remains::default();
    remains.dies_at::<in_turn>((), "b");
    let (_, events) = remains.goes_on::<in_turn>();
    let attempts: Vec<u32> = events
        .iter()
        .filter(|event| event.path.ends_with("work:b"))
        .filter_map(|event| match event.kind {
            EventKind::NodeStarted { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    // The first beginning is recorded with the next commit, if that comes before the death of the process.
    assert!(!attempts.is_empty() && attempts.iter().all(|attempt| *attempt == 1), "{attempts:?}");
}

#[node]
async fn when_let(
    ctx: &Context,
    #[resource] gate: &Arc<Semaphore>,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<String, ChildError<Never>> {
    gate.acquire().await.expect("it is open").forget();
    let first = ctx.call::<work>("a".to_owned()).key("a").await?;
    Ok(first + &ctx.call::<work>("b".to_owned()).key("b").await?)
}

workflow! { gated(()) -> String { START => when_let; } }

#[test]
fn a_child_that_is_given_back_is_shown_to_whoever_watches() {
    let remains = Remains::default();
    let gate = Arc::new(Semaphore::new(1));
    life(async {
        let death = Death::at("b");
        let engine = remains.engine(&death).resource(Arc::clone(&gate)).build().unwrap();
        let _run = engine.start::<gated>(()).await.unwrap();
        death.came().await;
    });
    let reused = life(async {
        use futures::StreamExt;
        let builder = remains.engine(&Death::default()).resource(Arc::clone(&gate));
        let engine = builder.register::<gated>().build().unwrap();
        let events = engine.recover().await.unwrap().resumed.remove(0).events();
        gate.add_permits(1);
        let events: Vec<_> = events.collect().await;
        paths(&events, |kind| matches!(kind, EventKind::ResultReused))
    });
    assert_eq!(reused, ["gated/when_let/work:a"]);
}

#[node]
async fn inner(
    name: String,
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<String, ChildError<Never>> {
    let first = ctx.call::<work>(format!("{name}1")).key(1).await?;
    let second = ctx.call::<work>(format!("{name}2")).key(2).await?;
    Ok(first + &second)
}

#[node]
async fn middle(
    name: String,
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<String, ChildError<ChildError<Never>>> {
    let first = ctx.call::<inner>(format!("{name}x")).key("x").await?;
    let second = ctx.call::<inner>(format!("{name}y")).key("y").await?;
    Ok(first + &second)
}

#[node]
async fn outer(
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<String>, ChildError<ChildError<ChildError<Never>>>> {
    let (left, right) =
        futures::join!(ctx.call::<middle>("l".to_owned()).key("l"), ctx.call::<middle>("r".to_owned()).key("r"),);
    Ok(vec![left?, right?])
}

workflow! { nested(()) -> String { START => outer => with_calls; } }

#[test]
fn nothing_that_is_on_record_is_run_again_at_any_depth() {
    let remains = Remains::default();
    remains.dies_at::<nested>((), "ly2");
    let (result, _) = remains.goes_on::<nested>();
    assert_eq!(result.unwrap(), "LX1LX2LY1LY2RX1RX2RY1RY2 in 8");
    for name in ["lx1", "lx2", "ly1", "rx1", "rx2", "ry1"] {
        assert_eq!(remains.journal.count(name), 1, "{name} of {:?}", remains.journal.lines());
    }
    assert_eq!(remains.journal.count("ly2"), 2);
}

#[node]
async fn refuses(_name: String, #[resource] journal: &Journal) -> Result<String, Vec<u32>> {
    journal.note("refused");
    Err(vec![4, 0, 4])
}

#[node]
async fn goes_round(ctx: &Context, #[resource] death: &Death) -> String {
    let error = ctx.call::<refuses>("x".to_owned()).await.unwrap_err();
    death.come("after").await;
    format!("{error:?}")
}

workflow! { round(()) -> String { START => goes_round; } }

#[test]
fn the_error_of_a_child_that_has_failed_for_good_is_given_back() {
    let remains = Remains::default();
    remains.dies_at::<round>((), "after");
    let (result, _) = remains.goes_on::<round>();
    assert_eq!(result.unwrap(), "Error([4, 0, 4])");
    assert_eq!(remains.journal.lines(), ["refused"]);
}

#[test]
fn the_fault_of_a_child_is_given_back() {
    #[node]
    async fn panics(#[resource] journal: &Journal) -> u32 {
        journal.note("panics");
        panic!("no way")
    }
    #[node]
    async fn survives(ctx: &Context, #[resource] death: &Death) -> String {
        let error = ctx.call::<panics>(()).await.unwrap_err();
        death.come("after").await;
        error.to_string()
    }
    workflow! { surviving(()) -> String { START => survives; } }
    let remains = Remains::default();
    remains.dies_at::<surviving>((), "after");
    assert_eq!(remains.goes_on::<surviving>().0.unwrap(), "panicked: no way");
    assert_eq!(remains.journal.lines(), ["panics"]);
}

#[node]
async fn stubborn(ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> Result<u32, String> {
    journal.note(format!("attempt {}", ctx.attempt()));
    if ctx.attempt() == 2 {
        // A step is recorded before it gives its output, and all that was to be recorded before it.
        ctx.step("commit", || async { Ok::<(), String>(()) }).await.map_err(|error| error.to_string())?;
        death.come("second").await;
    }
    Err(format!("attempt {}", ctx.attempt()))
}

#[node]
async fn insists(ctx: &Context, #[resource] death: &Death) -> String {
    let policy = RetryPolicy::with_max_attempts(3).initial_delay(Duration::ZERO);
    let error = ctx.call::<stubborn>(()).retry(policy).await.unwrap_err();
    death.come("after").await;
    error.to_string()
}

workflow! { insisting(()) -> String { START => insists; } }

#[test]
fn the_count_of_attempts_survives_a_restart() {
    let remains = Remains::default();
    remains.dies_at::<insisting>((), "second");
    let (result, _) = remains.goes_on::<insisting>();
    assert_eq!(result.unwrap(), "attempt 3");
    assert_eq!(remains.journal.lines(), ["attempt 1", "attempt 2", "attempt 2", "attempt 3"]);
}

#[node]
async fn picky(_topic: String, #[resource] journal: &Journal) -> u32 {
    journal.note("picky");
    1
}

/// A program before and after a field was added to the input of a child.
mod versions {
    pub(super) mod before {
        use graphweft::prelude::*;
        use graphweft_tests::{Death, Journal};

        #[value]
        pub(crate) struct Query {
            pub(crate) topic: String,
        }

        #[node]
        pub(crate) async fn search(query: Query, #[resource] journal: &Journal) -> String {
            journal.note(&query.topic);
            query.topic
        }

        #[node]
        pub(crate) async fn plan(ctx: &Context, #[resource] death: &Death) -> String {
            let found = ctx.call::<search>(Query { topic: "ants".to_owned() }).await;
            death.come("after").await;
            found.unwrap_or_else(|error| error.to_string())
        }

        workflow! { pub(crate) planned(()) -> String { START => plan; } }
    }

    pub(super) mod after {
        use graphweft::prelude::*;
        use graphweft_tests::Journal;

        #[value]
        pub(crate) struct Query {
            pub(crate) topic: String,
            pub(crate) limit: Option<u32>,
            #[serde(default)]
            pub(crate) exact: bool,
        }

        #[node]
        pub(crate) async fn search(query: Query, #[resource] journal: &Journal) -> String {
            journal.note(&query.topic);
            query.topic
        }

        #[node]
        pub(crate) async fn plan(ctx: &Context, #[resource] exact: &bool) -> String {
            let query = Query { topic: "ants".to_owned(), limit: None, exact: *exact };
            ctx.call::<search>(query).await.unwrap_or_else(|error| error.to_string())
        }

        workflow! { pub(crate) planned(()) -> String { START => plan; } }
    }
}

#[test]
fn a_child_is_found_after_a_field_was_added_to_its_input() {
    for exact in [false, true] {
        let remains = Remains::default();
        remains.dies_at::<versions::before::planned>((), "after");
        let (result, _) = remains.goes_on_with::<versions::after::planned>(|builder| builder.resource(exact));
        assert_eq!(remains.journal.lines(), ["ants"], "it is not executed again");
        if exact {
            let refused = result.unwrap_err().to_string();
            assert!(refused.contains("was recorded with a different input"), "{refused}");
        } else {
            assert_eq!(result.unwrap(), "ants");
        }
    }
}

#[node]
async fn fickle_input(ctx: &Context, #[resource] death: &Death, #[resource] journal: &Journal) -> String {
    let topic = if journal.lines().is_empty() { "ants" } else { "bees" };
    let given = ctx.call::<picky>(topic.to_owned()).key("k").await;
    death.come("after").await;
    given.map_or_else(|error| error.to_string(), |given| given.to_string())
}

workflow! { changing(()) -> String { START => fickle_input; } }

#[test]
fn a_node_that_asks_for_a_recorded_child_with_another_input_fails_with_both() {
    let remains = Remains::default();
    remains.dies_at::<changing>((), "after");
    let (result, _) = remains.goes_on::<changing>();
    let message = result.unwrap_err().to_string();
    assert!(message.contains("`changing/fickle_input/picky:k` was recorded with a different input"), "{message}");
    assert!(message.contains(r#"("ants", now "bees")"#), "{message}");
    assert_eq!(remains.journal.lines(), ["picky"]);
}

/// Cannot be read any more once the flag is set.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Fickle {
    size: u32,
}

static NO_LONGER: AtomicBool = AtomicBool::new(false);

impl<'de> Deserialize<'de> for Fickle {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Old {
            size: u32,
        }
        #[derive(Deserialize)]
        struct New {
            size: String,
        }
        if NO_LONGER.load(Ordering::SeqCst) {
            return New::deserialize(from).map(|new| Fickle { size: new.size.len() as u32 });
        }
        Old::deserialize(from).map(|old| Fickle { size: old.size })
    }
}

#[test]
fn an_output_on_record_that_is_not_of_its_type_any_more_fails_the_node_and_names_the_field() {
    #[node]
    async fn measure() -> Fickle {
        Fickle { size: 3 }
    }
    #[node]
    async fn measures(ctx: &Context, #[resource] death: &Death) -> String {
        let given = ctx.call::<measure>(()).await;
        death.come("after").await;
        given.map_or_else(|error| error.to_string(), |given| given.size.to_string())
    }
    workflow! { measuring(()) -> String { START => measures; } }
    let remains = Remains::default();
    remains.dies_at::<measuring>((), "after");
    NO_LONGER.store(true, Ordering::SeqCst);
    let message = remains.goes_on::<measuring>().0.unwrap_err().to_string();
    assert!(message.contains("`measuring/measures/measure` has a recorded output that is not a `"), "{message}");
    assert!(message.contains("at `size`: invalid type: integer `3`, expected a string"), "{message}");
}

#[node]
async fn charge(cents: u32, #[resource] journal: &Journal, #[resource] death: &Death) -> Result<u32, String> {
    journal.note("charge");
    death.come("charge").await;
    Ok(cents)
}

#[node]
async fn charges_once(ctx: &Context, #[resource] death: &Death) -> String {
    let given = ctx.call::<charge>(100).at_most_once().retry(RetryPolicy::with_max_attempts(3)).await;
    death.come("after").await;
    format!("{given:?}")
}

workflow! { paying(()) -> String { START => charges_once; } }

#[test]
fn a_child_that_may_run_at_most_once_and_was_cut_short_is_interrupted_and_never_called_again() {
    let remains = Remains::default();
    remains.dies_at::<paying>((), "charge");
    let (result, events) = remains.goes_on::<paying>();
    assert_eq!(result.unwrap(), "Err(Fault(Interrupted))");
    assert_eq!(remains.journal.lines(), ["charge"]);
    let failed = paths(&events, |kind| matches!(kind, EventKind::NodeFailed { then: AfterFailure::Fails, .. }));
    assert_eq!(failed, ["paying/charges_once/charge"]);
}

#[test]
fn a_child_that_was_interrupted_stays_so() {
    let remains = Remains::default();
    remains.dies_at::<paying>((), "charge");
    life(async {
        let death = Death::at("after");
        let engine = remains.engine(&death).register::<paying>().build().unwrap();
        engine.recover().await.unwrap();
        death.came().await;
    });
    assert_eq!(remains.goes_on::<paying>().0.unwrap(), "Err(Fault(Interrupted))");
    assert_eq!(remains.journal.lines(), ["charge"]);
}

#[test]
fn a_child_that_may_run_at_most_once_and_is_done_is_given_back() {
    let remains = Remains::default();
    remains.dies_at::<paying>((), "after");
    assert_eq!(remains.goes_on::<paying>().0.unwrap(), "Ok(100)");
    assert_eq!(remains.journal.lines(), ["charge"]);
}

#[node]
async fn first(name: String, #[resource] journal: &Journal, #[writes(CALLS)] calls: StateWriter<u32, Sum>) -> String {
    journal.note("first");
    calls.merge(1);
    name + "1"
}

#[node]
async fn second(
    name: String,
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<String, ChildError<Never>> {
    let mut all = String::new();
    for key in ["p", "q"] {
        all += &ctx.call::<work>(format!("{name}{key}")).key(key).await?;
    }
    Ok(all)
}

workflow! { sub(String) -> String { START => first => second; } }

#[node]
async fn runs_sub(
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<String>, ChildError<Failure>> {
    Ok(vec![ctx.call::<sub>("s".to_owned()).key("s").await?])
}

workflow! { main_flow(()) -> String { START => runs_sub => with_calls; } }

#[test]
fn a_child_workflow_goes_on_from_where_it_stood() {
    let remains = Remains::default();
    remains.dies_at::<main_flow>((), "s1q");
    let (result, events) = remains.goes_on::<main_flow>();
    assert_eq!(result.unwrap(), "S1PS1Q in 3");
    assert_eq!(remains.journal.lines(), ["first", "s1p", "s1q", "s1q"]);
    let entered = paths(&events, |kind| matches!(kind, EventKind::NodeStarted { inside: Some(_), .. }));
    assert_eq!(entered, ["main_flow/runs_sub/sub:s"]);
}

#[node]
async fn runs_main(
    name: String,
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<String, ChildError<Failure>> {
    ctx.call::<sub>(name).key("deep").await
}

workflow! { between(String) -> String { START => first => runs_main; } }

#[node]
async fn runs_between(
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<String>, ChildError<Failure>> {
    Ok(vec![ctx.call::<between>("s".to_owned()).await?])
}

workflow! { deep_flow(()) -> String { START => runs_between => with_calls; } }

#[test]
fn child_workflows_of_child_workflows_go_on_from_where_they_stood() {
    let remains = Remains::default();
    remains.dies_at::<deep_flow>((), "s11q");
    let (result, _) = remains.goes_on::<deep_flow>();
    assert_eq!(result.unwrap(), "S11PS11Q in 4");
    assert_eq!(remains.journal.lines(), ["first", "first", "s11p", "s11q", "s11q"]);
}

workflow! { around(String) -> String { START => sub => second; } }

#[node]
async fn runs_around(
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<String>, ChildError<Failure>> {
    Ok(vec![ctx.call::<around>("s".to_owned()).await?])
}

workflow! { around_flow(()) -> String { START => runs_around => with_calls; } }

#[test]
fn a_child_workflow_goes_on_behind_a_workflow_inside_it_that_is_done() {
    let remains = Remains::default();
    remains.dies_at::<around_flow>((), "S1PS1Qq");
    let (result, _) = remains.goes_on::<around_flow>();
    assert_eq!(result.unwrap(), "S1PS1QPS1PS1QQ in 5");
    assert_eq!(remains.journal.lines(), ["first", "s1p", "s1q", "S1PS1Qp", "S1PS1Qq", "S1PS1Qq"]);
}

#[node]
async fn fails_once(name: String, #[resource] journal: &Journal) -> Result<String, String> {
    journal.note("tried");
    if journal.count("tried") == 1 { Err("not yet".to_owned()) } else { Ok(name) }
}

workflow! { shaky(String) -> String { START => first => fails_once => second; } }

workflow! {
    around_shaky(String) -> String {
        let shaky = shaky(retry(max_attempts = 2, initial_delay = "0s"));
        START => shaky => second;
    }
}

#[node]
async fn runs_around_shaky(
    ctx: &Context,
    #[may_write(CALLS)] _calls: StateWriter<u32, Sum>,
) -> Result<Vec<String>, ChildError<Failure>> {
    Ok(vec![ctx.call::<around_shaky>("s".to_owned()).await?])
}

workflow! { shaky_flow(()) -> String { START => runs_around_shaky => with_calls; } }

#[test]
fn a_child_workflow_goes_on_in_the_second_attempt_at_a_workflow_inside_it() {
    let remains = Remains::default();
    remains.dies_at::<shaky_flow>((), "s1q");
    let (result, _) = remains.goes_on::<shaky_flow>();
    assert_eq!(result.unwrap(), "S1PS1QPS1PS1QQ in 5");
    let lines = remains.journal.lines();
    assert_eq!(lines, ["first", "tried", "first", "tried", "s1p", "s1q", "s1q", "S1PS1Qp", "S1PS1Qq"]);
}

#[test]
fn a_run_that_dies_twice_goes_on_twice() {
    let remains = Remains::default();
    remains.dies_at::<deep_flow>((), "s11p");
    life(async {
        let death = Death::at("s11q");
        let engine = remains.engine(&death).register::<deep_flow>().build().unwrap();
        engine.recover().await.unwrap();
        death.came().await;
    });
    assert_eq!(remains.goes_on::<deep_flow>().0.unwrap(), "S11PS11Q in 4");
    assert_eq!(remains.journal.lines(), ["first", "first", "s11p", "s11p", "s11q", "s11q"]);
}

#[test]
fn the_answer_to_the_question_of_a_child_is_given_back() {
    #[node]
    async fn approval(ctx: &Context, #[resource] death: &Death) -> bool {
        let approved = ctx.ask::<bool>("approve", "fine?").await;
        death.come("after").await;
        approved
    }
    #[node]
    async fn asks(ctx: &Context) -> Result<bool, ChildError<Never>> {
        ctx.call::<approval>(()).await
    }
    workflow! { asking(()) -> bool { START => asks; } }
    let remains = Remains::default();
    life(async {
        let death = Death::at("after");
        let engine = remains.engine(&death).build().unwrap();
        let run = engine.start::<asking>(()).id("run").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        run.answer("approve", true).await.unwrap();
        death.came().await;
    });
    let (result, events) = remains.goes_on::<asking>();
    assert_eq!(result.unwrap(), true);
    assert_eq!(paths(&events, |kind| matches!(kind, EventKind::QuestionAsked { .. })).len(), 1);
}

#[test]
fn a_run_that_waits_for_a_child_goes_on_when_the_answer_comes_in_another_life() {
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
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<asking>(()).id("run").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    });
    life(async {
        let engine = remains.engine(&Death::default()).register::<asking>().build().unwrap();
        engine.recover().await.unwrap();
        engine.answer("run", "approve", true).await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(run.result().await.unwrap(), true);
    });
}

#[test]
fn a_new_attempt_of_the_parent_tries_again_what_had_failed_and_a_restart_of_it_does_not() {
    #[node]
    async fn fails(#[resource] journal: &Journal) -> Result<u32, String> {
        journal.note("fails");
        Err("down".to_owned())
    }
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn asks(ctx: &Context, #[resource] death: &Death) -> Result<u32, ChildError<String>> {
        let given = ctx.call::<fails>(()).await;
        if ctx.attempt() == 2 {
            death.come("second").await;
        }
        given
    }
    workflow! { asking(()) -> u32 { START => asks; } }
    let remains = Remains::default();
    remains.dies_at::<asking>((), "second");
    assert_eq!(remains.journal.lines(), ["fails", "fails"]);
    let (result, _) = remains.goes_on::<asking>();
    assert_eq!(failure(result).attempts, 2);
    assert_eq!(remains.journal.lines(), ["fails", "fails"]);
}

/// What was done in the child workflow was done by a node that it does not have.
fn with_a_record_that_does_not_fit() -> Remains {
    let remains = Remains::default();
    remains.dies_at::<main_flow>((), "s1q");
    life(async {
        let header = remains.store.header("run").await.unwrap().unwrap();
        let kind = event(graphweft::json!({ "type": "node_started", "attempt": 1 }));
        let records = vec![Record::new("main_flow/runs_sub/sub:s/renamed", kind)];
        let append = Append::new(header.key, header.records, std::time::SystemTime::now(), records);
        assert_eq!(remains.store.append(append).await.unwrap(), Appended::Done);
    });
    remains
}

#[test]
fn records_that_do_not_fit_the_graph_of_a_child_workflow_stop_the_run() {
    let remains = with_a_record_that_does_not_fit();
    let (result, _) = remains.goes_on::<main_flow>();
    let Err(RunError::GraphChanged { workflow, changes }) = result else { panic!("{result:?}") };
    assert_eq!(workflow, "sub");
    assert!(changes[0].contains("`main_flow/runs_sub/sub:s/renamed` does not fit"), "{changes:?}");
    assert_eq!(remains.journal.lines(), ["first", "s1p", "s1q"]);
}

#[test]
fn a_run_that_was_stopped_leaves_the_memory_and_can_be_tried_again() {
    let remains = with_a_record_that_does_not_fit();
    life(async {
        let engine = remains.engine(&Death::default()).register::<main_flow>().build().unwrap();
        let run = engine.recover().await.unwrap().resumed.remove(0);
        run.result().await.unwrap_err();
        let tried_again = async {
            while engine.recover().await.unwrap().resumed.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), tried_again).await.unwrap();
    });
}

#[test]
fn a_failed_run_that_is_retried_reuses_the_children_that_are_done() {
    #[node]
    async fn needs(name: String, #[resource] journal: &Journal) -> Result<String, String> {
        journal.note(&name);
        if journal.count(&name) == 1 && name == "second" { Err("down".to_owned()) } else { Ok(name) }
    }
    #[node]
    async fn asks(ctx: &Context) -> Result<String, ChildError<String>> {
        let first = ctx.call::<needs>("first".to_owned()).key(1).await?;
        Ok(first + &ctx.call::<needs>("second".to_owned()).key(2).await?)
    }
    workflow! { asking(()) -> String { START => asks; } }
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).register::<asking>().build().unwrap();
        let run = engine.start::<asking>(()).id("run").await.unwrap();
        assert_eq!(failure(run.result().await).cause.to_string(), "down");
        assert_eq!(engine.retry("run").await.unwrap().result().await.unwrap(), "firstsecond");
    });
    assert_eq!(remains.journal.lines(), ["first", "second", "second"]);
}

#[test]
fn a_child_that_is_forced_runs_again_and_those_beside_it_do_not() {
    #[node]
    async fn notes(name: String, #[resource] journal: &Journal) -> String {
        journal.note(&name);
        name
    }
    #[node]
    async fn asks(ctx: &Context, #[resource] journal: &Journal) -> Result<String, String> {
        for name in ["a", "b"] {
            ctx.call::<notes>(name.to_owned()).key(name).await.map_err(|error| error.to_string())?;
        }
        if journal.lines().len() == 2 { Err("down".to_owned()) } else { Ok(journal.lines().concat()) }
    }
    workflow! { asking(()) -> String { START => asks; } }
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).register::<asking>().build().unwrap();
        let run = engine.start::<asking>(()).id("run").await.unwrap();
        assert_eq!(failure(run.result().await).cause.to_string(), "down");
        let again = engine.retry("run").rerun("asking/asks/notes:a").await.unwrap();
        assert_eq!(again.result().await.unwrap(), "aba");
    });
}

#[node]
async fn listed(topics: Vec<String>, #[resource] journal: &Journal) -> usize {
    journal.note("listed");
    topics.len()
}

/// As a set is, in another order in each process.
#[node]
async fn calls_with_a_set(ctx: &Context, #[resource] death: &Death, #[resource] journal: &Journal) -> String {
    let topics = if journal.lines().is_empty() { ["ants", "bees"] } else { ["bees", "ants"] };
    let given = ctx.call::<listed>(topics.map(str::to_owned).to_vec()).key("k").await;
    death.come("after").await;
    given.map_or_else(|error| error.to_string(), |given| given.to_string())
}

workflow! { of_a_set(()) -> String { START => calls_with_a_set; } }

#[test]
fn of_an_input_that_is_in_another_order_now_it_is_said_that_it_may_be_a_set() {
    let remains = Remains::default();
    remains.dies_at::<of_a_set>((), "after");
    let (result, _) = remains.goes_on::<of_a_set>();
    let message = result.unwrap_err().to_string();
    assert!(message.contains(r#"(["ants","bees"], now ["bees","ants"])"#), "{message}");
    assert!(message.contains("take a `BTreeSet` for a `HashSet`"), "{message}");
}

mod receipts {
    macro_rules! program {
        ($program:ident, $($fields:tt)*) => {
            pub(super) mod $program {
                use graphweft::prelude::*;
                use graphweft_tests::{Death, Journal};

                #[value]
                pub(crate) struct Receipt { $($fields)* }

                #[node]
                async fn pay(ctx: &Context, #[resource] death: &Death, #[resource] journal: &Journal) -> String {
                    let paid = ctx.step("pay", async || {
                        journal.note("pay");
                        Ok::<_, String>(super::receipt::<Receipt>())
                    });
                    let paid = paid.await;
                    death.come("paid").await;
                    match paid {
                        Ok(_) => "paid".to_owned(),
                        Err(_) => {
                            journal.note("refund");
                            "not paid".to_owned()
                        }
                    }
                }

                workflow! { pub(crate) pays(()) -> String { START => pay; } }
            }
        };
    }

    program!(then, #[serde(default)] cents: u32, #[serde(default)] bank: String,);
    program!(now, #[serde(default)] cents: u32,);

    fn receipt<T: serde::de::DeserializeOwned>() -> T {
        serde_json::from_value(graphweft::json!({ "cents": 40, "bank": "north" })).unwrap()
    }
}

/// A node that takes every error for "it was not paid" would refund what was paid.
#[test]
fn a_step_whose_output_is_not_read_any_more_has_not_failed_for_its_node() {
    let remains = Remains::default();
    remains.dies_at::<receipts::then::pays>((), "paid");
    let (result, _) = remains.goes_on::<receipts::now::pays>();
    let failed = result.unwrap_err().to_string();
    assert!(failed.contains("`pays/pay/pay` has a recorded output that a `"), "{failed}");
    assert!(failed.contains("`bank`"), "{failed}");
    assert_eq!(remains.journal.lines(), ["pay"]);
    // The program that can read it continues.
    life(async {
        let engine = remains.engine(&Death::default()).register::<receipts::then::pays>().build().unwrap();
        assert_eq!(engine.retry("run").await.unwrap().result().await.unwrap(), "paid");
    });
    assert_eq!(remains.journal.lines(), ["pay"]);
}
