//! Programs as users write them, held against what graphweft promises: what they share.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use graphweft::{Engine, Event, EventKind, Failure, Run, RunError, Workflow};

/// What nodes did, in the order in which they did it; given to an engine as a resource.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    /// Writes a line down.
    pub fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often a line was written.
    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|written| *written == line).count()
    }

    /// Writes a line when it is dropped: whoever holds it has ended or was stopped.
    pub fn when_dropped(&self, line: &str) -> WhenDropped {
        WhenDropped(self.clone(), line.to_owned())
    }
}

/// Made by [`Journal::when_dropped`].
#[derive(Debug)]
pub struct WhenDropped(Journal, String);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        self.0.note(std::mem::take(&mut self.1));
    }
}

/// Counts who is inside at once.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<Mutex<(usize, usize)>>);

impl Gauge {
    /// One more is inside, until the result is dropped.
    pub fn enter(&self) -> Inside {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0 += 1;
        counts.1 = counts.1.max(counts.0);
        Inside(self.clone())
    }

    /// The most that were ever inside at once.
    pub fn highest(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// Made by [`Gauge::enter`].
#[derive(Debug)]
pub struct Inside(Gauge);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).0 -= 1;
    }
}

/// How a run failed.
///
/// # Panics
/// Where it did not fail.
pub fn failure<T: std::fmt::Debug>(result: Result<T, RunError>) -> Failure {
    match result {
        Err(RunError::Failed(failure)) => failure,
        other => panic!("the run did not fail: {other:?}"),
    }
}

/// The records of a run, to its end.
pub async fn records<T>(run: &Run<T>) -> Vec<Event> {
    run.events().collect().await
}

/// Runs a workflow in an engine without anything, and gives its records.
///
/// # Panics
/// Where it does not start.
pub async fn records_of<W: Workflow>(input: W::Input) -> Vec<Event> {
    let engine = Engine::builder().build().expect("an engine without anything");
    let run = engine.start::<W>(input).await.expect("a workflow that needs nothing");
    records(&run).await
}

/// The paths at which something of that kind happened, in order.
pub fn paths(events: &[Event], is_meant: impl Fn(&EventKind) -> bool) -> Vec<String> {
    events.iter().filter(|event| is_meant(&event.kind)).map(|event| event.path.clone()).collect()
}

/// The paths of the attempts that began, in order.
pub fn started(events: &[Event]) -> Vec<String> {
    paths(events, |kind| matches!(kind, EventKind::NodeStarted { .. }))
}
