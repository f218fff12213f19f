//! The store of one run, for the engine that drives it: what it records goes to the object of the run, through the invocation, and
//! what it reads comes from memory.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures::FutureExt;
use futures::future::{BoxFuture, pending, ready};
use graphweft::store::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, MemoryStore,
    NewRun, Owner, QuestionQuery, ReserveTask, RunHeader, RunKey, RunOverview, RunQuery, RunStatus, StartedOver, Store,
    StoreError, Stored,
};
use graphweft::{EventKind, Json};
use tokio::sync::{mpsc, oneshot};

/// What the engine has recorded.
pub(crate) enum Op {
    Create(Box<NewRun>, oneshot::Sender<RunHeader>),
    Append(Append, oneshot::Sender<Appended>),
}

/// The run of one object. Only the invocation that has made it changes it.
pub(crate) struct RunStore {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) run: MemoryStore,
    /// The run that this one is to be a fork of, until it is recorded.
    pub(crate) forked: Option<Forked>,
    pub(crate) ops: mpsc::UnboundedSender<Op>,
}

/// A run in another object, as it was read.
#[derive(Clone)]
pub(crate) struct Forked {
    pub(crate) id: String,
    pub(crate) run: MemoryStore,
    pub(crate) header: RunHeader,
}

/// The owner of a run that this invocation drives: the same for each of its attempts, of which one at a time has the run.
pub(crate) fn owner_of(invocation: &str) -> Owner {
    let mut hasher = DefaultHasher::new();
    invocation.hash(&mut hasher);
    Owner::new(hasher.finish())
}

/// The key of the run that is forked. In its own object it has the same as that of this object.
const FORKED: RunKey = RunKey::new(2);

/// Records through the invocation, until that is over.
async fn sent<T>(
    ops: mpsc::UnboundedSender<Op>,
    run: String,
    op: impl FnOnce(oneshot::Sender<T>) -> Op,
) -> Result<T, StoreError> {
    let (reply, replied) = oneshot::channel();
    let is_sent = ops.send(op(reply)).is_ok();
    match replied.await {
        Ok(done) if is_sent => Ok(done),
        _ => Err(StoreError::Other { message: format!("Restate has given run `{run}` to another attempt") }),
    }
}

fn only_itself<T: Send + 'static>(what: &str) -> BoxFuture<'static, Result<T, StoreError>> {
    ready(Err(StoreError::Other { message: only_this_run(what) })).boxed()
}

fn only_this_run(what: &str) -> String {
    format!("{what} is not possible in a run on Restate: its object holds this run only")
}

impl Store for RunStore {
    fn join(&self, _: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        ready(Ok(self.owner)).boxed()
    }

    fn leave(&self, _: Owner) -> BoxFuture<'static, ()> {
        ready(()).boxed()
    }

    fn create(&self, new: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        if new.id != self.id {
            return only_itself("starting another run");
        }
        async move {
            if let Some(header) = self.run.header(&self.id).await? {
                return Ok(Created::Existing(header));
            }
            let op = |reply| Op::Create(Box::new(new), reply);
            Ok(Created::New(sent(self.ops.clone(), self.id.clone(), op).await?))
        }
        .boxed()
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        sent(self.ops.clone(), self.id.clone(), |reply| Op::Append(batch, reply)).boxed()
    }

    fn start_over(&self, _: Append, _: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        ready(Ok(StartedOver::Refused { message: only_this_run("starting over") })).boxed()
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        match &self.forked {
            Some(forked) if run == FORKED => forked.run.read(forked.header.key, from, limit),
            _ => self.run.read(run, from, limit),
        }
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        if let Some(forked) = self.forked.as_ref().filter(|forked| forked.id == id) {
            let mut header = forked.header.clone();
            header.key = FORKED;
            return ready(Ok(Some(header))).boxed();
        }
        self.run.header(id)
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.run.list(query)
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.run.count(query)
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        self.run.overview(query)
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        self.run.open_questions(query)
    }

    fn delete(&self, _: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        only_itself("deleting a run by a node")
    }

    fn reserve_task(&self, _: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(Ok(false)).boxed()
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        async move {
            let mut claimed = Claimed::default();
            let Some(header) = self.run.header(&self.id).await? else { return Ok(claimed) };
            let is_wanted = claim.only.is_none_or(|only| only == header.key)
                && claim.workflows.contains(&header.workflow)
                && !claim.except.contains(&header.key);
            let is_mine = header.owner == Some(claim.owner);
            let is_ready = match header.status {
                RunStatus::Running => !is_mine || claim.own,
                status => {
                    let is_due = |wake| wake <= claim.now || header.updated > claim.now;
                    status.is_suspended() && header.wake_at.is_some_and(is_due)
                }
            };
            if !(is_wanted && is_ready) {
                claimed.next_wake = header.wake_at.filter(|_| is_wanted);
                return Ok(claimed);
            }
            // The attempt before has come no further.
            let last = self.run.read(header.key, header.records.saturating_sub(1), 1).await?.pop();
            let time = claim.resumed_at(last.as_ref().map(|last| last.time));
            let last = last.map(|last| last.record.kind);
            if is_mine && matches!(last, Some(EventKind::RunResumed { owner, .. }) if owner == claim.owner.get()) {
                claimed.runs.push(header);
                return Ok(claimed);
            }
            let records = vec![claim.record(&header.workflow)];
            let mut batch = Append::new(header.key, header.records, time, records);
            batch.header = claim.change();
            // If another record came first, it is claimed with the next look.
            if self.append(batch).await? == Appended::Done {
                claimed.runs.extend(self.run.header(&self.id).await?);
            }
            Ok(claimed)
        }
        .boxed()
    }

    fn is_alive(&self, _: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        // Owners of before have lost the run by this invocation.
        ready(Ok(false)).boxed()
    }

    fn is_served(&self, _: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(Ok(true)).boxed()
    }

    fn changed(&self) -> Option<BoxFuture<'static, ()>> {
        Some(pending().boxed())
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.run.feed(query)
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        self.run.feed_end()
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Json>, StoreError>> {
        match &self.forked {
            Some(forked) => forked.run.graph(hash),
            None => self.run.graph(hash),
        }
    }
}
