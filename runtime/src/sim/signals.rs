//! The meaning of signals, by the records alone: each counts once, goes to one wait, and is lost by none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use super::sites::Sites;
use crate::event::{AfterFailure, EventKind};
use crate::store::Stored;

/// The signals of a run.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// By number: the name, and the wait that has it.
    received: BTreeMap<u64, (String, Option<Holder>)>,
    /// By number: when it came.
    came: BTreeMap<u64, SystemTime>,
    /// Those with an id.
    ids: BTreeSet<(String, String)>,
    /// The open waits by path, with the names of their signals.
    open: BTreeMap<String, String>,
    /// All waits, with the names of their signals.
    waits: BTreeMap<String, String>,
    /// Until when a wait is open, with the number of the record with which it was opened last.
    until: BTreeMap<String, (SystemTime, u64)>,
    /// Children that were dropped since they began.
    dropped: BTreeSet<String>,
}

#[derive(Debug)]
struct Holder {
    path: String,
    has_taken: bool,
}

impl Signals {
    /// Takes the next record that counts. `was_retried`: whether records may be void that were there when it was made.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(super) fn follow(&mut self, stored: &Stored, sites: &Sites, was_retried: bool) -> Result<(), String> {
        let (path, number) = (&stored.record.path, stored.seq);
        let is_below = |at: &str| at.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'));
        match &stored.record.kind {
            EventKind::SignalReceived { name, at, id, .. } => {
                if let Some(id) = id
                    && !self.ids.insert((name.clone(), id.clone()))
                {
                    return Err("is a signal that the run has got before".to_owned());
                }
                self.received.insert(number, (name.clone(), None));
                self.came.insert(number, *at);
            }
            EventKind::SignalsKnown { signals } => self.ids.extend(signals.iter().cloned()),
            EventKind::SignalAwaited { name, until, .. } => {
                let is_open = self.open.get(path) == Some(name);
                let since = self.until.remove(path).filter(|_| is_open).map_or(number, |(_, since)| since);
                self.until.extend(until.map(|until| (path.clone(), (until, since))));
                self.open.insert(path.clone(), name.clone());
                self.waits.insert(path.clone(), name.clone());
            }
            EventKind::SignalDelivered { signal } => {
                if was_retried {
                    // The last wait to which it was delivered has it.
                    self.release(|holder| holder.path == *path);
                    let before = self.received.get_mut(signal).and_then(|(_, holder)| holder.take());
                    before.into_iter().for_each(|holder| self.opens(&holder.path));
                    self.opens(path);
                }
                let name = self.open.remove(path).ok_or("gets a signal, and does not wait")?;
                let Some((of, holder @ None)) = self.received.get_mut(signal) else {
                    return Err(format!("gets the signal {signal}, which another wait has"));
                };
                if *of != name {
                    return Err(format!("gets a signal `{of}`, and waits for `{name}`"));
                }
                *holder = Some(Holder { path: path.clone(), has_taken: false });
                if self.is_late(*signal, path) {
                    return Err(format!("gets the signal {signal}, which came when its time was up"));
                }
            }
            EventKind::SignalTaken => {
                let holder = self.holders().find(|holder| holder.path == *path);
                holder.ok_or("takes a signal that it does not have")?.has_taken = true;
            }
            EventKind::SignalRejected { .. } => {
                self.received.retain(|_, (_, holder)| holder.as_ref().is_none_or(|holder| holder.path != *path));
                self.opens(path);
            }
            EventKind::RequestWithdrawn => {
                self.release(|holder| holder.path == *path || (is_below(&holder.path) && !holder.has_taken));
                self.open.retain(|at, _| at != path && !is_below(at));
                self.dropped.insert(path.clone());
            }
            EventKind::RequestReopened => {
                self.opens(path);
                self.until.entry(path.clone()).and_modify(|(_, since)| *since = number);
            }
            EventKind::NodeStarted { inside, .. } => {
                let starts_anew = inside.is_some() || self.dropped.remove(path);
                if starts_anew {
                    let is_in = |at: &str| {
                        let node = at.rsplit_once('/').map_or("", |(node, _)| node);
                        is_below(at) || sites.above(node).contains(path)
                    };
                    self.release(|holder| is_in(&holder.path));
                    self.open.retain(|at, _| !is_in(at));
                }
            }
            EventKind::NodeFailed { then: AfterFailure::RetryAt { .. }, .. } => {}
            // It may be retried by its node.
            EventKind::NodeFailed { then: AfterFailure::Fails, .. } if !sites.is_node(path) => {}
            EventKind::NodeCompleted { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::NodeCancelled
            | EventKind::RunStartingOver { .. }
            | EventKind::NodeCollecting { .. } => {
                self.release(|holder| is_below(&holder.path) && !holder.has_taken);
                self.open.retain(|at, _| !is_below(at));
            }
            _ => {}
        }
        Ok(())
    }

    /// The numbers of the signals that no node has taken.
    pub(super) fn not_taken(&self) -> Vec<u64> {
        let is_taken = |holder: &Option<Holder>| holder.as_ref().is_some_and(|holder| holder.has_taken);
        self.received.iter().filter(|(_, (_, holder))| !is_taken(holder)).map(|(number, _)| *number).collect()
    }

    /// Whether a signal came behind a wait, and when its time was up.
    fn is_late(&self, signal: u64, path: &str) -> bool {
        let until = self.until.get(path).zip(self.came.get(&signal));
        until.is_some_and(|((until, since), came)| signal > *since && came > until)
    }

    fn holders(&mut self) -> impl Iterator<Item = &mut Holder> {
        self.received.values_mut().filter_map(|(_, holder)| holder.as_mut())
    }

    fn opens(&mut self, path: &str) {
        if let Some(name) = self.waits.get(path) {
            self.open.insert(path.to_owned(), name.clone());
        }
    }

    fn release(&mut self, is_released: impl Fn(&Holder) -> bool) {
        for (_, holder) in self.received.values_mut() {
            if holder.as_ref().is_some_and(&is_released) {
                *holder = None;
            }
        }
    }

    /// The run waits: then no signal has come for which a node waits.
    ///
    /// # Errors
    /// The wait, and the signal.
    pub(super) fn rests(&self) -> Result<(), String> {
        let free = |path: &str, name: &str| {
            let mut received = self.received.iter();
            received.find(|(number, (of, holder))| of == name && holder.is_none() && !self.is_late(**number, path))
        };
        let left = self.open.iter().find_map(|(path, name)| Some((path, free(path, name)?.0)));
        match left {
            Some((path, signal)) => {
                Err(format!("the run is said to wait, and `{path}` does not get the signal {signal}"))
            }
            None => Ok(()),
        }
    }
}
