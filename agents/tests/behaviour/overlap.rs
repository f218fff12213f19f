//! Two runs in one session at the same time, of one engine and of two on one file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use graphweft::json;
use graphweft::prelude::*;
use graphweft::store::{LogEntry, LogStore, MemoryStore, SqliteStore, Store, StoreError};
use graphweft::{EventKind, Workflow};
use graphweft_agents::{
    Agent, AgentError, ChatModel, Delta, Memory, Message, ModelError, Models, Overlap, Reply, Request, SESSION,
    Scripted, SessionEntry, SessionError, Sessions, Tool,
};
use graphweft_tests::{dies_at_commit, failure, life};
use tokio::sync::Notify;

use crate::scene::{call, texts};

pub(crate) fn guest(overlap: Overlap) -> Agent<String, String> {
    Agent::new("You chat.").memory(Memory::session("chat").overlap(overlap))
}

workflow! {
    pub(crate) queued(String) -> String {
        let guest: Agent<String, String> = guest(Overlap::Queue);
        START => guest;
    }
}

workflow! {
    pub(crate) rejected(String) -> String {
        let guest: Agent<String, String> = guest(Overlap::Reject);
        START => guest;
    }
}

workflow! {
    cancelling(String) -> String {
        let guest: Agent<String, String> = guest(Overlap::CancelEarlier);
        START => guest;
    }
}

/// Retried by its node.
#[node(retry(max_attempts = 2, initial_delay = "1ms", when = is_retried))]
async fn guest_again(text: String, ctx: &Context) -> Result<String, AgentError> {
    guest(Overlap::Queue).run(text, ctx).await
}

fn is_retried(_: &AgentError) -> bool {
    true
}

workflow! {
    retried(String) -> String {
        START => guest_again;
    }
}

/// Replies to `slow` when it may, fails once at `bad`, and says otherwise how many messages it has seen.
#[derive(Clone, Default)]
struct Gate {
    reached: Arc<Notify>,
    may_reply: Arc<Notify>,
    has_failed: Arc<AtomicBool>,
}

impl ChatModel for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let text = texts(&request.messages).pop().unwrap_or_default();
            if text.starts_with("slow") {
                self.reached.notify_one();
                self.may_reply.notified().await;
            }
            if text.ends_with("bad") && !self.has_failed.swap(true, Ordering::SeqCst) {
                return Err(ModelError::Rejected { message: "no".into() });
            }
            tokio::task::yield_now().await;
            Ok(Scripted::reply(request, Message::assistant(format!("{} seen", request.messages.len()))))
        })
    }
}

/// Sends a letter.
#[node]
async fn send(letter: String) -> String {
    format!("sent: {letter}")
}

workflow! {
    approved(String) -> String {
        let guest: Agent<String, String> = guest(Overlap::Queue).tool(Tool::of::<send>().approve());
        START => guest;
    }
}

/// An engine with a handle of its own to the file, as that of another process.
async fn engine(path: &Path, model: &Gate) -> Engine {
    let store = SqliteStore::open(path).await.unwrap();
    let builder = Engine::builder().store(store).resource(Models::new(model.clone()));
    let builder = builder.register::<queued>().register::<rejected>().register::<cancelling>();
    builder.register::<retried>().build().unwrap()
}

struct Two {
    directory: tempfile::TempDir,
    model: Gate,
    engines: [Engine; 2],
}

async fn two_engines() -> Two {
    let (directory, model) = (tempfile::tempdir().unwrap(), Gate::default());
    let path = directory.path().join("runs.db");
    let engines = [engine(&path, &model).await, engine(&path, &model).await];
    Two { directory, model, engines }
}

async fn start<W: Workflow<Input = String>>(engine: &Engine, id: &str, text: &str) -> Run<W::Output> {
    engine.start::<W>(text.to_owned()).id(id).state(SESSION, "ada".to_owned()).await.unwrap()
}

async fn result<T: graphweft::Payload>(run: &Run<T>) -> Result<T, RunError> {
    tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("the run ends")
}

async fn said(engine: &Engine) -> Vec<String> {
    texts(&Sessions::of(engine).unwrap().get("chat", "ada").messages().await.unwrap())
}

/// Until another run has come to the session.
pub(crate) async fn come(engine: &Engine, runs: usize) {
    let session = Sessions::of(engine).unwrap().get("chat", "ada");
    while session.entries().await.unwrap().len() < runs {
        tokio::task::yield_now().await;
    }
}

/// How often a run has slept, and whether each time something else than its timer has ended that.
async fn sleeps(engine: &Engine, id: &str) -> (usize, bool) {
    let records = engine.get_run(id).await.unwrap().unwrap().recorded(0..u64::MAX).await.unwrap();
    let fired = |path: &str| records.iter().find(|event| event.path == path && event.kind == EventKind::TimerFired);
    let slept = records.iter().filter_map(|event| match event.kind {
        EventKind::TimerSet { until, .. } => Some(fired(&event.path).is_some_and(|fired| fired.time < until)),
        _ => None,
    });
    let slept: Vec<bool> = slept.collect();
    (slept.len(), slept.into_iter().all(|is_early| is_early))
}

/// A run that has come to the session sleeps until its turn comes; it may not yet. It rests shortly after its timer is set.
async fn until_it_sleeps(engine: &Engine, id: &str) {
    let rests = async || engine.get_run(id).await.unwrap().unwrap().status().await.unwrap() == RunStatus::Sleeping;
    let sleeps = async {
        while sleeps(engine, id).await.0 == 0 || !rests().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), sleeps).await.expect("it sleeps");
}

const RUNS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_two_engines_on_one_file_have_their_turns_one_after_another() {
    let Two { directory, engines, .. } = two_engines().await;
    let one = async |at: usize| {
        let text = format!("number {at}");
        let run = start::<queued>(&engines[at % 2], &format!("run-{at}"), &text).await;
        (text, result(&run).await.unwrap())
    };
    let mut replies = join_all((0..2 * RUNS).map(one)).await;
    let seen = |reply: &(String, String)| reply.1.split(' ').next().unwrap().parse::<usize>().unwrap();
    replies.sort_by_key(seen);
    // Each has seen all that came before it, and nothing half done.
    let expected: Vec<usize> = (0..2 * RUNS).map(|turn| 2 * turn + 1).collect();
    assert_eq!(replies.iter().map(seen).collect::<Vec<_>>(), expected);
    let messages: Vec<String> = replies.into_iter().flat_map(|(text, reply)| [text, reply]).collect();
    assert_eq!(said(&engines[0]).await, messages);
    assert_eq!(said(&engines[1]).await, messages);
    drop(directory);
}

#[tokio::test]
async fn a_run_that_waits_sees_what_the_one_before_it_has_added() {
    let Two { directory, model, engines: [one, other] } = two_engines().await;
    let first = start::<queued>(&one, "first", "slow").await;
    model.reached.notified().await;
    let second = start::<queued>(&other, "second", "Hello").await;
    come(&other, 2).await;
    until_it_sleeps(&other, "second").await;
    model.may_reply.notify_one();
    assert_eq!(result(&first).await.unwrap(), "1 seen");
    assert_eq!(result(&second).await.unwrap(), "3 seen");
    assert_eq!((sleeps(&one, "first").await, sleeps(&other, "second").await), ((0, true), (1, true)));
    drop(directory);
}

#[tokio::test]
async fn runs_of_one_engine_are_woken_one_after_another_by_the_ends_of_the_turns_before_them() {
    let model = Gate::default();
    let builder = Engine::builder().resource(Models::new(model.clone()));
    let engine = builder.register::<queued>().build().unwrap();
    let first = start::<queued>(&engine, "first", "slow").await;
    model.reached.notified().await;
    let second = start::<queued>(&engine, "second", "Hello").await;
    come(&engine, 2).await;
    let third = start::<queued>(&engine, "third", "Hello").await;
    come(&engine, 3).await;
    until_it_sleeps(&engine, "second").await;
    until_it_sleeps(&engine, "third").await;
    model.may_reply.notify_one();
    assert_eq!(result(&first).await.unwrap(), "1 seen");
    assert_eq!(result(&second).await.unwrap(), "3 seen");
    assert_eq!(result(&third).await.unwrap(), "5 seen");
    assert_eq!((sleeps(&engine, "second").await, sleeps(&engine, "third").await), ((1, true), (1, true)));
}

#[tokio::test]
async fn a_run_that_waits_goes_on_when_the_one_before_it_has_failed_or_was_cancelled() {
    for cancels in [false, true] {
        let Two { directory, model, engines: [one, other] } = two_engines().await;
        let first = start::<queued>(&one, "first", "slow and bad").await;
        model.reached.notified().await;
        let second = start::<queued>(&other, "second", "Hello").await;
        come(&other, 2).await;
        until_it_sleeps(&other, "second").await;
        if cancels {
            other.cancel("first").await.unwrap();
        } else {
            model.may_reply.notify_one();
        }
        assert_eq!(result(&second).await.unwrap(), "1 seen");
        result(&first).await.unwrap_err();
        assert_eq!(sleeps(&one, "second").await, (1, true));
        assert_eq!(said(&one).await, ["Hello", "1 seen"]);
        drop(directory);
    }
}

#[tokio::test]
async fn a_run_that_does_not_wait_is_refused_with_the_name_of_the_other_before_it_calls_a_model() {
    let Two { directory, model, engines: [one, other] } = two_engines().await;
    let first = start::<rejected>(&one, "first", "slow").await;
    model.reached.notified().await;
    let second = start::<rejected>(&other, "second", "Hello").await;
    let refused = failure(result(&second).await);
    let busy = SessionError::Busy { session: "chat/ada".into(), run: "first".into() };
    assert_eq!(refused.error_as(), Some(AgentError::Session(busy)));
    model.may_reply.notify_one();
    result(&first).await.unwrap();
    assert_eq!(said(&other).await, ["slow", "1 seen"]);
    // Once the first is over, it may.
    let again = other.retry("second").await.unwrap();
    assert_eq!(result(&again).await.unwrap(), "3 seen");
    drop(directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_do_not_wait_each_is_refused_or_has_the_session_for_itself() {
    let Two { directory, engines, .. } = two_engines().await;
    let one = async |at: usize| {
        let run = start::<rejected>(&engines[at % 2], &format!("run-{at}"), "Hello").await;
        result(&run).await.ok()
    };
    let replies: Vec<String> = join_all((0..2 * RUNS).map(one)).await.into_iter().flatten().collect();
    assert!(!replies.is_empty());
    let turns = said(&engines[0]).await;
    assert_eq!(turns.len(), 2 * replies.len());
    for (turn, pair) in turns.chunks(2).enumerate() {
        assert_eq!(pair, ["Hello".to_owned(), format!("{} seen", 2 * turn + 1)]);
    }
    drop(directory);
}

#[tokio::test]
async fn a_later_run_cancels_the_earlier_one_in_another_engine_which_adds_nothing() {
    let Two { directory, model, engines: [one, other] } = two_engines().await;
    let first = start::<cancelling>(&one, "first", "slow").await;
    model.reached.notified().await;
    let second = start::<cancelling>(&other, "second", "Hello").await;
    assert_eq!(result(&second).await.unwrap(), "1 seen");
    assert_eq!(sleeps(&one, "second").await, (1, true));
    assert!(matches!(result(&first).await, Err(RunError::Cancelled)));
    assert_eq!(said(&one).await, ["Hello", "1 seen"]);
    drop(directory);
}

#[tokio::test]
async fn the_turns_of_runs_that_were_cancelled_do_not_stay_open() {
    let Two { directory, model, engines: [one, _] } = two_engines().await;
    for id in ["first", "second", "third"] {
        start::<cancelling>(&one, id, "slow").await;
        model.reached.notified().await;
    }
    assert_eq!(result(&start::<cancelling>(&one, "last", "Hello").await).await.unwrap(), "1 seen");
    let mut open = Vec::new();
    for (_, entry) in Sessions::of(&one).unwrap().get("chat", "ada").entries().await.unwrap() {
        match entry {
            SessionEntry::Opened { turn } => open.push(turn),
            SessionEntry::Closed { turn } | SessionEntry::Turn { turn, .. } => open.retain(|other| *other != turn),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(open, []);
    // One that is retried comes again, behind the others.
    let third = one.retry("third").await.unwrap();
    model.reached.notified().await;
    model.may_reply.notify_one();
    assert_eq!(result(&third).await.unwrap(), "1 seen");
    assert_eq!(said(&one).await, ["Hello", "1 seen", "slow", "1 seen"]);
    drop(directory);
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_takes_no_place_from_the_one_that_has_it() {
    let model = Scripted::new(|request| match request.messages.last() {
        Some(Message::User { text, .. }) if text == "first" => Ok(call("send", json!({ "letter": "Dear Bob" }))),
        _ => Ok(Message::assistant(format!("{} seen", request.messages.len()))),
    });
    let one = std::num::NonZeroUsize::MIN;
    let builder = Engine::builder().resource(Models::new(model)).max_concurrency(one);
    let engine = builder.register::<approved>().build().unwrap();
    let first = start::<approved>(&engine, "first", "first").await;
    let Outcome::Waiting(_) = first.outcome().await.unwrap() else { panic!("a person is asked") };
    let second = start::<approved>(&engine, "second", "second").await;
    come(&engine, 2).await;
    first.answer("approve", "approve").await.unwrap();
    assert_eq!(result(&first).await.unwrap(), "3 seen");
    assert_eq!(result(&second).await.unwrap(), "5 seen");
}

#[test]
fn a_run_that_waits_outside_of_the_memory_after_a_restart_is_woken_by_the_end_of_the_turn_before_it() {
    for fails in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        let engine = async || {
            let model = Scripted::new(move |request| match request.messages.last() {
                Some(Message::User { text, .. }) if text == "first" => {
                    Ok(call("send", json!({ "letter": "Dear Bob" })))
                }
                Some(Message::Tool { .. }) if fails => Err(ModelError::Rejected { message: "no".into() }),
                _ => Ok(Message::assistant(format!("{} seen", request.messages.len()))),
            });
            let builder = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).resource(Models::new(model));
            builder.register::<approved>().build().unwrap()
        };
        life(async {
            let engine = engine().await;
            let first = start::<approved>(&engine, "first", "first").await;
            let Outcome::Waiting(_) = first.outcome().await.unwrap() else { panic!("a person is asked") };
            start::<approved>(&engine, "second", "second").await;
            start::<approved>(&engine, "third", "third").await;
            until_it_sleeps(&engine, "second").await;
            until_it_sleeps(&engine, "third").await;
            engine.shutdown().await;
        });
        life(async {
            let engine = engine().await;
            assert!(engine.recover().await.unwrap().resumed.is_empty());
            engine.answer("first", "approve", "approve").await.unwrap();
            for id in ["second", "third"] {
                let run = engine.get_run(id).await.unwrap().unwrap();
                result(&run).await.unwrap();
                let (_, is_early) = sleeps(&engine, id).await;
                assert!(is_early, "fails: {fails}, {id} has slept to its time");
            }
            engine.shutdown().await;
        });
    }
}

/// Who reads that the second run has come continues when the first one has ended.
struct EndsMeanwhile {
    inner: Arc<MemoryStore>,
    model: Gate,
}

impl Store for EndsMeanwhile {
    graphweft_tests::forward_store! {
        join leave create append start_over read header list count overview open_questions delete reserve_task claim is_alive
        is_served is_shared is_volatile feed feed_end graph keeps_snapshots put_snapshot snapshot
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        let (inner, model) = (self.inner.logs()?, self.model.clone());
        Some(Arc::new(EndsMeanwhileLogs { inner, runs: Arc::clone(&self.inner), model }))
    }
}

struct EndsMeanwhileLogs {
    inner: Arc<dyn LogStore>,
    runs: Arc<MemoryStore>,
    model: Gate,
}

impl LogStore for EndsMeanwhileLogs {
    graphweft_tests::forward_logs! { append list trim delete }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        let entries = self.inner.read(log, after, until);
        Box::pin(async move {
            let entries = entries.await?;
            let has = |key: &str| entries.iter().any(|entry| entry.key.starts_with(key));
            // The first one reads it too, when it has ended.
            if has("open \"second\"") && !has("turn \"first\"") {
                self.model.may_reply.notify_one();
                while !self.runs.header("first").await?.unwrap().status.is_over() {
                    tokio::task::yield_now().await;
                }
            }
            Ok(entries)
        })
    }
}

#[tokio::test]
async fn a_run_whose_turn_comes_by_the_end_of_another_one_sees_what_that_has_said() {
    let model = Gate::default();
    let store = EndsMeanwhile { inner: Arc::new(MemoryStore::new()), model: model.clone() };
    let builder = Engine::builder().store(store).resource(Models::new(model.clone()));
    let engine = builder.register::<queued>().build().unwrap();
    let first = start::<queued>(&engine, "first", "slow").await;
    model.reached.notified().await;
    let second = start::<queued>(&engine, "second", "Hello").await;
    assert_eq!(result(&second).await.unwrap(), "3 seen");
    assert_eq!(result(&first).await.unwrap(), "1 seen");
}

#[test]
fn a_run_that_waits_has_its_turn_wherever_the_process_dies() {
    let mut deaths = 0;
    for carried_out in [false, true] {
        for commit in 0.. {
            let at = format!("commit {commit}, carried out: {carried_out}");
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            let died = dies_at_commit(&path, commit, carried_out, |dying| async move {
                let model = Gate::default();
                let builder = Engine::builder().store(dying).resource(Models::new(model.clone()));
                let engine = builder.register::<queued>().build().unwrap();
                let first = start::<queued>(&engine, "first", "slow").await;
                model.reached.notified().await;
                let second = start::<queued>(&engine, "second", "Hello").await;
                come(&engine, 2).await;
                model.may_reply.notify_one();
                result(&first).await.unwrap();
                result(&second).await.unwrap();
                engine.shutdown().await;
            });
            deaths += u32::from(died);
            life(async {
                let model = Gate::default();
                model.may_reply.notify_one();
                let engine = engine(&path, &model).await;
                engine.recover().await.unwrap();
                let first = start::<queued>(&engine, "first", "slow").await;
                assert_eq!(result(&first).await.unwrap(), "1 seen", "{at}");
                let second = start::<queued>(&engine, "second", "Hello").await;
                assert_eq!(result(&second).await.unwrap(), "3 seen", "{at}");
                assert_eq!(said(&engine).await, ["slow", "1 seen", "Hello", "3 seen"], "{at}");
                // To its time, if it was unloaded when the process died.
                let (slept, _) = sleeps(&engine, "second").await;
                assert!(slept <= 1, "{at}: {slept}");
                engine.shutdown().await;
            });
            if !died {
                break;
            }
        }
    }
    assert!(deaths >= 16, "it has died at {deaths} commits only");
}

/// A run that has failed, and another one that came then and is at work.
async fn failed_and_at_work<W: Workflow<Input = String, Output = String>>() -> (Two, Run<String>) {
    let two = two_engines().await;
    let [one, other] = &two.engines;
    failure(result(&start::<W>(one, "first", "bad").await).await);
    let second = start::<W>(other, "second", "slow").await;
    two.model.reached.notified().await;
    (two, second)
}

#[tokio::test]
async fn a_run_that_is_retried_waits_for_the_one_that_came_when_it_had_failed() {
    let (Two { directory, model, engines: [one, _] }, second) = failed_and_at_work::<queued>().await;
    let first = one.retry("first").await.unwrap();
    until_it_sleeps(&one, "first").await;
    model.may_reply.notify_one();
    assert_eq!(result(&second).await.unwrap(), "1 seen");
    // It answers the conversation as it was when it began.
    assert_eq!(result(&first).await.unwrap(), "1 seen");
    assert_eq!(said(&one).await, ["slow", "1 seen", "bad", "1 seen"]);
    drop(directory);
}

#[tokio::test]
async fn a_run_that_is_retried_and_does_not_wait_is_refused_while_another_one_is_in_the_session() {
    let (Two { directory, model, engines: [one, _] }, second) = failed_and_at_work::<rejected>().await;
    let refused = failure(result(&one.retry("first").await.unwrap()).await);
    let busy = SessionError::Busy { session: "chat/ada".into(), run: "second".into() };
    assert_eq!(refused.error_as(), Some(AgentError::Session(busy)));
    model.may_reply.notify_one();
    result(&second).await.unwrap();
    assert_eq!(result(&one.retry("first").await.unwrap()).await.unwrap(), "1 seen");
    drop(directory);
}

#[tokio::test]
async fn a_run_that_is_retried_cancels_the_one_that_came_when_it_had_failed() {
    let (Two { directory, engines: [one, _], .. }, second) = failed_and_at_work::<cancelling>().await;
    let first = one.retry("first").await.unwrap();
    assert_eq!(result(&first).await.unwrap(), "1 seen");
    assert!(matches!(result(&second).await, Err(RunError::Cancelled)));
    assert_eq!(said(&one).await, ["bad", "1 seen"]);
    drop(directory);
}

#[tokio::test]
async fn a_run_waits_for_one_that_was_retried() {
    let Two { directory, model, engines: [one, other] } = two_engines().await;
    let first = start::<queued>(&one, "first", "slow and bad").await;
    model.reached.notified().await;
    model.may_reply.notify_one();
    failure(result(&first).await);
    let first = one.retry("first").await.unwrap();
    model.reached.notified().await;
    let second = start::<queued>(&other, "second", "Hello").await;
    until_it_sleeps(&other, "second").await;
    model.may_reply.notify_one();
    assert_eq!(result(&first).await.unwrap(), "1 seen");
    assert_eq!(result(&second).await.unwrap(), "3 seen");
    drop(directory);
}

#[tokio::test]
async fn an_agent_that_is_retried_by_its_node_comes_behind_those_that_have_waited_for_it() {
    let Two { directory, model, engines: [one, other] } = two_engines().await;
    let first = start::<retried>(&one, "first", "slow and bad").await;
    model.reached.notified().await;
    let second = start::<queued>(&other, "second", "slow").await;
    come(&other, 2).await;
    until_it_sleeps(&other, "second").await;
    model.may_reply.notify_one();
    model.reached.notified().await;
    until_it_sleeps(&one, "first").await;
    model.may_reply.notify_one();
    assert_eq!(result(&second).await.unwrap(), "1 seen");
    model.may_reply.notify_one();
    assert_eq!(result(&first).await.unwrap(), "1 seen");
    assert_eq!(said(&one).await, ["slow", "1 seen", "slow and bad", "1 seen"]);
    drop(directory);
}

#[test]
fn an_agent_that_is_retried_opens_its_turn_once_more_wherever_the_process_dies() {
    let mut deaths = 0;
    for carried_out in [false, true] {
        for commit in 0.. {
            let at = format!("commit {commit}, carried out: {carried_out}");
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            let died = dies_at_commit(&path, commit, carried_out, |dying| async move {
                let builder = Engine::builder().store(dying).resource(Models::new(Gate::default()));
                let engine = builder.register::<retried>().build().unwrap();
                result(&start::<retried>(&engine, "first", "bad").await).await.unwrap();
                engine.shutdown().await;
            });
            deaths += u32::from(died);
            life(async {
                let model = Gate::default();
                model.has_failed.store(true, Ordering::SeqCst);
                let engine = engine(&path, &model).await;
                engine.recover().await.unwrap();
                let first = start::<retried>(&engine, "first", "bad").await;
                assert_eq!(result(&first).await.unwrap(), "1 seen", "{at}");
                let session = Sessions::of(&engine).unwrap().get("chat", "ada");
                let (mut open, mut turns) = (Vec::new(), 0);
                for (_, entry) in session.entries().await.unwrap() {
                    match entry {
                        SessionEntry::Opened { turn } => open.push(turn),
                        SessionEntry::Closed { turn } => assert_eq!(open.pop(), Some(turn), "{at}"),
                        SessionEntry::Turn { turn, .. } => {
                            assert_eq!(open.pop(), Some(turn), "{at}");
                            turns += 1;
                        }
                        other => panic!("{at}: {other:?}"),
                    }
                }
                assert_eq!((open, turns), (Vec::new(), 1), "{at}");
                engine.shutdown().await;
            });
            if !died {
                break;
            }
        }
    }
    assert!(deaths >= 8, "it has died at {deaths} commits only");
}
