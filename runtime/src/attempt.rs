//! One attempt at a node: what its [`Context`](crate::Context) and whoever drives it have between them.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foldhash::HashSet;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::core::{Place, Turns, WriteSet, Writes, fold_into};
use crate::driver::Shared;
use crate::fault::Fault;
use crate::state::{Part, StateOp, StateWrite};

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
    moves: Mutex<Moves>,
    /// What it has asked its context for: the last part of each path.
    asked: Mutex<HashSet<String>>,
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

/// Whether an attempt does something, or only waits for what it has asked its context for.
#[derive(Default)]
struct Moves {
    alive: bool,
    /// What it waits for.
    waits: u32,
    /// What has come and was not taken yet.
    woken: u32,
}

impl Moves {
    fn moves(&self) -> bool {
        self.alive && (self.waits == 0 || self.woken > 0)
    }
}

/// An attempt is under way while this lives.
pub(crate) struct Beat(Arc<Attempt>);

impl Beat {
    /// `None` where nobody asks how much of the run moves.
    pub(crate) fn of(attempt: &Arc<Attempt>) -> Option<Beat> {
        attempt.run.journal.as_ref()?;
        if attempt.once_only {
            attempt.run.pulse.once_only(true);
        }
        attempt.moves(|moves| moves.alive = true);
        Some(Beat(Arc::clone(attempt)))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        if self.0.once_only {
            self.0.run.pulse.once_only(false);
        }
        self.0.moves(|moves| moves.alive = false);
    }
}

/// An attempt waits for something that it has asked its context for, while this lives.
pub(crate) struct Wait(Arc<Attempt>);

impl Wait {
    pub(crate) fn of(attempt: &Arc<Attempt>) -> Wait {
        attempt.moves(|moves| moves.waits += 1);
        Wait(Arc::clone(attempt))
    }
}

impl Wait {
    /// What the attempt waits for has come: it moves from now on, and not only when it is polled.
    pub(crate) fn wake(self) -> Woken {
        self.0.moves(|moves| moves.woken += 1);
        Woken(Arc::clone(&self.0))
    }
}

/// Something has come for an attempt that has not taken it yet.
pub(crate) struct Woken(Arc<Attempt>);

impl Drop for Woken {
    fn drop(&mut self) {
        self.0.moves(|moves| moves.woken = moves.woken.saturating_sub(1));
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.moves(|moves| moves.waits = moves.waits.saturating_sub(1));
    }
}

/// What an attempt leaves to whoever drives it.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    writes: Option<Box<WriteSet>>,
    /// Which of the shared ones were children's, and whose.
    adopted: Vec<(Range<usize>, String)>,
    /// A write that could not be made.
    pub(crate) broken: Option<Fault>,
    /// What the attempt is to end with.
    pub(crate) fault: Option<Fault>,
}

impl Draft {
    pub(crate) fn writes(&self, part: Part) -> &[StateWrite] {
        match (&self.writes, part) {
            (None, _) => &[],
            (Some(set), Part::Shared) => &set.shared,
            (Some(set), Part::Local) => &set.local,
        }
    }

    fn is_unused(&self) -> bool {
        self.writes.is_none() && self.broken.is_none() && self.fault.is_none() && self.adopted.is_empty()
    }

    pub(crate) fn write(&mut self, part: Part, write: StateWrite) {
        let set = self.writes.get_or_insert_default();
        match part {
            Part::Shared => set.shared.push(write),
            Part::Local => set.local.push(write),
        }
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
            moves: Mutex::default(),
            asked: Mutex::default(),
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

    fn moves(&self, change: impl FnOnce(&mut Moves)) {
        let mut moves = self.moves.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = moves.moves();
        change(&mut moves);
        match (moved, moves.moves()) {
            (false, true) => self.run.pulse.enter(),
            (true, false) => self.run.pulse.leave(),
            _ => {}
        }
    }

    /// The path of something that the node asks its context for. Each only once.
    pub(crate) fn claim(&self, name: &str, key: Option<&str>) -> Result<String, Fault> {
        let (name, key) = (escaped(name), key.map(escaped));
        let mut path = match &self.place {
            At::Node(place) => place.path(),
            At::Child(path) => String::from(&**path),
        };
        path.reserve(2 + name.len() + key.as_ref().map_or(0, |key| key.len()));
        path.push('/');
        let begins = path.len();
        path.push_str(&name);
        if let Some(key) = key {
            path.push(':');
            path.push_str(&key);
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.insert(path[begins..].to_owned()) {
            return Ok(path);
        }
        Err(Fault::Context {
            message: format!("`{path}` is asked for a second time by the same node; give each its own `.key(..)`"),
        })
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
        self.asked.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        *self.timers.get_mut() = 0;
    }

    /// Whether its node has done nothing that another would notice.
    pub(crate) fn is_unused(&mut self) -> bool {
        let draft = self.draft.get_mut().unwrap_or_else(PoisonError::into_inner);
        let asked = self.asked.get_mut().unwrap_or_else(PoisonError::into_inner);
        draft.is_unused() && asked.is_empty() && self.token.get().is_none() && self.local.is_none()
    }

    /// Makes it, unused as it is, the first attempt at another node of the same graph. `turns`: which, where that stands
    /// in another turn.
    pub(crate) fn pass_on(&mut self, node: u32, turns: Option<Turns>, state: &Arc<Map<String, Value>>) {
        if let At::Node(place) = &mut self.place {
            place.node = node;
            if let Some(turns) = turns {
                place.turns = turns;
            }
        }
        self.number = 1;
        self.once_only = false;
        *self.timers.get_mut() = 0;
        if !Arc::ptr_eq(&self.state, state) {
            self.state = Arc::clone(state);
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

    /// Tells the node that it is cancelled. Returns whether it is listening.
    pub(crate) fn cancel(&self) -> bool {
        let listens = self.token.get().is_some();
        self.token().cancel();
        listens
    }

    /// Whether it was told to end. Does not count as listening.
    pub(crate) fn is_stopped(&self) -> bool {
        match (self.token.get(), &self.parent) {
            (Some(token), _) => token.is_cancelled(),
            (None, Some(parent)) => parent.is_stopped(),
            (None, None) => false,
        }
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

    /// Makes what a child has written its own. `seen` is how much it had written itself when the child began; a child that
    /// replaces what was written since has not seen it, and gets nothing of its own written.
    pub(crate) fn adopt(&self, child: &str, writes: &[StateWrite], seen: Option<usize>) -> Result<(), Fault> {
        let mut draft = self.draft();
        let own = draft.writes(Part::Shared);
        for (at, since) in own.iter().enumerate().skip(seen.unwrap_or(own.len())) {
            let replaces = |write: &StateWrite| matches!(write.op, StateOp::Set(_) | StateOp::Remove);
            if writes.iter().any(|write| replaces(write) && write.key == since.key) {
                let adopted = draft.adopted.iter().find(|(writes, _)| writes.contains(&at));
                let first = adopted.map_or_else(|| self.place.to_string(), |(_, path)| path.clone());
                let (key, first, second) = (since.key.as_str().into(), first.into(), child.into());
                return Err(Fault::StateConflict { key, first, second });
            }
        }
        if !writes.is_empty() {
            let from = own.len();
            draft.adopted.push((from..from + writes.len(), child.to_owned()));
            for write in writes {
                draft.write(Part::Shared, write.clone());
            }
        }
        Ok(())
    }
}

/// A name or a key as a part of a path: what has a meaning in paths is percent-encoded.
fn escaped(part: &str) -> std::borrow::Cow<'_, str> {
    if !part.contains(['/', '#', '[', ']', ':', '%']) && !part.contains(char::is_control) {
        return part.into();
    }
    let mut text = String::with_capacity(part.len() + 8);
    for char in part.chars() {
        if matches!(char, '/' | '#' | '[' | ']' | ':' | '%') || char.is_control() {
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                text.push_str(&format!("%{byte:02X}"));
            }
        } else {
            text.push(char);
        }
    }
    text.into()
}
