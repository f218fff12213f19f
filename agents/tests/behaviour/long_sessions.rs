//! Sessions with many turns: what a turn reads of them, and that it sees the same as one that reads all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::future::BoxFuture;
use graphweft::prelude::*;
use graphweft::store::{LogEntry, LogStore, MemoryStore, NewLogEntry, SqliteStore, Store, StoreError};
use graphweft_agents::{
    Agent, Compaction, Memory, Message, ModelError, Models, SESSION, Scripted, Session, SessionEntry, Sessions,
};
use graphweft_tests::{dies_at_commit, failure, life};

use crate::scene::texts;

/// So many turns that there is a checkpoint, whatever the summaries are.
const MANY: usize = 50;

fn compacted() -> Agent<String, String> {
    let compaction = Compaction::over_messages(6).keep(2).model("small");
    Agent::new("You chat.").memory(Memory::session("chat").compact(compaction))
}

workflow! {
    chat(String) -> String {
        let guest: Agent<String, String> = compacted();
        START => guest;
    }
}

workflow! {
    uncompacted(String) -> String {
        let guest: Agent<String, String> = Agent::new("You chat.").memory(Memory::session("chat"));
        START => guest;
    }
}

#[derive(Clone, Default)]
struct Post {
    is_open: Arc<AtomicBool>,
}

/// Fails while the post office is closed.
#[node]
async fn post(text: String, #[resource] post: &Post) -> Result<String, String> {
    if post.is_open.load(Ordering::SeqCst) { Ok(text) } else { Err("closed".to_owned()) }
}

workflow! {
    letter(String) -> String {
        let guest: Agent<String, String> = compacted();
        START => guest => post;
    }
}

/// How much was read of logs.
#[derive(Clone, Default)]
struct Read {
    entries: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
}

impl Read {
    /// Since the last time.
    fn take(&self) -> (usize, usize) {
        (self.entries.swap(0, Ordering::SeqCst), self.bytes.swap(0, Ordering::SeqCst))
    }
}

/// Counts what is read of its logs.
struct Counted {
    inner: MemoryStore,
    read: Read,
}

impl Store for Counted {
    graphweft_tests::forward_store! {
        join leave create append start_over read header list count overview open_questions delete reserve_task claim is_alive
        is_served is_shared is_volatile feed feed_end graph keeps_snapshots put_snapshot snapshot
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(CountedLogs { inner: self.inner.logs()?, read: self.read.clone() }))
    }
}

struct CountedLogs {
    inner: Arc<dyn LogStore>,
    read: Read,
}

impl LogStore for CountedLogs {
    graphweft_tests::forward_logs! { append list trim delete }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        let entries = self.inner.read(log, after, until);
        Box::pin(async move {
            let entries = entries.await?;
            let bytes = entries.iter().map(|entry| entry.value.to_string().len()).sum();
            self.read.entries.fetch_add(entries.len(), Ordering::SeqCst);
            self.read.bytes.fetch_add(bytes, Ordering::SeqCst);
            Ok(entries)
        })
    }
}

struct Scene {
    engine: Engine,
    model: Scripted,
    is_up: Arc<AtomicBool>,
    post: Post,
}

fn scene(store: impl Store) -> Scene {
    let (is_up, post) = (Arc::new(AtomicBool::new(true)), Post::default());
    let up = Arc::clone(&is_up);
    let model = Scripted::new(move |request| match up.load(Ordering::SeqCst) {
        true => Ok(Message::assistant(format!("{} seen", request.messages.len()))),
        false => Err(ModelError::Unauthorised { message: "no key".into() }),
    });
    let models = Models::new(model.clone()).with("small", Scripted::text("They have met."));
    let engine = Engine::builder().store(store).resource(models).resource(post.clone());
    let engine = engine.register::<chat>().register::<letter>().register::<uncompacted>().build().unwrap();
    Scene { engine, model, is_up, post }
}

impl Scene {
    async fn says(&self, text: &str) -> String {
        let run = self.engine.start::<chat>(text.to_owned()).id(text).state(SESSION, "ada".to_owned());
        run.await.unwrap().result().await.unwrap()
    }

    async fn letter(&self, id: &str) -> Run<String> {
        self.engine.start::<letter>(id.to_owned()).id(id).state(SESSION, "ada".to_owned()).await.unwrap()
    }

    async fn many_turns(&self) {
        for turn in 0..MANY {
            self.says(&format!("turn-{turn:04}")).await;
        }
        assert_eq!(checkpoints(&self.engine).await.len(), 1);
    }

    fn session(&self) -> Session {
        Sessions::of(&self.engine).unwrap().get("chat", "ada")
    }

    async fn said(&self) -> Vec<String> {
        texts(&self.session().messages().await.unwrap())
    }
}

/// The logs of the store that are not those of sessions.
async fn checkpoints(engine: &Engine) -> Vec<String> {
    let logs = engine.logs().unwrap().list("").await.unwrap();
    logs.into_iter().filter(|log| !log.starts_with("chat/")).collect()
}

/// What is seen without checkpoints.
async fn said_without_checkpoints(scene: &Scene) -> Vec<String> {
    for log in checkpoints(&scene.engine).await {
        scene.engine.logs().unwrap().delete(&log).await.unwrap();
    }
    scene.said().await
}

/// What the turn that reads most does, in entries and bytes.
async fn most_read(scene: &Scene, read: &Read, turns: std::ops::Range<usize>) -> (usize, usize) {
    let mut most = (0, 0);
    for turn in turns {
        read.take();
        scene.says(&format!("turn-{turn:04}")).await;
        let (entries, bytes) = read.take();
        most = (most.0.max(entries), most.1.max(bytes));
    }
    most
}

#[tokio::test]
async fn a_turn_reads_what_is_kept_of_its_session_and_not_all_that_was_ever_said() {
    let read = Read::default();
    let scene = scene(Counted { inner: MemoryStore::new(), read: read.clone() });
    let early = most_read(&scene, &read, 0..100).await;
    most_read(&scene, &read, 100..300).await;
    let late = most_read(&scene, &read, 300..400).await;
    assert!(late.0 <= early.0, "{late:?}, at the beginning {early:?}");
    // The numbers of positions are longer.
    assert!(late.1 <= early.1 + early.1 / 10, "{late:?}, at the beginning {early:?}");
    assert!(scene.session().entries().await.unwrap().len() > 800);
}

#[tokio::test]
async fn a_turn_of_a_cleared_session_does_not_read_what_was_said_before() {
    let read = Read::default();
    let scene = scene(Counted { inner: MemoryStore::new(), read: read.clone() });
    let says = async |text: String| {
        let run = scene.engine.start::<uncompacted>(text).state(SESSION, "ada".to_owned()).await.unwrap();
        run.result().await.unwrap()
    };
    for _ in 0..MANY {
        says("Hello".to_owned()).await;
    }
    scene.session().clear().await.unwrap();
    says("once more".to_owned()).await;
    read.take();
    assert_eq!(says("and again".to_owned()).await, "3 seen");
    let (entries, _) = read.take();
    assert!(entries < MANY / 2, "{entries}");
}

#[tokio::test]
async fn a_turn_sees_the_same_without_a_checkpoint() {
    let scene = scene(MemoryStore::new());
    scene.many_turns().await;
    let said = scene.said().await;
    assert_eq!(said[0], "This is what was said before, in short: They have met.");
    assert_eq!(said_without_checkpoints(&scene).await, said);
}

#[tokio::test]
async fn two_engines_on_one_file_see_the_same_of_a_long_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let scenes = [scene(SqliteStore::open(&path).await.unwrap()), scene(SqliteStore::open(&path).await.unwrap())];
    let talk = async |at: usize| {
        for turn in 0..MANY / 2 {
            scenes[at].says(&format!("engine-{at}-turn-{turn}")).await;
        }
    };
    futures::join!(talk(0), talk(1));
    let said = scenes[0].said().await;
    assert_eq!(scenes[1].said().await, said);
    assert_eq!(checkpoints(&scenes[0].engine).await.len(), 1);
    assert_eq!(said_without_checkpoints(&scenes[0]).await, said);
    let entries = scenes[0].session().entries().await.unwrap();
    assert_eq!(entries.iter().filter(|(_, entry)| matches!(entry, SessionEntry::Turn { .. })).count(), MANY);
}

#[tokio::test]
async fn a_retried_run_whose_turn_is_old_sees_the_session_as_it_was() {
    let scene = scene(MemoryStore::new());
    scene.says("before").await;
    scene.is_up.store(false, Ordering::SeqCst);
    failure(scene.letter("letter").await.result().await);
    scene.is_up.store(true, Ordering::SeqCst);
    scene.post.is_open.store(true, Ordering::SeqCst);
    scene.many_turns().await;
    assert_eq!(scene.engine.retry("letter").await.unwrap().result().await.unwrap(), "3 seen");
    let requests = scene.model.requests();
    assert_eq!(texts(&requests.last().unwrap().messages), ["before", "1 seen", "letter"]);
    let said = scene.said().await;
    assert_eq!(said[said.len() - 2..], ["letter", "3 seen"]);
    assert_eq!(said_without_checkpoints(&scene).await, said);
}

/// The numbers of the turns that a run has added.
async fn turns_of(scene: &Scene, id: &str) -> Vec<u32> {
    let number = |(_, entry)| match entry {
        SessionEntry::Turn { turn, .. } if turn.run == id => Some(turn.again),
        _ => None,
    };
    scene.session().entries().await.unwrap().into_iter().filter_map(number).collect()
}

#[tokio::test]
async fn an_agent_whose_turn_is_summarized_and_that_is_executed_again_adds_one_more() {
    let scene = scene(MemoryStore::new());
    failure(scene.letter("letter").await.result().await);
    scene.many_turns().await;
    for _ in 0..3 {
        failure(scene.engine.retry("letter").from_node("letter/guest").await.unwrap().result().await);
        scene.says(&format!("between-{}", turns_of(&scene, "letter").await.len())).await;
    }
    let turns = turns_of(&scene, "letter").await;
    assert_eq!(turns, [0, 1, 2, 3]);
    let said = scene.said().await;
    assert_eq!(said_without_checkpoints(&scene).await, said);
}

#[tokio::test]
async fn a_fork_whose_turn_is_summarized_and_that_is_executed_again_adds_one_more() {
    let scene = scene(MemoryStore::new());
    failure(scene.letter("letter").await.result().await);
    let history = scene.engine.history("letter").await.unwrap().unwrap();
    let call = history.iter().find(|event| event.path.ends_with("/model:1")).unwrap();
    let fork = scene.engine.fork("letter").before(call.seq).await.unwrap();
    failure(fork.result().await);
    assert_eq!(turns_of(&scene, fork.id()).await, [0]);
    scene.many_turns().await;
    failure(scene.engine.retry(fork.id()).from_node("letter/guest").await.unwrap().result().await);
    assert_eq!(turns_of(&scene, fork.id()).await, [0, 1]);
}

#[tokio::test]
async fn a_deleted_session_leaves_no_checkpoint_and_one_that_is_left_is_not_used() {
    let scene = scene(MemoryStore::new());
    scene.many_turns().await;
    let logs = scene.engine.logs().unwrap();
    let [checkpoints] = &checkpoints(&scene.engine).await[..] else { panic!("there is one") };
    let left = logs.read(checkpoints, 0, u64::MAX).await.unwrap();
    assert!(scene.session().delete().await.unwrap());
    assert_eq!(logs.list("").await.unwrap(), [""; 0]);

    for LogEntry { key, value, time, .. } in left {
        logs.append(NewLogEntry::new(checkpoints, key, value, time)).await.unwrap();
    }
    assert_eq!(scene.said().await, [""; 0]);
    assert_eq!(scene.says("Hello").await, "1 seen");
    assert_eq!(scene.said().await, ["Hello", "1 seen"]);
}

/// After how many turns a checkpoint is written in the next one.
async fn turns_before_a_checkpoint() -> usize {
    let scene = scene(MemoryStore::new());
    for turn in 0..MANY {
        scene.says(&format!("turn-{turn:04}")).await;
        if !checkpoints(&scene.engine).await.is_empty() {
            return turn;
        }
    }
    panic!("no checkpoint was written in {MANY} turns");
}

#[test]
fn a_session_is_seen_the_same_wherever_the_process_dies_that_writes_a_checkpoint() {
    let before = life(turns_before_a_checkpoint());
    let mut deaths = 0;
    for carried_out in [false, true] {
        for commit in 0.. {
            let at = format!("commit {commit}, carried out: {carried_out}");
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            life(async {
                let scene = scene(SqliteStore::open(&path).await.unwrap());
                for turn in 0..before {
                    scene.says(&format!("turn-{turn:04}")).await;
                }
                assert_eq!(checkpoints(&scene.engine).await, [""; 0]);
                scene.engine.shutdown().await;
            });
            let died = dies_at_commit(&path, commit, carried_out, |dying| async {
                let scene = scene(dying);
                scene.says("last").await;
                scene.engine.shutdown().await;
            });
            deaths += u32::from(died);
            life(async {
                let scene = scene(SqliteStore::open(&path).await.unwrap());
                scene.engine.recover().await.unwrap();
                scene.says("last").await;
                let said = scene.said().await;
                assert_eq!(said[said.len() - 2], "last", "{at}");
                let [checkpoints] = &checkpoints(&scene.engine).await[..] else { panic!("{at}: there is one") };
                let entries = scene.engine.logs().unwrap().read(checkpoints, 0, u64::MAX).await.unwrap();
                assert_eq!(entries.len(), 1, "{at}");
                assert_eq!(said_without_checkpoints(&scene).await, said, "{at}");
                let entries = scene.session().entries().await.unwrap();
                let turns = entries.iter().filter(|(_, entry)| matches!(entry, SessionEntry::Turn { .. }));
                assert_eq!(turns.count(), before + 1, "{at}");
                scene.engine.shutdown().await;
            });
            if !died {
                break;
            }
        }
    }
    assert!(deaths >= 16, "it has died at {deaths} commits only");
}
