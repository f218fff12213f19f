//! The server of the store is away while an agent reads or writes its session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use graphweft::prelude::*;
use graphweft::store::{LogAppended, LogEntry, LogStore, MemoryStore, NewLogEntry, RunHeader, Store, StoreError};
use graphweft_agents::{
    Agent, ChatModel, Delta, Memory, Message, ModelError, Models, Reply, Request, SESSION, Scripted, Sessions,
};
use tokio::sync::Notify;

use crate::scene::{last_text, texts};

/// What fails the first time, as if a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    /// What adds an entry with such a key, when it was added.
    Adds(&'static str),
    Reads,
    /// What looks for the other run in the session.
    Looks,
}

#[derive(Clone)]
struct Away {
    inner: MemoryStore,
    fails: Fails,
    has_failed: Arc<AtomicBool>,
}

impl Away {
    /// The server does not come back by itself as long as one thing is tried again.
    fn is_next(&self, fails: Fails) -> bool {
        self.fails == fails && !self.has_failed.load(Ordering::SeqCst)
    }

    fn away(&self) -> StoreError {
        let has_failed = Arc::clone(&self.has_failed);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            has_failed.store(true, Ordering::SeqCst);
        });
        StoreError::Unreachable { server: "the database".to_owned(), message: "the connection was lost".to_owned() }
    }
}

impl Store for Away {
    graphweft_tests::forward_store! {
        join leave create append start_over read list count overview open_questions delete reserve_task claim is_alive is_served
        feed feed_end graph keeps_snapshots put_snapshot snapshot
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        if id == "first" && self.is_next(Fails::Looks) {
            return Box::pin(std::future::ready(Err(self.away())));
        }
        self.inner.header(id)
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(AwayLogs { inner: self.inner.logs()?, away: self.clone() }))
    }
}

struct AwayLogs {
    inner: Arc<dyn LogStore>,
    away: Away,
}

impl LogStore for AwayLogs {
    graphweft_tests::forward_logs! { list trim delete }

    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        let is_it = matches!(self.away.fails, Fails::Adds(key) if entry.key.starts_with(key));
        let added = self.inner.append(entry);
        Box::pin(async move {
            let added = added.await?;
            if is_it && self.away.is_next(self.away.fails) { Err(self.away.away()) } else { Ok(added) }
        })
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        if self.away.is_next(Fails::Reads) {
            return Box::pin(std::future::ready(Err(self.away.away())));
        }
        self.inner.read(log, after, until)
    }
}

/// Never replies to `stall`, and otherwise says how many messages it has seen.
#[derive(Clone, Default)]
struct Stalling {
    stalls: Arc<Notify>,
}

impl ChatModel for Stalling {
    fn name(&self) -> &str {
        "stalling"
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if last_text(request) == "stall" {
                self.stalls.notify_one();
                return std::future::pending().await;
            }
            Ok(Scripted::reply(request, Message::assistant(format!("{} seen", request.messages.len()))))
        })
    }
}

workflow! {
    chat(String) -> String {
        let guest: Agent<String, String> = Agent::new("You chat.").memory(Memory::session("chat"));
        START => guest;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_ends_no_agent_with_a_session() {
    for fails in [Fails::Adds("open"), Fails::Adds("turn"), Fails::Reads] {
        let engine = engine(fails, Stalling::default());
        engine.start::<chat>("Hello".into()).id("first").state(SESSION, "ada".into()).await.unwrap();
        assert_eq!(result(&engine, "first").await, "1 seen", "{fails:?}");
        let said = Sessions::of(&engine).unwrap().get("chat", "ada").messages().await.unwrap();
        assert_eq!(texts(&said), ["Hello", "1 seen"], "{fails:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_ends_no_agent_that_looks_whether_another_one_is_at_work() {
    let model = Stalling::default();
    let engine = engine(Fails::Looks, model.clone());
    engine.start::<chat>("stall".into()).id("first").state(SESSION, "ada".into()).await.unwrap();
    model.stalls.notified().await;
    engine.start::<chat>("Hello".into()).id("second").state(SESSION, "ada".into()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(300)).await;
    engine.cancel("first").await.unwrap();
    assert_eq!(result(&engine, "second").await, "1 seen");
}

fn engine(fails: Fails, model: Stalling) -> Engine {
    let store = Away { inner: MemoryStore::new(), fails, has_failed: Arc::default() };
    Engine::builder().store(store).resource(Models::new(model)).register::<chat>().build().unwrap()
}

async fn result(engine: &Engine, run: &str) -> String {
    let run = engine.get_run_of::<chat>(run).await.unwrap().expect("it was started");
    let result = async {
        loop {
            match run.result().await {
                Err(RunError::Store(StoreError::Unreachable { .. })) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                result => return result.unwrap(),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(600), result).await.expect("it is resumed")
}
