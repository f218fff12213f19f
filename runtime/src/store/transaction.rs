//! Transactions of a store in which a program writes beside the records of a run.

use std::any::type_name;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::Store;
use super::append::{Append, Appended};
use super::error::StoreError;

/// A store whose transactions can take more than records: what a step of a node writes to the tables of the program, and the record
/// that the step is done, are one commit. It is what `ctx.transaction(..)` of a store is made of, by
/// [`Context::step_in_transaction`](crate::Context::step_in_transaction).
///
/// An engine finds it through [`Store::transactional`].
pub trait Transactional: Store + Clone {
    /// Whether a transaction keeps every append of its run waiting until it is over: where one connection writes at a time,
    /// an append that comes before that of the transaction would wait for it for ever.
    const IS_EXCLUSIVE: bool;
}

/// A transaction in which a step has written, and which is still open. Dropped without an [`append`](Self::append) that is
/// [done](Appended::Done), it undoes what was written.
pub trait StoreTransaction: Send + Sync {
    /// As [`Store::append`], in this transaction, which is committed with it. After a [conflict](Appended::Conflict) the
    /// transaction is open, and the records come again at another number. After an error it is undone, unless its commit was
    /// under way: then it is either.
    fn append(self: Arc<Self>, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>>;
}

/// How the body of a step in a transaction ended.
#[non_exhaustive]
pub enum InTransaction<T, E> {
    /// It has written, and nothing of it is committed. This is its output.
    Written(T, Arc<dyn StoreTransaction>),
    /// Its own error. The transaction is undone.
    Failed(E),
    /// The transaction could not begin, or cannot be committed, and is undone: why.
    Undone(String),
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
