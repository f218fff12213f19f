//! The store of a simulated run: what is written outlives every process, and a process that is to die does so at a
//! commit.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Waker, Poll, Wake};

use futures::FutureExt;
use futures::future::{BoxFuture, pending, ready};
use serde_json::Value as Json;
use tokio::sync::Notify;

use super::follow::Follower;
use super::forks::{self, Original};
use super::scenario::{How, StoreFault};
use crate::store::{
    Append, Appended, Claim, Claimed, Created, NewRun, Owner, RunHeader, RunKey, RunQuery, Store, StoreError, Stored,
};

/// What a crash leaves: the store itself, and all that was ever written to it.
#[derive(Clone)]
pub(super) struct Disk(Arc<Shared>);

struct Shared {
    store: Box<dyn Store>,
    /// Tokio's, and so of no meaning to the store.
    commit_takes: u64,
    died: Notify,
    state: Mutex<State>,
}

struct State {
    /// The process that may use it now.
    process: u32,
    owners: Vec<Owner>,
    /// How many commits this process has asked for, and how many all have.
    commits: u64,
    all_commits: u64,
    fault: Option<StoreFault>,
    fails: Option<How>,
    /// The run that is played now, and those that it comes from by forks.
    run: Option<RunKey>,
    originals: Vec<Original>,
    records: Vec<Stored>,
    /// What they come to.
    follower: Follower,
    /// Whether the last commit says that the run waits.
    rests: bool,
    /// What a record has broken first.
    broken: Option<String>,
}

impl State {
    fn new(follower: Follower) -> State {
        State {
            process: 0,
            owners: Vec::new(),
            commits: 0,
            all_commits: 0,
            fault: None,
            fails: None,
            run: None,
            originals: Vec::new(),
            records: Vec::new(),
            follower,
            rests: false,
            broken: None,
        }
    }

    /// Takes a record that the run's journal has got.
    fn take(&mut self, stored: Stored) {
        let followed = self.follower.follow(&stored);
        self.records.push(stored);
        self.breaks(followed);
    }

    /// The run that the records are of from here on.
    fn plays(&mut self, store: &dyn Store, header: &RunHeader) {
        if let Some(before) = self.run.replace(header.key).filter(|before| *before != header.key) {
            let follower = self.follower.of_fork(header.forked_from.as_ref().map(|(_, at)| *at));
            let follower = std::mem::replace(&mut self.follower, follower);
            let records = std::mem::take(&mut self.records);
            let id = forks::id(self.originals.len());
            let original = Original::new(store, before, &id, records, follower.events());
            let held = original.is_forked_as(store, header);
            self.originals.push(original);
            self.breaks(held);
        }
    }

    fn breaks(&mut self, held: Result<(), String>) {
        if let Err(broken) = held {
            self.broken.get_or_insert(broken);
        }
    }
}

/// What comes of a commit.
enum Fate {
    Done,
    /// Carried out or not, nobody is told.
    Dies {
        carried_out: bool,
    },
    Fails {
        how: How,
        carried_out: bool,
    },
}

impl Disk {
    pub(super) fn new(store: impl Store, commit_takes: u64, follower: Follower) -> Disk {
        let state = Mutex::new(State::new(follower));
        Disk(Arc::new(Shared { store: Box::new(store), commit_takes, died: Notify::new(), state }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store as the next process has it. The one before is dead, and known to be.
    pub(super) fn boot(&self, fault: Option<StoreFault>) -> Process {
        let mut state = self.state();
        state.process += 1;
        state.commits = 0;
        state.fault = fault;
        state.fails = None;
        for owner in std::mem::take(&mut state.owners) {
            drop(self.0.store.leave(owner));
        }
        Process { disk: self.clone(), number: state.process }
    }

    /// Until the process is to die.
    pub(super) async fn died(&self) {
        self.0.died.notified().await;
    }

    /// What was wrong with it is put right.
    pub(super) fn mend(&self) {
        self.state().fails = None;
    }

    pub(super) fn is_failing(&self) -> bool {
        self.state().fails.is_some()
    }

    pub(super) fn all_commits(&self) -> u64 {
        self.state().all_commits
    }

    pub(super) fn header(&self, id: &str) -> Option<RunHeader> {
        at_once(self.0.store.header(id)).ok().flatten()
    }

    /// The runs that the one that is played now comes from by forks, the first one first.
    pub(super) fn originals(&self) -> Vec<Original> {
        self.state().originals.clone()
    }

    pub(super) fn forks(&self) -> usize {
        self.state().originals.len()
    }

    /// The runs that were forked are as they were.
    ///
    /// # Errors
    /// What has changed.
    pub(super) fn originals_are_untouched(&self) -> Result<(), String> {
        self.state().originals.iter().try_for_each(|original| original.is_untouched(&*self.0.store))
    }

    /// What is on record of the run.
    pub(super) fn with_records<T>(&self, look: impl FnOnce(&[Stored]) -> T) -> T {
        look(&self.state().records)
    }

    /// Takes note of what the run's journal has got.
    fn refresh(&self) {
        let mut state = self.state();
        let Some(run) = state.run else { return };
        let from = state.records.len() as u64;
        let more = at_once(self.0.store.read(run, from, usize::MAX)).expect("the store itself is sound");
        for stored in more {
            state.take(stored);
        }
        let commits = state.follower.commits();
        state.breaks(commits);
        if std::mem::take(&mut state.rests) {
            let rests = state.follower.rests();
            state.breaks(rests);
        }
    }

    /// What the records come to.
    pub(super) fn with_follower<T>(&self, look: impl FnOnce(&Follower) -> T) -> T {
        look(&self.state().follower)
    }

    /// What is on record breaks what is promised.
    pub(super) fn broken(&self) -> Option<String> {
        self.state().broken.clone()
    }
}

/// The store as one process has it.
#[derive(Clone)]
pub(super) struct Process {
    disk: Disk,
    number: u32,
}

impl Process {
    fn is_dead(&self) -> bool {
        let state = self.disk.state();
        state.process != self.number || matches!(state.fails, Some(How::Dies))
    }

    /// What is to come of the next commit.
    fn fate(&self) -> Fate {
        let mut state = self.disk.state();
        if let Some(how) = state.fails {
            return Fate::Fails { how, carried_out: false };
        }
        let at = state.commits;
        state.commits += 1;
        state.all_commits += 1;
        match state.fault.filter(|fault| fault.at == at) {
            None => Fate::Done,
            Some(StoreFault { how: How::Dies, carried_out, .. }) => {
                state.fails = Some(How::Dies);
                Fate::Dies { carried_out }
            }
            Some(StoreFault { how, carried_out, .. }) => {
                if how != How::Busy {
                    state.fails = Some(how);
                }
                Fate::Fails { how, carried_out }
            }
        }
    }

    fn commit<T: Send + 'static>(
        &self,
        carry_out: impl FnOnce(&dyn Store) -> BoxFuture<'_, Result<T, StoreError>>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        let fate = self.fate();
        let carries_out = match fate {
            Fate::Done => true,
            Fate::Dies { carried_out } | Fate::Fails { carried_out, .. } => carried_out,
        };
        let done = carries_out.then(|| at_once(carry_out(&*self.disk.0.store)));
        self.disk.refresh();
        let takes = std::time::Duration::from_millis(self.disk.0.commit_takes);
        match (fate, done) {
            (Fate::Done, Some(done)) if takes.is_zero() => ready(done).boxed(),
            (Fate::Done, Some(done)) => tokio::time::sleep(takes).map(|()| done).boxed(),
            (Fate::Fails { how, .. }, _) => ready(Err(error(how))).boxed(),
            _ => {
                self.disk.0.died.notify_one();
                pending().boxed()
            }
        }
    }

    fn look<T: Send + 'static>(
        &self,
        carry_out: impl FnOnce(&dyn Store) -> BoxFuture<'_, Result<T, StoreError>>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        if let Some(how) = self.disk.state().fails {
            return ready(Err(error(how))).boxed();
        }
        ready(at_once(carry_out(&*self.disk.0.store))).boxed()
    }
}

pub(super) fn error(how: How) -> StoreError {
    let (path, message) = (PathBuf::from("runs.db"), "on purpose".to_owned());
    match how {
        How::Full => StoreError::Full { path, message },
        How::Busy => StoreError::Busy { path, message },
        How::Io | How::Dies => StoreError::Io { path, message },
    }
}

impl Store for Process {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        let joined = self.look(|store| store.join(workflows));
        async move {
            let owner = joined.await?;
            self.disk.state().owners.push(owner);
            Ok(owner)
        }
        .boxed()
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        if self.is_dead() { std::future::ready(()).boxed() } else { self.disk.0.store.leave(owner) }
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.commit(|store| {
            let created = at_once(store.create(run));
            if let Ok(Created::New(header) | Created::Existing(header)) = &created {
                self.disk.state().plays(store, header);
            }
            ready(created).boxed()
        })
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let rests = batch.header.status.is_some_and(|(status, _)| status.is_suspended());
        self.commit(|store| {
            let appended = at_once(store.append(batch));
            self.disk.state().rests = rests && appended == Ok(Appended::Done);
            ready(appended).boxed()
        })
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.look(|store| store.read(run, from, limit))
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        self.look(|store| store.header(id))
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.look(|store| store.list(query))
    }

    /// A commit where it is meant to take runs over; whoever only looks every now and then would never let it rest.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        if claim.own {
            return self.commit(|store| store.claim(claim));
        }
        let claimed = self.look(|store| store.claim(claim));
        self.disk.refresh();
        claimed
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.look(|store| store.is_alive(owner))
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.look(|store| store.is_served(workflow))
    }

    fn is_shared(&self) -> bool {
        self.disk.0.store.is_shared()
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Json>, StoreError>> {
        self.look(|store| store.graph(hash))
    }
}

/// Waits on this thread, so that no other task and no clock goes on meanwhile.
pub(super) fn at_once<T>(mut future: BoxFuture<'_, T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    loop {
        match future.poll_unpin(&mut Waker::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}
