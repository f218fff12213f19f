//! Trying something until it succeeds or has failed for good, with what is on record of it given back.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::ChildError;
use crate::attempt::{Attempt, Beat, Wait};
use crate::core::is_retryable;
use crate::driver::{Item, Journal, Moving, Running, Within};
use crate::event::{Entered, EventKind};
use crate::fault::{Cause, Fault};
use crate::node::Travels;
use crate::options::NodeOptions;
use crate::state::StateWrite;
use crate::store::Stored;

/// What is tried: a child or a step.
pub(super) trait Work: Send {
    type Output: Travels;
    type Error: Travels;

    /// Whether it is a graph of its own, which goes on from where it stood.
    fn is_graph(&self) -> bool;

    /// Begins an attempt. All of the user's code is called by its future.
    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, Self::Output, Self::Error>;
}

/// An attempt that is to begin.
pub(super) struct Start<'w> {
    pub(super) parent: &'w Arc<Attempt>,
    pub(super) path: &'w str,
    pub(super) number: u32,
    /// Whether another may follow, which needs the same input.
    pub(super) may_repeat: bool,
    pub(super) once_only: bool,
    /// What is on record of the same attempt.
    pub(super) history: Vec<Stored>,
    pub(super) moving: Option<Moving>,
}

/// An attempt under way.
pub(super) struct Begun<'w, T, E> {
    pub(super) body: BoxFuture<'w, Attempted<T, E>>,
    pub(super) moves: Moves,
}

/// What is counted among what moves while an attempt is under way.
pub(super) enum Moves {
    /// The attempt, all the time.
    Always(Option<Moving>),
    /// The attempt, where it does not wait for something that it has asked for.
    Attempt(Option<Beat>),
    /// The driver of the graph inside.
    Graph(Arc<Within>),
}

impl Moves {
    /// The attempt is over; whoever goes on counts before it does not count any more.
    fn over(self, parent: &Attempt) -> Option<Moving> {
        match self {
            Moves::Always(moving) => moving,
            Moves::Attempt(beat) => {
                let moving = Moving::of(&parent.run);
                drop(beat);
                moving
            }
            Moves::Graph(within) => within.take_moving().or_else(|| Moving::of(&parent.run)),
        }
    }
}

/// How an attempt ended. The JSON is there where the run has a journal.
pub(super) enum Attempted<T, E> {
    Output {
        value: T,
        json: Option<Json>,
        /// What it wrote to the run's state.
        writes: Vec<StateWrite>,
        /// How much its parent had written when it began.
        seen: Option<usize>,
    },
    Error {
        error: E,
        json: Option<Json>,
        chain: Vec<String>,
        may_be_retried: bool,
    },
    Fault(Fault),
}

impl<T, E> From<Fault> for Attempted<T, E> {
    fn from(fault: Fault) -> Self {
        Attempted::Fault(fault)
    }
}

impl<T: Travels, E: Travels> Attempted<T, E> {
    pub(super) fn output(value: T, writes: Vec<StateWrite>, seen: Option<usize>, records: bool) -> Self {
        match records.then(|| value.__to_json()).transpose() {
            Ok(json) => Attempted::Output { value, json, writes, seen },
            Err(error) => {
                Attempted::Fault(Fault::Context { message: format!("the output cannot be written as JSON: {error}") })
            }
        }
    }

    /// An error that cannot be written down could not be given back, and is not given at all.
    pub(super) fn error(
        error: E,
        chain: impl FnOnce(&E, &Json) -> Vec<String>,
        may_be_retried: bool,
        records: bool,
    ) -> Self {
        match records.then(|| error.__to_json()).transpose() {
            Ok(json) => {
                let chain = json.as_ref().map(|json| chain(&error, json)).unwrap_or_default();
                Attempted::Error { error, json, chain, may_be_retried }
            }
            Err(problem) => {
                Attempted::Fault(Fault::Context { message: format!("the error cannot be written as JSON: {problem}") })
            }
        }
    }
}

/// What a node asks its context for.
pub(super) struct Asked<'a> {
    pub(super) parent: &'a Arc<Attempt>,
    pub(super) path: String,
    /// The hash of the input.
    pub(super) input: Option<String>,
    pub(super) options: NodeOptions,
}

impl Asked<'_> {
    fn journal(&self) -> Option<&Arc<Journal>> {
        self.parent.run.journal.as_ref()
    }

    fn push(&self, kind: EventKind) {
        if let Some(journal) = self.journal() {
            journal.desk.note(&self.path, &kind, journal.clock.now());
            journal.push(self.path.clone(), kind);
        }
    }

    async fn recorded(&self) {
        if let Some(journal) = self.journal() {
            self.parent.recorded(journal).await;
        }
    }

    fn fault(&self, message: String) -> Fault {
        Fault::Context { message: format!("`{}` {message}", self.path) }
    }

    /// What is on record, if nothing is to be done any more; an error where the record is of something else.
    fn given_back<T: Travels, E: Travels>(&self, item: &Item) -> Option<Result<T, ChildError<E>>> {
        if let (Some(recorded), Some(wanted)) = (&item.input, &self.input)
            && recorded != wanted
        {
            let message = format!(
                "is on record with another input (its hash is {recorded}) than it is asked for with now ({wanted}); give \
                 another input another `.key(..)`"
            );
            return Some(Err(self.fault(message).into()));
        }
        let given = match (&item.output, &item.failed) {
            (Some((output, writes)), _) => self.output_back(output, writes),
            (None, Some((cause, error))) => Err(self.error_back(cause, error.as_ref())),
            (None, None) => return None,
        };
        if let Some(journal) = self.journal() {
            journal.show(|| self.path.clone(), EventKind::StepReused);
        }
        Some(given)
    }

    fn output_back<T: Travels, E>(&self, output: &Json, writes: &[StateWrite]) -> Result<T, ChildError<E>> {
        let output = T::__from_json(output).map_err(|error| self.unreadable::<T>("output", &error))?;
        self.parent.adopt(&self.path, writes, None)?;
        Ok(output)
    }

    fn error_back<E: Travels>(&self, cause: &Cause, error: Option<&Json>) -> ChildError<E> {
        match (&cause.fault, error.map(E::__from_json)) {
            (_, Some(Ok(error))) => ChildError::Error(error),
            (_, Some(Err(error))) => self.unreadable::<E>("error", &error).into(),
            (Some(fault), None) => fault.clone().into(),
            (None, None) => self.fault(format!("has failed, and its error is not on record: {cause}")).into(),
        }
    }

    fn unreadable<T>(&self, what: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> Fault {
        let (field, wanted) = (error.path(), std::any::type_name::<T>());
        let problem = error.inner();
        self.fault(format!("has an {what} on record that is no `{wanted}` any more, at `{field}`: {problem}"))
    }

    /// Tries it, from where its records end.
    pub(super) async fn tried<W: Work>(self, mut work: W) -> Result<W::Output, ChildError<W::Error>> {
        let item = self.journal().and_then(|journal| journal.desk.item(&self.path)).unwrap_or_default();
        if let Some(given) = self.given_back(&item) {
            return given;
        }
        // Its parent may wait for something else at the same time, and does not count then.
        let mut moving = Moving::of(&self.parent.run);
        let goes_on = item.under_way && item.is_before && item.inside && work.is_graph();
        if item.under_way && self.options.at_most_once && !goes_on {
            let fault = Fault::Interrupted;
            self.fail(item.attempt, Cause::from(fault.clone()), None).await;
            return Err(fault.into());
        }
        let begins_again = item.under_way && !work.is_graph();
        let mut number = if goes_on || begins_again { item.attempt } else { item.attempt + 1 };
        let mut failures = item.failures;
        let mut history = match self.journal().filter(|_| goes_on) {
            Some(journal) => Some(journal.desk.take_records(&self.path)),
            None => None,
        };
        if let Some(retry_at) = item.retry_at {
            tokio::time::sleep(self.parent.run.env.clock.until(retry_at)).await;
        }
        loop {
            if history.is_none() {
                self.start(number, work.is_graph()).await;
            }
            let was_stopped = self.parent.is_stopped();
            let may_repeat = failures + 1 < self.options.retry.max_attempts;
            let begun = work.begin(Start {
                parent: self.parent,
                path: &self.path,
                number,
                may_repeat,
                once_only: self.options.at_most_once,
                history: history.take().unwrap_or_default(),
                moving: moving.take(),
            });
            // Dropped first: its parent moves again before the attempt does not any more.
            let wait = Wait::of(self.parent);
            let span = tracing::debug_span!("node", path = %self.path, attempt = number);
            let attempted = Running::new(begun.body, self.options.timeout, None, span).await;
            drop(wait);
            moving = begun.moves.over(self.parent);
            // What it gives when it is told to stop is not what it gives.
            let is_stopped = !was_stopped && self.parent.is_stopped();
            let (error, cause, json, may_be_retried) = match self.adopted(attempted) {
                Attempted::Output { value, json, writes, .. } => {
                    if !is_stopped {
                        self.complete(json, writes).await;
                    }
                    return Ok(value);
                }
                Attempted::Error { error, json, chain, may_be_retried } => {
                    (ChildError::Error(error), Cause { chain, fault: None }, json, may_be_retried)
                }
                Attempted::Fault(fault) => {
                    let may_be_retried = is_retryable(&fault);
                    (ChildError::Fault(fault.clone()), Cause::from(fault), None, may_be_retried)
                }
            };
            if is_stopped {
                return Err(error);
            }
            if !(may_repeat && may_be_retried) {
                self.fail(number, cause, json).await;
                return Err(error);
            }
            failures += 1;
            let delay = self.options.retry.delay_after(failures, random());
            self.push(EventKind::NodeFailed { attempt: number, cause, retry_in: Some(delay), error: None });
            // The delay may be long, and the count is to survive.
            self.parent.run.pulse.say();
            drop(error);
            number += 1;
            tokio::time::sleep(delay).await;
            // Otherwise an attempt that is over could be made again after a crash, and not only the one under way.
            self.recorded().await;
        }
    }

    /// Records that an attempt begins: with the next commit, or before it does where it may not be made twice.
    async fn start(&self, attempt: u32, is_graph: bool) {
        let inside = is_graph.then(|| Entered { items: 1, labels: Vec::new() });
        self.push(EventKind::NodeStarted { attempt, inside, input: self.input.clone() });
        if self.options.at_most_once {
            self.recorded().await;
        } else if self.parent.run.is_watched() {
            self.parent.run.pulse.say();
        }
    }

    /// Makes what an attempt has written its parent's.
    fn adopted<T, E>(&self, attempted: Attempted<T, E>) -> Attempted<T, E> {
        match &attempted {
            Attempted::Output { writes, seen, .. } => match self.parent.adopt(&self.path, writes, *seen) {
                Ok(()) => attempted,
                Err(fault) => Attempted::Fault(fault),
            },
            _ => attempted,
        }
    }

    async fn complete(&self, output: Option<Json>, state: Vec<StateWrite>) {
        self.push(EventKind::NodeCompleted { label: None, output, error: None, state });
        self.recorded().await;
    }

    /// Records that it has failed for good.
    async fn fail(&self, attempt: u32, cause: Cause, error: Option<Json>) {
        tracing::debug!(path = self.path, attempt, %cause, "failed");
        self.push(EventKind::NodeFailed { attempt, cause, retry_in: None, error });
        self.recorded().await;
    }
}

/// Evenly from `0.0..1.0`.
fn random() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1u64 << 53) as f64
}
