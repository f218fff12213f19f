//! One process that starts or resumes the run of a lab.

use std::fmt::Write;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::{Either, select};
use serde_json::Value as Json;

use super::alarm::alarm;
use super::crash_store::{CrashStore, last_run, records_of};
use super::lab::Lab;
use super::outside::{Answer, RUN, Sending, Sent};
use super::world::World;
use crate::engine::{Check, Engine, EngineBuilder, Outcome, Run};
use crate::event::{Event, EventKind};
use crate::node::Payload;
use crate::question::AnswerError;
use crate::store::{Append, AskedQuestion, HeaderChange, QuestionQuery, RunQuery, RunStatus, Store};
use crate::workflow::Workflow;

/// How long a process may take to stop.
const STOPPING: Duration = Duration::from_secs(10);

/// How a process has ended.
pub(super) enum Ended {
    /// Its store has lost a commit.
    Crashed,
    /// The run has ended, or waits for what the lab does not send.
    Rests(Rests),
}

/// A run that has ended or waits.
pub(super) struct Rests {
    /// `Completed` has the output in the form of its record.
    pub(super) outcome: Outcome<Json>,
    /// The recorded events of the run, and of those that follow it.
    pub(super) events: Vec<Event>,
}

impl<W: Workflow> Lab<W> {
    /// Starts a run of a version of the workflow in a new process of a program, or resumes the run if it is in the store.
    ///
    /// # Errors
    /// What keeps it from running, as text.
    pub(super) async fn process<V: Workflow>(
        &self,
        program: EngineBuilder,
        world: &Arc<World>,
        store: &CrashStore,
        input: &Json,
    ) -> Result<Ended, String> {
        let program = program.clock(clock_of(world)).store(store.clone());
        let engine = program.build().map_err(|error| format!("the engine cannot be built: {error}"))?;
        let ended = {
            let driven = pin!(self.drive::<V>(&engine, world, store, input));
            match select(driven, pin!(alarm(self.patience))).await {
                Either::Left((ended, _)) => Some(ended),
                Either::Right(_) => None,
            }
        };
        let ended = match ended {
            Some(ended) => ended,
            None => Err(self.under_way(store).await),
        };
        if let Either::Right(_) = select(pin!(engine.shutdown()), pin!(alarm(STOPPING))).await {
            return Err("a node does not stop: it blocks its thread, without an `.await`".to_owned());
        }
        if store.has_crashed() { Ok(Ended::Crashed) } else { ended.map(Ended::Rests) }
    }

    /// Which runs of a store the program of the lab could not resume, and which of its versions the others fit.
    ///
    /// # Errors
    /// If the engine cannot be built, or the store cannot be read.
    pub(super) async fn checked(&self, world: &Arc<World>, store: &CrashStore) -> Result<Check, String> {
        let engine = self.program(world).clock(clock_of(world)).store(store.clone()).build();
        let engine = engine.map_err(|error| format!("the engine cannot be built: {error}"))?;
        let check = engine.check().await.map_err(|error| error.to_string());
        engine.shutdown().await;
        check
    }

    async fn drive<V: Workflow>(
        &self,
        engine: &Engine,
        world: &World,
        store: &CrashStore,
        input: &Json,
    ) -> Result<Rests, String> {
        let mut run = self.begin::<V>(engine, world, store, input).await?;
        loop {
            run = last_of(run).await?;
            // Before anything else: what is recorded from here on is not missed.
            let seen = self.events(engine).await?.last().map_or(0, |event| event.seq + 1);
            let came = match select(pin!(run.outcome()), pin!(store.crashed())).await {
                Either::Left((came, _)) => came.map_err(|error| error.to_string())?,
                Either::Right(_) => return Err("the process has crashed".to_owned()),
            };
            if let Outcome::Waiting(_) | Outcome::AwaitingSignals(_) = came {
                // It may be that of a run that has begun meanwhile, and a handle knows the questions of its own run.
                let was = run.id().to_owned();
                run = last_of(run).await?;
                if run.id() != was {
                    continue;
                }
                let is_moving = match self.send(engine, &run, world).await? {
                    Sending::Sent => {
                        tokio::task::yield_now().await;
                        continue;
                    }
                    Sending::SentBefore => true,
                    // A time limit of what it waits for.
                    Sending::Nothing => self.waits_for_a_timer(store).await?,
                };
                if is_moving {
                    match select(pin!(run.events_from(seen).next()), pin!(store.crashed())).await {
                        Either::Left(_) => continue,
                        Either::Right(_) => return Err("the process has crashed".to_owned()),
                    }
                }
            }
            let events = self.events(engine).await?;
            let recorded = events.last().map(|event| &event.kind);
            let outcome = match (came, recorded) {
                (Outcome::Completed(_), Some(EventKind::RunCompleted { output })) => Outcome::Completed(output.clone()),
                (came, _) => came,
            };
            return Ok(Rests { outcome, events });
        }
    }

    async fn begin<V: Workflow>(
        &self,
        engine: &Engine,
        world: &World,
        store: &CrashStore,
        input: &Json,
    ) -> Result<Run<Json>, String> {
        let status = vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping];
        let query = RunQuery { status, ..RunQuery::default() };
        let unfinished = store.list(query).await.map_err(|error| error.to_string())?;
        let is_known = store.header(RUN).await.map_err(|error| error.to_string())?.is_some();
        match unfinished.as_slice() {
            // A run that waits is resumed at once, and not by the task that looks for runs which are due: that would look four
            // times in each second of a paused clock.
            [run] if run.id == RUN => {
                let nudge = HeaderChange { nudge: true, ..HeaderChange::default() };
                let append = Append::new(run.key, run.records, clock_of(world)(), Vec::new());
                let nudged = store.inner().append(Append { header: nudge, ..append }).await;
                nudged.map_err(|error| error.to_string())?;
                let resumed = engine.resume_only(run).await;
                return match resumed.map_err(|error| format!("the run cannot be resumed: {error}"))? {
                    Some(run) => Ok(run),
                    None => Err("the run is not due; this is a mistake in graphweft".to_owned()),
                };
            }
            [] if !is_known => {}
            // It has started over, or has started others.
            _ => {
                let recovery = engine.recover().await.map_err(|error| error.to_string())?;
                if let Some((run, error)) = recovery.failed.first() {
                    return Err(format!("run `{run}` cannot be resumed: {error}"));
                }
                let run = engine.get_run(RUN).await.map_err(|error| error.to_string())?;
                return run.ok_or_else(|| "the run is not in the store".to_owned());
            }
        }
        let input = V::Input::from_record(input).map_err(|error| format!("the input cannot be read back: {error}"))?;
        let start = self.start(engine.start::<V>(input).id(RUN).of_json());
        start.await.map_err(|error| format!("the run cannot be started: {error}"))
    }

    /// Sends all that the lab has for the questions and waits of the run.
    async fn send(&self, engine: &Engine, run: &Run<Json>, world: &World) -> Result<Sending, String> {
        let mut sending = Sending::Nothing;
        let mut questions = run.questions().await.map_err(|error| error.to_string())?;
        let events = self.events(engine).await?;
        // In the order in which they were asked.
        questions.sort_by_key(|question| events.iter().rposition(|event| event.path == question.id));
        for question in questions {
            let Some(answer) = Answer::to(&question, &self.answers, world) else { continue };
            match engine.answer(RUN, &question.id, answer).await {
                // It was withdrawn, since the answer to another one has come.
                Ok(()) | Err(AnswerError::Withdrawn { .. }) => sending = Sending::Sent,
                Err(error) => return Err(format!("the answer of the lab is refused: {error}")),
            }
        }
        let waits = run.awaited_signals().await.map_err(|error| error.to_string())?;
        if !waits.is_empty() {
            let sent = Sent::to(&waits, &self.signals, &events, engine).await;
            sending = sending.max(sent.map_err(|error| format!("the signal of the lab is refused: {error}"))?);
        }
        Ok(sending)
    }

    async fn waits_for_a_timer(&self, store: &CrashStore) -> Result<bool, String> {
        let last = last_run(store.inner()).await.map_err(|error| error.to_string())?;
        Ok(last.is_some_and(|header| header.status != RunStatus::Running && header.wake_at.is_some()))
    }

    async fn events(&self, engine: &Engine) -> Result<Vec<Event>, String> {
        let (mut events, mut next) = (Vec::new(), Some(RUN.to_owned()));
        while let Some(id) = next.take() {
            let of_run = engine.history(&id).await.map_err(|error| error.to_string())?.unwrap_or_default();
            events.extend(of_run.into_iter().filter(|event| !event.derived));
            if let Some(Event { kind: EventKind::RunStartedOver { next: id }, .. }) = events.last() {
                next = Some(id.clone());
            }
        }
        Ok(events)
    }

    /// The error of a run that does not end.
    async fn under_way(&self, store: &CrashStore) -> String {
        let mut text = format!("the run has not ended after {:?} of real time", self.patience);
        let records = records_of(store.inner(), RUN).await.unwrap_or_default();
        let mut open: Vec<(&str, Option<SystemTime>)> = Vec::new();
        for (path, kind) in &records {
            let until = match kind {
                EventKind::NodeStarted { inside: None, .. } => None,
                EventKind::TimerSet { until } => Some(*until),
                kind if kind.is_result() || kind.ends_attempt() || *kind == EventKind::RequestWithdrawn => {
                    open.retain(|(other, _)| other != path);
                    continue;
                }
                _ => continue,
            };
            open.retain(|(other, _)| other != path);
            open.push((path, until));
        }
        for (path, until) in open {
            let _infallible = match until {
                None => write!(text, "\n  under way: `{path}`"),
                Some(_) => write!(text, "\n  timer:     `{path}`"),
            };
        }
        let asked = store.inner().open_questions(QuestionQuery::default()).await.unwrap_or_default();
        for AskedQuestion { id: run, question, .. } in asked {
            let _infallible = write!(text, "\n  asked:     `{}` in run `{run}`", question.question.id);
        }
        text.push_str(
            "\n  help: under `#[tokio::test(start_paused = true)]` timers of any length pass at once; a node that does real \
             work gets more time by `.patience(..)`; a lab answers the questions of its own run, and not those of runs which that \
             has started: mock the nodes that ask there",
        );
        text
    }
}

/// A clock that follows tokio's, so that paused time is the time of the run as well.
pub(super) fn clock_of(world: &World) -> impl Fn() -> SystemTime + Send + Sync + 'static {
    let (instant, time) = world.began();
    move || time + instant.elapsed()
}

/// The run that follows it last, by starting over.
async fn last_of(mut run: Run<Json>) -> Result<Run<Json>, String> {
    while let Some(next) = run.next().await.map_err(|error| error.to_string())? {
        run = next;
    }
    Ok(run)
}
