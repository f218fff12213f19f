//! Connections to the server.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use futures::future::BoxFuture;
use graphweft::store::StoreError;
use tokio::sync::watch;
use tokio_postgres::Client;

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

/// Hears the payload of each notification.
pub(crate) type Hears = Arc<dyn Fn(&str) + Send + Sync>;

/// Makes a connection, which it looks after in a task of its own, and whose notifications this hears.
pub(crate) type Connect = Arc<dyn Fn(Hears) -> BoxFuture<'static, Result<Client, tokio_postgres::Error>> + Send + Sync>;

/// How the server is reached.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) pool: Pool,
    /// Beside the pool: an owner is alive as long as its connection is.
    pub(crate) connect: Connect,
    pub(crate) schema: Arc<str>,
    /// Where it is, for messages.
    pub(crate) server: Arc<str>,
    /// Changes when another engine has changed something.
    pub(crate) changes: watch::Sender<()>,
    pub(crate) facts: Facts,
}

/// What the functions of the schema give, and does not change while it is in use: for the statement that is executed most often,
/// which does not call them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// The first half of its advisory locks.
    pub(crate) locks: i32,
    /// What is added to the numbers of transactions.
    pub(crate) xids: i64,
}

impl Connections {
    /// A connection to the server, which finds the tables of the schema.
    async fn client(&self) -> Result<Object, Trouble> {
        Ok(self.pool.get().await?)
    }

    /// Calls this with a connection, and again, some times, if the server could not be reached: then nothing has happened.
    pub(crate) async fn with<T, F>(&self, work: impl Fn(Object) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let mut again = AGAIN.iter();
        loop {
            let done = match self.client().await {
                Ok(client) => work(client).await,
                Err(trouble) => Err(trouble),
            };
            match (done, again.next()) {
                (Err(trouble), Some(pause)) if trouble.is_unreachable() => tokio::time::sleep(*pause).await,
                (done, _) => return done.map_err(|trouble| trouble.for_caller(&self.server)),
            }
        }
    }

    /// A connection for one owner alone.
    pub(crate) async fn alone(&self) -> Result<Client, tokio_postgres::Error> {
        let changes = self.changes.clone();
        self.listening(Arc::new(move |_| changes.send_replace(()))).await
    }

    /// The same, with another listener.
    pub(crate) async fn listening(&self, hears: Hears) -> Result<Client, tokio_postgres::Error> {
        let client = (self.connect)(hears).await?;
        client.batch_execute(&path(&self.schema)).await?;
        Ok(client)
    }
}

/// The statement after which a connection finds the tables of the schema.
pub(crate) fn path(schema: &str) -> String {
    format!("set search_path to {}", quoted(schema))
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("server", &self.server)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
