//! Steps that write in a transaction of the store: what they have written and their record are one commit.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::lease::Lease;
use super::step::{NotWritten, Step, TransactionBody, Written};
use crate::context::Context;
use crate::fault::Fault;
use crate::shared::Journal;
#[cfg(doc)]
use crate::store::CommitOutcome;
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
    /// [undone](InTransaction::Undone): then the step is retried as its [policy](Step::retry) says. A transaction that was
    /// [lost](InTransaction::Lost), or a commit that is [certainly undone](CommitOutcome::Undone), takes nothing else of the run with it: the
    /// body is executed again, three times at most within one attempt, and not if the step is [`at_most_once`](Step::at_most_once); then it is such a fault. If it is not known what has become of a commit, the run
    /// stops in this process with [`RunError::Store`](crate::RunError::Store), as for any record that cannot be written; resumed, it executes the step again
    /// unless the commit was done.
    ///
    /// A step that could go on and is not polled for 2 seconds, since its node holds it and awaits something else, loses its turn in
    /// the same way: its transaction is undone, and when it is polled, its body is executed again.
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
            Err(fault) => return std::future::ready(Err(NotWritten::Fault(fault))).boxed(),
        };
        let ended = (self.body)(store);
        async move {
            // An exclusive one begins in its turn; others only end in it, so that they can be under way at the same time.
            let lease = S::IS_EXCLUSIVE.then(|| Lease::of(&journal, true));
            let ended = match &lease {
                Some(lease) => {
                    let in_turn = async {
                        lease.turn(Some(&journal)).await;
                        ended.await
                    };
                    lease.during(in_turn).await?
                }
                None => ended.await,
            };
            match ended {
                InTransaction::Written(output, transaction) => {
                    let lease = lease.unwrap_or_else(|| Lease::of(&journal, false));
                    lease.keep(transaction);
                    lease.during(lease.turn(None)).await?;
                    Ok((Ok(output), Some(lease.take()?)))
                }
                InTransaction::Failed(error) => Ok((Err(error), None)),
                InTransaction::Undone(message) => Err(NotWritten::Fault(Fault::Context { message })),
                InTransaction::Lost(why) => Err(NotWritten::Undone(why)),
                InTransaction::NotBegun(error) => {
                    journal.stop_if_away(&error).await;
                    Err(NotWritten::Fault(Fault::Context { message: error.to_string() }))
                }
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
