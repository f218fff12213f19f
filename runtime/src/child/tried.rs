//! Executes a child or a step until it succeeds or has failed for good, and returns its recorded result if there is
//! one.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value as Json;

use super::error::ChildError;
use super::form::{ErrorForm, FormOf, Unread, Written};
use crate::around::{self, CallKind};
use crate::attempt::{Attempt, Beat};
use crate::compile;
use crate::context::Context;
use crate::core::{AttemptEvent, Resumable, Resumption, is_retryable};
use crate::driver::Running;
use crate::event::{AfterFailure, Entered, EventKind};
use crate::fault::{Cause, Fault};
use crate::field::Unreadable;
use crate::node::{Payload, reread};
use crate::options::{NodeOptions, Retryable};
use crate::requests::Held;
use crate::shared::{Ended, Item, Moving, OpenTransaction, Within};
use crate::state_write::StateWrite;
use crate::store::Stored;
use crate::table::{AttemptBody, Definition, Misread, Reread};
use crate::trace::{self, Traced};
use crate::value::{Against, MaxSize, differ_in_order, drop_refused, shortened};

/// After this time the start of an attempt is recorded, if nothing else has been recorded behind it.
const SLOW: Duration = Duration::from_millis(200);

/// How long to wait before a step is executed again whose transaction was undone when it was to be committed, each time. After
/// that it is a failed attempt.
const AGAIN: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(400)];

/// The work of a child or a step.
pub(super) trait Work: Send {
    type Output: Payload;
    /// Its error.
    type Error: Send + 'static;
    /// How its error is recorded and returned.
    type Form: FormOf<Self::Error>;

    /// Its graph, if it has one of its own, which is resumed from its records.
    fn graph(&self) -> Option<&'static Arc<Definition>> {
        None
    }

    /// What the functions around its attempts are passed; `None` for a graph, which has them around its nodes.
    fn kind(&self) -> Option<CallKind>;

    /// Whether the last attempt that began has said that no other may follow.
    fn is_last(&self) -> bool {
        false
    }

    /// Begins an attempt. All of the user's code is called by its future.
    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, Self::Output, GivenError<Self>>;
}

/// The error of a child or a step, as its caller gets it.
pub(super) type GivenError<W> = <<W as Work>::Form as ErrorForm>::Error<<W as Work>::Error>;

/// An attempt that is to begin.
pub(super) struct Start<'w> {
    pub(super) parent: &'w Arc<Attempt>,
    pub(super) path: &'w str,
    pub(super) number: u32,
    /// Whether another may follow, which needs the same input.
    pub(super) may_repeat: bool,
    pub(super) once_only: bool,
    /// The records of the same attempt.
    pub(super) history: Vec<Stored>,
    pub(super) moving: Option<Moving>,
    /// What its spans are about, if anything wants them.
    pub(super) work: Option<Arc<trace::Work>>,
}

/// An attempt under way.
pub(super) struct Begun<'w, T, E> {
    pub(super) body: AttemptBody<'w, Attempted<T, E>>,
    /// The attempt, if the body can make requests.
    pub(super) attempt: Option<Arc<Attempt>>,
    pub(super) moves: Moves,
}

/// Which part counts as moving while an attempt is under way.
pub(super) enum Moves {
    /// The attempt, all the time.
    Always(Option<Moving>),
    /// The attempt, while it does not wait for a request of its own.
    Attempt(Option<Beat>),
    /// The driver of the graph inside.
    Graph(Arc<Within>),
}

impl Moves {
    /// The attempt is over. Its caller begins to count before the attempt stops counting.
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

/// How an attempt ended.
pub(super) enum Attempted<T, E> {
    Output {
        value: T,
        json: Json,
        /// Its writes to the run's state.
        writes: Vec<StateWrite>,
        /// How many writes its parent had made when it began.
        seen: Option<usize>,
        /// What else is committed with the record of it.
        transaction: Option<Box<OpenTransaction>>,
    },
    Error {
        error: E,
        /// `None` if it is recorded as text only.
        json: Option<Json>,
        chain: Vec<String>,
        /// That of a node of a child workflow which may not be repeated.
        fault: Option<Fault>,
        retryable: Retryable,
    },
    /// An error that cannot be recorded: the attempt has failed as with any error, but its caller gets the fault.
    Unrecordable {
        fault: Fault,
        retryable: Retryable,
    },
    Fault(Fault),
    /// What it has written is undone before it could be committed: why.
    Undone(String),
}

impl<T, E> From<Fault> for Attempted<T, E> {
    fn from(fault: Fault) -> Self {
        Attempted::Fault(fault)
    }
}

impl<T: Send, E: Send> around::Attempted for Attempted<T, E> {
    fn error(&self) -> Option<String> {
        match self {
            Attempted::Output { .. } => None,
            Attempted::Error { chain, .. } => Some(chain.join(": ")),
            Attempted::Unrecordable { fault, .. } | Attempted::Fault(fault) => Some(fault.to_string()),
            Attempted::Undone(why) => Some(why.clone()),
        }
    }
}

impl<T: Payload, E> Attempted<T, E> {
    pub(super) fn output(value: T, writes: Vec<StateWrite>, seen: Option<usize>, max: MaxSize) -> Self {
        match value.__to_json(max) {
            Ok(json) => Attempted::Output { value, json, writes, seen, transaction: None },
            Err(error) => {
                drop_refused(value);
                Attempted::Fault(Fault::unrecordable("output", error))
            }
        }
    }
}

impl<T, E> Attempted<T, E> {
    /// The same, committed with what was written in a transaction. That of a failed attempt is undone.
    pub(super) fn with(mut self, open: OpenTransaction) -> Self {
        if let Attempted::Output { transaction, .. } = &mut self {
            *transaction = Some(Box::new(open));
        }
        self
    }
}

/// An error that cannot be recorded could not be returned again, and is not returned at all.
pub(super) fn failed<T, E: Send + 'static, F: FormOf<E>>(
    error: E,
    words: impl FnOnce(&E, &Json) -> Vec<String>,
    retryable: Retryable,
    max: MaxSize,
) -> Attempted<T, F::Error<E>> {
    match F::written(error, words, max) {
        Ok(Written { error, chain, json }) => Attempted::Error { error, json, chain, fault: None, retryable },
        Err(problem) => Attempted::Unrecordable { fault: Fault::unrecordable("error", problem), retryable },
    }
}

/// The input of a child.
pub(super) struct Input {
    pub(super) json: Json,
    /// How a recorded input is read.
    pub(super) reread: Reread,
    /// How many parameters its node has. Of several, the input is a list.
    pub(super) parameters: usize,
    pub(super) identity: Identity,
}

/// What makes a request for a child the one that is recorded.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Identity {
    /// Its path and its input.
    #[default]
    Input,
    /// Its path alone. The caller knows that the input is the same, however the types of today encode it.
    Path,
}

impl Input {
    /// Whether this is the recorded input, by the types of today.
    fn was_recorded_as(&self, recorded: &Json) -> bool {
        let reads_same = || (self.reread.rewrite)(recorded).is_ok_and(|now| now == self.json);
        *recorded == self.json || reads_same() && self.reread.check(recorded, Against::Values).is_ok()
    }

    /// Whether it was recorded so before its node gained parameters, which are `None` here.
    fn had_fewer_parameters_as(&self, recorded: &Json) -> bool {
        let Some(now) = self.json.as_array().filter(|now| self.parameters > 1 && now.len() == self.parameters) else {
            return false;
        };
        // That of a node with one parameter is no list, or is itself the parameter.
        let of_several = recorded.as_array().filter(|former| former.len() < now.len());
        let mut former = of_several.map(Vec::as_slice).into_iter().chain([std::slice::from_ref(recorded)]);
        former.any(|former| with_none(former, now).is_some_and(|former| self.was_recorded_as(&former)))
    }
}

/// The former list, with `None` for those that are `None` now and that it lacks.
fn with_none(former: &[Json], now: &[Json]) -> Option<Json> {
    let mut former = former.iter().peekable();
    let value = |now: &Json| match now {
        Json::Null => Some(former.next_if(|former| former.is_null()).cloned().unwrap_or_default()),
        _ => former.next().cloned(),
    };
    let values = now.iter().map(value).collect::<Option<Vec<Json>>>()?;
    former.next().is_none().then_some(Json::Array(values))
}

/// A request of a node for a child or a step.
pub(super) struct Asked {
    pub(super) parent: Arc<Attempt>,
    pub(super) path: String,
    pub(super) input: Option<Input>,
    pub(super) options: NodeOptions,
}

/// How a child or a step has ended.
type Given<W> = Result<<W as Work>::Output, ChildError<GivenError<W>>>;

/// How it has ended, and whether that is recorded: a cancelled one leaves no result.
type Tried<W> = (Given<W>, bool);

impl Asked {
    fn push(&self, kind: EventKind) {
        self.parent.requests().push(&self.path, kind);
    }

    fn fault(&self, message: String) -> Fault {
        Fault::Context { message: format!("`{}` {message}", self.path) }
    }

    /// The fault of a bug in graphweft.
    fn broken(&self, what: &str) -> Fault {
        self.fault(format!("cannot be executed: {what}; this is a mistake in graphweft"))
    }

    /// An error if the recorded input is another one.
    fn check_input(&self, item: &Item) -> Result<(), Fault> {
        // A step has none.
        let (Some(recorded), Some(input)) = (&item.input, &self.input) else { return Ok(()) };
        if input.identity == Identity::Path
            || input.was_recorded_as(recorded)
            || input.had_fewer_parameters_as(recorded)
        {
            return Ok(());
        }
        let help = if differ_in_order(recorded, &input.json) {
            "a set that is written in another order each time is another input: take a `BTreeSet` for a `HashSet`; if these are two \
             inputs, give each its own `.key(..)`"
        } else {
            "give each input its own `.key(..)`"
        };
        let (recorded, json) = (shortened(recorded), shortened(&input.json));
        Err(self.fault(format!("was recorded with a different input ({recorded}, now {json}); {help}")))
    }

    /// The recorded result, if there is one.
    ///
    /// # Errors
    /// A result that is not read as it was recorded.
    fn recorded_result<W: Work>(&self, item: &Item) -> Result<Option<Given<W>>, Fault> {
        let Some(end) = item.attempts.end() else { return Ok(None) };
        let given = match end {
            Ended::Completed { output, writes } => Ok(self.recorded_output(output, writes)?),
            Ended::Failed { cause, error } => Err(self.recorded_error::<W>(cause, error.as_ref())?),
        };
        if let Some(journal) = &self.parent.run.journal {
            journal.show(|| self.path.clone(), EventKind::ResultReused);
        }
        Ok(Some(given))
    }

    fn recorded_output<T: Payload>(&self, output: &Json, writes: &[StateWrite]) -> Result<T, Fault> {
        let recorded = output;
        let output = T::__from_json(recorded).map_err(|error| self.unreadable::<T>("output", &error))?;
        let check = reread::<T>().check(recorded, Against::Fields);
        check.map_err(|misread| self.misread::<T>("output", misread))?;
        self.parent.adopt(&self.path, writes);
        Ok(output)
    }

    fn recorded_error<W: Work>(&self, cause: &Cause, error: Option<&Json>) -> Result<ChildError<GivenError<W>>, Fault> {
        match W::Form::read(cause, error) {
            Ok(error) => Ok(ChildError::Error(error)),
            Err(Unread::Fault(fault)) => Ok(fault.into()),
            Err(Unread::Misread(misread)) => Err(self.misread::<GivenError<W>>("error", misread)),
            Err(Unread::NotRecorded) => {
                Ok(self.fault(format!("failed, but the error was not recorded: {cause}")).into())
            }
        }
    }

    /// Gives what is recorded to its caller. What is not read as it was recorded ends the attempt around it: the caller would
    /// take it for a failure.
    async fn give<W: Work>(self, held: Held, recorded: Result<Given<W>, Fault>) -> Given<W> {
        held.take();
        match recorded {
            Ok(given) => given,
            Err(fault) => {
                let stop = Context::new(&self.parent).stop(fault);
                // What is pending in a task of the node does not keep the run.
                drop(self);
                stop.await
            }
        }
    }

    /// The fault of a type that does not read the whole recorded value.
    fn misread<T>(&self, what: &str, misread: Misread) -> Fault {
        match misread {
            Misread::Unreadable(error) => self.unreadable::<T>(what, &error),
            Misread::Loses(loss) => {
                let wanted = std::any::type_name::<T>();
                self.fault(format!("has a recorded {what} that a `{wanted}` would lose some of, {loss}"))
            }
        }
    }

    fn unreadable<T>(&self, what: &str, error: &Unreadable) -> Fault {
        self.fault(format!("has a recorded {what} that is not a `{}`, {error}", std::any::type_name::<T>()))
    }

    /// A step: its closure is a part of the body.
    pub(super) async fn step<W: Work>(self, held: Held, item: Option<Box<Item>>, work: W) -> Given<W> {
        let item = match self.until_needed::<W>(&held, item).await {
            Ok(item) => item,
            Err(recorded) => return self.give::<W>(held, recorded).await,
        };
        let tried = {
            let _step = self.parent.requests().step_begins();
            // Boxed: one whose result is recorded is as small as it can be.
            held.while_it_lasts(Box::pin(self.execute(work, item, Some(&held)))).await
        };
        let Some((given, is_recorded)) = tried else {
            return Err(self.fault("was under way when its node ended".to_owned()).into());
        };
        if is_recorded {
            held.result().await;
        }
        held.take();
        given
    }

    /// A child: it is executed beside the body of its parent.
    pub(super) async fn child<W: Work + 'static>(self, mut held: Held, item: Option<Box<Item>>, work: W) -> Given<W> {
        let item = match self.until_needed::<W>(&held, item).await {
            Ok(item) => item,
            Err(recorded) => return self.give::<W>(held, recorded).await,
        };
        let (parent, path) = (Arc::clone(&self.parent), self.path.clone());
        let (ended, mut end) = tokio::sync::oneshot::channel::<Given<W>>();
        let executed = {
            let (parent, path) = (Arc::clone(&parent), path.clone());
            async move {
                let (given, is_recorded) = self.execute(work, item, None).await;
                // The body may have dropped it.
                let _ = ended.send(given);
                if !is_recorded {
                    parent.requests().end_without_result(&path);
                }
            }
        };
        held.spawn(executed.boxed());
        held.result().await;
        held.take();
        parent.adopt_finished(&path);
        let gone = || Fault::Context {
            message: format!("`{path}` is done, and gave nothing; this is a mistake in graphweft"),
        };
        end.try_recv().unwrap_or_else(|_| Err(gone().into()))
    }

    /// Waits until it is to be executed; `Err` with its result, if that is recorded, or why it cannot be taken.
    async fn until_needed<W: Work>(
        &self,
        held: &Held,
        item: Option<Box<Item>>,
    ) -> Result<Box<Item>, Result<Given<W>, Fault>> {
        let mut item = item.unwrap_or_default();
        if item.asked.is_some() {
            let is_now = "is recorded as a question, and is a child or a step now: give it another name";
            return Err(Err(self.fault(is_now.to_owned())));
        }
        loop {
            self.check_input(&item).map_err(Err)?;
            if item.is_done() {
                if held.committed().await.is_err() {
                    item = held.item().unwrap_or_default();
                    continue;
                }
                if let Some(given) = self.recorded_result::<W>(&item).map_err(Err)? {
                    return Err(Ok(given));
                }
            }
            if !item.withdrawn {
                return Ok(item);
            }
            held.reopened().await;
            item = held.item().unwrap_or_default();
        }
    }

    /// Executes it, from where its records end. `held`: a step, which may write in transactions.
    async fn execute<W: Work>(&self, mut work: W, item: Box<Item>, held: Option<&Held>) -> Tried<W> {
        // Counts by itself, since its parent does not count while it waits for another request.
        let mut moving = Moving::of(&self.parent.run);
        let Item { mut attempts, inside, process, .. } = *item;
        // If it was a node when it was recorded, and is a workflow now, there are no records of a graph.
        let how = if work.graph().is_some() && inside { Resumable::FromRecords } else { Resumable::FromItsTop };
        let (mut number, mut delay, mut history) = match attempts.resumption(&self.options, how, process) {
            Some(Resumption::Next { number, after }) => (number, after, None),
            Some(Resumption::Again { number }) => (number, None, None),
            Some(Resumption::Continue { number }) => {
                (number, None, Some(self.parent.run.desk().take_records(&self.path)))
            }
            Some(Resumption::Fail { number, fault }) => {
                self.record_failure(number, Cause::from(fault.clone()), None);
                return (Err(fault.into()), true);
            }
            None => return (Err(self.broken("its result was not reused").into()), false),
        };
        let clock = &self.parent.run.env.clock;
        let mut again = AGAIN.iter();
        let mut is_again = false;
        loop {
            if let Some(until) = delay.take() {
                tokio::time::sleep(clock.until(until)).await;
                // Otherwise a crash could repeat an attempt that is over, and not only the one under way.
                self.parent.requests().recorded().await;
            }
            if history.is_none() && !std::mem::take(&mut is_again) {
                if let Err(impossible) = attempts.apply(AttemptEvent::Begun { number, work: () }) {
                    return (Err(self.broken(&impossible.to_string()).into()), false);
                }
                self.record_start(number, work.graph()).await;
            }
            let was_stopped = self.parent.is_stopped();
            let attempted = {
                let kind = work.kind();
                let spans = self.spans(kind, number);
                let Begun { body, attempt, moves } = work.begin(Start {
                    parent: &self.parent,
                    path: &self.path,
                    number,
                    may_repeat: attempts.may_be_followed(&self.options.retry),
                    once_only: self.options.at_most_once,
                    history: history.take().unwrap_or_default(),
                    moving: moving.take(),
                    work: spans.clone(),
                });
                // What is asked for in a step is in its span.
                let _covers = spans
                    .as_ref()
                    .filter(|_| kind == Some(CallKind::Step))
                    .and_then(|step| Some(trace::Covers::below(self.parent.work.get()?, self.path.clone(), step)));
                let traced = spans.map(|spans| Traced::new(spans, kind.is_some()));
                let permits = self.parent.run.permits.as_ref().filter(|_| attempt.is_some());
                let body = match kind {
                    Some(kind) => self.parent.run.surrounded(body, kind, || self.path.clone(), number),
                    None => body,
                };
                let running = Running::new(body, self.options.timeout, permits, traced);
                let running = match kind {
                    Some(CallKind::Child) => running.measured(|| self.path.clone()),
                    _ => running,
                };
                let attempted = self.shown_if_slow(running.until_over(attempt)).await;
                moving = moves.over(&self.parent);
                attempted
            };
            let is_last = work.is_last();
            // The output of an attempt that was cancelled is not its result.
            let is_stopped = !was_stopped && self.parent.is_stopped();
            let attempted = match self.check_writes(attempted) {
                Attempted::Output { value, json, writes, transaction, .. } => {
                    if is_stopped {
                        return (Ok(value), false);
                    }
                    let completed =
                        EventKind::NodeCompleted { label: None, output: Some(json), state: writes, items: None };
                    let of_transaction = held.filter(|_| transaction.is_some());
                    self.parent.requests().push_in(&self.path, completed, transaction.map(|open| *open));
                    let committed = match of_transaction {
                        Some(held) => held.committed().await,
                        None => Ok(()),
                    };
                    let Err(why) = committed else { return (Ok(value), true) };
                    drop_refused(value);
                    Attempted::Undone(why)
                }
                attempted => attempted,
            };
            let is_stopped = !was_stopped && self.parent.is_stopped();
            if let (Attempted::Undone(_), false, false) = (&attempted, is_stopped, self.options.at_most_once)
                && let Some(pause) = again.next()
            {
                // Those that were in each other's way do not come back together.
                tokio::time::sleep(pause.mul_f64(0.5 + self.parent.run.chance().random)).await;
                is_again = true;
                continue;
            }
            let (error, cause, json, retryable) = match attempted {
                Attempted::Output { value, .. } => return (Ok(value), false),
                Attempted::Error { error, json, chain, fault, retryable } => {
                    (ChildError::Error(error), Cause { chain, fault }, json, retryable)
                }
                Attempted::Unrecordable { fault, retryable } => {
                    (ChildError::Fault(fault.clone()), Cause::from(fault), None, retryable)
                }
                Attempted::Undone(message) => self.of_fault(Fault::Context { message }),
                Attempted::Fault(fault) => self.of_fault(fault),
            };
            if is_stopped {
                return (Err(error), false);
            }
            let retryable = retryable.unless(is_last);
            let next = attempts.next_attempt(&self.options.retry, retryable, || self.parent.run.chance());
            let Some(time) = next else {
                self.record_failure(number, cause, json);
                return (Err(error), true);
            };
            if let Err(impossible) = attempts.apply(AttemptEvent::RetryAt(time)) {
                return (Err(self.broken(&impossible.to_string()).into()), false);
            }
            let then = AfterFailure::RetryAt { time };
            self.push(EventKind::NodeFailed { attempt: number, cause, then, error: None });
            drop(error);
            (number, delay, again) = (number + 1, Some(time), AGAIN.iter());
        }
    }

    /// How an attempt has failed that ended with a fault.
    fn of_fault<E>(&self, fault: Fault) -> (ChildError<E>, Cause, Option<Json>, Retryable) {
        let fault = if self.options.at_most_once { fault.at_most_once() } else { fault };
        let retryable = Retryable::from(is_retryable(&fault));
        (ChildError::Fault(fault.clone()), Cause::from(fault), None, retryable)
    }

    /// What the spans of an attempt are about, if anything wants them.
    fn spans(&self, kind: Option<CallKind>, number: u32) -> Option<Arc<trace::Work>> {
        let around = self.parent.work.get();
        let is_wanted = around.is_some() || trace::is_wanted();
        let kind = kind.unwrap_or(CallKind::Child);
        is_wanted.then(|| trace::Work::attempt(around, kind, self.path.clone(), number))
    }

    /// Records that an attempt begins: with the next commit, or before it begins if it may not be made twice.
    async fn record_start(&self, attempt: u32, graph: Option<&Arc<Definition>>) {
        let inside = graph.map(|definition| {
            let graph = self.parent.run.journal.as_ref().map(|journal| {
                let graph = &compile::fingerprint(definition).stored;
                journal.keep_graph(graph);
                graph.0
            });
            Entered { items: 1, labels: Vec::new(), bounded: false, limit: None, graph }
        });
        let input = self.input.as_ref().map(|input| input.json.clone());
        let began = self.parent.run.journal.as_ref().map(|journal| journal.clock.now());
        self.push(EventKind::NodeStarted { attempt, inside, input, began });
        if self.options.at_most_once {
            self.parent.requests().recorded().await;
        } else if self.parent.run.is_watched() {
            self.parent.run.pulse.say();
        }
    }

    /// Has the start of an attempt recorded that is still under way after [`SLOW`], so that other processes see it.
    async fn shown_if_slow<T>(&self, attempted: impl Future<Output = T>) -> T {
        if self.options.at_most_once || self.parent.run.journal.is_none() || self.parent.run.is_watched() {
            return attempted.await;
        }
        let mut attempted = pin!(attempted);
        let mut slow = None;
        let mut is_shown = false;
        poll_fn(move |waker| {
            let ended = attempted.as_mut().poll(waker);
            if ended.is_pending() && !is_shown {
                let slow = slow.get_or_insert_with(|| Box::pin(tokio::time::sleep(SLOW)));
                if slow.as_mut().poll(waker).is_ready() {
                    is_shown = true;
                    self.parent.run.pulse.say();
                }
            }
            ended
        })
        .await
    }

    /// Checks the writes of an attempt against those that its parent has made since.
    fn check_writes<T, E>(&self, attempted: Attempted<T, E>) -> Attempted<T, E> {
        match &attempted {
            Attempted::Output { writes, seen: Some(seen), .. } => {
                match self.parent.child_finished(&self.path, writes, *seen) {
                    Ok(()) => attempted,
                    Err(fault) => Attempted::Fault(fault),
                }
            }
            _ => attempted,
        }
    }

    /// Records that it has failed for good.
    fn record_failure(&self, attempt: u32, cause: Cause, error: Option<Json>) {
        tracing::debug!(path = self.path, attempt, %cause, "failed");
        self.push(EventKind::NodeFailed { attempt, cause, then: AfterFailure::Fails, error });
    }
}

pub(super) fn fails<T: Send + 'static, E: Send + 'static>(fault: Fault) -> AttemptBody<'static, Attempted<T, E>> {
    AttemptBody::new(std::future::ready(Attempted::Fault(fault)))
}
