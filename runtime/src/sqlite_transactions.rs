//! Steps and starts in transactions on the file of an [`SqliteStore`].

use std::sync::Arc;

use rusqlite::Connection;

use crate::child::Step;
use crate::context::Context;
use crate::engine::{Run, Start, StartError};
use crate::store::SqliteStore;

/// Steps that write to tables of the program, in the file of the engine's [`SqliteStore`], in the transaction of their record.
pub trait SqliteContext: sealed::Sealed {
    /// A step that writes to the file of the engine's store: what it writes and the record that it is done are one transaction. So it
    /// has its effect exactly once: a process that ends before the commit has done nothing, and after the commit the step is
    /// not executed again.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::store::SqliteStore;
    /// use graphweft::store::rusqlite::Connection;
    /// use graphweft::{ChildError, ErrorText, SqliteContext};
    ///
    /// #[node]
    /// async fn book(cents: i64, ctx: &Context) -> Result<i64, ChildError<ErrorText>> {
    ///     ctx.transaction("book", move |tx| {
    ///         let take = "UPDATE accounts SET cents = cents - ?1 WHERE owner = 'me' RETURNING cents";
    ///         tx.query_row(take, [cents], |row| row.get(0))
    ///     })
    ///     .error_as_text()
    ///     .await
    /// }
    ///
    /// workflow! { pub pay(i64) -> i64 { START => book; } }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("shop.db");
    /// # graphweft::block_on(async {
    /// let store = SqliteStore::open(&path).await?;
    /// Connection::open(&path)?.execute_batch("CREATE TABLE accounts (owner, cents); INSERT INTO accounts VALUES ('me', 5000)")?;
    /// let engine = Engine::builder().store(store).register::<pay>().build()?;
    /// assert_eq!(engine.start::<pay>(4_000).id("order-7").await?.result().await?, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The closure is called on the thread of the store that writes, with a connection on which a transaction has
    /// begun: once for each attempt, and again if its commit has failed. It holds the only write lock of the file: nothing else is recorded meanwhile, in this process or another
    /// one, so let it write and return. What takes longer belongs before it. A read of other tables does not need it.
    ///
    /// The run records nothing else from the begin of the closure on until the step has its output, so let the node poll the step until
    /// then. One that holds it, and does not poll it for 2 seconds when it could go on, loses its turn: what was written is
    /// undone, the run continues, and the closure is called again when the step is polled.
    ///
    /// The result is a [`Step`], with a key and retries of its own. Its time limit counts until the closure has
    /// returned, and does not cut it off.
    ///
    /// # Errors
    /// Its own error, after which its transaction is rolled back. A fault if the engine has another store, or one that is
    /// [read only](crate::store::SqliteStoreBuilder::read_only), if the file is busy for too long, and if the closure has ended the
    /// transaction by a statement of its own, which it must not. A panic is that of the step. If the commit fails, by a foreign key that is
    /// deferred, nothing is written, and the closure is called again, three times at most within one attempt; then it is a fault. What else
    /// the run has recorded stays. On a disk that is full the run stops, as at any record, and nothing of the step is written.
    ///
    /// A run cannot be started [within](SqliteStart::within) this transaction, and temporary tables that are named like those of the store hide
    /// them from it as long as the process lives.
    ///
    /// # Cancel safety
    /// As for [`Context::call`]. A closure that has begun ends, and is rolled back.
    fn transaction<'c, F, T, E>(&'c self, name: impl Into<String>, work: F) -> Step<'c, T, E>
    where
        F: Fn(&Connection) -> Result<T, E> + Send + Sync + 'static,
        T: Send + 'static,
        E: Send + 'static;
}

impl SqliteContext for Context {
    fn transaction<'c, F, T, E>(&'c self, name: impl Into<String>, work: F) -> Step<'c, T, E>
    where
        F: Fn(&Connection) -> Result<T, E> + Send + Sync + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let work = Arc::new(work);
        self.step_in_transaction(name, move |store: SqliteStore| {
            let work = Arc::clone(&work);
            store.in_transaction(move |connection: &Connection| work(connection))
        })
    }
}

/// Starts of runs in a transaction of the program, on the file of the engine's [`SqliteStore`].
pub trait SqliteStart<T>: sealed::Sealed {
    /// Adds the run in a transaction of the caller: the run is there if and only if the transaction is committed. Then an engine
    /// that has registered its workflow begins it within a quarter of a second, this one or another with the same file.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::SqliteStart;
    /// use graphweft::store::SqliteStore;
    /// use graphweft::store::rusqlite::Connection;
    ///
    /// # #[node] async fn charge(cents: i64) -> i64 { cents }
    /// workflow! { pub pay(i64) -> i64 { START => charge; } }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("shop.db");
    /// # graphweft::block_on(async {
    /// let store = SqliteStore::open(&path).await?;
    /// let engine = Engine::builder().store(store).register::<pay>().build()?;
    /// let mut shop = Connection::open(&path)?;
    /// shop.execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, cents INTEGER)")?;
    ///
    /// let tx = shop.transaction()?;
    /// tx.execute("INSERT INTO orders VALUES (7, 4000)", [])?;
    /// let run = engine.start::<pay>(4_000).id("order-7").within(&tx)?;
    /// tx.commit()?;
    /// assert_eq!(run.result().await?, 4_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It blocks as a statement of the connection does, and needs a tokio runtime. Nothing is recorded while the transaction is open,
    /// so let it not wait for a run.
    ///
    /// # Errors
    /// [`StartError::WithinStep`] for the transaction of a [step](SqliteContext::transaction). As awaiting the start, and if the connection has no transaction, or one on another file. The workflow has to be
    /// registered. An error changes nothing in the transaction.
    fn within(self, transaction: &Connection) -> Result<Run<T>, StartError>;
}

impl<T> SqliteStart<T> for Start<T> {
    fn within(self, transaction: &Connection) -> Result<Run<T>, StartError> {
        if SqliteStore::is_of_step(transaction) {
            return Err(StartError::WithinStep);
        }
        let prepared = self.prepare_within::<SqliteStore>()?;
        let (created, first) = prepared.store().create_within(transaction, prepared.run())?;
        prepared.added(&created, first.as_ref())
    }
}

mod sealed {
    use crate::context::Context;
    use crate::engine::Start;

    pub trait Sealed {}

    impl Sealed for Context {}
    impl<T> Sealed for Start<T> {}
}
