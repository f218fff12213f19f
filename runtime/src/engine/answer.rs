//! Answers and cancellation, for runs of any process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value as Json;

use super::{Engine, Halt};
use crate::event::EventKind;
use crate::question::{AnswerError, check_schema};
use crate::run_error::RunError;
use crate::shared::Progress;
use crate::store::{Append, Appended, HeaderChange, Record, RunHeader, RunStatus, StoreError};

impl Engine {
    /// Answers a question of a run, in this process or in any other with the same store. The answer is validated
    /// against the question's JSON Schema, and against its type if the node runs in this process, *before* it is
    /// recorded: an invalid answer changes nothing.
    ///
    /// `question` is the id of a [`Question`](crate::Question), or its name if only one open question has it.
    ///
    /// Cancel safe: if the future is dropped, the answer may or may not have been recorded.
    ///
    /// # Errors
    /// [`AnswerError`], for a question that does not exist, is already answered or was withdrawn, and for an invalid
    /// answer.
    pub async fn answer(&self, run: &str, question: &str, answer: impl Into<Json>) -> Result<(), AnswerError> {
        let answer = answer.into();
        if let Some(live) = self.0.runs.get(run) {
            let journal = &live.journal;
            let id = journal.desk.take_answer(run, question, &answer)?;
            if !journal.push_answer(id.clone(), answer.clone()) {
                return Err(AnswerError::Withdrawn { run: run.to_owned(), question: id });
            }
            return match journal.flush().await {
                Ok(()) if journal.was_late(&id) => {
                    Err(AnswerError::AlreadyAnswered { run: run.to_owned(), question: id })
                }
                Ok(()) => Ok(()),
                Err(Halt::Store(error)) => Err(AnswerError::Store(error)),
                Err(_) => Err(AnswerError::Moving { run: run.to_owned() }),
            };
        }
        loop {
            let header = self.0.store.header(run).await?;
            let header = header.ok_or_else(|| AnswerError::UnknownRun { run: run.to_owned() })?;
            if let Some(halt) = self.why_blocked(&header) {
                return Err(RunError::from(halt).into());
            }
            let questions = self.asked(header.key).await?;
            let id = questions.find(run, question).and_then(|found| {
                check_schema(found, &answer)?;
                Ok(found.id.clone())
            })?;
            let kind = EventKind::Answered { answer: answer.clone() };
            if self.add(&header, Record { path: id, kind }).await? {
                self.adopt(&header).await;
                return Ok(());
            }
        }
    }

    /// Cancels a run of any process; see [`Run::cancel`](crate::Run::cancel). Does nothing if the run does not exist or
    /// has ended.
    ///
    /// # Errors
    /// If the request cannot be recorded.
    pub async fn cancel(&self, run: &str) -> Result<(), StoreError> {
        if let Some(live) = self.0.runs.get(run) {
            // Who waits for its end waits on.
            live.journal.set_progress(Progress::Running);
            live.journal.cancel.cancel();
            return Ok(());
        }
        while let Some(header) = self.0.store.header(run).await? {
            let record = Record { path: header.workflow.clone(), kind: EventKind::CancelRequested };
            if header.status.is_over() {
                break;
            }
            if self.add(&header, record).await? {
                self.adopt(&header).await;
                return self.end_cancelled(run).await;
            }
        }
        Ok(())
    }

    /// Ends a cancelled run that this program cannot resume and that no other process has: that takes no graph.
    async fn end_cancelled(&self, run: &str) -> Result<(), StoreError> {
        while let Some(header) = self.0.store.header(run).await? {
            let is_blocked = self.why_blocked(&header).is_some() || self.is_abandoned(&header).await?;
            let header = self.0.store.header(run).await?.filter(|_| is_blocked);
            let Some(header) = header.filter(|header| !header.status.is_over() && header.owner.is_none()) else {
                break;
            };
            let append = Append {
                run: header.key,
                at: header.records,
                time: self.0.env.clock.now(),
                records: Arc::new(vec![Record { path: header.workflow.clone(), kind: EventKind::RunCancelled }]),
                header: HeaderChange { status: Some((RunStatus::Cancelled, None)), ..HeaderChange::default() },
            };
            if self.0.store.append(append).await? == Appended::Done {
                break;
            }
        }
        Ok(())
    }

    /// A run that is to go on goes on here, where this engine knows its workflow and nobody alive drives it. What keeps
    /// it from that keeps nobody from having answered: whoever waits for the run is told.
    async fn adopt(&self, header: &RunHeader) {
        self.keep();
        if !self.0.workflows.contains_key(&header.workflow) {
            return;
        }
        let claimed = match self.claim(Some(header)).await {
            Ok(claim) => self.0.store.claim(claim).await,
            Err(error) => Err(error),
        };
        match claimed {
            Ok(claimed) => {
                for damaged in claimed.damaged {
                    tracing::error!(run = damaged.id, error = %damaged.error, "an answered run cannot be resumed");
                }
                for header in claimed.runs {
                    let id = header.id.clone();
                    if let Err(halt) = self.resume(header).await {
                        let error = RunError::from(halt);
                        tracing::error!(run = id, %error, "an answered run cannot be resumed here");
                    }
                }
            }
            Err(error) => {
                self.0.lost_claim.store(true, Ordering::Release);
                tracing::warn!(run = header.id, %error, "an answered run cannot be taken over");
            }
        }
    }

    /// Adds a record to a run that is not driven here, and has whoever drives it go on. `false`: somebody else was
    /// faster; look again.
    async fn add(&self, header: &RunHeader, record: Record) -> Result<bool, StoreError> {
        let append = Append {
            run: header.key,
            at: header.records,
            time: self.0.env.clock.now(),
            records: Arc::new(vec![record]),
            header: HeaderChange { nudge: true, ..HeaderChange::default() },
        };
        Ok(self.0.store.append(append).await? == Appended::Done)
    }
}
