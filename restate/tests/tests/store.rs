//! The runs on Restate as a store: what an engine without their code, and the inspector, see and send.

use std::time::Duration;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::{AnswerError, QuestionFilter, Signal, Workflow};
use graphweft_inspector::Inspector;
use graphweft_restate::{RestateStore, RunHandle, Worker, WorkerBuilder};
use graphweft_restate_tests::cluster::{Cluster, until};
use graphweft_restate_tests::here::{until_invocation_is, with};
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
    assert_eq!(ids.iter().map(|(id, _)| &**id).collect::<Vec<_>>(), ["large/same", "publish/same"]);
    let (large, publish) = (&ids[0].0, &ids[1].0);
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
    assert!(engine.fork(publish.as_str()).before(1).id("again").await.is_err(), "it is another fork");

    // One whose invocation was killed continues when it is made again.
    until_invocation_is(&cluster, &again, "suspended").await;
    cluster.end_invocations("target_service_key = 'again' and target_handler_name = 'fork'", "kill").await;
    engine.fork(publish.as_str()).before(answered).id("again").await.unwrap();
    let taken = async { engine.answer("again", "approve", false).await.unwrap() };
    tokio::time::timeout(Duration::from_secs(30), taken).await.expect("a worker takes it");
    assert_eq!(again.outcome().await.unwrap(), Outcome::Completed("nothing".into()));
    assert!(engine.fork(publish.as_str()).before(answered).id("again").await.is_err(), "it has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_are_forgotten_before_their_end_is_seen_are_gone_and_their_ids_are_free() {
    let (cluster, _here, client) = with(worker()).await;
    let mut runs = Vec::new();
    for n in 0..8 {
        runs.push(client.start::<publish>("a poem".into(), format!("poem-{n}")).await.unwrap());
        waits(&runs[n]).await;
    }
    let engine = engine_of(&cluster).await;
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 8);
    // It looks each second: some of them are started anew between two looks, and some are not.
    let end = runs.iter().enumerate().map(async |(n, run)| {
        run.answer("approve", true).await.unwrap();
        assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
        run.forget().await.unwrap();
        if n < 4 {
            client.start::<publish>("prose".into(), run.id()).await.unwrap();
            waits(run).await;
        }
    });
    join_all(end).await;
    until("the others are gone", || async { engine.count_runs(RunFilter::default()).await.unwrap() == 4 }).await;
    for run in &runs[..4] {
        let there = run.events_from(0).await.unwrap();
        let is_seen = || async { engine.history(run.id()).await.unwrap().is_some_and(|here| here == there) };
        until("it is seen as it is", is_seen).await;
        engine.answer(run.id(), "approve", true).await.unwrap();
        assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("prose".into()));
    }
    for run in &runs[4..] {
        let gone = tokio::time::timeout(Duration::from_secs(30), engine.cancel(run.id())).await;
        assert!(gone.expect("it is answered").is_err(), "there is no such run");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_read_is_reported_and_keeps_nothing_from_others() {
    let (cluster, _here, client) = with(worker()).await;
    let poem = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    let prose = client.start::<publish>("prose".into(), "prose").await.unwrap();
    waits(&poem).await;
    waits(&prose).await;
    let engine = engine_of(&cluster).await;
    let body = r#"{"object_key": "newer", "new_state": {"r/0000000000": [123, 125]}}"#;
    let set = cluster.ask_admin("/services/graphweft.publish/state", body).await;
    assert!(set.starts_with("HTTP/1.1 202"), "{set}");
    let sql = "select key from state where service_key = 'newer'";
    until("it is there", || async { cluster.query(sql).await.contains("r/0000000000") }).await;
    engine.answer("poem", "approve", true).await.unwrap();
    assert_eq!(poem.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    engine.cancel("prose").await.unwrap();
    assert_eq!(prose.outcome().await.unwrap(), Outcome::Cancelled);
    let is_over = || async { engine.count_runs(RunFilter::default().status(RunStatus::Cancelled)).await.unwrap() == 1 };
    until("its end is seen", is_over).await;
    engine.delete_run("prose").await.unwrap();
    let refused = RestateStore::connect(&[cluster.admin_address()], &[cluster.ingress_address()]).await;
    assert!(refused.unwrap_err().to_string().contains("newer"), "it is named");
}

#[node]
async fn long_texts(count: usize, ctx: &Context) -> Result<usize, String> {
    let mut bytes = 0;
    for n in 0..count {
        // Parts of some end within a letter.
        let text = move || async move { Ok::<_, String>(format!("{}{}", "x".repeat(n), "ä".repeat(9 << 19))) };
        bytes += ctx.step("text", text).key(n).await.map_err(|error| error.to_string())?.len();
    }
    Ok(bytes)
}
workflow! {
    /// Has more records than a message of the server takes.
    pub larger(usize) -> usize { START => long_texts; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_larger_than_a_message_is_shown_beside_others() {
    let (cluster, _here, client) = with(worker().register::<larger>()).await;
    let run = client.start::<larger>(4, "larger").await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed((36 << 20) + 6));
    let poem = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    waits(&poem).await;
    let there = run.events_from(0).await.unwrap();
    assert!(there.last().unwrap().kind.is_terminal());
    let at_once = cluster.post("/graphweft.larger/larger/events", "0").await;
    assert!(at_once.starts_with("HTTP/1.1 413") && at_once.contains("`larger`"), "{at_once}");
    let engine = engine_of(&cluster).await;
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
    assert!(engine.history("larger").await.unwrap().unwrap() == there, "it is as it is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_runs_of_two_workflows_names_neither_of_them_and_the_names_of_both_stay() {
    let (cluster, _here, client) = with(worker()).await;
    let ids = async |engine: &Engine| {
        let runs = engine.list_runs(RunFilter::default()).await.unwrap();
        let mut ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
        ids.sort();
        ids
    };
    let poem = client.start::<publish>("a poem".into(), "dup").await.unwrap();
    waits(&poem).await;
    client.start::<publish>("a poem".into(), "a/b").await.unwrap();
    waits(&client.run::<publish>("a/b")).await;
    let engine = engine_of(&cluster).await;
    assert_eq!(ids(&engine).await, ["dup", "publish/a/b"]);
    assert_eq!(engine.get_run("publish/dup").await.unwrap().unwrap().id(), "dup");
    assert!(engine.get_run("pay/dup").await.unwrap().is_none());

    let order = client.start::<pay>(40, "dup").await.unwrap();
    let both = ["pay/dup", "publish/a/b", "publish/dup"];
    until("the other one is seen", || async { ids(&engine).await == both }).await;
    engine.cancel("publish/dup").await.unwrap();
    engine.cancel("pay/dup").await.unwrap();
    assert_eq!(poem.outcome().await.unwrap(), Outcome::Cancelled);
    assert_eq!(order.outcome().await.unwrap(), Outcome::Cancelled);
    let next = engine_of(&cluster).await;
    assert_eq!(ids(&next).await, both);
    for engine in [&engine, &next] {
        let refused = engine.delete_run("dup").await.unwrap_err().to_string();
        assert!(refused.contains("`pay/dup`") && refused.contains("`publish/dup`"), "{refused}");
    }

    next.delete_run("publish/dup").await.unwrap();
    assert!(next.delete_run("dup").await.is_err(), "which one is not said");
    assert!(next.delete_run("publish/dup").await.is_err(), "it is gone");
    assert!(order.status().await.unwrap().is_some());
    // A program that has not seen the other one has the short name as well.
    let last = engine_of(&cluster).await;
    assert_eq!(ids(&last).await, ["dup", "publish/a/b"]);
    last.delete_run("pay/dup").await.unwrap();
    assert!(order.status().await.unwrap().is_none());
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

#[tokio::test(flavor = "multi_thread")]
async fn many_runs_are_read_together_and_each_is_what_it_is() {
    let (cluster, _here, client) = with(worker()).await;
    let start = |at: usize| {
        let client = client.clone();
        async move { client.start::<publish>(format!("poem {at}"), format!("it's {at}")).await.unwrap() }
    };
    let poems = join_all((0..300).map(start)).await;
    let order = client.start::<pay>(40, "it's 7").await.unwrap();
    join_all(poems.iter().map(waits)).await;
    waits(&order).await;
    let engine = engine_of(&cluster).await;
    // Events name the run that they are of, by its id here.
    let is_as_there = async |poem: &RunHandle<publish>, id: &str| {
        let (here, mut there) = (engine.history(id).await.unwrap(), poem.events_from(0).await.unwrap());
        there.iter_mut().for_each(|event| id.clone_into(&mut event.run_id));
        assert_eq!(here, Some(there), "{id}");
    };
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 301);
    for (at, poem) in poems.iter().enumerate() {
        // Two runs with one id have others here.
        is_as_there(poem, if at == 7 { "publish/it's 7" } else { poem.id() }).await;
    }
    let mut there = order.events_from(0).await.unwrap();
    there.iter_mut().for_each(|event| "pay/it's 7".clone_into(&mut event.run_id));
    assert_eq!(engine.history("pay/it's 7").await.unwrap(), Some(there));

    // What changes then is read from where each of them was.
    join_all(poems.iter().skip(200).map(|poem| poem.answer("approve", true))).await;
    join_all(poems.iter().skip(200).map(RunHandle::outcome)).await;
    let ended = || async { engine.count_runs(RunFilter::default().status(RunStatus::Completed)).await.unwrap() == 100 };
    until("all of them are seen", ended).await;
    for poem in poems.iter().skip(190) {
        is_as_there(poem, poem.id()).await;
    }
}
