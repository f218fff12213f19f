//! Spans of runs, nodes and steps: their parents, and when they end. A program of its own: its subscriber is that of the whole process.

mod seen;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use graphweft::TraceContext;
use graphweft::prelude::*;
use graphweft_tests::{Death, OnDisk};
use tracing::Span;

#[node]
async fn price(item: String, ctx: &Context) -> u32 {
    let net = ctx.step("net", || async { Ok::<_, String>(40) }).key(&item).error_as_text().await;
    let tax = ctx.step("tax", || async { Ok::<_, String>(8) }).error_as_text().await;
    net.unwrap_or_default() + tax.unwrap_or_default()
}

#[node]
async fn charge(cents: u32) -> Result<u32, String> {
    if cents > 1000 { Err("too much".to_owned()) } else { Ok(cents) }
}

#[node]
async fn pay(cents: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<charge>(cents).await.map_err(|error| error.to_string())
}

workflow! { pub buy(String) -> u32 { START => price => pay; } }

async fn until_waiting<T: graphweft::Payload>(run: &Run<T>) {
    assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))));
    until_none_is_open(run.id()).await;
}

async fn until_none_is_open(run: &str) {
    // Another thread may be about to end them.
    for _ in 0..10_000 {
        if seen::open_of_run(run).is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("still open: {:#?}", seen::open_of_run(run));
}

#[tokio::test]
async fn a_step_and_a_child_are_in_their_node_which_is_in_its_run() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<buy>("a lamp".into()).id("buy").tag("shop", "north").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 48);
    let expected = [
        "start buy",
        "start buy > run buy: completed",
        "start buy > run buy > node price: completed",
        "start buy > run buy > node price > step net: completed",
        "start buy > run buy > node price > step tax: completed",
        "start buy > run buy > node pay: completed",
        "start buy > run buy > node pay > node charge: completed",
    ];
    assert_eq!(seen::of_run("buy"), expected);
    let fields = seen::span("buy", "graphweft.step net").fields;
    let has = |name: &str| fields.get(name).map(String::as_str);
    assert_eq!(has("graphweft.path"), Some("buy/price/net:a lamp"));
    assert_eq!((has("graphweft.attempt"), has("graphweft.workflow")), (Some("1"), Some("buy")));
    assert_eq!(seen::span("buy", "graphweft.run buy").fields["graphweft.tags"], r#"{"shop":"north"}"#);
}

#[node]
async fn refuse(cents: u32) -> Result<u32, String> {
    Err(format!("{cents} is refused"))
}

workflow! { pub refused(u32) -> u32 { START => refuse; } }

#[tokio::test]
async fn a_failure_is_the_outcome_of_its_node_and_of_its_run() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    assert!(engine.start::<refused>(7).id("refused").await.unwrap().result().await.is_err());
    let expected =
        ["start refused", "start refused > run refused: failed", "start refused > run refused > node refuse: failed"];
    assert_eq!(seen::of_run("refused"), expected);
    let fields = seen::span("refused", "graphweft.node refuse").fields;
    assert_eq!(fields["otel.status_code"], "ERROR");
    assert_eq!(fields["otel.status_description"], "7 is refused");
}

#[node]
async fn approve(cents: u32, ctx: &Context) -> Result<u32, String> {
    if ctx.ask::<bool>("approve", "Pay?").await { Ok(cents) } else { Err("no".to_owned()) }
}

/// Asks in a child, in the middle of its own work.
#[node]
async fn decide(cents: u32, ctx: &Context) -> u32 {
    let mine = tracing::info_span!(target: "mine", "mine", graphweft.run_id = ctx.run_id());
    drop(mine.entered());
    let approved = ctx.call::<approve>(cents).await.unwrap_or_default();
    ctx.step("note", || async { Ok::<_, String>(()) }).error_as_text().await.unwrap();
    approved
}

workflow! { pub decided(u32) -> u32 { START => decide; } }

const UNTIL_ASKED: [&str; 5] = [
    "start decided",
    "start decided > run decided: waiting",
    "start decided > run decided > node decide: waiting",
    "start decided > run decided > node decide > mine",
    "start decided > run decided > node decide > node approve: waiting",
];

const AFTER_THE_ANSWER: [&str; 4] = [
    "run decided: completed",
    "run decided > node decide: completed",
    "run decided > node decide > node approve: completed",
    "run decided > node decide > step note: completed",
];

#[tokio::test]
async fn no_span_is_open_while_a_person_is_waited_for() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<decided>(7).id("asks").await.unwrap();
    until_waiting(&run).await;
    assert_eq!(seen::of_run("asks"), UNTIL_ASKED);
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert_eq!(seen::of_run("asks")[5..], AFTER_THE_ANSWER);
}

/// What it was called with, as the names of spans.
struct Written;

impl TraceContext for Written {
    fn of_span(&self, span: &Span) -> Option<String> {
        Some(format!("of {}", span.metadata()?.name()))
    }

    fn begin(&self, span: &Span, recorded: &str) {
        span.record("otel.status_description", format!("begins {recorded}"));
    }

    fn resume(&self, span: &Span, recorded: &str) {
        span.record("otel.status_description", format!("resumes {recorded}"));
    }
}

#[tokio::test]
async fn what_follows_a_wait_is_connected_to_the_start_of_the_run() {
    seen::watch();
    let disk = OnDisk::default();
    let builder = disk.engine(&Death::default()).await.register::<decided>();
    // A run that waits leaves the memory.
    let engine = builder.trace_context(Written).max_resident_waiting(0).build().unwrap();
    let run = engine.start::<decided>(7).id("leaves").await.unwrap();
    until_waiting(&run).await;
    engine.answer("leaves", "approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert_eq!(run.info().await.unwrap().tags["traceparent"], "of graphweft.start");
    assert_eq!(seen::open_of_run("leaves"), [""; 0]);
    let runs = seen::of_run("leaves");
    let later = runs.iter().position(|text| text == "run decided: completed").expect("a part after the wait");
    assert_eq!(runs[later..].iter().filter(|text| text.starts_with("run decided > node")).count(), 4, "{runs:?}");
    let resumed = seen::spans_of("leaves", "graphweft.run decided");
    let resumed: Vec<_> = resumed.iter().map(|seen| seen.fields.get("otel.status_description").cloned()).collect();
    assert_eq!(resumed[0].as_deref(), Some("begins of graphweft.start"));
    assert!(resumed[1..].iter().all(|text| text.as_deref() == Some("resumes of graphweft.start")), "{resumed:?}");
}

#[tokio::test]
async fn a_trace_that_the_caller_has_given_stays() {
    seen::watch();
    let engine = Engine::builder().trace_context(Written).build().unwrap();
    let run = engine.start::<buy>("a rug".into()).tag("traceparent", "mine").await.unwrap();
    run.result().await.unwrap();
    assert_eq!(run.info().await.unwrap().tags["traceparent"], "mine");
}

static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Fails at first, and sleeps after that.
#[node(retry(max_attempts = 2, initial_delay = "50ms"))]
async fn nap(n: u32, ctx: &Context) -> Result<u32, String> {
    if !HAS_FAILED.swap(true, Ordering::Relaxed) {
        return Err("not yet".to_owned());
    }
    ctx.sleep(Duration::from_millis(20)).await;
    Ok(n)
}

workflow! { pub napping(u32) -> u32 { START => nap; } }

#[tokio::test]
async fn what_follows_a_timer_is_another_span() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    engine.start::<napping>(7).id("naps").await.unwrap().result().await.unwrap();
    let expected = [
        "start napping",
        "start napping > run napping: waiting",
        "start napping > run napping > node nap: failed",
        "run napping: waiting",
        "run napping > node nap: waiting",
        "run napping: completed",
        "run napping > node nap: completed",
    ];
    assert_eq!(seen::of_run("naps"), expected);
}

#[node]
async fn parts(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn work(n: u32) -> u32 {
    for _ in 0..n % 4 {
        tokio::task::yield_now().await;
    }
    n
}

#[node]
async fn sum(parts: Vec<u32>) -> u32 {
    parts.into_iter().sum()
}

workflow! { pub summed(u32) -> u32 { START => parts => [work] => sum; } }

#[node]
async fn outer(n: u32, ctx: &Context) -> u32 {
    ctx.call_as("inner", summed {}, n).await.unwrap_or_default()
}

workflow! { pub nested(u32) -> u32 { START => outer; } }

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_run_at_once_are_in_one_span_of_their_run() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    for round in 0..50 {
        let id = format!("sum-{round}");
        assert_eq!(engine.start::<summed>(16).id(&*id).await.unwrap().result().await.unwrap(), 120);
        let spans = seen::of_run(&id);
        assert_eq!(spans[..2], ["start summed", "start summed > run summed: completed"]);
        let of =
            |name: &str| spans.iter().filter(|text| **text == format!("start summed > run summed > {name}")).count();
        assert_eq!([of("node parts: completed"), of("node work: completed"), of("node sum: completed")], [1, 16, 1]);
        assert_eq!(spans.len(), 20);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_nodes_of_a_child_workflow_are_in_its_span() {
    seen::watch();
    let engine = Engine::builder().max_concurrency(3).build().unwrap();
    for round in 0..20 {
        let id = format!("nested-{round}");
        assert_eq!(engine.start::<nested>(8).id(&*id).await.unwrap().result().await.unwrap(), 28);
        let spans = seen::of_run(&id);
        let expected = ["run nested: completed", "run nested > node outer: completed"];
        assert_eq!(spans[1..3], expected.map(|text| format!("start nested > {text}")));
        assert_eq!(spans[3], "start nested > run nested > node outer > node inner: completed");
        let inner = "start nested > run nested > node outer > node inner > node ";
        assert_eq!(spans.iter().filter(|text| text.starts_with(inner)).count(), 10, "{spans:?}");
        assert_eq!(spans.len(), 14, "{spans:?}");
    }
}

#[node]
async fn launch(n: u32, ctx: &Context) -> Result<u32, String> {
    let run = ctx.start::<summed>(n).id("launched").await.map_err(|error| error.to_string())?;
    run.result().await.map_err(|error| error.to_string())
}

workflow! { pub launching(u32) -> u32 { START => launch; } }

#[tokio::test]
async fn a_run_that_a_node_starts_is_in_the_step_that_starts_it() {
    seen::watch();
    let engine = Engine::builder().register::<summed>().build().unwrap();
    engine.start::<launching>(2).id("launching").await.unwrap().result().await.unwrap();
    let start = "start launching > run launching > node launch > step start";
    assert_eq!(seen::of_run("launched")[0], format!("{start} > start summed"));
    assert_eq!(seen::open_of_run("launching"), [""; 0]);
}

#[tokio::test]
async fn a_workflow_that_is_called_is_in_the_span_of_its_caller() {
    seen::watch();
    let around = tracing::info_span!(target: "mine", "request");
    let called = tracing::Instrument::instrument(summed(3), around);
    assert_eq!(called.await.unwrap(), 3);
    let spans = seen::in_span("request");
    assert_eq!(spans.iter().filter(|text| text.starts_with("request > run summed > node ")).count(), 5, "{spans:?}");
}

#[node]
async fn hang(n: u32, ctx: &Context) -> u32 {
    ctx.step("hang", std::future::pending::<Result<u32, String>>).error_as_text().await.unwrap_or(n)
}

workflow! { pub hanging(u32) -> u32 { START => hang; } }

#[tokio::test]
async fn what_is_cancelled_has_no_span_left() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<hanging>(2).id("hangs").await.unwrap();
    while seen::of_run("hangs").len() < 4 {
        tokio::task::yield_now().await;
    }
    run.cancel().await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
    let expected = [
        "start hanging",
        "start hanging > run hanging: cancelled",
        "start hanging > run hanging > node hang: dropped",
        "start hanging > run hanging > node hang > step hang: dropped",
    ];
    assert_eq!(seen::of_run("hangs"), expected);
}

#[node]
async fn buy_for(n: u32, ctx: &Context) -> u32 {
    ctx.call_as("inner", decided {}, n).await.unwrap_or_default()
}

workflow! { pub bought(u32) -> u32 { START => buy_for; } }

#[tokio::test]
async fn no_span_is_open_while_a_called_workflow_waits() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<bought>(7).id("calls").await.unwrap();
    until_waiting(&run).await;
    let around = "start bought > run bought > node buy_for";
    let expected = [
        "start bought".to_owned(),
        "start bought > run bought: waiting".to_owned(),
        format!("{around}: waiting"),
        format!("{around} > node inner: waiting"),
        format!("{around} > node inner > node decide: waiting"),
        format!("{around} > node inner > node decide > mine"),
        format!("{around} > node inner > node decide > node approve: waiting"),
    ];
    assert_eq!(seen::of_run("calls"), expected);
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    let after = seen::of_run("calls").split_off(expected.len());
    let around = "run bought > node buy_for";
    let expected = [
        "run bought: completed".to_owned(),
        format!("{around}: completed"),
        format!("{around} > node inner: completed"),
        format!("{around} > node inner > node decide: completed"),
        format!("{around} > node inner > node decide > node approve: completed"),
        format!("{around} > node inner > node decide > step note: completed"),
    ];
    assert_eq!(after, expected);
}

#[node(timeout = "20ms")]
async fn reply_soon(n: u32, ctx: &Context) -> u32 {
    if ctx.ask::<bool>("soon", "Now?").await { n } else { 0 }
}

workflow! { pub hurried(u32) -> u32 { START => reply_soon; } }

#[tokio::test]
async fn a_node_that_fails_while_it_waits_has_a_span_that_says_so() {
    seen::watch();
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<hurried>(7).id("hurries").await.unwrap();
    while let Outcome::Waiting(_) = run.outcome().await.unwrap() {
        tokio::task::yield_now().await;
    }
    assert!(matches!(run.outcome().await, Ok(Outcome::Failed(_))));
    let expected = [
        "start hurried",
        "start hurried > run hurried: waiting",
        "start hurried > run hurried > node reply_soon: waiting",
        "run hurried: failed",
        "run hurried > node reply_soon: failed",
    ];
    assert_eq!(seen::of_run("hurries"), expected);
}

workflow! { pub approving(u32) -> u32 { START => approve; } }

async fn both_end_as_without_spans(builder: graphweft::EngineBuilder, id: &str) {
    let engine = builder.build().unwrap();
    let run = engine.start::<approving>(7).id(id).await.unwrap();
    assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))), "{id}");
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7, "{id}");
    let engine = Engine::builder().build().unwrap();
    assert_eq!(engine.start::<buy>("a lamp".into()).id(id).await.unwrap().result().await.unwrap(), 48, "{id}");
}

#[tokio::test]
async fn a_subscriber_that_panics_changes_nothing_in_a_run() {
    seen::watch();
    for function in ["on_new_span", "on_record", "on_enter", "on_exit", "on_close"] {
        both_end_as_without_spans(Engine::builder(), &format!("panics in {function}")).await;
    }
}

/// Panics in all its functions.
struct Panicking;

impl TraceContext for Panicking {
    fn of_span(&self, _: &Span) -> Option<String> {
        panic!("in of_span")
    }

    fn begin(&self, _: &Span, _: &str) {
        panic!("in begin")
    }

    fn resume(&self, _: &Span, _: &str) {
        panic!("in resume")
    }
}

#[tokio::test]
async fn a_trace_context_that_panics_changes_nothing_in_a_run() {
    seen::watch();
    both_end_as_without_spans(Engine::builder().trace_context(Panicking), "with a context that panics").await;
    let engine = Engine::builder().trace_context(Panicking).build().unwrap();
    let run = engine.start::<approving>(7).tag("traceparent", "mine").await.unwrap();
    assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))));
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
}

/// Reads no text. Counts how often it is asked, and what else is called.
#[derive(Clone, Default)]
struct Reads(Arc<[AtomicUsize; 2]>);

impl TraceContext for Reads {
    fn of_span(&self, _: &Span) -> Option<String> {
        None
    }

    fn is_readable(&self, _: &str) -> bool {
        self.0[0].fetch_add(1, Ordering::Relaxed);
        false
    }

    fn begin(&self, _: &Span, _: &str) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }

    fn resume(&self, _: &Span, _: &str) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_trace_that_cannot_be_read_leaves_the_run_in_that_of_its_start() {
    seen::watch();
    let reads = Reads::default();
    let engine = Engine::builder().trace_context(reads.clone()).build().unwrap();
    let run = engine.start::<approving>(7).id("unreadable").tag("traceparent", "mine").await.unwrap();
    until_waiting(&run).await;
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    let expected = [
        "start approving",
        "start approving > run approving: waiting",
        "start approving > run approving > node approve: waiting",
        "run approving: completed",
        "run approving > node approve: completed",
    ];
    assert_eq!(seen::of_run("unreadable"), expected);
    assert_eq!(reads.0.each_ref().map(|count| count.load(Ordering::Relaxed)), [1, 0]);
}

/// Gives a text of this length.
struct Long(usize);

impl TraceContext for Long {
    fn of_span(&self, _: &Span) -> Option<String> {
        Some("x".repeat(self.0))
    }

    fn begin(&self, _: &Span, _: &str) {}

    fn resume(&self, _: &Span, _: &str) {}
}

#[tokio::test]
async fn a_trace_that_is_too_long_for_a_tag_is_not_recorded() {
    seen::watch();
    for (length, is_recorded) in [(256, true), (257, false)] {
        let engine = Engine::builder().trace_context(Long(length)).build().unwrap();
        let run = engine.start::<buy>("a lamp".into()).await.unwrap();
        run.result().await.unwrap();
        assert_eq!(run.info().await.unwrap().tags.contains_key("traceparent"), is_recorded, "{length}");
    }
}

/// As a task of the program could have them for long.
static KEPT: Mutex<Vec<Context>> = Mutex::new(Vec::new());

#[node]
async fn keep(n: u32, ctx: &Context) -> u32 {
    KEPT.lock().unwrap().push(ctx.clone());
    ctx.step("hang", std::future::pending::<Result<u32, String>>).error_as_text().await.unwrap_or(n)
}

workflow! { pub keeping(u32) -> u32 { START => parts => [keep] => sum; } }

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_that_is_kept_leaves_no_span_open() {
    seen::watch();
    for items in [1, 3] {
        for is_cancelled in [true, false] {
            let engine = Engine::builder().build().unwrap();
            let id = format!("keeps-{items}-{is_cancelled}");
            let run = engine.start::<keeping>(items).id(&*id).await.unwrap();
            while seen::of_run(&id).len() < 3 + 2 * items as usize {
                tokio::task::yield_now().await;
            }
            if is_cancelled {
                run.cancel().await.unwrap();
                assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
            } else {
                engine.shutdown().await;
            }
            until_none_is_open(&id).await;
        }
    }
}
