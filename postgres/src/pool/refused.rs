//! The tasks that a worker cannot execute: its program does not have their nodes.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often it is reported that such tasks wait.
const REPORT: Duration = Duration::from_secs(60);

/// The run and the id of a task.
type Key = (String, String);

/// The tasks that a worker has released and does not take again, so that it does not take the same one over and over.
#[derive(Default)]
pub(super) struct Refused(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// By their keys, the numbers of the tasks.
    tasks: HashMap<Key, i64>,
    /// The missing nodes that were reported, as the texts of their errors.
    reported: HashSet<String>,
    reported_at: Option<Instant>,
}

impl Refused {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task, and reports the missing node if it is the first task of that node.
    pub(super) fn add(&self, key: &Key, number: i64, missing: String) {
        let mut inner = self.inner();
        inner.tasks.insert(key.clone(), number);
        if !inner.reported.contains(&missing) {
            tracing::warn!(error = missing, run = key.0, "the tasks of a node are left to other workers of the pool");
            inner.reported_at.get_or_insert_with(Instant::now);
            inner.reported.insert(missing);
        }
    }

    pub(super) fn numbers(&self) -> Vec<i64> {
        self.inner().tasks.values().copied().collect()
    }

    /// The runs and the ids of the tasks.
    pub(super) fn keys(&self) -> (Vec<String>, Vec<String>) {
        self.inner().tasks.keys().cloned().unzip()
    }

    /// Forgets those of the `known` tasks that are done, and reports from time to time how many of the others no worker has. A task that was
    /// refused since is not among the known ones.
    pub(super) fn keep(&self, known: (Vec<String>, Vec<String>), left: Vec<(Key, bool)>) {
        let mut inner = self.inner();
        let left: HashMap<Key, bool> = left.into_iter().collect();
        for key in known.0.into_iter().zip(known.1).filter(|key| !left.contains_key(key)) {
            inner.tasks.remove(&key);
        }
        let waiting = left.values().filter(|is_free| **is_free).count();
        let is_due = inner.reported_at.is_none_or(|at| at.elapsed() >= REPORT);
        if waiting > 0 && is_due {
            inner.reported_at = Some(Instant::now());
            let missing = inner.reported.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
            tracing::warn!(tasks = waiting, error = missing, "tasks wait for a worker that has their nodes");
        }
    }
}
