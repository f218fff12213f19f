//! Steps and starts in transactions of the program, in the file of the store.
//!
//! SQLite has one writer. The closure of a step is executed on the thread that writes, in a transaction that nothing else goes
//! into, and the thread waits until the record of the step comes: the run appends nothing else meanwhile.
//!
//! ```text
//!   step                               thread
//!    │ ── closure ──────────────────────> BEGIN IMMEDIATE, SAVEPOINT, closure
//!    │ <───────────────── its output ──── │ waits for two seconds
//!    │ ── records of the run ───────────> │ adds them, COMMIT
//!    │ <───────────────────────── done ── │
//! ```

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::queue::Job;
use super::runs::{self, EncodedAppend};
use super::trouble::Trouble;
use super::write_transaction::{Journals, WriteTransaction};
use super::{Handle, SqliteStore, records};
use crate::catch::caught;
use crate::store::{
    Append, Appended, CommitOutcome, Created, InTransaction, NewRun, PATIENCE, Record, StoreError, StoreTransaction,
    Transactional,
};

impl Transactional for SqliteStore {
    const IS_EXCLUSIVE: bool = true;
}

/// What the closure of a step came to; an error if it panicked.
type Ended<T, E> = thread::Result<Result<T, E>>;

/// The reply to the step: how its closure ended, and why the transaction was undone otherwise.
enum Reply<T, E> {
    Ended(Ended<T, E>),
    Undone(String),
}

/// Records for the transaction that waits for them.
struct Request {
    batch: EncodedAppend,
    answer: oneshot::Sender<CommitOutcome>,
}

/// A closure, whatever it returns.
trait Closure: Send {
    /// Executes it. Returns whether what it has written may be committed.
    fn execute(&mut self, connection: &Connection) -> bool;

    /// Replies to the step: how it ended, or why what it has written is undone.
    fn reply(&mut self, undone: Option<String>);
}

struct OfStep<F, T, E> {
    work: Option<F>,
    ended: Option<Ended<T, E>>,
    step: Option<oneshot::Sender<Reply<T, E>>>,
}

impl<F, T, E> Closure for OfStep<F, T, E>
where
    F: FnMut(&Connection) -> Result<T, E> + Send,
    T: Send,
    E: Send,
{
    fn execute(&mut self, connection: &Connection) -> bool {
        let Some(work) = &mut self.work else {
            debug_assert!(false, "it is taken when this is dropped");
            return false;
        };
        let ended = catch_unwind(AssertUnwindSafe(|| work(connection)));
        let is_written = matches!(ended, Ok(Ok(_)));
        self.ended = Some(ended);
        is_written
    }

    fn reply(&mut self, undone: Option<String>) {
        let reply = match (undone, self.ended.take()) {
            (None, Some(ended)) => Reply::Ended(ended),
            (Some(message), ended) => {
                drop_caught(ended);
                Reply::Undone(message)
            }
            (None, None) => return,
        };
        if let Some(step) = self.step.take() {
            // It may be gone.
            drop_caught(step.send(reply));
        }
    }
}

impl<F, T, E> Drop for OfStep<F, T, E> {
    fn drop(&mut self) {
        drop_caught((self.work.take(), self.ended.take()));
    }
}

/// Drops values of the program. A panic of theirs would end the thread that writes for all.
fn drop_caught<T>(values: T) {
    let _ = caught(|| drop(values));
}

/// The transaction of a step.
struct Session {
    closure: Box<dyn Closure>,
    requests: mpsc::Receiver<Request>,
    /// Waits for the commit.
    answer: Option<oneshot::Sender<CommitOutcome>>,
}

thread_local! {
    /// The address of the connection that the closure of a step writes by, in its thread.
    static OF_STEP: Cell<usize> = const { Cell::new(0) };
}

/// What the closure has ended is replaced by a transaction that the thread ends.
const ANEW: &str = "BEGIN IMMEDIATE";

impl Session {
    /// Undoes what the closure has written, if it is in the transaction that it began in. Returns whether it is.
    fn undo(transaction: &Connection) -> bool {
        transaction.execute_batch("ROLLBACK TO graphweft_step; RELEASE graphweft_step").is_ok()
    }
}

impl Job for Session {
    fn is_alone(&self) -> bool {
        true
    }

    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), Trouble> {
        if matches!(self.requests.try_recv(), Err(mpsc::TryRecvError::Disconnected)) {
            // The step was gone before its turn came.
            return Ok(());
        }
        transaction.execute_batch("SAVEPOINT graphweft_step")?;
        OF_STEP.set(std::ptr::from_ref::<Connection>(transaction).addr());
        let is_written = self.closure.execute(transaction);
        OF_STEP.set(0);
        // Before the reply: others write by this connection.
        transaction.execute_batch("PRAGMA query_only = OFF")?;
        // Another transaction may have begun since.
        let is_its_own = !transaction.is_autocommit()
            && match is_written {
                true => transaction.execute_batch("RELEASE graphweft_step").is_ok(),
                false => Session::undo(transaction),
            };
        if !is_its_own {
            self.closure.reply(Some(
                "the closure of a transaction has ended it by a statement of its own, and what it has written may be committed; leave \
                 `COMMIT` and `ROLLBACK` to the step: an error rolls back"
                    .to_owned(),
            ));
            if !transaction.is_autocommit() {
                transaction.execute_batch("ROLLBACK")?;
            }
            return Ok(transaction.execute_batch(ANEW)?);
        }
        self.closure.reply(None);
        if !is_written {
            return Ok(());
        }
        while let Ok(Request { batch, answer }) = self.requests.recv_timeout(PATIENCE) {
            match runs::append(transaction, &batch) {
                Ok(Appended::Done) => {
                    self.answer = Some(answer);
                    return Ok(());
                }
                // The run is no longer waited for.
                Ok(Appended::Conflict) => drop(answer.send(CommitOutcome::Conflict)),
                Err(trouble) => {
                    self.answer = Some(answer);
                    return Err(trouble);
                }
            }
        }
        transaction.execute_batch("ROLLBACK")?;
        Ok(transaction.execute_batch(ANEW)?)
    }

    fn answer(mut self: Box<Self>, committed: Result<(), StoreError>) {
        if let Err(error) = &committed {
            // If it has not begun.
            self.closure.reply(Some(error.to_string()));
        }
        if let Some(answer) = self.answer.take() {
            // An error of SQLite leaves nothing of a transaction.
            drop(answer.send(match committed {
                Ok(()) => CommitOutcome::Done,
                Err(error) => CommitOutcome::Undone(error.to_string()),
            }));
        }
    }
}

/// A transaction that waits for its records.
struct Open {
    handle: Arc<Handle>,
    requests: mpsc::Sender<Request>,
}

impl StoreTransaction for Open {
    fn append(self: Arc<Self>, batch: Append) -> BoxFuture<'static, Result<CommitOutcome, StoreError>> {
        async move {
            let gone = || {
                CommitOutcome::Undone(format!(
                    "a transaction was undone, since the record of its step has not come for {} s",
                    PATIENCE.as_secs()
                ))
            };
            let hashes: Vec<u64> = batch.header.graphs().map(|graph| graph.0).collect();
            let (answer, result) = oneshot::channel();
            let batch = match self.handle.encode_append(batch) {
                Ok(batch) => batch,
                Err(error) => return Ok(CommitOutcome::Undone(error.to_string())),
            };
            if self.requests.send(Request { batch, answer }).is_err() {
                return Ok(gone());
            }
            let outcome = result.await.unwrap_or_else(|_| gone());
            if outcome == CommitOutcome::Done && !hashes.is_empty() {
                self.handle.known_graphs(|graphs| graphs.extend(hashes))?;
            }
            Ok(outcome)
        }
        .boxed()
    }
}

impl SqliteStore {
    /// Whether a connection is that of a step whose closure is being executed.
    pub(crate) fn is_of_step(connection: &Connection) -> bool {
        OF_STEP.get() == std::ptr::from_ref(connection).addr()
    }

    /// Executes a closure in a transaction, which is open after that.
    pub(crate) async fn in_transaction<F, T, E>(self, work: F) -> InTransaction<T, E>
    where
        F: FnMut(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let handle = self.0;
        let shared = match handle.writing() {
            Ok(writing) => Arc::clone(&writing.shared),
            Err(error) => return InTransaction::Undone(error.to_string()),
        };
        let (replies, reply) = oneshot::channel();
        let (requests, of_step) = mpsc::channel();
        let closure = Box::new(OfStep { work: Some(work), ended: None, step: Some(replies) });
        shared.queue.push_job(Box::new(Session { closure, requests: of_step, answer: None }));
        shared.queue.wake();
        match reply.await {
            Ok(Reply::Ended(Ok(Ok(output)))) => InTransaction::Written(output, Arc::new(Open { handle, requests })),
            Ok(Reply::Ended(Ok(Err(error)))) => InTransaction::Failed(error),
            Ok(Reply::Ended(Err(panic))) => resume_unwind(panic),
            Ok(Reply::Undone(message)) => InTransaction::Undone(message),
            Err(_) => InTransaction::Undone(StoreError::Closed.to_string()),
        }
    }

    /// Adds a run in a transaction of the caller, or returns the one that is there, with its first record.
    ///
    /// # Errors
    /// If it is no transaction on the file of this store, or cannot write.
    pub(crate) fn create_within(
        &self,
        connection: &Connection,
        run: &NewRun,
    ) -> Result<(Created, Option<Record>), StoreError> {
        let file = &self.0.file.path;
        let refused =
            |message: &str| StoreError::Other { message: format!("run `{}` was not added: {message}", run.id) };
        if connection.path().and_then(|path| Path::new(path).canonicalize().ok()).as_deref() != Some(&**file) {
            return Err(refused(&format!(
                "the transaction is not one on `{}`, the file of the engine's store",
                file.display()
            )));
        }
        if connection.is_autocommit() {
            return Err(refused("the connection has no transaction; begin one, and commit it after this"));
        }
        let run = self.0.encode_run(run)?;
        let added = add(connection, &run).map_err(|trouble| trouble.at(file))?;
        let (created, first) = added?;
        Ok((created, first))
    }
}

type Added = Result<(Created, Option<Record>), StoreError>;

fn add(connection: &Connection, run: &runs::EncodedRun) -> Result<Added, Trouble> {
    // It gets the lock, which the transaction may not have yet, without a change.
    connection.execute_batch("SAVEPOINT graphweft_start; UPDATE numbers SET number = number WHERE false")?;
    let added = create(connection, run);
    let end = if matches!(added, Ok(Ok(_))) { "" } else { "ROLLBACK TO graphweft_start; " };
    let ended = connection.execute_batch(&format!("{end}RELEASE graphweft_start"));
    let added = added?;
    ended?;
    Ok(added)
}

fn create(connection: &Connection, run: &runs::EncodedRun) -> Result<Added, Trouble> {
    let mut journals = Journals::without_moves();
    WriteTransaction::within(connection, &mut journals, |transaction| {
        let created = match runs::create(transaction, run)? {
            Ok(created) => created,
            Err(error) => return Ok(Err(error)),
        };
        let first = match &created {
            Created::Existing(header) => {
                records::read(transaction, transaction.log(), header.key, 0, 1)?.pop().map(|stored| stored.record)
            }
            _ => None,
        };
        Ok(Ok((created, first)))
    })
}
