//! The things of a run, and how their states follow from each other.

use std::collections::HashMap;

use super::shapes::ShapeIx;
use super::{Kind, State};

/// Something of a run that has a state.
#[derive(Debug)]
pub(super) struct Thing {
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) within: Option<u32>,
    /// Its node in the graph of its scope.
    pub(super) node: Option<usize>,
    pub(super) item: Option<u64>,
    pub(super) turn: u64,
    /// The graph inside, if it is known.
    pub(super) inside: Option<ShapeIx>,
    /// Whether it is a child with a graph inside.
    pub(super) is_entered: bool,
    /// Whether it only limits another wait of its node.
    is_limit: bool,
    /// Its state by its own events, and its attempt.
    own: (State, u32),
    /// How its own state has changed, for retries.
    log: Vec<(u64, State, u32)>,
    /// Its state with regard to what is under way in it.
    shown: State,
    /// What was sent of it last.
    sent: (State, u32),
    /// How many of what is right in it are running, wait, wait to retry, sleep.
    active: [u32; 4],
    members: Vec<u32>,
    /// For an item: whether a value has arrived at its END.
    pub(super) has_output: bool,
}

/// All of them, in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct AllThings {
    all: Vec<Thing>,
    by_path: HashMap<String, u32>,
    /// Those whose state may have changed since the last event.
    touched: Vec<u32>,
}

/// A change of a state as it is sent.
pub(super) struct Move {
    pub(super) thing: u32,
    pub(super) state: State,
    pub(super) attempt: u32,
}

impl Kind {
    /// Whether a graph runs in it.
    fn is_scope(self) -> bool {
        matches!(self, Kind::Run | Kind::Workflow | Kind::Each | Kind::Item)
    }

    /// Whether it is asked for by a node, and waits for something from outside.
    fn is_wait(self) -> bool {
        matches!(self, Kind::Question | Kind::Timer | Kind::Wait)
    }
}

/// Whether a timer has the name of one that `within(..)` has set.
fn is_limit(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().is_some_and(|name| name.ends_with("_within"))
}

/// Which of [`Thing::active`] it counts as.
fn class(state: State) -> Option<usize> {
    match state {
        State::Running => Some(0),
        State::Waiting => Some(1),
        State::WaitsToRetry => Some(2),
        State::Sleeping => Some(3),
        _ => None,
    }
}

impl State {
    /// Whether more is to come of it.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            State::Queued | State::Running | State::Waiting | State::Sleeping | State::Collecting | State::WaitsToRetry
        )
    }
}

impl Thing {
    /// What is under way decides how something that is under way is shown.
    fn computed(&self) -> State {
        if self.own.0 != State::Running {
            return self.own.0;
        }
        let [running, waiting, retrying, sleeping] = self.active.map(|members| members > 0);
        if running || !(waiting || retrying || sleeping) {
            State::Running
        } else if waiting {
            State::Waiting
        } else if retrying && self.is_scope() {
            State::WaitsToRetry
        } else {
            State::Sleeping
        }
    }

    /// Whether a graph runs in it.
    pub(super) fn is_scope(&self) -> bool {
        self.kind.is_scope() || self.is_entered
    }

    pub(super) fn own(&self) -> State {
        self.own.0
    }

    pub(super) fn attempt(&self) -> u32 {
        self.own.1
    }

    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }
}

impl AllThings {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, thing: u32) -> &Thing {
        &self.all[thing as usize]
    }

    pub(super) fn get_mut(&mut self, thing: u32) -> &mut Thing {
        &mut self.all[thing as usize]
    }

    pub(super) fn at(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    pub(super) fn add(&mut self, path: &str, kind: Kind, within: Option<u32>) -> u32 {
        let thing = self.all.len() as u32;
        self.all.push(Thing {
            path: path.to_owned(),
            kind,
            within,
            node: None,
            item: None,
            turn: 0,
            inside: None,
            is_entered: false,
            is_limit: kind == Kind::Timer && is_limit(path),
            own: (State::NotReached, 0),
            log: Vec::new(),
            shown: State::NotReached,
            sent: (State::NotReached, 0),
            active: [0; 4],
            members: Vec::new(),
            has_output: false,
        });
        self.by_path.insert(path.to_owned(), thing);
        if let Some(around) = within {
            self.get_mut(around).members.push(thing);
        }
        thing
    }

    /// Its state by an event of its own.
    pub(super) fn set(&mut self, thing: u32, seq: u64, state: State, attempt: u32) {
        let changed = self.get_mut(thing);
        if changed.own == (state, attempt) {
            return;
        }
        changed.own = (state, attempt);
        changed.log.push((seq, state, attempt));
        self.settle(thing);
    }

    /// The same with the attempt that it has.
    pub(super) fn set_state(&mut self, thing: u32, seq: u64, state: State) {
        self.set(thing, seq, state, self.get(thing).attempt());
    }

    /// Carries a change outward.
    fn settle(&mut self, thing: u32) {
        let mut at = thing;
        loop {
            self.touched.push(at);
            let now = self.get(at).computed();
            let before = std::mem::replace(&mut self.get_mut(at).shown, now);
            if before == now {
                return;
            }
            let Some(around) = self.get(at).within.filter(|_| !self.get(at).is_limit) else { return };
            let active = &mut self.get_mut(around).active;
            if let Some(class) = class(before) {
                active[class] -= 1;
            }
            if let Some(class) = class(now) {
                active[class] += 1;
            }
            at = around;
        }
    }

    /// Everything inside of a thing, the thing itself not.
    pub(super) fn inside(&self, thing: u32) -> Vec<u32> {
        let mut found = self.get(thing).members.clone();
        let mut next = 0;
        while let Some(&one) = found.get(next) {
            found.extend_from_slice(&self.get(one).members);
            next += 1;
        }
        found
    }

    /// What is under way inside of a thing is stopped.
    pub(super) fn stop_inside(&mut self, thing: u32, seq: u64) {
        self.close(thing, seq, |_| State::Cancelled);
    }

    /// A thing has completed: its items are done, and what it does not need any more is stopped.
    pub(super) fn complete_inside(&mut self, thing: u32, seq: u64) {
        self.close(thing, seq, |kind| if kind == Kind::Item { State::Completed } else { State::Cancelled });
    }

    /// An attempt of a node is over and another follows. What it has asked for stays open; what it has called does not.
    pub(super) fn stop_calls(&mut self, thing: u32, seq: u64) {
        for member in self.get(thing).members.clone() {
            if !self.get(member).kind.is_wait() {
                self.stop_inside(member, seq);
                if self.get(member).own().is_open() {
                    self.set_state(member, seq, State::Cancelled);
                }
            }
        }
    }

    fn close(&mut self, thing: u32, seq: u64, how: impl Fn(Kind) -> State) {
        for one in self.inside(thing).into_iter().rev() {
            if self.get(one).own().is_open() {
                self.set_state(one, seq, how(self.get(one).kind));
            }
        }
    }

    /// A scope begins anew: what was in it counts as if it had never been.
    pub(super) fn reset_inside(&mut self, thing: u32, seq: u64) {
        for one in self.inside(thing).into_iter().rev() {
            self.get_mut(one).has_output = false;
            self.set(one, seq, State::NotReached, 0);
        }
    }

    /// The state of a thing before its last change.
    pub(super) fn before_last(&self, thing: u32) -> Option<State> {
        self.get(thing).log.iter().rev().nth(1).map(|(_, state, _)| *state)
    }

    /// Everything gets the state that it had by the events that still count.
    pub(super) fn restore(&mut self, counts: impl Fn(u64) -> bool) {
        for thing in 0..self.all.len() as u32 {
            let last = self.get(thing).log.iter().rev().find(|(seq, ..)| counts(*seq));
            let (state, attempt) = last.map_or((State::NotReached, 0), |(_, state, attempt)| (*state, *attempt));
            let restored = self.get_mut(thing);
            restored.has_output = state == State::Completed;
            // Without an entry of its own: another retry may void the event that this follows from.
            restored.own = (state, attempt);
            self.settle(thing);
        }
    }

    /// What has changed since the last call.
    pub(super) fn moves(&mut self) -> Vec<Move> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        let mut moves = Vec::new();
        for thing in touched {
            let changed = self.get_mut(thing);
            let now = (changed.shown, changed.own.1);
            if std::mem::replace(&mut changed.sent, now) != now {
                moves.push(Move { thing, state: now.0, attempt: now.1 });
            }
        }
        moves
    }

    /// How the run is shown.
    pub(super) fn shown(&self, thing: u32) -> State {
        self.get(thing).shown
    }
}
