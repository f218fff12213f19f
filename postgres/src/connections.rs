//! Connections to the server.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Object, Pool, Transaction};
use futures::future::BoxFuture;
use graphweft::store::StoreError;
use tokio::sync::{oneshot, watch};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::schema::quoted;
use crate::trouble::Trouble;

/// How often a statement is tried again that the server could not be reached for.
const AGAIN: [Duration; 6] = [
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(250),
    Duration::from_millis(600),
    Duration::from_millis(1200),
    Duration::from_millis(2000),
];

/// How long a transaction of the store may have nothing to do, as a setting. A process that is stopped, or whose machine is gone, has the rows of
/// its runs meanwhile, and nothing takes them over before. `bytes`: of its statements, which the server waits for as if there was nothing to do
/// until they have come.
pub(crate) fn idle_limit(bytes: usize) -> String {
    format!("idle_in_transaction_session_timeout = '{}s'", IDLE_SECONDS + bytes / BYTES_A_SECOND)
}

/// That of statements which are small.
const IDLE_SECONDS: usize = 3;

/// A network or a program that is slower than this loses the connection.
const BYTES_A_SECOND: usize = 500_000;

/// Begins a transaction with so many bytes in its statements.
pub(crate) async fn transaction(client: &mut Object, bytes: usize) -> Result<Transaction<'_>, Trouble> {
    let step = client.transaction().await?;
    if bytes >= BYTES_A_SECOND {
        step.batch_execute(&format!("set local {}", idle_limit(bytes))).await?;
    }
    Ok(step)
}

/// By which each side notices that the machine of the other is gone: after so many seconds, so many seconds again, and so many times. Their
/// defaults are hours.
pub(crate) const KEEPALIVES: [(&str, u32); 3] =
    [("tcp_keepalives_idle", 10), ("tcp_keepalives_interval", 3), ("tcp_keepalives_count", 3)];

/// Hears the payload of each notification.
pub(crate) type Hears = Arc<dyn Fn(&str) + Send + Sync>;

/// Makes a connection, which it looks after in a task of its own, and whose notifications this hears.
pub(crate) type Connect = Arc<dyn Fn(Hears) -> BoxFuture<'static, Result<Client, Trouble>> + Send + Sync>;

/// How the server is reached.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) pool: Pool,
    /// Of transactions in which the program executes statements, as any connection of it: they do not find the tables of the schema.
    /// Beside the pool, which is needed while they are open.
    pub(crate) transactions: Pool,
    /// Of statements that list runs by what the program looks for, each of which the server plans by that. Those of the pool find rows by
    /// keys, and are planned once for each connection: to plan one takes longer than to execute it.
    pub(crate) searches: Pool,
    /// Beside the pool: an owner is alive as long as its connection is.
    pub(crate) connect: Connect,
    pub(crate) schema: Arc<str>,
    /// Where it is, for messages.
    pub(crate) server: Arc<str>,
    /// Changes when another engine has changed something.
    pub(crate) changes: watch::Sender<()>,
    pub(crate) facts: Facts,
    /// Whether the tables are no longer those that the engines of this process have joined.
    pub(crate) restored: Arc<AtomicBool>,
}

/// What the functions of the schema give, and does not change while it is in use: for the statement that is executed most often,
/// which does not call them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The first half of its advisory locks.
    pub(crate) locks: i32,
    /// What is added to the numbers of transactions.
    pub(crate) xids: i64,
}

impl Connections {
    /// Calls this with a connection, [persistently](Self::persistently).
    pub(crate) async fn with<T, F>(&self, work: impl Fn(Object) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        self.with_one_of(&self.pool, Trouble::is_unreachable, work).await
    }

    /// The same with a connection for a transaction of the program.
    pub(crate) async fn with_own<T, F>(&self, work: impl Fn(Object) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        self.with_one_of(&self.transactions, Trouble::is_unreachable, work).await
    }

    /// Calls this, and again, some times, if the server could not be reached: then nothing has happened.
    pub(crate) async fn persistently<T, F>(&self, work: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        self.again_if(Trouble::is_unreachable, work).await
    }

    /// The same for what changes nothing, or may happen twice: it is called again also if the connection was lost while it was under way.
    pub(crate) async fn idempotent<T, F>(&self, work: impl Fn(Object) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        self.with_one_of(&self.pool, Trouble::is_unreachable_or_lost, work).await
    }

    /// The same for a statement that searches.
    pub(crate) async fn search<T, F>(&self, work: impl Fn(Object) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        self.with_one_of(&self.searches, Trouble::is_unreachable_or_lost, work).await
    }

    async fn with_one_of<T, F>(
        &self,
        pool: &Pool,
        is_again: fn(&Trouble) -> bool,
        work: impl Fn(Object) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let work = &work;
        self.again_if(is_again, || async move { work(pool.get().await?).await }).await
    }

    async fn again_if<T, F>(&self, is_again: fn(&Trouble) -> bool, work: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let mut again = AGAIN.iter();
        loop {
            if self.restored.load(Ordering::Relaxed) {
                return Err(self.was_restored());
            }
            match (work().await, again.next()) {
                (Err(trouble), Some(pause)) if is_again(&trouble) => tokio::time::sleep(*pause).await,
                (done, _) => return done.map_err(|trouble| trouble.for_caller(&self.server)),
            }
        }
    }

    /// The database was restored under an engine of this process: what that knows of its runs is not so.
    pub(crate) fn was_restored(&self) -> StoreError {
        self.restored.store(true, Ordering::Relaxed);
        let message = "it was restored from a backup, its tables were made anew, or a server that lacks the last commits has taken its place, while \
                       this process used it; end this process, and start it again";
        Trouble::Unusable(message.to_owned()).for_caller(&self.server)
    }

    /// A connection for one owner alone, and what resolves when it ends.
    pub(crate) async fn alone(&self) -> Result<(Client, oneshot::Receiver<()>), Trouble> {
        let changes = self.changes.clone();
        let (ends, ended) = oneshot::channel::<()>();
        let hears = move |_: &str| {
            // It is dropped with the connection.
            let _ends = &ends;
            changes.send_replace(());
        };
        Ok((self.listening(Arc::new(hears)).await?, ended))
    }

    /// The same, with another listener.
    pub(crate) async fn listening(&self, hears: Hears) -> Result<Client, Trouble> {
        let client = (self.connect)(hears).await?;
        client.batch_execute(&set_up(&self.schema)).await?;
        Ok(client)
    }

    /// Refuses a pooler that gives a connection of the server away between two transactions: the lock of an engine, what it listens
    /// to and the settings of its connections would be those of others.
    ///
    /// Two connections show it. While one of them has a transaction open, the other one has either its place, or has to move.
    pub(crate) async fn refuse_shared_sessions(&self) -> Result<(), Trouble> {
        let connect = || (self.connect)(Arc::new(|_| {}));
        let (one, other) = futures::future::try_join(connect(), connect()).await?;
        // The pooler has other clients, by whose transactions once may not show it.
        for _ in 0..3 {
            let before = backend(&one, "").await?;
            // In statement mode there are no transactions.
            let beside = backend(&other, "begin").await.ok();
            let is_shared = match beside {
                Some(beside) if beside != before => backend(&one, "").await? != before,
                _ => true,
            };
            if is_shared {
                return Err(Trouble::Unusable(
                    "there is a pooler before it that shares its connections between transactions, which an engine cannot work with: \
                     it holds a lock on its connection, and listens on it; use a pool in session mode (PgBouncer: \
                     `pool_mode = session`), or the address of the server itself"
                        .to_owned(),
                ));
            }
            other.batch_execute("rollback").await?;
        }
        Ok(())
    }
}

/// The process of the server that a connection has behind this statement. Not by a prepared one, which poolers treat in their own ways.
async fn backend(client: &Client, before: &str) -> Result<Option<String>, Trouble> {
    let answers = client.simple_query(&format!("{before}; select pg_backend_pid()")).await?;
    let row = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(row.and_then(|row| row.get(0)).map(str::to_owned))
}

/// The statement after which a connection finds the tables of the schema.
pub(crate) fn path(schema: &str) -> String {
    format!("set search_path to {}", quoted(schema))
}

/// What every connection of the store begins with.
pub(crate) fn set_up(schema: &str) -> String {
    // The store locks what it reads and writes, and finds what others have committed meanwhile, whatever the database says.
    let isolation = "set default_transaction_isolation to 'read committed'";
    format!("{}; {isolation}; set {}{}", path(schema), idle_limit(0), set_keepalives("set"))
}

/// Statements behind another one, by `set` or `set local`.
pub(crate) fn set_keepalives(set: &str) -> String {
    KEEPALIVES.map(|(name, value)| format!("; {set} {name} = {value}")).concat()
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("server", &self.server)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
