//! One attempt at a node: the state that its [`Context`](crate::Context) and its driver share.

mod at;
mod beat;
mod child_writes;
mod own_task;
#[cfg(feature = "test-util")]
mod without_workflow;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::Poll;
use std::time::Duration;

pub(crate) use at::{At, Bodies};
pub(crate) use beat::Beat;
use graphweft_graph::state_proof::{StateFacts, StateKeyFact, Zero};
pub(crate) use own_task::OwnTask;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
#[cfg(feature = "test-util")]
pub(crate) use without_workflow::{ReservedSignal, WithoutWorkflow};

use crate::core::{NextRun, Place, Stand, Writes, escaped};
use crate::draft::{Draft, Part, SharedDraft};
use crate::fault::Fault;
use crate::requests::{Asker, Requests};
use crate::shared::{Shared, WaitingAttempts};
use crate::trace::Work;

/// How many bytes the name and the key of a request may have together. They are part of its path, which is in each of its
/// records.
pub(crate) const MAX_NAME: usize = 1024;

/// The same for the name of a signal with the key of a wait for it.
const MAX_WAIT: usize = 2 * MAX_NAME + 1;

pub(crate) struct Attempt {
    pub(crate) run: Arc<Shared>,
    /// The place where it began.
    at: At,
    gone_on: GoneOn,
    /// The bodies of the graph that its node is in; `None` for a child.
    bodies: Option<Arc<dyn Bodies>>,
    pub(crate) number: u32,
    /// Whether it may not run again.
    pub(crate) once_only: bool,
    /// The run's state when the attempt began.
    pub(crate) state: Arc<Map<String, Value>>,
    /// The private state of a collecting node so far.
    pub(crate) local: Option<Arc<Map<String, Value>>>,
    /// Made at its first use. A node that has never used it gets no grace period when it is cancelled.
    token: OnceLock<CancellationToken>,
    pub(crate) draft: SharedDraft,
    /// Made by the first request, or when the context is cloned.
    pub(crate) requests: OnceLock<Arc<Requests>>,
    /// The task that polls it, if it has one of its own.
    pub(crate) own_task: OwnTask,
    /// Counts the waiting attempts of its driver, if the number of attempts is limited.
    pub(crate) waiting: Option<Arc<WaitingAttempts>>,
    /// How many timers it has requested.
    timers: AtomicU32,
    /// The nodes of `[..]` around the child workflow that its node is in.
    pub(crate) items_around_graph: Option<Arc<[String]>>,
    /// For a child: the attempt that called it.
    parent: Option<Arc<Attempt>>,
    /// For a child: the state keys that it declares.
    child_facts: Option<Box<StateFacts>>,
    /// What its spans are about, if anything wants them.
    pub(crate) work: OnceLock<Arc<Work>>,
}

/// The present place of a reused attempt, relative to the place where it began: a node of the same graph, in another
/// turn of the innermost loop, or the same node in another item.
struct GoneOn {
    node: AtomicU32,
    /// 0 for the turn in which it began.
    turn: AtomicU64,
    /// [`SAME_ITEM`] for the item in which it began, if that is one.
    item: AtomicUsize,
}

const SAME_ITEM: usize = usize::MAX;

/// The reference to an attempt that its context had, beside that of its driver.
#[derive(Debug)]
pub struct Holder(Arc<Attempt>);

impl Holder {
    pub(crate) fn of(attempt: Arc<Attempt>) -> Self {
        Holder(attempt)
    }

    pub(crate) fn into_attempt(self) -> Arc<Attempt> {
        self.0
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attempt({})", self.place())
    }
}

impl Attempt {
    pub(crate) fn new(
        run: Arc<Shared>,
        at: At,
        number: u32,
        state: Arc<Map<String, Value>>,
        local: Option<Arc<Map<String, Value>>>,
    ) -> Self {
        let gone_on =
            GoneOn { node: AtomicU32::new(at.node()), turn: AtomicU64::new(0), item: AtomicUsize::new(SAME_ITEM) };
        Attempt {
            run,
            at,
            gone_on,
            bodies: None,
            number,
            once_only: false,
            state,
            local,
            token: OnceLock::new(),
            draft: SharedDraft::default(),
            requests: OnceLock::new(),
            own_task: OwnTask::default(),
            waiting: None,
            timers: AtomicU32::new(0),
            items_around_graph: None,
            parent: None,
            child_facts: None,
            work: OnceLock::new(),
        }
    }

    /// An attempt at a child, that sees the state as its parent does now.
    pub(crate) fn child(
        parent: &Arc<Attempt>,
        path: &str,
        number: u32,
        once_only: bool,
        state: Arc<Map<String, Value>>,
        facts: StateFacts,
    ) -> Self {
        let attempt = Attempt::new(Arc::clone(&parent.run), At::Child(path.into()), number, state, None);
        let child_facts = (facts != StateFacts::NONE).then(|| Box::new(facts));
        Attempt { once_only, parent: Some(Arc::clone(parent)), child_facts, ..attempt }
    }

    /// An attempt at a node of a run that another engine drives.
    pub(crate) fn elsewhere<B: Bodies + 'static>(
        run: Arc<Shared>,
        path: &str,
        (bodies, node): (&Arc<B>, u32),
        number: u32,
        state: Map<String, Value>,
    ) -> Self {
        let mut attempt = Attempt::new(run, At::Child(path.into()), number, Arc::new(state), None);
        attempt.set_bodies(bodies);
        attempt.go_on(node, None);
        attempt
    }

    /// The time limit of its node.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.bodies.as_ref()?.time_limit(self.gone_on.node.load(Ordering::Relaxed))
    }

    /// Whether its node declares that it writes a key of the state.
    pub(crate) fn declares(&self, key: &str) -> bool {
        #[cfg(feature = "test-util")]
        if self.is_without_workflow() {
            return true;
        }
        match (&self.parent, &self.bodies) {
            (Some(_), _) => self.child_facts.as_ref().is_some_and(|facts| facts.may_be_written(key)),
            (None, Some(bodies)) => bodies.declares(self.gone_on.node.load(Ordering::Relaxed), key),
            (None, None) => false,
        }
    }

    /// The value of a state key before it is written. For a key that a child does not declare, that of its parent.
    pub(crate) fn zero(&self, key: &str) -> Option<Zero> {
        let own = self.child_facts.as_ref().and_then(|facts| facts.zero(key));
        own.or_else(|| match (&self.parent, &self.bodies) {
            (Some(parent), _) => parent.zero(key),
            (None, Some(bodies)) => bodies.zero(key),
            (None, None) => None,
        })
    }

    /// Checks that a completed attempt has written every key that it declares by `#[writes(..)]`. A node that
    /// `collects` may have written it at another arrival.
    pub(crate) fn has_written(&self, keys: &[StateKeyFact], collects: bool) -> Result<(), Fault> {
        let draft = self.draft();
        // Then the attempt has another fault already.
        if draft.broken.is_some() {
            return Ok(());
        }
        let is_written = |key: &str| {
            draft.writes(Part::Shared).iter().any(|write| write.key == key) || collects && self.state.contains_key(key)
        };
        match keys.iter().find(|key| !is_written(key.name)) {
            Some(key) => Err(Fault::StateNotWritten { node: self.path().into(), key: key.name.into() }),
            None => Ok(()),
        }
    }

    /// The path of a request of the node.
    ///
    /// # Errors
    /// If the name is empty: an answer, a log or a retry could not name the request. If the name and the key are longer
    /// than [`MAX_NAME`].
    pub(crate) fn path_of(&self, name: &str, key: Option<&str>) -> Result<String, Fault> {
        self.path_below(&self.path(), name, key)
    }

    /// The same for a request within the step of this path.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn path_below(&self, around: &str, name: &str, key: Option<&str>) -> Result<String, Fault> {
        if name.is_empty() {
            let message = format!(
                "`{}` gives a question, a step or a child an empty name; name it, as in `ctx.ask(\"approve\", ..)`",
                self.path()
            );
            return Err(Fault::Context { message });
        }
        let length = name.len() + key.map_or(0, str::len);
        if length > MAX_NAME {
            let message = format!(
                "`{}` gives a question, a step or a child a name and a key of {length} bytes together, and {MAX_NAME} are \
                 allowed: take a hash of a long key",
                self.path()
            );
            return Err(Fault::Context { message });
        }
        Ok(joined(around, name, key))
    }

    /// The path of a wait for a signal, or of the timer of a question or a wait, whose key is made of a name and a key of
    /// the node.
    ///
    /// # Errors
    /// If they are too long.
    pub(crate) fn path_of_wait(&self, name: &'static str, key: &str) -> Result<String, Fault> {
        if key.len() > MAX_WAIT {
            let (node, length) = (self.path(), key.len());
            let message = format!("`{node}` gives a wait a key of {length} bytes, and about {MAX_NAME} are allowed");
            return Err(Fault::Context { message });
        }
        Ok(joined(&self.path(), name, Some(key)))
    }

    /// Reuses a finished attempt without other references as the next one of the same run.
    pub(crate) fn renew(
        &mut self,
        place: Place,
        number: u32,
        state: &Arc<Map<String, Value>>,
        local: Option<Arc<Map<String, Value>>>,
    ) {
        *self.gone_on.node.get_mut() = place.node;
        *self.gone_on.turn.get_mut() = 0;
        *self.gone_on.item.get_mut() = SAME_ITEM;
        self.at = At::Node(place);
        self.number = number;
        self.once_only = false;
        if !Arc::ptr_eq(&self.state, state) {
            self.state = Arc::clone(state);
        }
        self.local = local;
        if self.token.get().is_some() {
            self.token = OnceLock::new();
        }
        self.draft = SharedDraft::default();
        if self.requests.get().is_some() {
            self.requests = OnceLock::new();
        }
        if self.work.get().is_some() {
            self.work = OnceLock::new();
        }
        *self.timers.get_mut() = 0;
        self.own_task = OwnTask::default();
    }

    /// Whether its node has left no state that the next one would see.
    pub(crate) fn is_unused(&mut self) -> bool {
        self.draft.is_unused() && self.requests.get().is_none() && self.token.get().is_none() && self.local.is_none()
    }

    /// Whether it can be reused by [`go_on`](Self::go_on): it is a first attempt, its node has left no state that the
    /// next one would see, and only its driver, with so many references, and its one context refer to it.
    #[inline]
    pub(crate) fn may_go_on(self: &Arc<Self>, driver: usize) -> bool {
        let is_shared = Arc::strong_count(self) > driver + 1;
        // Makes writes by former holders of a reference visible.
        fence(Ordering::Acquire);
        let is_unused = !self.draft.was_locked() && self.requests.get().is_none() && self.token.get().is_none();
        !is_shared && is_unused && self.local.is_none() && self.number == 1 && !self.once_only
    }

    /// Reuses it as the first attempt at another node of the same graph, if it [may](Self::may_go_on). `turn`: the turn
    /// of the innermost loop, if that changes.
    #[inline]
    pub(crate) fn go_on(&self, node: u32, turn: Option<u64>) {
        self.gone_on.node.store(node, Ordering::Relaxed);
        if let Some(turn) = turn {
            self.gone_on.turn.store(turn, Ordering::Relaxed);
        }
        self.timers.store(0, Ordering::Relaxed);
    }

    /// Reuses it as the first attempt at the same node in another item, if it [may](Self::may_go_on).
    #[inline]
    pub(crate) fn go_on_to_item(&self, item: usize) {
        self.gone_on.item.store(item, Ordering::Relaxed);
        self.timers.store(0, Ordering::Relaxed);
    }

    /// Whether its node has written to the state, has made a request, or has to fail.
    pub(crate) fn has_left_something(&self) -> bool {
        self.requests.get().is_some() || (self.draft.was_locked() && !self.draft().is_unused())
    }

    /// Resets it, which must be [unused](Self::is_unused), to a first attempt of an ordinary node. `state`: the state
    /// that it sees, if that has changed.
    pub(crate) fn start_anew(&mut self, state: Option<Arc<Map<String, Value>>>) {
        self.number = 1;
        self.once_only = false;
        self.draft = SharedDraft::default();
        if let Some(state) = state {
            self.state = state;
        }
    }

    /// Gives it the bodies of its graph.
    pub(crate) fn set_bodies<B: Bodies + 'static>(&mut self, bodies: &Arc<B>) {
        let is_known =
            self.bodies.as_ref().is_some_and(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(bodies)));
        if !is_known {
            self.bodies = Some(Arc::<B>::clone(bodies));
        }
    }

    /// The body of its node, if that has this type.
    #[inline]
    pub(crate) fn body<B: 'static>(&self) -> Option<&B> {
        self.bodies.as_ref()?.body(self.gone_on.node.load(Ordering::Relaxed))?.downcast_ref()
    }

    /// Its place.
    pub(crate) fn place(&self) -> At {
        let Some(origin) = self.origin() else { return self.at.clone() };
        At::Node(origin.moved_to(self.stand()))
    }

    /// Where it began, in its present item; `None` for a child.
    pub(crate) fn origin(&self) -> Option<Place> {
        let At::Node(place) = &self.at else { return None };
        let scope = match self.gone_on.item.load(Ordering::Relaxed) {
            SAME_ITEM => Arc::clone(&place.scope),
            item => Arc::new(place.scope.with_item(item)),
        };
        Some(Place { scope, node: place.node, turns: place.turns.clone() })
    }

    /// Where it is now.
    pub(crate) fn stand(&self) -> Stand {
        Stand { node: self.gone_on.node.load(Ordering::Relaxed), turn: self.gone_on.turn.load(Ordering::Relaxed) }
    }

    /// The graph that its node is in, by its place in the program; `None` for a child.
    pub(crate) fn layout(&self) -> Option<usize> {
        match &self.at {
            At::Node(place) => Some(place.scope.layout.index),
            At::Child(_) => None,
        }
    }

    /// The number of the next timer, from 1.
    pub(crate) fn next_timer(&self) -> u32 {
        self.timers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock()
    }

    /// The paths of the nodes of `[..]` around it. Paths of what is in their items do not show them.
    pub(crate) fn items_around(&self) -> Vec<String> {
        let mut around = match (&self.at, &self.parent) {
            (At::Node(place), _) => place.items_around(),
            (At::Child(_), Some(parent)) => return parent.items_around(),
            (At::Child(_), None) => Vec::new(),
        };
        around.extend(self.items_around_graph.iter().flat_map(|of_graph| of_graph.iter().cloned()));
        around
    }

    /// Takes its writes, or the fault of an impossible one.
    pub(crate) fn take_writes(&self) -> Result<Writes, Fault> {
        let mut draft = self.draft();
        match draft.broken.take() {
            Some(fault) => Err(fault),
            None => Ok(Writes(draft.writes.take())),
        }
    }

    /// Its driver has noticed its end, or will not.
    pub(crate) fn end_noticed(&self) {
        if let Some(work) = self.work.get() {
            work.forget_outer();
        }
    }

    /// Whether its node has called `ctx.no_retry()`.
    pub(crate) fn is_last(&self) -> bool {
        self.draft.was_locked() && self.draft().is_last
    }

    /// The run that follows this one, if its node has started over.
    pub(crate) fn take_next_run(&self) -> Option<Box<NextRun>> {
        if self.draft.was_locked() { self.draft().next_run.take() } else { None }
    }

    /// The attempt at the node of the graph that it belongs to, by its callers.
    pub(crate) fn outermost(self: &Arc<Self>) -> &Arc<Attempt> {
        let mut at = self;
        while let Some(parent) = &at.parent {
            at = parent;
        }
        at
    }

    /// Whether its node is in the graph of the run itself, and not in that of a child.
    pub(crate) fn is_of_run(&self) -> bool {
        matches!(&self.at, At::Node(place) if place.scope.is_of_run())
    }

    /// Its path.
    pub(crate) fn path(&self) -> String {
        match self.place() {
            At::Node(place) => place.path(),
            At::Child(path) => String::from(&*path),
        }
    }

    /// Whether its node listens for its cancellation.
    pub(crate) fn listens(&self) -> bool {
        self.token.get().is_some()
    }

    pub(crate) fn cancel(&self) {
        self.token().cancel();
        if let Some(requests) = self.requests.get() {
            requests.waker.wake_body();
        }
    }

    /// Resolves when it is cancelled.
    pub(crate) async fn cancelled(&self) {
        let token = self.token();
        let mut cancelled = pin!(token.cancelled());
        poll_fn(|waker| {
            // Its driver wakes the body, so that its run may be unloaded meanwhile. A child is cancelled by its
            // parent's token.
            let is_body = self.requests.get().is_some_and(|requests| requests.is_own(waker.waker()));
            match token.is_cancelled() {
                true => Poll::Ready(()),
                false if is_body && self.parent.is_none() => Poll::Pending,
                false => cancelled.as_mut().poll(waker),
            }
        })
        .await;
    }

    /// The token of its cancellation. For a child, its parent counts as listening as well.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.token.get_or_init(|| match &self.parent {
            Some(parent) => parent.token().child_token(),
            None => CancellationToken::new(),
        })
    }

    pub(crate) fn requests(&self) -> &Arc<Requests> {
        self.requests.get_or_init(|| Arc::new(Requests::new(&self.run, self.waiting.clone())))
    }

    /// Whether it and its children only wait for answers and timers. `is_still`: whether nothing of the whole run
    /// moves.
    pub(crate) fn only_waits(&self, is_still: bool) -> bool {
        let waits = self.requests.get().is_some_and(|requests| requests.only_waits());
        waits && (is_still || self.run.known_desk().is_none_or(|desk| desk.only_waits_below(&self.path())))
    }

    /// Whether it was cancelled. Does not count as listening.
    pub(crate) fn is_stopped(&self) -> bool {
        match (self.token.get(), &self.parent) {
            (Some(token), _) => token.is_cancelled(),
            (None, Some(parent)) => parent.is_stopped(),
            (None, None) => false,
        }
    }
}

impl Asker for Attempt {
    fn requests(&self) -> &Arc<Requests> {
        self.requests()
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped()
    }

    fn forget_finished(&self, child: &str) {
        self.forget_finished(child);
    }
}

fn joined(around: &str, name: &str, key: Option<&str>) -> String {
    let (name, key) = (escaped(name), key.map(escaped));
    let mut path = String::with_capacity(around.len() + 2 + name.len() + key.as_ref().map_or(0, |key| key.len()));
    path.push_str(around);
    path.push('/');
    path.push_str(&name);
    if let Some(key) = key {
        path.push(':');
        path.push_str(&key);
    }
    path
}
