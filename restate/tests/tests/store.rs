//! The runs on Restate as a store: what an engine without their code, and the inspector, see and send.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{AnswerError, QuestionFilter, Signal, Workflow};
use graphweft_inspector::Inspector;
use graphweft_restate::{RestateStore, RunHandle, Worker, WorkerBuilder};
use graphweft_restate_tests::cluster::{Cluster, until};
use graphweft_restate_tests::here::with;
use graphweft_restate_tests::workflows::large;

const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn review(text: String, ctx: &Context) -> String {
    if ctx.ask("approve", "Ship it?").await { text } else { "nothing".into() }
}
workflow! {
    /// Waits for a person.
    pub publish(String) -> String { START => review; }
}

#[node]
async fn bill(cents: u32, ctx: &Context) -> u32 {
    cents - ctx.wait(PAID).await
}
workflow! {
    /// Waits for a payment.
    pub pay(u32) -> u32 { START => bill; }
}

fn worker() -> WorkerBuilder {
    Worker::builder().register::<publish>().register::<pay>().register::<large>().resident(Duration::ZERO)
}

async fn store_of(cluster: &Cluster) -> RestateStore {
    RestateStore::connect(&[cluster.admin_address()], &[cluster.ingress_address()]).await.unwrap()
}

async fn engine_of(cluster: &Cluster) -> Engine {
    Engine::builder().store(store_of(cluster).await).build().unwrap()
}

async fn waits<W: Workflow>(run: &RunHandle<W>) {
    let waits = || async { run.status().await.unwrap().is_some_and(|now| now.status == RunStatus::Waiting) };
    until("it waits", waits).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_without_the_code_lists_answers_signals_cancels_and_deletes_the_runs() {
    let (cluster, _here, client) = with(worker()).await;
    let poem = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    let prose = client.start::<publish>("prose".into(), "prose").await.unwrap();
    let order = client.start::<pay>(40, "order").await.unwrap();
    waits(&poem).await;
    waits(&prose).await;
    waits(&order).await;
    let engine = engine_of(&cluster).await;
    let mut ids: Vec<_> = engine.list_runs(RunFilter::default()).await.unwrap().into_iter().map(|run| run.id).collect();
    ids.sort();
    assert_eq!(ids, ["order", "poem", "prose"]);
    let asked = engine.questions(QuestionFilter::default()).await.unwrap();
    assert_eq!(asked.len(), 2);

    // What comes later is seen as well, and by its events.
    let late = client.start::<publish>("late".into(), "late").await.unwrap();
    waits(&late).await;
    until("it is seen", || async { engine.get_run("late").await.unwrap().is_some() }).await;

    let run = engine.get_run("poem").await.unwrap().unwrap();
    let mut events = run.events();
    let wrong = engine.answer("poem", "approve", "perhaps").await.unwrap_err();
    assert!(matches!(wrong, AnswerError::Invalid { .. }), "{wrong:?}");
    engine.answer("poem", "approve", true).by("ada").await.unwrap();
    assert_eq!(poem.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    let is_over = async {
        while let Some(event) = events.next().await {
            if event.kind.is_terminal() {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), is_over).await.expect("the end is seen");
    let names =
        |events: Vec<graphweft::Event>| events.iter().map(|event| event.kind.name().to_owned()).collect::<Vec<_>>();
    let (here, there) = (engine.history("poem").await.unwrap().unwrap(), poem.events_from(0).await.unwrap());
    assert_eq!(names(here.clone()), names(there));
    assert!(here.iter().any(|event| matches!(&event.kind, EventKind::Answered { by: Some(by), .. } if by == "ada")));
    assert!(engine.answer("poem", "approve", true).await.is_err(), "it has ended");

    engine.signal("order", PAID, 30).id("evt_1").await.unwrap();
    assert_eq!(order.outcome().await.unwrap(), Outcome::Completed(10));
    engine.cancel("prose").await.unwrap();
    assert_eq!(prose.outcome().await.unwrap(), Outcome::Cancelled);

    until("all ends are seen", || async {
        engine.count_runs(RunFilter::default().status(RunStatus::Waiting)).await.unwrap() == 1
    })
    .await;
    engine.delete_run("poem").await.unwrap();
    assert!(poem.status().await.unwrap().is_none());
    assert!(engine.get_run("poem").await.unwrap().is_none());
    assert!(engine.delete_run("late").await.is_err(), "it has not ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_forked_and_those_with_large_values_and_with_the_same_id_are_shown() {
    let (cluster, _here, client) = with(worker()).await;
    let poem = client.start::<publish>("a poem".into(), "same").await.unwrap();
    waits(&poem).await;
    poem.answer("approve", true).await.unwrap();
    assert_eq!(poem.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    let size = client.start::<large>(9 << 20, "same").await.unwrap();
    assert_eq!(size.outcome().await.unwrap(), Outcome::Completed(9 << 20));

    let engine = engine_of(&cluster).await;
    let runs = engine.list_runs(RunFilter::default()).await.unwrap();
    let mut ids: Vec<_> = runs.iter().map(|run| (run.id.clone(), run.workflow.clone())).collect();
    ids.sort();
    let (own, other) = (&ids[1], &ids[0]);
    assert_eq!(own.0, "same");
    assert_eq!(other.0, format!("{}/same", other.1));
    let large = if own.1 == "large" { &own.0 } else { &other.0 };
    let publish = if own.1 == "publish" { &own.0 } else { &other.0 };
    let events = engine.history(large).await.unwrap().unwrap();
    let output = events.iter().find_map(|event| match &event.kind {
        EventKind::NodeCompleted { output: Some(output), .. } => output.as_str().map(str::len),
        _ => None,
    });
    assert_eq!(output, Some(9 << 20));

    let answered = engine.history(publish).await.unwrap().unwrap();
    let answered = answered.iter().find(|event| event.kind.name() == "answered").unwrap().seq;
    engine.fork(publish.as_str()).before(answered).id("again").await.unwrap();
    let again = client.run::<self::publish>("again");
    waits(&again).await;
    engine.answer("again", "approve", false).await.unwrap();
    assert_eq!(again.outcome().await.unwrap(), Outcome::Completed("nothing".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_shows_the_runs_on_restate() {
    let (cluster, _here, client) = with(worker()).await;
    let poem = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    waits(&poem).await;
    let serving = Inspector::of_store(store_of(&cluster).await).unwrap().bind(0).await.unwrap();
    let port = serving.address().port();
    let serves = tokio::spawn(serving.until(std::future::pending()));
    let runs = cluster.get_at(port, "/api/runs").await;
    assert!(
        runs.contains("\"id\":\"poem\"") && runs.contains("\"status\":\"waiting\"") && runs.contains("Ship it?"),
        "{runs}"
    );
    let graph = cluster.get_at(port, "/api/runs/poem/graph").await;
    assert!(graph.contains("review"), "{graph}");
    let questions = cluster.get_at(port, "/api/questions").await;
    assert!(questions.contains("approve"), "{questions}");
    serves.abort();
}
