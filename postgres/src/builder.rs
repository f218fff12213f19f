//! How a store is opened.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime};
use futures::FutureExt;
use graphweft::store::StoreError;
use tokio::sync::watch;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Socket};

use crate::connections::{Connect, Connections, Facts, KEEPALIVES, set_up};
use crate::numbers::is_storable;
use crate::schema::{existing, migrate};
use crate::store::PostgresStore;
use crate::trouble::{Trouble, chain};

/// How long a statement waits for a connection.
const WAIT: Duration = Duration::from_secs(30);

/// The longest name that PostgreSQL does not cut, in bytes.
const LONGEST: usize = 63;

/// How long a server may take until a connection to it is made, if the address does not say.
const CONNECT: Duration = Duration::from_secs(10);

/// The settings of a [`PostgresStore`], from [`PostgresStore::builder`].
///
/// ```no_run
/// use graphweft_postgres::PostgresStore;
///
/// # graphweft::block_on(async {
/// let url = "host=/var/run/postgresql user=shop dbname=shop";
/// let store = PostgresStore::builder(url).schema("orders").max_connections(32).connect().await?;
/// # drop(store);
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is no store before `.connect()` or `.connect_with(..)`"]
pub struct PostgresStoreBuilder {
    config: Result<Config, String>,
    schema: String,
    max_connections: usize,
    is_existing: bool,
}

impl PostgresStoreBuilder {
    pub(crate) fn of(url: &str) -> Self {
        let config = Config::from_str(url).map_err(|error| chain(&error));
        PostgresStoreBuilder { config, schema: "graphweft".to_owned(), max_connections: 8, is_existing: false }
    }

    /// The schema that the tables are in, which is made if it is not there. The default is `graphweft`. Stores with different
    /// schemas know nothing of each other. A name has 63 bytes at most, as all names in PostgreSQL.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// Connects only if the schema has the tables of the present format: they are neither made nor converted. For tools beside the programs
    /// that run on them, which may be of an older version, and could not read converted ones any more. Those of an older format have the
    /// error [`StoreError::OlderFormat`], and a schema without any has [`StoreError::Unusable`].
    pub fn existing(mut self) -> Self {
        self.is_existing = true;
        self
    }

    /// How many connections there are at most, at least 1; besides, each engine has one of its own, and the
    /// [transactions](crate::PostgresContext::transaction) of steps have as many, and so have lists of runs. The default is 8.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Connects without TLS, makes the tables if they are not there, and brings those of an older version to the present format.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] if the server cannot be reached; [`StoreError::Unusable`] if it refuses the user, has no such
    /// database, has no TLS and `sslmode=require` asks for it, or if a pooler before it is not in session mode;
    /// [`StoreError::NewerFormat`] if the tables are those of a newer version; and another one if the URL cannot be read, or the user may not
    /// make the tables.
    pub async fn connect(self) -> Result<PostgresStore, StoreError> {
        self.connect_with(NoTls).await
    }

    /// The same with TLS, by a connector such as that of `tokio-postgres-rustls`, or `tokio-postgres-openssl`. Whether it is used says the
    /// `sslmode` of the URL: `prefer`, which is the default, `require`, or `disable`. With `prefer`
    /// everything is sent in clear to a server without TLS. What is checked of the server's certificate says the connector.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and [`StoreError::Unusable`] if the connector refuses the certificate.
    pub async fn connect_with<T>(self, tls: T) -> Result<PostgresStore, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Sync,
        T::TlsConnect: Send + Sync,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let mut config = self.config.map_err(|message| StoreError::Other {
            message: format!(
                "the address of PostgreSQL cannot be read: {message}; it looks like \
                 `postgres://user:password@host:5432/database` or `host=/var/run/postgresql user=me dbname=mine`"
            ),
        })?;
        if let Some(Host::Tcp(host)) =
            config.get_hosts().iter().find(|host| matches!(host, Host::Tcp(name) if name.contains('@')))
        {
            let host = host.rsplit_once('@').map_or("", |(_, host)| host);
            let message = format!(
                "the address of PostgreSQL at `{host}` has a user or a password with `@` in it; write that as `%40`"
            );
            return Err(StoreError::Other { message });
        }
        // A longer one is cut by PostgreSQL, and may be another store then.
        if self.schema.is_empty() || self.schema.len() > LONGEST || !is_storable(&self.schema) {
            let message = format!(
                "the schema {:?} of a store in PostgreSQL has a name of {} bytes; give it one of 1 to {LONGEST}, without U+0000",
                self.schema,
                self.schema.len()
            );
            return Err(StoreError::Other { message });
        }
        // Of several servers, one that can be written to.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_application_name().is_none() {
            config.application_name("graphweft");
        }
        let patience = *config.get_connect_timeout().unwrap_or(&CONNECT);
        config.connect_timeout(patience);
        // That is for each socket. A server that accepts a connection may say nothing on it.
        let patience = patience * u32::try_from(config.get_hosts().len()).unwrap_or(1).max(1);
        // A server whose machine is gone says nothing: without these, a statement waits for it for hours.
        let [(_, idle), (_, interval), (_, retries)] = KEEPALIVES;
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        config.keepalives_idle(seconds(idle)).keepalives_interval(seconds(interval)).keepalives_retries(retries);
        config.tcp_user_timeout(Duration::from_secs(20));
        let server: Arc<str> = place_of(&config).into();
        let schema: Arc<str> = self.schema.into();
        let pool = |recycling_method| {
            let manager = ManagerConfig { recycling_method };
            Pool::builder(Manager::from_config(config.clone(), tls.clone(), manager))
                .max_size(self.max_connections)
                // The one that was used last has the most in its caches.
                .queue_mode(QueueMode::Lifo)
                .runtime(Runtime::Tokio1)
                .wait_timeout(Some(WAIT))
                .create_timeout(Some(patience))
        };
        let no_pool = |error| StoreError::Other { message: format!("no pool of connections could be made: {error}") };
        // Whatever a transaction of the program has set ends with it.
        let transactions = pool(RecyclingMethod::Clean).build().map_err(no_pool)?;
        let pool_with = |settings: String| {
            let set = Hook::async_fn(move |client, _| {
                let settings = settings.clone();
                async move { client.batch_execute(&settings).await.map_err(HookError::Backend) }.boxed()
            });
            pool(RecyclingMethod::Fast).post_create(set).build().map_err(no_pool)
        };
        let settings = set_up(&schema);
        let searches = pool_with(settings.clone())?;
        let pool = pool_with(format!("{settings}; set plan_cache_mode = force_generic_plan; set jit = off"))?;
        let connect: Connect = Arc::new(move |hears| {
            let (config, tls) = (config.clone(), tls.clone());
            async move {
                let connected = tokio::time::timeout(patience, config.connect(tls)).await;
                let (client, mut connection) =
                    connected.map_err(|_| Trouble::Silent(patience))?.map_err(Trouble::Connect)?;
                // It ends with the client, and its error is that of the client's statements.
                tokio::spawn(async move {
                    while let Some(Ok(message)) = poll_fn(|waker| connection.poll_message(waker)).await {
                        if let AsyncMessage::Notification(notification) = message {
                            hears(notification.payload());
                        }
                    }
                });
                Ok(client)
            }
            .boxed()
        });
        let mut connections = Connections {
            pool,
            transactions,
            searches,
            connect,
            schema: Arc::clone(&schema),
            server: Arc::clone(&server),
            changes: watch::Sender::new(()),
            facts: Facts::default(),
            restored: Arc::default(),
        };
        let made = async {
            let looked = tokio::time::timeout(2 * patience, connections.refuse_shared_sessions()).await;
            looked.map_err(|_| Trouble::Silent(2 * patience))??;
            let mut client = connections.pool.get().await?;
            refuse_other_encodings(&client).await?;
            match self.is_existing {
                true => existing(&mut client, &schema).await,
                false => migrate(&mut client, &schema).await,
            }
        };
        // What tokio says to a program whose runtime has no I/O.
        let made = AssertUnwindSafe(made).catch_unwind().await.map_err(|_| StoreError::Other {
            message: "a store in PostgreSQL needs a tokio runtime with I/O and timers; build it with `enable_all()`"
                .to_owned(),
        })?;
        connections.facts = made.map_err(|trouble: Trouble| trouble.for_caller(&server))?;
        Ok(PostgresStore::over(connections))
    }
}

/// Values are any text, which a database with another encoding does not take.
async fn refuse_other_encodings(client: &Client) -> Result<(), Trouble> {
    let encoding: String = client.query_one("show server_encoding", &[]).await?.try_get(0)?;
    match &*encoding {
        "UTF8" => Ok(()),
        other => Err(Trouble::Unusable(format!(
            "its encoding is {other}, which has not all characters; make a database with `create database .. encoding 'UTF8' template template0`"
        ))),
    }
}

/// Where the server is, without the password.
fn place_of(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    });
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or_else(|| ports.first()).copied().unwrap_or(5432);
    let places = hosts.enumerate().map(|(at, host)| format!("`{host}:{}`", port(at)));
    let places = places.collect::<Vec<_>>().join(" or ");
    match config.get_dbname() {
        Some(database) => format!("{places}, database `{database}`,"),
        None => places,
    }
}
