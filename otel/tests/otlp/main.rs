//! What a collector is sent of a run: one span for each piece of work, with its parent, and links over a wait and over `kill -9`. Each
//! life of a program is a process of its own.

mod receiver;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use graphweft::prelude::*;
use graphweft_otel::Resumed;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::trace::SdkTracerProvider;
use receiver::{Receiver, attribute};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt};

#[node]
async fn price(item: String, ctx: &Context) -> Result<u32, String> {
    let net = ctx.step("look_up", || async { Ok::<_, String>(40) }).key(&item).await.map_err(|it| it.to_string())?;
    let tax = ctx.step("tax", || async { Ok::<_, String>(8) }).await.map_err(|it| it.to_string())?;
    Ok(net + tax)
}

#[node]
async fn round(cents: u32) -> Result<u32, String> {
    Ok(cents / 10 * 10)
}

/// Its second step hangs in the process that is killed.
#[node]
async fn pack(cents: u32, ctx: &Context) -> Result<u32, String> {
    let cents = ctx.call::<round>(cents).await.map_err(|it| it.to_string())?;
    ctx.step("box", || async { Ok::<_, String>(()) }).await.map_err(|it| it.to_string())?;
    ctx.step("seal", || async {
        if std::env::var("LIFE").is_ok_and(|life| life == "hangs") {
            PROVIDER.get().unwrap().force_flush().unwrap();
            println!("HANGS");
            std::future::pending::<()>().await;
        }
        Ok::<_, String>(())
    })
    .await
    .map_err(|it| it.to_string())?;
    Ok(cents)
}

#[node]
async fn approve(cents: u32, ctx: &Context) -> Result<u32, String> {
    if ctx.ask::<bool>("large", "Pay?").await { Ok(cents) } else { Err("no".to_owned()) }
}

workflow! {
    pub purchase(String) -> u32 {
        START => price => pack => approve => done;
    }
}

#[node]
async fn done(cents: u32) -> u32 {
    cents
}

static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts the spans that are open.
struct Count;

impl<S: tracing::Subscriber> Layer<S> for Count {
    fn on_new_span(&self, _: &tracing::span::Attributes<'_>, _: &tracing::Id, _: LayerContext<'_, S>) {
        OPEN.fetch_add(1, Ordering::SeqCst);
    }

    fn on_close(&self, _: tracing::Id, _: LayerContext<'_, S>) {
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One life of the program, by the variables of its environment. What it exports goes to the receiver of the test.
#[test]
#[ignore = "a process of the other tests"]
fn life() {
    let exporter = SpanExporter::builder().with_http().with_endpoint(std::env::var("ENDPOINT").unwrap()).build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter.unwrap()).build();
    PROVIDER.set(provider.clone()).unwrap();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let wanted = tracing_subscriber::filter::Targets::new().with_target("graphweft::span", tracing::Level::INFO);
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(wanted.clone()));
    tracing::subscriber::set_global_default(subscriber.with(Count.with_filter(wanted))).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(std::env::var("STORE").unwrap()).await.unwrap();
        let context = if std::env::var("AS").unwrap() == "child" { Resumed::AsChild } else { Resumed::AsLink };
        let engine = Engine::builder().store(store).register::<purchase>().trace_context(context).build().unwrap();
        let run = match std::env::var("LIFE").unwrap().as_str() {
            "ends" => {
                engine.recover().await.unwrap();
                engine.get_run_of::<purchase>("run").await.unwrap().unwrap()
            }
            _ => engine.start::<purchase>("a lamp".into()).id("run").await.unwrap(),
        };
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it asks") };
        // Another thread may be about to end them.
        for _ in 0..1_000_000 {
            if OPEN.load(Ordering::SeqCst) == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(OPEN.load(Ordering::SeqCst), 0, "nothing is open while it waits");
        println!("WAITS");
        run.answer("large", true).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 40);
    });
    drop(runtime);
    assert_eq!(OPEN.load(Ordering::SeqCst), 0, "nothing is open at the end");
    provider.shutdown().unwrap();
    println!("ENDED");
}

struct Process(Child, BufReader<ChildStdout>);

impl Process {
    fn begin(life: &str, how: &str, store: &Path, receiver: &Receiver) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["life", "--exact", "--ignored", "--nocapture"]).env("LIFE", life).env("AS", how);
        command.env("STORE", store).env("ENDPOINT", &receiver.endpoint).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Process(child, output)
    }

    fn until(&mut self, said: &str) {
        let mut line = String::new();
        while !line.trim().ends_with(said) {
            line.clear();
            assert_ne!(self.1.read_line(&mut line).unwrap(), 0, "it says {said}");
        }
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn ends(mut self) {
        self.until("ENDED");
        assert!(self.0.wait().unwrap().success());
    }
}

fn name(span: &Span) -> String {
    span.name.replace("graphweft.", "")
}

/// Each span with those around it, and its outcome.
fn chains(spans: &[Span]) -> Vec<String> {
    let parent = |span: &Span| spans.iter().find(|other| other.span_id == span.parent_span_id);
    let chain = |span: &Span| {
        let (mut text, mut at) = (name(span), parent(span));
        while let Some(around) = at {
            text = format!("{} > {text}", name(around));
            at = parent(around);
        }
        match attribute(span, "graphweft.outcome") {
            outcome if outcome.is_empty() => text,
            outcome => format!("{text}: {outcome}"),
        }
    };
    spans.iter().map(chain).collect()
}

const UNTIL_ASKED: [&str; 9] = [
    "start purchase",
    "start purchase > run purchase: waiting",
    "start purchase > run purchase > node price: completed",
    "start purchase > run purchase > node price > step look_up: completed",
    "start purchase > run purchase > node price > step tax: completed",
    "start purchase > run purchase > node pack: completed",
    "start purchase > run purchase > node pack > node round: completed",
    "start purchase > run purchase > node pack > step box: completed",
    "start purchase > run purchase > node pack > step seal: completed",
];

const ASKED: &str = "start purchase > run purchase > node approve: waiting";

const AFTER_THE_ANSWER: [&str; 3] =
    ["run purchase: completed", "run purchase > node approve: completed", "run purchase > node done: completed"];

#[test]
fn a_run_has_a_span_for_each_piece_of_its_work_and_a_link_over_its_wait() {
    let (receiver, directory) = (Receiver::begin(), tempfile::tempdir().unwrap());
    Process::begin("at once", "link", &directory.path().join("runs.db"), &receiver).ends();
    let spans = receiver.spans();
    let expected: Vec<_> = UNTIL_ASKED.into_iter().chain([ASKED]).chain(AFTER_THE_ANSWER).collect();
    assert_eq!(chains(&spans), expected);
    let (start, resumed) = (&spans[0], &spans[10]);
    assert_ne!(resumed.trace_id, start.trace_id);
    assert_eq!(resumed.links.len(), 1);
    assert_eq!((&resumed.links[0].trace_id, &resumed.links[0].span_id), (&start.trace_id, &start.span_id));
    let look_up = spans.iter().find(|span| span.name == "graphweft.step look_up").unwrap();
    assert_eq!(attribute(look_up, "graphweft.path"), "purchase/price/look_up:a lamp");
    assert_eq!(attribute(look_up, "graphweft.run_id"), "run");
    assert_eq!(attribute(look_up, "graphweft.attempt"), "1");
}

#[test]
fn after_kill_9_the_spans_are_linked_and_what_is_recorded_has_none() {
    let (receiver, directory) = (Receiver::begin(), tempfile::tempdir().unwrap());
    let store = directory.path().join("runs.db");
    let mut killed = Process::begin("hangs", "link", &store, &receiver);
    killed.until("HANGS");
    killed.kill();
    let before = receiver.spans();
    // Those that were open were never ended.
    let ended = ["start purchase", "node price", "step look_up", "step tax", "node round", "step box"];
    assert_eq!(before.iter().map(name).collect::<Vec<_>>(), ended);

    Process::begin("ends", "link", &store, &receiver).ends();
    let after = receiver.spans().split_off(before.len());
    let resumed = [
        "run purchase: waiting",
        "run purchase > node pack: completed",
        "run purchase > node pack > step seal: completed",
        "run purchase > node approve: waiting",
    ];
    assert_eq!(chains(&after), resumed.into_iter().chain(AFTER_THE_ANSWER).collect::<Vec<_>>());
    for part in after.iter().filter(|span| span.parent_span_id.is_empty()) {
        assert_ne!(part.trace_id, before[0].trace_id);
        let links: Vec<_> = part.links.iter().map(|link| (&link.trace_id, &link.span_id)).collect();
        assert_eq!(links, [(&before[0].trace_id, &before[0].span_id)]);
    }
}

#[test]
fn by_choice_what_follows_is_in_the_trace_of_the_start() {
    let (receiver, directory) = (Receiver::begin(), tempfile::tempdir().unwrap());
    let store = directory.path().join("runs.db");
    let mut killed = Process::begin("hangs", "child", &store, &receiver);
    killed.until("HANGS");
    killed.kill();
    Process::begin("ends", "child", &store, &receiver).ends();
    let spans = receiver.spans();
    let runs: Vec<_> = spans.iter().filter(|span| span.name == "graphweft.run purchase").collect();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!((&run.trace_id, &run.parent_span_id), (&spans[0].trace_id, &spans[0].span_id));
        assert!(run.links.is_empty());
    }
    assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id));
}
