//! Answers to questions, and requests to end, for runs wherever they are driven.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value as Json;

use super::{Engine, Halt, RunError};
use crate::driver::Progress;
use crate::event::EventKind;
use crate::question::{AnswerError, check_schema};
use crate::store::{Append, Appended, HeaderChange, Record, RunHeader, StoreError};

impl Engine {
    /// Answers a question of a run, in this process or in any other that has the same store. The answer is held against
    /// the question's JSON Schema, and against its type where the node that asks is in this process, *before* it is
    /// recorded: one that does not fit changes nothing.
    ///
    /// `question` is the id of a [`Question`](crate::Question), or its name where only one open question has it.
    ///
    /// Cancel safe: a future that is dropped may have recorded the answer, or not.
    ///
    /// # Errors
    /// [`AnswerError`] tells apart what was never asked, was answered already, was withdrawn, and does not fit.
    pub async fn answer(&self, run: &str, question: &str, answer: impl Into<Json>) -> Result<(), AnswerError> {
        let answer = answer.into();
        if let Some(live) = self.0.runs.get(run) {
            let journal = &live.journal;
            let id = journal.desk.take_answer(run, question, &answer)?;
            if !journal.push_answer(id.clone(), answer.clone()) {
                return Err(AnswerError::Cancelled { run: run.to_owned(), question: id });
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

    /// Asks a run to end, wherever it is driven; see [`Run::cancel`](crate::Run::cancel). A run that does not exist, or
    /// that has ended, stays as it is.
    ///
    /// # Errors
    /// Where that cannot be recorded.
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
                    tracing::error!(run = damaged.id, error = %damaged.error, "a run that was answered cannot go on");
                }
                for header in claimed.runs {
                    let id = header.id.clone();
                    if let Err(halt) = self.resume(header).await {
                        let error = RunError::from(halt);
                        tracing::error!(run = id, %error, "a run that was answered cannot go on here");
                    }
                }
            }
            Err(error) => {
                self.0.lost_claim.store(true, Ordering::Release);
                tracing::warn!(run = header.id, %error, "a run that was answered cannot be taken up");
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
