//! Answers and cancellation, for runs of any process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value as Json;

use super::answer_queue::{Answer, Asked, Settled};
use super::inner::Engine;
use super::live::Undriven;
use super::runs::Live;
use super::voided::effective;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::question::{AnswerError, Question, Questions, State, check_schema};
use crate::run_error::RunError;
use crate::store::{Append, Appended, HeaderChange, Record, RunHeader, RunKey, RunStatus, StoreError, Stored};
use crate::value;

impl Engine {
    /// Answers a question of a run, in this process or in any other with the same store. The answer is validated
    /// against the question's JSON Schema *before* it is recorded, with the exact range of each integer type, and
    /// against its type if this engine executes the run: an invalid answer changes nothing.
    ///
    /// Only an engine that executes the run knows the type that `ctx.ask::<T>` asks for. What else the type checks while it
    /// is read, such as a `deserialize_with`, is therefore not checked for a run of another engine, or for one that is not
    /// in memory. An answer that fails there is rejected when the node reads it:
    /// [`EventKind::AnswerRejected`](crate::EventKind::AnswerRejected) is recorded, and the question is open again. State
    /// such a rule in the schema too (`#[schemars(range(..))]`, `#[schemars(regex(..))]`), and it is checked everywhere.
    ///
    /// `question` is the id of a [`Question`](crate::Question), or its name if only one open question has it.
    ///
    /// Cancel safe: if the future is dropped, the answer may or may not have been recorded.
    ///
    /// # Errors
    /// [`AnswerError`], for a question that does not exist, is already answered or was withdrawn, and for an invalid
    /// answer.
    pub async fn answer(&self, run: &str, question: &str, answer: impl Into<Json>) -> Result<(), AnswerError> {
        let answer = value::check_json(answer.into(), self.0.env.max_value_size).map_err(|error| {
            let message = error.message().to_owned();
            AnswerError::Invalid { question: question.to_owned(), field: ".".to_owned(), message }
        })?;
        loop {
            if let Some(live) = self.0.runs.get(run) {
                match answer_live(&live, question, &answer).await {
                    Ok(answered) => return answered,
                    Err(halt) => {
                        Engine::until_gone(&live).await;
                        match halt {
                            Some(Halt::Store(error)) => return Err(AnswerError::Store(error)),
                            // The run is on its way out of this process, which is no reason to refuse its answer.
                            _ => continue,
                        }
                    }
                }
            }
            let record = |answers, asked| self.not_held().record_answers(run.to_owned(), answers, asked);
            match self.0.answers.of(run).settle(Answer::new(question, &answer), record).await {
                Settled::Answered(answered) => return answered,
                Settled::IsLive => {}
            }
        }
    }

    /// Records answers to a run that is not driven here, in one append, and settles them. Gives what the run has asked,
    /// with these answers.
    async fn record_answers(self, run: String, answers: Vec<Arc<Answer>>, mut asked: Asked) -> Asked {
        if self.0.runs.get(&run).is_some() {
            answers.iter().for_each(|answer| answer.settle(Settled::IsLive));
            return asked;
        }
        if let Err(error) = self.try_record_answers(&run, &answers, &mut asked).await {
            for answer in answers.iter().filter(|answer| !answer.is_settled()) {
                answer.settle(Settled::Answered(Err(error.clone())));
            }
            return Asked::default();
        }
        asked
    }

    async fn try_record_answers(
        &self,
        run: &str,
        answers: &[Arc<Answer>],
        asked: &mut Asked,
    ) -> Result<(), AnswerError> {
        let header = self.0.store.header(run).await?;
        let header = header.ok_or_else(|| AnswerError::UnknownRun { run: run.to_owned() })?;
        if let Some(halt) = self.obstacle(&header).await? {
            return Err(RunError::from(halt).into());
        }
        loop {
            self.read_questions(header.key, asked).await?;
            let mut taken = Vec::new();
            for answer in answers.iter().filter(|answer| !answer.is_settled()) {
                let check = |question: &Question| check_schema(question, &answer.value);
                match asked.questions.take_answer(run, &answer.question, check) {
                    Ok(id) => taken.push((answer, id)),
                    Err(error) => answer.settle(Settled::Answered(Err(error))),
                }
            }
            if taken.is_empty() {
                return Ok(());
            }
            let record = |(answer, id): &(&Arc<Answer>, String)| Record {
                path: id.clone(),
                kind: EventKind::Answered { answer: answer.value.clone() },
            };
            let records: Vec<Record> = taken.iter().map(record).collect();
            if self.add(&header, asked.next, records).await? {
                self.adopt(&header).await;
                for (answer, _) in taken {
                    answer.settle(Settled::Answered(Ok(())));
                }
                return Ok(());
            }
            // What the others have recorded is read, and what is still open is answered behind that.
            for (_, id) in taken {
                asked.questions.set(&id, State::Open);
            }
        }
    }

    /// What a run has asked, from its records.
    pub(super) async fn asked(&self, run: RunKey) -> Result<Questions, StoreError> {
        let mut asked = Asked::default();
        self.read_questions(run, &mut asked).await?;
        Ok(asked.questions)
    }

    /// Takes over what was recorded since.
    async fn read_questions(&self, run: RunKey, asked: &mut Asked) -> Result<(), StoreError> {
        if asked.run != Some(run) {
            *asked = Asked { run: Some(run), ..Asked::default() };
        }
        let mut news = self.0.store.read(run, asked.next, usize::MAX).await?;
        let is_retry = |stored: &Stored| matches!(stored.record.kind, EventKind::RunRetried { .. });
        if asked.next > 0 && news.iter().any(is_retry) {
            // Records from before it may no longer count.
            *asked = Asked { run: Some(run), ..Asked::default() };
            news = self.0.store.read(run, 0, usize::MAX).await?;
        }
        asked.next = news.last().map_or(asked.next, |last| last.seq + 1);
        for stored in effective(news) {
            asked.questions.apply(&stored.record.path, &stored.record.kind);
        }
        Ok(())
    }

    /// Cancels a run of any process; see [`Run::cancel`](crate::Run::cancel). Does nothing if the run does not exist or
    /// has ended.
    ///
    /// # Errors
    /// If the request cannot be recorded.
    pub async fn cancel(&self, run: &str) -> Result<(), StoreError> {
        loop {
            if let Some(live) = self.0.runs.get(run) {
                live.journal.push_cancel();
                let Err(halt) = live.journal.flush().await else { return Ok(()) };
                // The run is on its way out of this process.
                Engine::until_gone(&live).await;
                match halt {
                    Halt::Store(error) => return Err(error),
                    _ => continue,
                }
            }
            let Some(header) = self.0.store.header(run).await?.filter(|header| !header.status.is_over()) else {
                return Ok(());
            };
            if self.obstacle(&header).await?.is_some() {
                if self.end_cancelled(&header).await? {
                    return Ok(());
                }
                continue;
            }
            let record = Record { path: header.workflow.clone(), kind: EventKind::CancelRequested };
            if self.add(&header, header.records, vec![record]).await? {
                self.adopt(&header).await;
                return Ok(());
            }
        }
    }

    /// Ends a run that no living engine has and that this program cannot resume: that takes no graph. `false`: another
    /// engine was faster; look again.
    async fn end_cancelled(&self, header: &RunHeader) -> Result<bool, StoreError> {
        let record = |kind| Record { path: header.workflow.clone(), kind };
        let mut records = vec![record(EventKind::CancelRequested), record(EventKind::RunCancelled)];
        if header.owner.is_some() {
            // Its owner is dead, or only believed to be: then what it still appends is refused.
            records.insert(0, record(EventKind::RunResumed { owner: self.owner().await?.0 }));
        }
        let append = Append {
            run: header.key,
            at: header.records,
            time: self.0.env.clock.now(),
            records: Arc::new(records),
            header: HeaderChange {
                status: Some((RunStatus::Cancelled, None)),
                owner: Some(None),
                ..HeaderChange::default()
            },
        };
        let is_done = self.0.store.append(append).await? == Appended::Done;
        if is_done {
            self.halted().remove(&header.key);
        }
        Ok(is_done)
    }

    /// A run that is to go on goes on here, where this engine knows its workflow and nobody alive drives it. What keeps
    /// it from that keeps nobody from having answered: whoever waits for the run is told.
    async fn adopt(&self, header: &RunHeader) {
        if self.0.runs.is_closed() {
            return;
        }
        self.keep();
        if !self.0.workflows.contains_key(&header.workflow) {
            return;
        }
        let undriven = Undriven::by(self);
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
                    if let Err(halt) = self.resume(header).await
                        && halt != Halt::Fenced
                    {
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
        undriven.done();
    }

    /// Adds records to a run that is not driven here, from this number on, and has its driver continue with them. `false`:
    /// another engine was faster; look again.
    async fn add(&self, header: &RunHeader, at: u64, records: Vec<Record>) -> Result<bool, StoreError> {
        let append = Append {
            run: header.key,
            at,
            time: self.0.env.clock.now(),
            records: Arc::new(records),
            header: HeaderChange { nudge: true, ..HeaderChange::default() },
        };
        Ok(self.0.store.append(append).await? == Appended::Done)
    }
}

/// Answers a question of a run that is driven here.
///
/// # Errors
/// Where the run leaves this process: why, if that is known already. What its questions are says nothing then.
async fn answer_live(live: &Live, question: &str, answer: &Json) -> Result<Result<(), AnswerError>, Option<Halt>> {
    let (journal, run) = (&live.journal, live.journal.run_id.as_str());
    let unless_leaving = |error| match journal.halted() {
        None if !journal.is_stopped() => Ok(Err(error)),
        halt => Err(halt),
    };
    let id = match journal.desk.take_answer(run, question, answer) {
        Ok(id) => id,
        Err(error) => return unless_leaving(error),
    };
    if !journal.push_answer(id.clone(), answer.clone()) {
        return unless_leaving(AnswerError::Withdrawn { run: run.to_owned(), question: id });
    }
    journal.flush().await.map_err(Some)?;
    if journal.was_late(&id) {
        return Ok(Err(AnswerError::AlreadyAnswered { run: run.to_owned(), question: id }));
    }
    Ok(Ok(()))
}
