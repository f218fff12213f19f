//! Steps and starts in transactions of the program.
//!
//! Records that are added in such a transaction are not numbered by it: it may have been under way for long, and the run has got
//! other records since. They have the number of a subtransaction, which begins when they are added, behind the lock
//! by which the feed knows of them.

use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use deadpool_postgres::{ClientWrapper, Object};
use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::store::{
    Append, Appended, CommitOutcome, Created, InTransaction, NewRun, Record, StoreError, StoreTransaction,
    Transactional,
};
use graphweft::{Context, Run, Start, StartError, Step};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::batch::NewRows;
use crate::connections::{Connections, Facts, idle_limit, set_keepalives};
use crate::runs;
use crate::store::PostgresStore;
use crate::trouble::{Trouble, chain, is_lost, is_undone_by};

impl Transactional for PostgresStore {
    const IS_EXCLUSIVE: bool = false;
}

/// Steps that write to tables of the program in the transaction of their record.
pub trait PostgresContext: sealed::Sealed {
    /// A step that writes to the database which the engine's store is in: what it writes and the record that it is done are one
    /// transaction. So it has its effect exactly once: a process that ends before the commit has done nothing, and after the
    /// commit the step is not executed again.
    ///
    /// ```no_run
    /// use graphweft::prelude::*;
    /// use graphweft::{ChildError, ErrorText};
    /// use graphweft_postgres::{PostgresContext, PostgresStore};
    ///
    /// #[node]
    /// async fn book(cents: i64, ctx: &Context) -> Result<i64, ChildError<ErrorText>> {
    ///     ctx.transaction("book", async |tx| {
    ///         let row = tx
    ///             .query_one("update accounts set cents = cents - $1 where owner = 'me' returning cents", &[&cents])
    ///             .await?;
    ///         row.try_get(0)
    ///     })
    ///     .error_as_text()
    ///     .await
    /// }
    ///
    /// workflow! { pub pay(i64) -> i64 { START => book; } }
    ///
    /// # graphweft::block_on(async {
    /// let store = PostgresStore::connect("postgres://shop:secret@db.internal/shop").await?;
    /// let engine = Engine::builder().store(store).register::<pay>().build()?;
    /// let left = engine.start::<pay>(4_000).id("order-7").await?.result().await?;
    /// # drop(left);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// The result is a [`Step`], with a key, retries and a time limit of its own. Names of tables are found as by any connection of the
    /// program; the store's own are not in their way. Transactions have connections of their own, at most as many as
    /// [`max_connections`](crate::PostgresStoreBuilder::max_connections), and each is cleaned before it is used again. One that waits for
    /// such a connection for 30 seconds is a fault. Steps of one run commit one after the other; their bodies run side by side.
    ///
    /// The transaction is `read committed`, whatever the database says: a later snapshot than that of its begin is what sees the records of the run. Lock
    /// what you read and write (`select .. for update`).
    ///
    /// # Errors
    /// Its own error, after which its transaction is rolled back. A fault if the engine has another store, if no connection can be
    /// made, if a statement has failed and the body has continued as if it had not, if the body has ended the transaction by a statement of its own or has
    /// made it read only or gave it another isolation level, or if it has kept the transaction. Constraints that are deferred are checked before the commit.
    ///
    /// If the record or the commit is refused, as by a deadlock or when the connection ends before the commit is sent, nothing is written,
    /// and the body is executed again, three times at most within one attempt; then it is a fault. What else the run has recorded stays. Only
    /// if the connection ends while the commit is under way the run stops in this process with
    /// [`RunError::Store`](graphweft::RunError::Store); resumed, it executes the step again unless it was committed.
    ///
    /// A step that is in turn to commit and is not polled for 2 seconds, since its node holds it and awaits something else, is undone, and
    /// executed again when it is polled.
    ///
    /// # Cancel safety
    /// As for [`Context::call`]: what is dropped before its commit is rolled back.
    fn transaction<'c, F, R, T, E>(&'c self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        F: FnMut(Transaction) -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        T: Send + 'c,
        E: Send + 'c;
}

impl PostgresContext for Context {
    fn transaction<'c, F, R, T, E>(&'c self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        F: FnMut(Transaction) -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        T: Send + 'c,
        E: Send + 'c,
    {
        let body = Arc::new(Mutex::new(body));
        self.step_in_transaction(name, move |store: PostgresStore| {
            let body = Arc::clone(&body);
            async move {
                let begun = Transaction::begin(store.connections).await;
                let transaction = match begun {
                    Ok(transaction) => transaction,
                    Err(error) => return InTransaction::NotBegun(error),
                };
                let ended = {
                    let tx = Transaction(Arc::clone(&transaction.0));
                    let future = (body.lock().unwrap_or_else(PoisonError::into_inner))(tx);
                    future.await
                };
                transaction.written(ended).await
            }
        })
    }
}

/// Starts of runs in a transaction of the program.
pub trait PostgresStart<T>: sealed::Sealed {
    /// Adds the run in a transaction of the caller, by any connection to the database that the engine's store is in: the run is there if and only if the
    /// transaction is committed. Then an engine that has registered its workflow begins it, this one or another.
    ///
    /// ```no_run
    /// # use graphweft::prelude::*;
    /// # use graphweft_postgres::{PostgresStart, PostgresStore};
    /// # #[node] async fn charge(cents: i64) -> i64 { cents }
    /// # workflow! { pub pay(i64) -> i64 { START => charge; } }
    /// # async fn order(engine: Engine, mut client: graphweft_postgres::tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let tx = client.transaction().await?;
    /// tx.execute("insert into orders (id, cents) values (7, 4000)", &[]).await?;
    /// let run = engine.start::<pay>(4_000).id("order-7").within(&tx).await?;
    /// tx.commit().await?;
    /// let paid = run.result().await?;
    /// # drop(paid); Ok(()) }
    /// ```
    ///
    /// Call it last: until the transaction is over, followers of the [feed](graphweft::Engine::watch) see nothing that is committed
    /// after it began. What is set for the transaction, its `search_path` among it, is as before.
    ///
    /// # Errors
    /// As awaiting the start. The workflow has to be registered, the engine to have a [`PostgresStore`], and the transaction to be in the
    /// database of that. An error changes nothing in
    /// the transaction, unless the connection is closed or the transaction was aborted before.
    ///
    /// Runs are started one after the other in a transaction: two starts at once take each other's savepoint.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped before it has returned, it adds nothing, and the transaction is as before. It is all done below a
    /// savepoint, `graphweft_start`.
    fn within<'t>(self, transaction: &'t tokio_postgres::Transaction<'_>) -> BoxFuture<'t, Result<Run<T>, StartError>>
    where
        Self: 't;
}

impl<T: 'static> PostgresStart<T> for Start<T> {
    fn within<'t>(self, transaction: &'t tokio_postgres::Transaction<'_>) -> BoxFuture<'t, Result<Run<T>, StartError>>
    where
        Self: 't,
    {
        let prepared = self.prepare_within::<PostgresStore>();
        async move {
            let prepared = prepared?;
            let connections = &prepared.store().connections;
            let added = add_within(transaction, connections, prepared.run()).await;
            let (created, first) = added.map_err(|trouble| trouble.for_caller(&connections.server))?;
            prepared.added(&created, first.as_ref())
        }
        .boxed()
    }
}

/// Adds a run, or returns the one that is there, with its first record.
async fn add_within(
    transaction: &tokio_postgres::Transaction<'_>,
    connections: &Connections,
    run: &NewRun,
) -> Result<(Created, Option<Record>), Trouble> {
    // In a transaction that is open for long, the row of a new graph would keep all others waiting that add it.
    connections
        .with(|client| async move { runs::keep_graph((&client).into(), &run.graph).await })
        .await
        .map_err(Trouble::Store)?;
    let savepoint = Savepoint { transaction, is_undone: true };
    transaction.batch_execute("savepoint graphweft_start").await?;
    refuse_other_databases(transaction, connections).await?;
    let path: String = transaction.query_one("select current_setting('search_path')", &[]).await?.try_get(0)?;
    transaction.batch_execute(&local_path(&connections.schema)).await?;
    let added = runs::create_within(transaction.into(), connections.facts, run).await?;
    transaction.query_one("select set_config('search_path', $1, true)", &[&path]).await?;
    savepoint.release();
    Ok(added)
}

/// Refuses a transaction in another database than that of the store, which may have a schema of the same name.
///
/// Databases share no advisory locks: what the store holds, a transaction in its database cannot take.
async fn refuse_other_databases(
    transaction: &tokio_postgres::Transaction<'_>,
    connections: &Connections,
) -> Result<(), Trouble> {
    let locks = connections.facts.locks;
    let is_other = connections.with(|mut client| async move {
        let holds = client.transaction().await?;
        // A number that no owner has: theirs are not negative.
        let hold = "with one as materialized (select -1 - floor(random() * 2147483647)::integer as number)
             select number from one where pg_advisory_xact_lock($1, number) is not null";
        let held: i32 = holds.query_one(&holds.prepare_cached(hold).await?, &[&locks]).await?.try_get(0)?;
        let take = transaction.query_one("select pg_try_advisory_xact_lock($1, $2)", &[&locks, &held]).await;
        holds.rollback().await?;
        Ok(take?.try_get(0)?)
    });
    if !is_other.await.map_err(Trouble::Store)? {
        return Ok(());
    }
    let message = format!(
        "the transaction is in another database than the store of the engine, which is in PostgreSQL at {}; begin it by a connection to \
         that one",
        connections.server.trim_end_matches(',')
    );
    Err(Trouble::Store(StoreError::Other { message }))
}

/// Undoes what was done in a transaction of the program since it was made, unless that is to stay.
struct Savepoint<'t> {
    transaction: &'t tokio_postgres::Transaction<'t>,
    is_undone: bool,
}

impl Savepoint<'_> {
    /// Without awaiting it: who is dropped meanwhile could not say whether the savepoint is still there. It cannot fail where the statement before
    /// it has not.
    fn release(mut self) {
        self.is_undone = false;
        // The first poll sends it, before all that the program sends next.
        drop(self.transaction.batch_execute("release savepoint graphweft_start").now_or_never());
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if self.is_undone {
            // The first poll sends it, before all that the program sends next.
            let undo = "rollback to savepoint graphweft_start; release savepoint graphweft_start";
            drop(self.transaction.batch_execute(undo).now_or_never());
        }
    }
}

/// The transaction of a step: a connection on which it has begun, for statements. A clone is the same transaction; it is over with the
/// body of its step.
#[derive(Clone)]
pub struct Transaction(Arc<Begun>);

impl Deref for Transaction {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.0.client
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Transaction").finish()
    }
}

/// A connection on which a transaction has begun.
struct Begun {
    client: OpenClient,
    connections: Connections,
}

/// The connection of a transaction that is open. Dropped, it is closed, and the server undoes the transaction.
struct OpenClient(Option<Object>);

impl OpenClient {
    /// The transaction is over: others may use the connection.
    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Deref for OpenClient {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        match &self.0 {
            Some(object) => object,
            None => unreachable!("it is taken only when this is dropped"),
        }
    }
}

impl Drop for OpenClient {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            drop(Object::take(object));
        }
    }
}

/// It is there as long as the transaction is that a body began with.
const MARK: &str = "graphweft.step";

impl Transaction {
    async fn begin(connections: Connections) -> Result<Self, StoreError> {
        let begin =
            format!("begin isolation level read committed; set local {MARK} = 'open'{}", set_keepalives("set local"));
        let client = connections.with_own(|client| {
            let begin = &begin;
            async move {
                let client = OpenClient(Some(client));
                client.batch_execute(begin).await?;
                Ok(client)
            }
        });
        let client = client.await?;
        Ok(Transaction(Arc::new(Begun { client, connections })))
    }

    /// What the body has come to. Whatever it has set, the connection finds the tables of the store after that.
    async fn written<T, E>(self, ended: Result<T, E>) -> InTransaction<T, E> {
        let Some(Begun { client, connections }) = Arc::into_inner(self.0) else {
            return InTransaction::Undone(
                "the body of a transaction has ended, and something that it has begun still has the transaction; pass it on by \
                 reference, and await what uses it"
                    .to_owned(),
            );
        };
        let output = match ended {
            Ok(output) => output,
            Err(error) => {
                let has_ended = has_ended(&client).await;
                match client.batch_execute("rollback").await {
                    Ok(()) => client.give_back(),
                    // Its error may be that of a statement which was under way. What it has committed itself is not repeated.
                    Err(error) if !has_ended && is_lost(&error) => return InTransaction::Lost(lost(&error)),
                    Err(_) => {}
                }
                return if has_ended { InTransaction::Undone(ENDED.to_owned()) } else { InTransaction::Failed(error) };
            }
        };
        match checked(&client, &connections.schema).await {
            Ok(None) => {
                let open = Open { client: tokio::sync::Mutex::new(Some(client)), connections };
                InTransaction::Written(output, Arc::new(open))
            }
            Ok(Some(why)) => InTransaction::Undone(why.to_owned()),
            Err(error) if is_lost(&error) => InTransaction::Lost(lost(&error)),
            Err(error) => {
                InTransaction::Undone(format!("what a transaction has written cannot be committed: {}", chain(&error)))
            }
        }
    }
}

const ENDED: &str = "the body of a transaction has ended it by a statement of its own, and what it has written may be committed; leave \
                     `commit` and `rollback` to the step: an error rolls back";

fn lost(error: &tokio_postgres::Error) -> String {
    format!("the connection of a transaction was lost before its commit: {}", chain(error))
}

/// Whether a body has ended its transaction. That is not known of one in which a statement has failed.
async fn has_ended(client: &OpenClient) -> bool {
    let Ok(messages) = client.simple_query(&format!("select current_setting('{MARK}', true)")).await else {
        return false;
    };
    messages.iter().any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) != Some("open")))
}

/// Checks that a transaction can be committed with records in it. Returns why not.
async fn checked(client: &OpenClient, schema: &str) -> Result<Option<&'static str>, tokio_postgres::Error> {
    let check = format!(
        "set constraints all immediate; select current_setting('{MARK}', true), current_setting('transaction_read_only'),
             current_setting('transaction_isolation');
         set local session authorization default; set local role none; set local client_encoding to 'UTF8'; {}",
        local_path(schema)
    );
    for message in client.simple_query(&check).await? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        if row.get(0) != Some("open") {
            return Ok(Some(ENDED));
        }
        if row.get(2) != Some("read committed") {
            return Ok(Some(
                "the body of a transaction has given it another isolation level than `read committed`, in which the records of the run are not \
                 seen; lock what it reads and writes in the place of that",
            ));
        }
        if row.get(1) == Some("on") {
            return Ok(Some(
                "the body of a transaction has made it read only, and the record of its step is to be written",
            ));
        }
    }
    Ok(None)
}

fn local_path(schema: &str) -> String {
    // Temporary tables of the program do not hide those of the store.
    format!("{}, pg_temp", crate::connections::path(schema).replacen("set ", "set local ", 1))
}

/// A transaction in which a step has written.
struct Open {
    /// None when it is over.
    client: tokio::sync::Mutex<Option<OpenClient>>,
    connections: Connections,
}

impl StoreTransaction for Open {
    fn append(self: Arc<Self>, batch: Append) -> BoxFuture<'static, Result<CommitOutcome, StoreError>> {
        async move {
            let mut place = self.client.lock().await;
            let Some(client) = place.take() else { return Err(StoreError::Closed) };
            let words = |trouble: Trouble| trouble.for_caller(&self.connections.server);
            match append(&client, self.connections.facts, &batch).await {
                Ok(CommitOutcome::Done) => {
                    client.give_back();
                    Ok(CommitOutcome::Done)
                }
                Ok(outcome) => {
                    *place = Some(client);
                    Ok(outcome)
                }
                Err(Uncommitted::Undone(trouble)) => {
                    // Otherwise the server undoes it when it notices that the connection is closed. That is closed all the same: the body
                    // may have thrown away what is prepared on it.
                    drop(client.batch_execute("rollback").await);
                    Ok(CommitOutcome::Undone(match trouble {
                        Trouble::Database(error) => chain(&error),
                        trouble => words(trouble).to_string(),
                    }))
                }
                Err(Uncommitted::Unknown(trouble)) => Err(words(trouble)),
            }
        }
        .boxed()
    }
}

/// Why a transaction is not known to be committed.
enum Uncommitted {
    /// It is not.
    Undone(Trouble),
    /// Its commit was under way.
    Unknown(Trouble),
}

/// Adds the records, and commits. A conflict leaves all as it is.
async fn append(client: &OpenClient, facts: Facts, batch: &Append) -> Result<CommitOutcome, Uncommitted> {
    let rows = NewRows::of(batch.run, batch.at, batch.time, &batch.records).map_err(Uncommitted::Undone)?;
    // From here it has the row of its run, which others wait for. Until now the body may have taken its time.
    let (limited, appended) = futures::future::join(
        client.batch_execute(&format!("set local {}", idle_limit(rows.bytes()))),
        runs::append_within((&**client).into(), facts, batch, &rows),
    )
    .await;
    limited.map_err(|error| Uncommitted::Undone(error.into()))?;
    let appended = appended.map_err(Uncommitted::Undone)?;
    if appended != Appended::Done {
        return Ok(CommitOutcome::Conflict);
    }
    let committed = client.batch_execute("commit").await;
    committed.map_err(|error| match is_undone_by(&error) {
        true => Uncommitted::Undone(error.into()),
        false => Uncommitted::Unknown(error.into()),
    })?;
    Ok(CommitOutcome::Done)
}

mod sealed {
    use graphweft::Context;
    use graphweft::Start;

    pub trait Sealed {}

    impl Sealed for Context {}
    impl<T> Sealed for Start<T> {}
}
