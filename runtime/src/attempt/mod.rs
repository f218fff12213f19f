//! One attempt at a node: what its [`Context`](crate::Context) and its driver have between them.

mod at;
mod beat;
mod child_writes;
mod own_task;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::Poll;

pub(crate) use at::{At, Bodies};
pub(crate) use beat::Beat;
use graphweft_graph::state_proof::{StateFacts, StateKeyFact, Zero};
pub(crate) use own_task::OwnTask;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::core::{Place, Writes, escaped};
use crate::draft::{Draft, Part, SharedDraft};
use crate::fault::Fault;
use crate::requests::{Asker, Requests};
use crate::shared::{Shared, WaitingAttempts};

pub(crate) struct Attempt {
    pub(crate) run: Arc<Shared>,
    /// Where it began.
    at: At,
    gone_on: GoneOn,
    /// Of the graph that its node is in; `None` for a child.
    bodies: Option<Arc<dyn Bodies>>,
    pub(crate) number: u32,
    /// Whether it may not run again.
    pub(crate) once_only: bool,
    /// The run's state when the attempt began.
    pub(crate) state: Arc<Map<String, Value>>,
    /// What a collecting node has kept for itself so far.
    pub(crate) local: Option<Arc<Map<String, Value>>>,
    /// Made by whoever asks for it first. A node that never asked is not given time when it is cancelled.
    token: OnceLock<CancellationToken>,
    pub(crate) draft: SharedDraft,
    /// Made by the first request, or when the context is cloned.
    pub(crate) requests: OnceLock<Arc<Requests>>,
    /// The task that polls it, where it has one of its own.
    pub(crate) own_task: OwnTask,
    /// Counts the attempts of its driver that wait, where the number of attempts is limited.
    pub(crate) waiting: Option<Arc<WaitingAttempts>>,
    /// How often it has asked for a timer.
    timers: AtomicU32,
    /// For a child: whose it is.
    parent: Option<Arc<Attempt>>,
    /// For a child: what it declares of the state.
    child_facts: Option<Box<StateFacts>>,
}

/// Where an attempt has gone on to from where it began: a node of the same graph, in another turn of the innermost loop, or
/// the same node in another item.
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
            parent: None,
            child_facts: None,
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

    /// Whether its node declares that it writes a key of the state.
    pub(crate) fn declares(&self, key: &str) -> bool {
        match (&self.parent, &self.bodies) {
            (Some(_), _) => self.child_facts.as_ref().is_some_and(|facts| facts.may_be_written(key)),
            (None, Some(bodies)) => bodies.declares(self.gone_on.node.load(Ordering::Relaxed), key),
            (None, None) => false,
        }
    }

    /// What a key of the state holds before anything is written to it. A child does not know more than who calls it.
    pub(crate) fn zero(&self, key: &str) -> Option<Zero> {
        let own = self.child_facts.as_ref().and_then(|facts| facts.zero(key));
        own.or_else(|| match (&self.parent, &self.bodies) {
            (Some(parent), _) => parent.zero(key),
            (None, Some(bodies)) => bodies.zero(key),
            (None, None) => None,
        })
    }

    /// A fault if it is done and has left out a key that it declares to write. One that `collects` may have written it when
    /// another value arrived.
    pub(crate) fn has_written(&self, keys: &[StateKeyFact], collects: bool) -> Result<(), Fault> {
        let draft = self.draft();
        // That is another fault.
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

    /// The path of something that the node asks its context for.
    ///
    /// # Errors
    /// Without a name: nobody could name it in an answer, a log or a retry.
    pub(crate) fn path_of(&self, name: &str, key: Option<&str>) -> Result<String, Fault> {
        if name.is_empty() {
            let message = format!(
                "`{}` gives a question, a step or a child an empty name; name it, as in `ctx.ask(\"approve\", ..)`",
                self.path()
            );
            return Err(Fault::Context { message });
        }
        let (name, key) = (escaped(name), key.map(escaped));
        let mut path = self.path();
        path.reserve(2 + name.len() + key.as_ref().map_or(0, |key| key.len()));
        path.push('/');
        path.push_str(&name);
        if let Some(key) = key {
            path.push(':');
            path.push_str(&key);
        }
        Ok(path)
    }

    /// Makes a finished attempt that nobody holds any more the next one of the same run.
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
        *self.timers.get_mut() = 0;
        self.own_task = OwnTask::default();
    }

    /// Whether its node has done nothing that another would notice.
    pub(crate) fn is_unused(&mut self) -> bool {
        self.draft.is_unused() && self.requests.get().is_none() && self.token.get().is_none() && self.local.is_none()
    }

    /// Whether besides its driver, which has so many references to it, only that holder has it, its node has done nothing that
    /// another would notice, and it is a first attempt: then it may [`go_on`](Self::go_on).
    #[inline]
    pub(crate) fn may_go_on(self: &Arc<Self>, driver: usize, _: &Holder) -> bool {
        let is_shared = Arc::strong_count(self) > driver + 1;
        // What others have done with it who have had it until now.
        fence(Ordering::Acquire);
        let is_unused = !self.draft.was_locked() && self.requests.get().is_none() && self.token.get().is_none();
        !is_shared && is_unused && self.local.is_none() && self.number == 1 && !self.once_only
    }

    /// Makes it the first attempt at another node of the same graph: one that [may](Self::may_go_on). `turn`: which, of the
    /// innermost loop, where that is another.
    #[inline]
    pub(crate) fn go_on(&self, node: u32, turn: Option<u64>) {
        self.gone_on.node.store(node, Ordering::Relaxed);
        if let Some(turn) = turn {
            self.gone_on.turn.store(turn, Ordering::Relaxed);
        }
        self.timers.store(0, Ordering::Relaxed);
    }

    /// Makes it the first attempt at the same node in another item: one that [may](Self::may_go_on).
    #[inline]
    pub(crate) fn go_on_to_item(&self, item: usize) {
        self.gone_on.item.store(item, Ordering::Relaxed);
        self.timers.store(0, Ordering::Relaxed);
    }

    /// Whether its node has written to the state, has made a request, or has to fail.
    pub(crate) fn has_left_something(&self) -> bool {
        self.requests.get().is_some() || (self.draft.was_locked() && !self.draft().is_unused())
    }

    /// Makes it, [unused](Self::is_unused) as it is, a first attempt of an ordinary node. `state`: what it sees, if that has
    /// changed.
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

    /// The body of its node, where that has this type.
    #[inline]
    pub(crate) fn body<B: 'static>(&self) -> Option<&B> {
        self.bodies.as_ref()?.body(self.gone_on.node.load(Ordering::Relaxed))?.downcast_ref()
    }

    /// Where it stands.
    pub(crate) fn place(&self) -> At {
        let At::Node(place) = &self.at else { return self.at.clone() };
        let turns = match self.gone_on.turn.load(Ordering::Relaxed) {
            0 => place.turns.clone(),
            turn => place.turns.with_innermost(turn),
        };
        let scope = match self.gone_on.item.load(Ordering::Relaxed) {
            SAME_ITEM => Arc::clone(&place.scope),
            item => Arc::new(place.scope.with_item(item)),
        };
        At::Node(Place { scope, node: self.gone_on.node.load(Ordering::Relaxed), turns })
    }

    /// The graph that its node is in, by its place in the program; `None` for a child.
    pub(crate) fn layout(&self) -> Option<usize> {
        match &self.at {
            At::Node(place) => Some(place.scope.layout.index),
            At::Child(_) => None,
        }
    }

    /// The number of its node.
    pub(crate) fn node(&self) -> u32 {
        self.gone_on.node.load(Ordering::Relaxed)
    }

    /// The number of the next timer, from 1.
    pub(crate) fn next_timer(&self) -> u32 {
        self.timers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock()
    }

    /// What it has written, or why that cannot be.
    pub(crate) fn take_writes(&self) -> Result<Writes, Fault> {
        let mut draft = self.draft();
        match draft.broken.take() {
            Some(fault) => Err(fault),
            None => Ok(Writes(draft.writes.take())),
        }
    }

    /// Its path.
    pub(crate) fn path(&self) -> String {
        match self.place() {
            At::Node(place) => place.path(),
            At::Child(path) => String::from(&*path),
        }
    }

    /// Tells the node that it is cancelled. Returns whether it is listening.
    pub(crate) fn cancel(&self) -> bool {
        let listens = self.token.get().is_some();
        self.token().cancel();
        if let Some(requests) = self.requests.get() {
            requests.waker.wake_body();
        }
        listens
    }

    /// Resolves when it is cancelled.
    pub(crate) async fn cancelled(&self) {
        let token = self.token();
        let mut cancelled = pin!(token.cancelled());
        poll_fn(|waker| {
            // Its driver wakes the body, so that its run may be unloaded meanwhile. A child is cancelled by its parent's token.
            let is_body = self.requests.get().is_some_and(|requests| requests.is_own(waker.waker()));
            match token.is_cancelled() {
                true => Poll::Ready(()),
                false if is_body && self.parent.is_none() => Poll::Pending,
                false => cancelled.as_mut().poll(waker),
            }
        })
        .await;
    }

    /// What tells it that it is cancelled. For a child, its parent listens as well.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.token.get_or_init(|| match &self.parent {
            Some(parent) => parent.token().child_token(),
            None => CancellationToken::new(),
        })
    }

    pub(crate) fn requests(&self) -> &Arc<Requests> {
        self.requests.get_or_init(|| Arc::new(Requests::new(&self.run, self.waiting.clone())))
    }

    /// Whether it waits for answers and timers, and does nothing else, nor do its children. `is_still`: whether nothing at all
    /// of the run moves.
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
