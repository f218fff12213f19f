//! The commit that ends a run and begins the one that follows it.

use futures_util::FutureExt;
use futures_util::future::Either;

use super::desk::Desk;
use super::transaction::OpenTransaction;
use crate::event::EventKind;
use crate::fault::{Cause, Failure, Fault};
use crate::store::{
    Append, Appended, CommitOutcome, NewRun, Record, RunHeader, RunStatus, StartedOver, Store, StoreError,
};

/// How many bytes the id of a run may have.
pub const MAX_ID: usize = 1024;

/// How a run ended that was to start over.
#[derive(Clone, Debug)]
pub(crate) enum Over {
    /// The next run has begun, with these records.
    Begun(Box<RunHeader>, Vec<Record>),
    /// The next run could not have its id.
    Failed(Failure),
    /// The cancellation came first.
    Cancelled,
}

/// The last record of a batch says that the run has started over, and this run begins with it.
pub(super) struct Succession {
    /// The next run, without the signals that go over to it.
    next: Box<NewRun>,
}

/// The result of a commit.
pub(super) enum Committed {
    Done(Option<Box<Over>>),
    Conflict,
    /// The transaction of the step is undone, for this reason, and nothing is recorded.
    Undone(String),
    /// The next run cannot have its id.
    Refused(String),
}

impl From<Appended> for Committed {
    fn from(appended: Appended) -> Self {
        match appended {
            Appended::Done => Committed::Done(None),
            Appended::Conflict => Committed::Conflict,
        }
    }
}

impl From<CommitOutcome> for Committed {
    fn from(outcome: CommitOutcome) -> Self {
        match outcome {
            CommitOutcome::Done => Committed::Done(None),
            CommitOutcome::Conflict => Committed::Conflict,
            CommitOutcome::Undone(why) => Committed::Undone(why),
        }
    }
}

/// Appends a batch, in the transaction in which a step has written if there is one, and begins the next run where there is one.
///
/// Not async, so that the future does not have room for the batch: it is in that of the store.
pub(super) fn commit<'s>(
    store: &'s dyn Store,
    transaction: Option<&OpenTransaction>,
    batch: Append,
    next: Option<Box<NewRun>>,
) -> impl Future<Output = Result<Committed, StoreError>> + Send + use<'s> {
    match (next, transaction) {
        (None, None) => Either::Left(store.append(batch).map(|appended| appended.map(Committed::from))),
        (Some(next), _) => Either::Right(start_over(store, batch, next).boxed()),
        (None, Some(open)) => Either::Right(open.append(batch).map(|outcome| outcome.map(Committed::from)).boxed()),
    }
}

async fn start_over(store: &dyn Store, batch: Append, next: Box<NewRun>) -> Result<Committed, StoreError> {
    let (id, records) = (next.id.clone(), next.records.clone());
    Ok(match store.start_over(batch, *next).await? {
        StartedOver::Done(header) => Committed::Done(Some(Box::new(Over::Begun(header, records)))),
        StartedOver::Conflict => Committed::Conflict,
        StartedOver::Refused { message } => Committed::Refused(message),
        StartedOver::Existing => Committed::Refused(format!(
            "the next run would have the id `{id}`, which another run has; delete that run or wait until it is deleted, \
             and retry this one"
        )),
        StartedOver::Deleted { .. } => Committed::Refused(format!(
            "the next run would have the id `{id}`, and a run with this id was deleted, which is kept for some time; retry \
             this run when it is free"
        )),
    })
}

impl Succession {
    pub(super) fn of(next: Box<NewRun>) -> Self {
        Succession { next }
    }

    /// The next run, with all signals that no node has taken when this batch is appended, and the ids of those before.
    pub(super) fn next_run(&self, desk: &Desk, batch: &Append) -> Box<NewRun> {
        let mut next = self.next.clone();
        next.time = batch.time;
        let signals = desk.signals_of_next(batch.records.plain(), batch.at);
        next.records.extend(signals.into_iter().map(|kind| Record { path: next.workflow.clone(), kind }));
        next
    }

    /// The run fails in the place of starting over.
    pub(super) fn fail(self, batch: &mut Append, why: &str) -> Over {
        let message = format!("the run cannot start over: {why}");
        let failure = Failure::at(self.next.workflow.clone(), 1, Cause::from(Fault::Context { message }));
        let kind = EventKind::RunFailed { failure: failure.clone() };
        self.ends(batch, kind, RunStatus::Failed);
        Over::Failed(failure)
    }

    /// The run is cancelled in the place of starting over. Nothing of it is under way.
    pub(super) fn cancel(self, batch: &mut Append) -> Over {
        self.ends(batch, EventKind::RunCancelled, RunStatus::Cancelled);
        Over::Cancelled
    }

    /// Replaces the last record of a batch.
    fn ends(&self, batch: &mut Append, kind: EventKind, status: RunStatus) {
        let mut records = std::mem::take(&mut batch.records).into_vec();
        records.pop();
        records.push(Record { path: self.next.workflow.clone(), kind });
        batch.records = records.into();
        batch.header.status = Some((status, None));
        batch.header.next = None;
    }
}
