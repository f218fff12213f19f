//! One attempt at a node: what its [`Context`](crate::Context) and whoever drives it have between them.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;

use serde_json::{Map, Value};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::core::{Place, Turns, Writes, escaped, fold_into};
use crate::draft::{Draft, Part};
use crate::fault::Fault;
use crate::requests::{Asker, Requests};
use crate::shared::{Shared, WaitingAttempts};
use crate::state_write::{StateOp, StateWrite};

pub(crate) struct Attempt {
    pub(crate) run: Arc<Shared>,
    pub(crate) place: At,
    pub(crate) number: u32,
    /// Whether it may not run again.
    pub(crate) once_only: bool,
    /// The run's state when the attempt began.
    pub(crate) state: Arc<Map<String, Value>>,
    /// What a collecting node has kept for itself so far.
    pub(crate) local: Option<Arc<Map<String, Value>>>,
    /// Made by whoever asks for it first. A node that never asked is not given time when it is cancelled.
    token: OnceLock<CancellationToken>,
    pub(crate) draft: Mutex<Draft>,
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
}

/// Where an attempt stands.
#[derive(Clone)]
pub(crate) enum At {
    /// A node of a graph.
    Node(Place),
    /// A child.
    Child(Arc<str>),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Node(place) => place.fmt(f),
            At::Child(path) => f.write_str(path),
        }
    }
}

/// The task that polls an attempt and nothing else, which another thread may just be making when the attempt is dropped.
#[derive(Default)]
pub(crate) struct OwnTask(Mutex<OwnTaskState>);

#[derive(Default)]
enum OwnTaskState {
    #[default]
    None,
    Has(AbortHandle),
    Dropped,
}

impl OwnTask {
    /// The attempt has got this one.
    pub(crate) fn is(&self, handle: AbortHandle) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            OwnTaskState::Dropped => handle.abort(),
            OwnTaskState::None | OwnTaskState::Has(_) => *state = OwnTaskState::Has(handle),
        }
    }

    /// Drops the attempt at its `.await`, or before it is polled.
    pub(crate) fn abort(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let OwnTaskState::Has(handle) = std::mem::replace(&mut *state, OwnTaskState::Dropped) {
            handle.abort();
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), OwnTaskState::Dropped)
    }
}

/// An attempt is under way while this lives. It counts as working, unless its body [waits](crate::requests::BodyWaker).
pub(crate) struct Beat(Arc<Attempt>);

impl Beat {
    /// `None` if nothing of the run is recorded.
    pub(crate) fn of(attempt: &Arc<Attempt>) -> Option<Beat> {
        attempt.run.journal.as_ref()?;
        if attempt.once_only {
            attempt.run.pulse.once_only(true);
        }
        attempt.run.pulse.enter();
        Some(Beat(Arc::clone(attempt)))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        if self.0.once_only {
            self.0.run.pulse.once_only(false);
        }
        if let Some(requests) = self.0.requests.get() {
            requests.waker.over();
        }
        self.0.run.pulse.leave();
    }
}

impl Attempt {
    pub(crate) fn new(
        run: Arc<Shared>,
        place: At,
        number: u32,
        state: Arc<Map<String, Value>>,
        local: Option<Arc<Map<String, Value>>>,
    ) -> Self {
        Attempt {
            run,
            place,
            number,
            once_only: false,
            state,
            local,
            token: OnceLock::new(),
            draft: Mutex::default(),
            requests: OnceLock::new(),
            own_task: OwnTask::default(),
            waiting: None,
            timers: AtomicU32::new(0),
            parent: None,
        }
    }

    /// An attempt at a child, that sees the state as its parent does now.
    pub(crate) fn child(
        parent: &Arc<Attempt>,
        path: &str,
        number: u32,
        once_only: bool,
        state: Arc<Map<String, Value>>,
    ) -> Self {
        let attempt = Attempt::new(Arc::clone(&parent.run), At::Child(path.into()), number, state, None);
        Attempt { once_only, parent: Some(Arc::clone(parent)), ..attempt }
    }

    /// The path of something that the node asks its context for.
    pub(crate) fn path_of(&self, name: &str, key: Option<&str>) -> String {
        let (name, key) = (escaped(name), key.map(escaped));
        let mut path = self.path();
        path.reserve(2 + name.len() + key.as_ref().map_or(0, |key| key.len()));
        path.push('/');
        path.push_str(&name);
        if let Some(key) = key {
            path.push(':');
            path.push_str(&key);
        }
        path
    }

    /// Makes a finished attempt that nobody holds any more the next one of the same run.
    pub(crate) fn renew(
        &mut self,
        place: Place,
        number: u32,
        state: &Arc<Map<String, Value>>,
        local: Option<Arc<Map<String, Value>>>,
    ) {
        self.place = At::Node(place);
        self.number = number;
        self.once_only = false;
        if !Arc::ptr_eq(&self.state, state) {
            self.state = Arc::clone(state);
        }
        self.local = local;
        if self.token.get().is_some() {
            self.token = OnceLock::new();
        }
        *self.draft.get_mut().unwrap_or_else(PoisonError::into_inner) = Draft::default();
        if self.requests.get().is_some() {
            self.requests = OnceLock::new();
        }
        *self.timers.get_mut() = 0;
        self.own_task = OwnTask::default();
    }

    /// Whether its node has done nothing that another would notice.
    pub(crate) fn is_unused(&mut self) -> bool {
        let draft = self.draft.get_mut().unwrap_or_else(PoisonError::into_inner);
        draft.is_unused() && self.requests.get().is_none() && self.token.get().is_none() && self.local.is_none()
    }

    /// Makes it, unused as it is, the first attempt at another node of the same graph. `turns`: which, where that
    /// stands in another turn; `state`: what it sees, if that has changed.
    pub(crate) fn pass_on(&mut self, node: u32, turns: Option<Turns>, state: Option<Arc<Map<String, Value>>>) {
        if let At::Node(place) = &mut self.place {
            place.node = node;
            if let Some(turns) = turns {
                place.turns = turns;
            }
        }
        self.number = 1;
        self.once_only = false;
        *self.timers.get_mut() = 0;
        if let Some(state) = state {
            self.state = state;
        }
    }

    /// The number of the next timer, from 1.
    pub(crate) fn next_timer(&self) -> u32 {
        self.timers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
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
        match &self.place {
            At::Node(place) => place.path(),
            At::Child(path) => String::from(&**path),
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

    /// The run's state as this attempt sees it now, and how much of that it has written itself.
    pub(crate) fn view(&self) -> Result<(Arc<Map<String, Value>>, usize), Fault> {
        let draft = self.draft();
        let written = draft.writes(Part::Shared);
        if written.is_empty() {
            return Ok((Arc::clone(&self.state), 0));
        }
        let mut values = Map::clone(&self.state);
        fold_into(&mut values, written)?;
        Ok((Arc::new(values), written.len()))
    }

    /// A child is done, and has written this. `seen` is how much this attempt had written itself when the child began; a
    /// child that replaces what was written since has not seen it, and gets nothing of its own written.
    pub(crate) fn child_finished(&self, child: &str, writes: &[StateWrite], seen: usize) -> Result<(), Fault> {
        if writes.is_empty() {
            return Ok(());
        }
        let mut draft = self.draft();
        let replaces = |since: &StateWrite| {
            let is_replaced = |write: &StateWrite| matches!(write.op, StateOp::Set(_) | StateOp::Remove);
            writes.iter().any(|write| is_replaced(write) && write.key == since.key)
        };
        let conflict = |key: &str, first: String| Fault::StateConflict {
            key: key.into(),
            first: first.into(),
            second: child.into(),
        };
        for (at, since) in draft.writes(Part::Shared).iter().enumerate().skip(seen) {
            if replaces(since) {
                let adopted = draft.adopted.iter().find(|(writes, _)| writes.contains(&at));
                let first = adopted.map_or_else(|| self.place.to_string(), |(_, path)| path.clone());
                return Err(conflict(since.key.as_str(), first));
            }
        }
        for (other, since) in &draft.finished {
            if let Some(since) = since.iter().find(|since| replaces(since)) {
                return Err(conflict(since.key.as_str(), other.clone()));
            }
        }
        draft.finished.push((child.to_owned(), writes.to_vec()));
        Ok(())
    }

    /// The body receives the output of a child: what the child has written becomes its own.
    pub(crate) fn adopt_finished(&self, child: &str) {
        let mut draft = self.draft();
        if let Some(at) = draft.finished.iter().position(|(path, _)| path == child) {
            let (_, writes) = draft.finished.remove(at);
            draft.adopt(child, &writes);
        }
    }

    /// Makes what a child has written according to its record this attempt's own.
    pub(crate) fn adopt(&self, child: &str, writes: &[StateWrite]) {
        self.draft().adopt(child, writes);
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

    /// The body does not want the output of a child any more.
    pub(crate) fn forget_finished(&self, child: &str) {
        self.draft().finished.retain(|(path, _)| path != child);
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
