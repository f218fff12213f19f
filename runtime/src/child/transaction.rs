//! Steps that write in a transaction of the store: what they have written and their record are one commit.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::step::{Step, TransactionBody, Written};
use crate::context::Context;
use crate::fault::Fault;
use crate::shared::{Journal, OpenTransaction};
use crate::store::{InTransaction, Transactional, transactional};

impl Context {
    /// A step that writes in a transaction of the engine's store: what it has written and the record that it is done are one
    /// commit, so it has its effect exactly once, whatever happens to the process. It is for authors of stores, who make
    /// `ctx.transaction(..)` of it; that of an SQLite file is
    /// `SqliteContext`, and that of PostgreSQL is in the crate `graphweft-postgres`.
    ///
    /// `body` gets the store and begins the transaction. Everything else is as for [`step`](Self::step): its key, its retries, its
    /// time limit, and how its error is recorded. If the body fails, is dropped or reaches its time limit, its transaction is undone.
    ///
    /// # Errors
    /// A [`Fault::Context`] if the run has no engine, or the engine another store, and if the transaction was
    /// [undone](InTransaction::Undone): then the step is retried as its [policy](Step::retry) says. A commit that fails stops
    /// the run in this process with [`RunError::Store`](crate::RunError::Store), as any record that cannot be written; resumed, it executes the step again unless
    /// the commit was done.
    ///
    /// # Cancel safety
    /// As for [`call`](Self::call). A step whose commit is under way when it is dropped may be recorded.
    pub fn step_in_transaction<'c, S, F, R, T, E>(&'c self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        S: Transactional,
        F: FnMut(S) -> R + Send + 'c,
        R: Future<Output = InTransaction<T, E>> + Send + 'c,
        T: Send + 'c,
        E: Send + 'c,
    {
        let body = In { body, store: PhantomData::<fn() -> S> };
        Step::in_transaction(self, name.into(), body)
    }
}

struct In<S, F> {
    body: F,
    store: PhantomData<fn() -> S>,
}

impl<'c, S, F, R, T, E> TransactionBody<'c, T, E> for In<S, F>
where
    S: Transactional,
    F: FnMut(S) -> R + Send,
    R: Future<Output = InTransaction<T, E>> + Send + 'c,
    T: Send + 'c,
    E: Send + 'c,
{
    fn begin(&mut self, journal: Option<Arc<Journal>>) -> BoxFuture<'c, Written<T, E>> {
        let (journal, store) = match store_of::<S>(journal) {
            Ok(found) => found,
            Err(fault) => return std::future::ready(Err(fault)).boxed(),
        };
        let ended = (self.body)(store);
        async move {
            // An exclusive one begins in its turn; others only end in it, so that they can be under way at the same time.
            let turn = if S::IS_EXCLUSIVE { Some(journal.turn(true).await) } else { None };
            match ended.await {
                InTransaction::Written(output, transaction) => {
                    let turn = match turn {
                        Some(turn) => turn,
                        None => journal.turn(false).await,
                    };
                    Ok((Ok(output), Some(OpenTransaction::new(transaction, turn))))
                }
                InTransaction::Failed(error) => Ok((Err(error), None)),
                InTransaction::Undone(message) => Err(Fault::Context { message }),
            }
        }
        .boxed()
    }
}

/// The store of a run, if it is one of this type.
fn store_of<S: Transactional>(journal: Option<Arc<Journal>>) -> Result<(Arc<Journal>, S), Fault> {
    let context = |message| Fault::Context { message };
    let journal = journal.ok_or_else(|| {
        context("a transaction in a run without an engine; start the run with an engine that has a store".to_owned())
    })?;
    let store = transactional(&*journal.store).map_err(context)?;
    Ok((journal, store))
}
