//! Transactions of a store in which a program writes beside the records of a run.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Store;
use super::append::Append;
use super::error::StoreError;

/// A store whose transactions can take more than records: what a step of a node writes to the tables of the program, and the record
/// that the step is done, are one commit. It is what `ctx.transaction(..)` of a store is made of, by
/// [`Context::step_in_transaction`](crate::Context::step_in_transaction).
///
/// An engine finds it through [`Store::transactional`].
///
/// ```
/// # #[cfg(feature = "sqlite")] {
/// use graphweft::store::{SqliteStore, Transactional};
///
/// fn side_by_side<S: Transactional>() -> bool {
///     !S::IS_EXCLUSIVE
/// }
///
/// assert!(!side_by_side::<SqliteStore>()); // a file has one writer
/// # }
/// ```
pub trait Transactional: Store + Clone {
    /// Whether a transaction keeps every append of its run waiting until it is over: where one connection writes at a time,
    /// an append that comes before that of the transaction would wait for it for ever.
    const IS_EXCLUSIVE: bool;
}

/// A transaction in which a step has written, and which is still open. Dropped without an [`append`](Self::append) that is
/// [done](CommitOutcome::Done), it undoes what was written.
///
/// ```
/// use std::sync::Arc;
/// use graphweft::store::{Append, BoxFuture, CommitOutcome, StoreError, StoreTransaction};
///
/// /// One that says when it is committed.
/// struct Logged(Arc<dyn StoreTransaction>);
///
/// impl StoreTransaction for Logged {
///     fn append(self: Arc<Self>, batch: Append) -> BoxFuture<'static, Result<CommitOutcome, StoreError>> {
///         println!("{} records and what a step has written", batch.records.len());
///         Arc::clone(&self.0).append(batch)
///     }
/// }
/// ```
pub trait StoreTransaction: Send + Sync {
    /// As [`Store::append`], in this transaction, which is committed with it. After a [conflict](CommitOutcome::Conflict) the
    /// transaction is open, and the records come again at another number.
    ///
    /// # Errors
    /// If it is not known whether the transaction is committed. That stops the run in this process. An error after which it is
    /// certainly undone is [`CommitOutcome::Undone`].
    fn append(self: Arc<Self>, batch: Append) -> BoxFuture<'static, Result<CommitOutcome, StoreError>>;
}

/// The result of [`StoreTransaction::append`].
///
/// ```
/// use graphweft::store::CommitOutcome;
///
/// /// What a program may log of it.
/// fn in_words(outcome: &CommitOutcome) -> String {
///     match outcome {
///         CommitOutcome::Done => "committed".to_owned(),
///         CommitOutcome::Undone(why) => format!("undone, and executed again: {why}"),
///         _ => "still open".to_owned(),
///     }
/// }
///
/// assert!(in_words(&CommitOutcome::Undone("deadlock detected".to_owned())).contains("again"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitOutcome {
    /// What the step has written and the records are committed.
    Done,
    /// As [`Appended::Conflict`](super::Appended::Conflict): nothing is recorded, and the transaction is open.
    Conflict,
    /// Nothing is committed, and the transaction is over: why. The records come again, without that of the step, by
    /// [`Store::append`], and the step is executed again.
    Undone(String),
}

/// How long the transaction of a step is kept open for a node that does not poll the step: from when the step could go on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// How the body of a step in a transaction ended.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{InTransaction, SqliteStore};
///
/// #[node]
/// async fn book(ctx: &Context) -> String {
///     let step = ctx.step_in_transaction("book", |store: SqliteStore| async move {
///         // A store begins a transaction here, and has the program write in it.
///         drop(store);
///         InTransaction::<u32, String>::Failed("the account is closed".to_owned())
///     });
///     step.await.unwrap_err().to_string()
/// }
///
/// workflow! { pub pay() -> String { START => book; } }
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// let engine = Engine::builder().store(SqliteStore::open(&path).await?).register::<pay>().build()?;
/// assert_eq!(engine.start::<pay>(()).await?.result().await?, "the account is closed");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub enum InTransaction<T, E> {
    /// It has written, and nothing of it is committed. This is its output.
    Written(T, Arc<dyn StoreTransaction>),
    /// Its own error. The transaction is undone.
    Failed(E),
    /// The transaction could not begin, or cannot be committed, and is undone: why.
    Undone(String),
    /// The connection has ended, and with it the transaction, of which nothing is committed: why. The body is executed again.
    Lost(String),
    /// The transaction could not begin, since the store failed. If the store may be back later
    /// ([`StoreError::Unreachable`], [`StoreError::Unavailable`], [`StoreError::Busy`], [`StoreError::Full`]), the run stops in this
    /// process, as for any record that cannot be written, and is resumed then.
    NotBegun(StoreError),
}

impl<T: fmt::Debug, E: fmt::Debug> fmt::Debug for InTransaction<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InTransaction::Written(output, _) => f.debug_tuple("Written").field(output).finish_non_exhaustive(),
            InTransaction::Failed(error) => f.debug_tuple("Failed").field(error).finish(),
            InTransaction::Undone(why) => f.debug_tuple("Undone").field(why).finish(),
            InTransaction::Lost(why) => f.debug_tuple("Lost").field(why).finish(),
            InTransaction::NotBegun(error) => f.debug_tuple("NotBegun").field(error).finish(),
        }
    }
}

/// The transactional store of an engine, if it is one of this type.
///
/// # Errors
/// What to do if it is not.
pub(crate) fn transactional<S: Transactional>(store: &dyn Store) -> Result<S, String> {
    let found = store.transactional().and_then(|store| store.downcast_ref::<S>()).cloned();
    found.ok_or_else(|| {
        let wanted = type_name::<S>().rsplit("::").next().unwrap_or_default();
        format!("a transaction of `{wanted}` was to begin, and the engine has another store; give it this one by `.store(..)`")
    })
}
