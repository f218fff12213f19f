//! The handle to a run.

use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::{Arc, MutexGuard, PoisonError};

use futures_util::future::select;
use serde::Serialize;
use serde_json::Value as Json;

use super::answering::Answering;
use super::cancel::CancelError;
use super::events::Events;
use super::events::LOOK;
use super::inner::Engine;
use super::runs::{End, Live};
use super::runtime;
use crate::asked::Question;
use crate::box_value::BoxValue;
use crate::event::{EventKind, EventPosition};
use crate::fault::Failure;
use crate::node::{Payload, reread};
use crate::run_error::RunError;
use crate::shared::{Journal, Progress};
use crate::signal::AwaitedSignal;
use crate::store::{RunHeader, RunKey, RunStatus, StoreError};
use crate::value::{self, Against};

/// A handle to a run, whichever process executes it. Cheap to clone. Dropping it does not stop the run.
///
/// If the run [starts over](crate::Context::start_over), the handle stays with it: its events, its status and its questions
/// are those of this run. [`result`](Self::result) and [`outcome`](Self::outcome) are those of the last run that follows it, and
/// [`next`](Self::next) is the next one. What is sent to it, a signal, an answer or a cancellation, goes to the last one.
///
/// # Cancel safety
/// Methods that wait or read are cancel safe. If the future of [`cancel`](Self::cancel), or of an answer or a signal, is dropped, it may
/// or may not be recorded.
pub struct Run<T> {
    engine: Engine,
    id: Arc<str>,
    workflow: Arc<str>,
    key: RunKey,
    /// The run as it was in this process when the handle was made.
    live: Option<Arc<Live>>,
    gives: PhantomData<fn() -> T>,
}

/// The state of a run that has ended or waits.
///
/// As JSON it is one of `{"completed":..}`, with the output, `{"failed":..}`, `"cancelled"`, `{"waiting":[..]}`, with
/// the questions, and `{"awaiting_signals":[..]}`.
///
/// A caller that can deal with a run that waits, where [`Run::result`] would be an error:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> Result<String, String> {
///     if ctx.ask::<bool>("approve", "Ship it?").await { Ok(text) } else { Err("it was rejected".into()) }
/// }
/// workflow! { pub publish(String) -> String { START => review; } }
///
/// fn shown(outcome: Outcome<String>) -> String {
///     match outcome {
///         Outcome::Completed(text) => format!("published: {text}"),
///         Outcome::Failed(failure) => format!("failed: {}", failure.cause),
///         Outcome::Waiting(questions) => format!("waits: {}", questions[0].prompt),
///         other => format!("{other:?}"),
///     }
/// }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<publish>("a poem".into()).await?;
/// assert_eq!(shown(run.outcome().await?), "waits: Ship it?");
/// run.answer("approve", false).await?;
/// assert_eq!(shown(run.outcome().await?), "failed: it was rejected");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome<T> {
    /// It has completed, with its output.
    Completed(T),
    /// A node failed, and its error was not routed.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
    /// It cannot make progress until one of these questions is answered (or a timer fires).
    Waiting(Vec<Question>),
    /// It cannot make progress until one of these signals comes (or a timer fires); no question is open.
    AwaitingSignals(Vec<AwaitedSignal>),
}

/// What a run has come to.
enum Came<T> {
    To(Outcome<T>),
    /// It has started over, and the run with this id follows it.
    Over(String),
}

impl Engine {
    /// A run by its id, in any process and any state; `None` if there is no such run. Its output is plain JSON,
    /// without the type of the workflow: an integer beyond 64 bits is the text of its digits, NaN and infinities are `null`, and a map whose
    /// keys are no texts is a list of pairs. [`get_run_of`](Self::get_run_of) has the exact value.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get_run(&self, id: &str) -> Result<Option<Run<Json>>, StoreError> {
        if let Some(live) = self.0.runs.get(id) {
            return Ok(Some(Run::of_live(self, live)));
        }
        Ok(self.0.store.header(id).await?.map(|header| Run::of_header(self, &header)))
    }
}

impl<T> Run<T> {
    pub(super) fn of_live(engine: &Engine, live: Arc<Live>) -> Self {
        let run = Run::of_journal(engine, &live.journal);
        Run { live: Some(live), ..run }
    }

    /// A run that is recorded, and not driven here.
    pub(super) fn of_journal(engine: &Engine, journal: &Journal) -> Self {
        Run::undriven(engine, &journal.run_id, &journal.workflow, journal.key)
    }

    pub(super) fn of_header(engine: &Engine, header: &RunHeader) -> Self {
        Run::undriven(engine, &header.id, &header.workflow, header.key)
    }

    /// A run that has been deleted. The handle is that of no other run, also when its id is free again.
    pub(crate) fn of_deleted(engine: &Engine, id: &str, workflow: &str) -> Self {
        Run::undriven(engine, id, workflow, RunKey::new(u64::MAX))
    }

    fn undriven(engine: &Engine, id: &str, workflow: &str, key: RunKey) -> Self {
        Run { engine: engine.not_held(), id: id.into(), workflow: workflow.into(), key, live: None, gives: PhantomData }
    }

    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of its workflow.
    pub fn workflow(&self) -> &str {
        &self.workflow
    }

    /// The events of the run, from the first one. The stream ends with the run.
    pub fn events(&self) -> Events {
        self.events_from(0)
    }

    /// The events of the run from number `seq` on, past and future.
    ///
    /// Several events can have one number ([`Event::seq`](crate::Event::seq)). After a lost connection, continue with
    /// [`events_after`](Self::events_after).
    pub fn events_from(&self, seq: u64) -> Events {
        Events::new(&self.engine, &self.id, self.key, seq, None)
    }

    /// The events of the run behind one that was seen, past and future: for a client that has lost its connection. It
    /// misses no record, and of the progress of nodes that are still under way in this process the last 1,024 of each
    /// node. Events [derived](crate::Event::derived) from the record at this position come again.
    ///
    /// ```
    /// use graphweft::EventPosition;
    /// # use graphweft::prelude::*;
    /// # #[node]
    /// # async fn double(n: u32) -> u32 { n * 2 }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// # let engine = Engine::builder().build()?;
    /// # let run = engine.start::<doubled>(4).await?;
    /// let first = run.events().next().await.ok_or("a run has events")?;
    /// let last_event_id = first.position().to_string();
    ///
    /// // Later, with the `Last-Event-ID` of the request:
    /// let mut events = run.events_after(last_event_id.parse::<EventPosition>()?);
    /// # let second = events.next().await.ok_or("it has more")?;
    /// # assert_eq!(second.seq, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn events_after(&self, position: EventPosition) -> Events {
        Events::new(&self.engine, &self.id, self.key, position.seq(), Some(position))
    }

    /// The run that follows this one, if it has [started over](crate::Context::start_over). `None` if it has not, or if the
    /// store does not contain one of the two any more.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&self) -> Result<Option<Run<T>>, StoreError> {
        let Some(next) = self.engine.next_of(&self.id).await? else { return Ok(None) };
        Ok(self.engine.get_run(&next).await?.map(|next| next.of_output()))
    }

    /// The last of the runs that follow this one, each of which has [started over](crate::Context::start_over) as the
    /// next: the one that executes, or that has ended for good. The same run if it has not started over.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn count(from: u32, ctx: &Context) -> u32 {
    ///     if from < 3 { ctx.start_over::<counting>(from + 1).await } else { from }
    /// }
    ///
    /// workflow! { pub counting(u32) -> u32 { START => count; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<counting>(1).id("counter").await?;
    /// run.result().await?;
    ///
    /// let last = run.last().await?;
    /// assert_eq!((last.id(), last.status().await?), ("counter~2", RunStatus::Completed));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn last(&self) -> Result<Run<T>, StoreError> {
        let mut last = self.clone();
        while let Some(next) = last.next().await? {
            last = next;
        }
        Ok(last)
    }

    /// Cancels the run. Every running node is cancelled; when they have stopped the run ends as `Cancelled`, which
    /// [`outcome`](Self::outcome) waits for. A run that has ended or is failing does not change. A run of another
    /// process is cancelled through the store. If the run has [started over](crate::Context::start_over), the last run that
    /// follows it is cancelled.
    ///
    /// # Errors
    /// If the run was deleted, or one of those between it and the last one, and if the request cannot be recorded.
    pub async fn cancel(&self) -> Result<(), CancelError> {
        self.engine.cancel(&self.id).await
    }

    /// The open questions of the run.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn questions(&self) -> Result<Vec<Question>, StoreError> {
        if let Some(live) = self.live() {
            live.journal.catch_up_with_store().await;
            if live.journal.halted().is_none() {
                return Ok(live.journal.desk.open_questions());
            }
        }
        Ok(self.engine.asked(self.key).await?.open())
    }

    /// Answers a question of the run; see [`Engine::answer`].
    ///
    /// # Errors
    /// See [`Engine::answer`].
    pub fn answer<'a>(&'a self, question: &'a str, answer: impl Into<Json>) -> Answering<'a> {
        self.engine.answer(&self.id, question, answer)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The same run with another type of output.
    pub(crate) fn of_output<O>(&self) -> Run<O> {
        let Run { engine, id, workflow, key, live, .. } = self.clone();
        Run { engine, id, workflow, key, live, gives: PhantomData }
    }

    /// The run in this process, if it is driven here now, even if another handle or a retry has started it.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        self.engine.0.runs.get(&self.id).filter(|live| live.journal.key == self.key)
    }

    /// How the run has ended by its record, which counts where the store has forgotten it later: what this process has
    /// seen may be older, from before a retry.
    fn has_ended(&self, end: End) {
        if let Some(mut own) = self.own_end() {
            *own = Some(end);
        }
    }

    /// How the run has ended in this process, by the run as it was when the handle was made.
    fn own_end(&self) -> Option<MutexGuard<'_, Option<End>>> {
        let live = self.live.as_ref()?;
        Some(live.end.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Payload> Run<T> {
    /// Waits until the run has ended, or until it cannot make progress without an answer. If it [starts
    /// over](crate::Context::start_over), waits for the run that follows it. Cancel safe. It may be called
    /// again: the first call after the end returns the output itself, later calls read it from its record.
    ///
    /// A handle follows its run: through retries, and to other processes.
    ///
    /// # Errors
    /// [`RunError`] if the run stopped in this process before it ended, or if no living process has it and this one
    /// cannot resume it (it is not lost), and [`RunError::OutputMismatch`] if the recorded output is not a `T`.
    /// [`RunError::ShutDown`] if this engine was shut down, or if every clone of it was dropped and no living engine,
    /// not this one either, executes the run.
    pub async fn outcome(&self) -> Result<Outcome<T>, RunError> {
        let mut came = self.own_outcome().await?;
        loop {
            let next = match came {
                Came::To(outcome) => return Ok(outcome),
                Came::Over(next) => next,
            };
            let next = self.engine.get_run(&next).await?.ok_or(RunError::NotFound)?;
            came = next.of_output::<T>().own_outcome().await?;
        }
    }

    /// The outcome of this run, and not of one that follows it.
    async fn own_outcome(&self) -> Result<Came<T>, RunError> {
        // How many records the run had when it was found that this program can resume it.
        let mut checked = None;
        loop {
            if let Some(live) = self.live() {
                if let Some(outcome) = self.outcome_of_live(&live).await? {
                    return Ok(outcome);
                }
                continue;
            }
            // A run that has completed is never retried.
            let output = match self.own_end().as_deref_mut() {
                Some(Some(End::Completed(output))) => take(output),
                _ => None,
            };
            if let Some(output) = output {
                return Ok(Came::To(Outcome::Completed(output)));
            }
            if let Some(outcome) = self.outcome_of_record(&mut checked).await? {
                return Ok(outcome);
            }
            match &self.engine.0.closing {
                closing if closing.is_cancelled() => runtime::sleep(LOOK)?.await,
                // Whether it closes or not, the records are read again.
                closing => _ = select(pin!(runtime::sleep(LOOK)?), pin!(closing.cancelled())).await,
            }
        }
    }

    /// `None` if it has left this process meanwhile.
    async fn outcome_of_live(&self, live: &Live) -> Result<Option<Came<T>>, RunError> {
        let reports = &live.journal.progress;
        let now = reports.until(|now| now.progress() != Progress::Running).await;
        match now.progress() {
            Progress::Waiting => {
                // Another engine may have answered since.
                live.journal.catch_up_with_store().await;
                let now = reports.last();
                if now.progress() != Progress::Waiting {
                    return Ok(None);
                }
                let open = live.journal.desk.open_questions();
                let signals = live.journal.desk.awaited_signals();
                // All of them may just have come, or their nodes have ended: then the run moves, and its driver reports
                // that.
                if open.is_empty() && signals.is_empty() {
                    reports.until(|next| next != now).await;
                    return Ok(None);
                }
                let outcome = if open.is_empty() { Outcome::AwaitingSignals(signals) } else { Outcome::Waiting(open) };
                Ok(Some(Came::To(outcome)))
            }
            Progress::Halted => Ok(None),
            Progress::Running | Progress::Over => {
                let taken = match &mut *live.end.lock().unwrap_or_else(PoisonError::into_inner) {
                    Some(End::Completed(output)) => take(output),
                    Some(End::Failed(failure)) => return Ok(Some(Came::To(Outcome::Failed(failure.clone())))),
                    Some(End::Cancelled) => return Ok(Some(Came::To(Outcome::Cancelled))),
                    Some(End::StartedOver(next)) => return Ok(Some(Came::Over(next.clone()))),
                    None => None,
                };
                Ok(taken.map(|output| Came::To(Outcome::Completed(output))))
            }
        }
    }

    /// `None` if the run continues, and has not ended.
    async fn outcome_of_record(&self, checked: &mut Option<u64>) -> Result<Option<Came<T>>, RunError> {
        let (engine, store) = (&self.engine, &self.engine.0.store);
        // The id of a run that was deleted may be that of another one.
        let Some(header) = store.header(&self.id).await?.filter(|header| header.key == self.key) else {
            // The store has deleted it since.
            return match self.own_end().as_deref() {
                Some(Some(End::Failed(failure))) => Ok(Some(Came::To(Outcome::Failed(failure.clone())))),
                Some(Some(End::Cancelled)) => Ok(Some(Came::To(Outcome::Cancelled))),
                Some(Some(End::StartedOver(next))) => Ok(Some(Came::Over(next.clone()))),
                _ => Err(RunError::NotFound),
            };
        };
        if header.status.is_over() {
            let last = store.read(header.key, header.records.saturating_sub(1), 1).await?;
            let last = last.into_iter().next().map(|stored| stored.record.kind);
            if let Some(end) = last.as_ref().and_then(End::by_its_record) {
                self.has_ended(end);
            }
            return match last {
                Some(EventKind::RunCompleted { output }) => {
                    read(&output).map(|it| Some(Came::To(Outcome::Completed(it))))
                }
                Some(EventKind::RunFailed { failure }) => Ok(Some(Came::To(Outcome::Failed(failure)))),
                Some(EventKind::RunCancelled) => Ok(Some(Came::To(Outcome::Cancelled))),
                Some(EventKind::RunStartedOver { next }) => Ok(Some(Came::Over(next))),
                _ => Ok(None),
            };
        }
        let is_elsewhere = engine.is_elsewhere(&header).await?;
        if !is_elsewhere {
            if let Some(halt) = engine.stopped_here(&header) {
                return Err(halt.into());
            }
            if *checked != Some(header.records) {
                if let Some(halt) = engine.obstacle(&header).await? {
                    return Err(halt.into());
                }
                *checked = Some(header.records);
            }
        }
        if header.status == RunStatus::Waiting
            && let Some(open) = engine.asked_unless_cancelled(header.key).await?
        {
            if !open.is_empty() {
                return Ok(Some(Came::To(Outcome::Waiting(open))));
            }
            let signals = engine.awaited_by(&header).await?;
            if !signals.is_empty() {
                return Ok(Some(Came::To(Outcome::AwaitingSignals(signals))));
            }
        }
        // A program that has only dropped its engine may still follow the run of another one.
        if engine.0.closing.is_cancelled() && (!is_elsewhere || engine.0.runs.is_shut_down()) {
            return Err(RunError::ShutDown);
        }
        Ok(None)
    }

    /// Waits for the output.
    ///
    /// # Errors
    /// [`RunError`] if the run failed, was cancelled or waits for an answer or a signal, and the errors of
    /// [`outcome`](Self::outcome).
    pub async fn result(&self) -> Result<T, RunError> {
        match self.outcome().await? {
            Outcome::Completed(output) => Ok(output),
            Outcome::Failed(failure) => Err(RunError::Failed(failure)),
            Outcome::Cancelled => Err(RunError::Cancelled),
            Outcome::Waiting(questions) => {
                Err(RunError::Waiting { questions: questions.into_iter().map(|question| question.id).collect() })
            }
            Outcome::AwaitingSignals(signals) => {
                Err(RunError::AwaitingSignals { signals: signals.into_iter().map(|signal| signal.name).collect() })
            }
        }
    }
}

fn take<T: 'static>(kept: &mut Option<BoxValue>) -> Option<T> {
    let output = kept.as_mut()?.take()?;
    *kept = None;
    Some(output)
}

fn read<T: Payload>(recorded: &Json) -> Result<T, RunError> {
    let mismatch = |message| RunError::OutputMismatch { message };
    if TypeId::of::<T>() == TypeId::of::<Json>() {
        let json: Box<dyn Any> =
            Box::new(value::decode_untyped(recorded).map_err(|error| mismatch(error.to_string()))?);
        if let Ok(output) = json.downcast::<T>() {
            return Ok(*output);
        }
    }
    let output = T::__from_json(recorded).map_err(|error| mismatch(error.to_string()))?;
    match reread::<T>().check(recorded, Against::Fields) {
        Ok(()) => Ok(output),
        Err(misread) => Err(mismatch(misread.to_string())),
    }
}

impl<T> Clone for Run<T> {
    fn clone(&self) -> Self {
        Run {
            engine: self.engine.clone(),
            id: Arc::clone(&self.id),
            workflow: Arc::clone(&self.workflow),
            key: self.key,
            live: self.live.clone(),
            gives: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("id", &self.id()).field("workflow", &self.workflow()).finish_non_exhaustive()
    }
}
