//! Answers, for runs of any process.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::answer_queue::{Answer, Asked, READ_WITHIN, Settled, Unchecked};
use super::inner::Engine;
use super::live::Undriven;
use super::runs::Live;
use super::runtime::{self, Unfit};
use super::voided::effective;
use crate::asked::Question;
use crate::event::EventKind;
use crate::fingerprint::NodeNames;
use crate::halt::Halt;
use crate::question::{AnswerError, Given, Questions, State, check_schema, verdict};
use crate::run_error::RunError;
use crate::schema;
use crate::shared::{Checked, Progress};
use crate::store::{
    Append, Appended, HeaderChange, QuestionChange, Record, Records, RunHeader, RunKey, StoreError, Stored,
};
use crate::value;

/// The maximum pause between two looks at a run that is to ask again.
const PAUSE: Duration = Duration::from_millis(20);

/// How often it is checked meanwhile that a living engine drives the run.
const CHECK: Duration = Duration::from_millis(250);

impl Engine {
    /// See [`answer`](Self::answer).
    pub(super) async fn give_answer(&self, run: &str, question: &str, given: Given) -> Result<(), AnswerError> {
        let invalid = |message| AnswerError::Invalid { question: question.to_owned(), field: ".".to_owned(), message };
        let Given { answer, by, comment } = given;
        let longest = [&by, &comment].into_iter().flatten().map(String::len).max().unwrap_or(0);
        let max = self.0.env.max_value_size;
        let checked = value::check_json(answer, max).map_err(|error| error.message().to_owned());
        let answer = checked.map_err(invalid)?;
        if longest > max.0 {
            let message = format!("who gave it and the comment may have {} bytes each, and one has {longest}", max.0);
            return Err(invalid(message));
        }
        let mut answer = Answer::new(question, Given { answer, by, comment });
        let run = &self.last_of(run).await?;
        let (mut is_asked, mut is_woken) = (false, false);
        loop {
            if answer.is_new()
                && let Some(live) = self.0.runs.get(run)
            {
                match answer_live(&live, &answer).await {
                    Ok(Some(Err(AnswerError::Invalid { question, .. })))
                        if !std::mem::replace(&mut is_asked, true)
                            && live.journal.desk.is_yet_to_be_asked(&question) =>
                    {
                        until_asked(&live, &question).await?;
                        continue;
                    }
                    Ok(Some(Err(AnswerError::UnknownQuestion { .. })))
                        if self.takes_present_id(&mut answer, run).await? =>
                    {
                        continue;
                    }
                    Ok(Some(answered)) => return answered,
                    // Its node checks the type when it reads the answer.
                    Ok(None) => {}
                    Err(halt) => {
                        Engine::until_gone(&live).await;
                        match halt {
                            Some(Halt::Store(error)) => return Err(AnswerError::Store(error)),
                            // The run is leaving this process, which is no reason to refuse its answer.
                            _ => continue,
                        }
                    }
                }
            }
            let look = |answers, asked| self.not_held().look_after_answers(run.to_owned(), answers, asked);
            match self.0.answers.of(run).settle(Arc::clone(&answer), look).await {
                Settled::Answered(Err(AnswerError::UnknownQuestion { .. }))
                    if self.takes_present_id(&mut answer, run).await? => {}
                Settled::Answered(answered) => return answered,
                Settled::IsLive => {}
                Settled::Misfit(_) if !std::mem::replace(&mut is_woken, true) && self.has_asked_again(run).await? => {}
                Settled::Misfit(misfit) => return Err(misfit),
            }
        }
    }

    /// Gives an answer the present id of its question, if it has one with a former name of a node. Returns whether it had.
    async fn takes_present_id(&self, answer: &mut Arc<Answer>, run: &str) -> Result<bool, AnswerError> {
        let header = self.header_of(run).await?;
        let now = self.current_names(&header).await?.path(&answer.question);
        let is_other = now != answer.question;
        if is_other {
            *answer = Answer::new(&now, answer.given.clone());
        }
        Ok(is_other)
    }

    /// Resumes a waiting run that no living engine has: under this version of the program its node may ask for another
    /// type. Returns when the node has asked, or after the time that an answer may be unread. `false` if a living
    /// engine has the run.
    async fn has_asked_again(&self, run: &str) -> Result<bool, AnswerError> {
        let before = self.header_of(run).await?;
        let is_mine = before.owner.is_some() && before.owner == self.0.owner.get().copied();
        if is_mine || before.status.is_over() || self.is_live_or_elsewhere(&before).await? {
            return Ok(false);
        }
        let deadline = Instant::now() + READ_WITHIN;
        // An append without a record marks the run as due.
        if self.add(&before, before.records, Vec::new()).await? {
            self.adopt(&before).await;
        }
        while self.0.runs.get(run).is_none() && Instant::now() < deadline {
            let now = self.header_of(run).await?;
            let waits_again = now.status.is_suspended() && now.owner.is_some() && now.owner != before.owner;
            if waits_again || now.status.is_over() || self.stopped_here(&now).is_some() {
                break;
            }
            runtime::sleep(PAUSE)?.await;
        }
        Ok(true)
    }

    /// Advances answers: new ones are recorded in one append, unless the run is driven here; for the others, new
    /// records are searched for their results. Returns the run's questions, with these answers.
    async fn look_after_answers(self, run: String, answers: Vec<Arc<Answer>>, mut asked: Asked) -> Asked {
        let (mut new, unchecked): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.is_new());
        if !new.is_empty() {
            asked.pause = Duration::ZERO;
        } else {
            asked.pause = (asked.pause * 2).clamp(Duration::from_millis(1), self.0.answers.max_pause());
            match runtime::sleep(asked.pause) {
                Ok(sleep) => sleep.await,
                Err(unfit) => {
                    unchecked.iter().for_each(|answer| answer.settle(Settled::Answered(Err(unfit.into()))));
                    return Asked::default();
                }
            }
        }
        if self.0.runs.get(&run).is_some() {
            new.drain(..).for_each(|answer| answer.settle(Settled::IsLive));
        }
        let mut looked = self.look_at_unchecked(&run, &unchecked, &mut asked).await;
        if looked.is_ok() && !new.is_empty() {
            looked = self.record_answers(&run, &new, &mut asked).await;
        }
        if let Err(error) = looked {
            for answer in new.iter().filter(|answer| answer.is_new()).chain(&unchecked) {
                if answer.is_settled() {
                    continue;
                }
                let error = match (answer.unchecked(), &error) {
                    // It is recorded, and the process that resumes the run reads it.
                    (Some(Unchecked { id, .. }), AnswerError::Run(RunError::ShutDown)) => {
                        AnswerError::Unread { run: run.clone(), question: id }
                    }
                    (_, error) => error.clone(),
                };
                answer.settle(Settled::Answered(Err(error)));
            }
            return Asked::default();
        }
        asked
    }

    /// Settles recorded answers whose types have been checked, according to new records.
    async fn look_at_unchecked(
        &self,
        run: &str,
        answers: &[Arc<Answer>],
        asked: &mut Asked,
    ) -> Result<(), AnswerError> {
        let unchecked = || answers.iter().filter_map(|answer| Some((answer, answer.unchecked()?)));
        let Some(from) = unchecked().map(|(_, unchecked)| unchecked.next).min() else { return Ok(()) };
        if self.0.runs.is_shut_down() {
            return Err(RunError::ShutDown.into());
        }
        let now = Instant::now();
        if asked.check_at.is_none_or(|at| at <= now) {
            asked.check_at = Some(now + CHECK.max(self.0.answers.max_pause()));
            let header = self.header_of(run).await?;
            self.check_is_driven(&header).await?;
        }
        let header = self.header_of(run).await?;
        let news = self.read_questions(header.key, asked, Some(from)).await?;
        let names = self.current_names(&header).await?;
        for (answer, mut unchecked) in unchecked() {
            let from = unchecked.next;
            // It may have been recorded under a former name of its node.
            let renamed = |path: &str| names.path(&asked.current_path(path));
            let id = renamed(&unchecked.id);
            for Stored { seq, record, .. } in news.iter().filter(|stored| stored.seq >= from) {
                let path = renamed(&record.path);
                let is_own = matches!(record.kind, EventKind::Answered { .. }) && path == id;
                if let Some(verdict) = verdict(run, &id, &path, &record.kind).filter(|_| unchecked.is_seen) {
                    answer.settle(Settled::Answered(verdict));
                    break;
                }
                unchecked.is_seen |= is_own;
                unchecked.next = seq + 1;
            }
            if answer.is_settled() {
                continue;
            }
            if unchecked.is_still_awaited(now) {
                answer.set_unchecked(unchecked);
            } else {
                let (run, question) = (run.to_owned(), unchecked.id);
                answer.settle(Settled::Answered(Err(AnswerError::Unread { run, question })));
            }
        }
        Ok(())
    }

    async fn header_of(&self, run: &str) -> Result<RunHeader, AnswerError> {
        let header = self.0.store.header(run).await?;
        header.ok_or_else(|| AnswerError::UnknownRun { run: run.to_owned() })
    }

    /// Resumes an answered run here, if no other engine executes it.
    async fn check_is_driven(&self, header: &RunHeader) -> Result<(), AnswerError> {
        self.check_can_continue(header).await?;
        if !header.status.is_over() && !self.is_live_or_elsewhere(header).await? {
            self.adopt(header).await;
        }
        Ok(())
    }

    /// Checks that an engine drives the run, or can: only such an engine knows the type of an answer.
    async fn check_can_continue(&self, header: &RunHeader) -> Result<(), AnswerError> {
        if let Some(halt) = self.obstacle(header).await? {
            return Err(RunError::from(halt).into());
        }
        // For a run that is over, the caller gets a more exact error.
        if self.0.runs.is_closed()
            && !header.status.is_over()
            && !self.is_live_or_elsewhere(header).await?
            && !self.0.store.is_served(&header.workflow).await?
        {
            return Err(RunError::ShutDown.into());
        }
        Ok(())
    }

    async fn record_answers(&self, run: &str, answers: &[Arc<Answer>], asked: &mut Asked) -> Result<(), AnswerError> {
        loop {
            // Each time: the run may have been deleted.
            let header = self.header_of(run).await?;
            self.check_can_continue(&header).await?;
            let is_checked = schema::IS_CHECKED || self.0.workflows.contains_key(&header.workflow);
            self.read_questions(header.key, asked, None).await?;
            let mut taken = Vec::new();
            for answer in answers.iter().filter(|answer| answer.is_new()) {
                let check = |question: &Question| {
                    // The process that withdraws it may not be there.
                    if question.until.is_some_and(|until| until <= self.0.env.clock.now()) {
                        return Err(AnswerError::Withdrawn { run: run.to_owned(), question: question.id.clone() });
                    }
                    check_schema(&question.id, &question.schema, &answer.given.answer)
                };
                let mut answered = asked.questions.take_answer(run, &answer.question, check);
                if let Err(AnswerError::UnknownQuestion { .. }) = answered
                    && let Some(recorded) = self.open_by_other_name(&header, asked, &answer.question).await?
                {
                    answered = asked.questions.take_answer(run, &recorded, check);
                }
                match answered {
                    Ok(id) if is_checked => taken.push((answer, id)),
                    Ok(id) => {
                        asked.questions.set(&id, State::Open);
                        let workflow = header.workflow.clone();
                        let error = AnswerError::NotRegistered { run: run.to_owned(), workflow };
                        answer.settle(Settled::Answered(Err(error)));
                    }
                    Err(misfit @ AnswerError::Invalid { .. }) => answer.settle(Settled::Misfit(misfit)),
                    Err(error) => answer.settle(Settled::Answered(Err(error))),
                }
            }
            if taken.is_empty() {
                return Ok(());
            }
            let record = |(answer, id): &(&Arc<Answer>, String)| {
                let Given { answer, by, comment } = answer.given.clone();
                Record { path: id.clone(), kind: EventKind::Answered { answer, by, comment, unchecked: true } }
            };
            let records: Vec<Record> = taken.iter().map(record).collect();
            if self.add(&header, asked.next, records).await? {
                for (answer, id) in taken {
                    answer.set_unchecked(Unchecked::new(id, asked.next));
                }
                self.adopt(&header).await;
                asked.check_at = Some(Instant::now() + CHECK);
                return Ok(());
            }
            // The records of other engines are read, and questions that are still open are answered behind them.
            for (_, id) in taken {
                asked.questions.set(&id, State::Open);
            }
        }
    }

    /// The id of an open question, as it is recorded, by its id with other names that its nodes have or had.
    async fn open_by_other_name(
        &self,
        header: &RunHeader,
        asked: &Asked,
        question: &str,
    ) -> Result<Option<String>, StoreError> {
        let names = self.current_names(header).await?;
        let renamed = |path: &str| names.path(&asked.current_path(path));
        let wanted = renamed(question);
        Ok(asked.questions.open().into_iter().map(|open| open.id).find(|id| renamed(id) == wanted))
    }

    /// The questions of a run, from its records.
    pub(super) async fn asked(&self, run: RunKey) -> Result<Questions, StoreError> {
        let mut asked = Asked::default();
        self.read_questions(run, &mut asked, None).await?;
        Ok(asked.questions)
    }

    /// The open questions of a run, from its records; `None` if it was requested to cancel it, and it is yet to end.
    pub(super) async fn asked_unless_cancelled(&self, run: RunKey) -> Result<Option<Vec<Question>>, StoreError> {
        let mut asked = Asked::default();
        let records = self.read_questions(run, &mut asked, None).await?;
        let mut kinds = records.iter().rev().map(|stored| &stored.record.kind);
        let last = kinds.find(|kind| matches!(kind, EventKind::CancelRequested | EventKind::RunRetried { .. }));
        Ok((!matches!(last, Some(EventKind::CancelRequested))).then(|| asked.questions.open()))
    }

    /// Reads new records, applies them to the questions, and returns them. If a number is passed, also returns those
    /// that are known already, from that one on.
    async fn read_questions(
        &self,
        run: RunKey,
        asked: &mut Asked,
        from: Option<u64>,
    ) -> Result<Vec<Stored>, StoreError> {
        if asked.run != Some(run) {
            *asked = Asked { run: Some(run), ..Asked::default() };
        }
        let from = from.map_or(asked.next, |from| from.min(asked.next));
        let mut news = self.0.store.read(run, from, usize::MAX).await?;
        let known = asked.next;
        let is_new_retry =
            |stored: &Stored| stored.seq >= known && matches!(stored.record.kind, EventKind::RunRetried { .. });
        let is_retried = news.iter().any(is_new_retry);
        let new_graph = news.iter().rev().find_map(|stored| match stored.record.kind {
            EventKind::GraphChanged { to, .. } if stored.seq >= known => Some(to),
            _ => None,
        });
        if let Some(graph) = new_graph {
            let body = self.0.store.graph(graph).await?;
            asked.names = body.and_then(|body| NodeNames::read(&body).ok().flatten());
        }
        if asked.next > 0 && (is_retried || new_graph.is_some() && asked.names.is_some()) {
            // Records from before the retry may be void, and those from before a renaming have other paths.
            asked.read_again();
            news = self.0.store.read(run, 0, usize::MAX).await?;
        }
        let known = asked.next;
        asked.next = news.last().map_or(known, |last| last.seq + 1).max(known);
        let Asked { questions, names, .. } = asked;
        let mut apply = |Stored { record, .. }: &Stored| match names {
            Some(names) => questions.apply(&names.current_path(&record.path), &record.kind),
            None => questions.apply(&record.path, &record.kind),
        };
        if is_retried {
            effective(news.clone()).iter().for_each(apply);
        } else {
            news.iter().filter(|stored| stored.seq >= known).for_each(&mut apply);
        }
        Ok(news)
    }

    /// Resumes a run here, if this engine knows its workflow and no living engine drives it. An obstacle is no error of
    /// this call, since the answer is recorded: callers that wait for the run get the error.
    pub(super) async fn adopt(&self, header: &RunHeader) {
        if self.0.runs.is_closed() || runtime::current().is_err() {
            return;
        }
        self.keep();
        if !self.0.workflows.contains_key(&header.workflow) {
            return;
        }
        let undriven = Undriven::by(self);
        let claimed = match self.claim(Some(header)).await {
            Ok(claim) => self.claim_runs(claim).await,
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

    /// Adds records to a run that is not driven here, from this number on, and has its driver continue with them.
    /// `false` if another engine was faster: the caller has to look again.
    pub(super) async fn add(&self, header: &RunHeader, at: u64, records: Vec<Record>) -> Result<bool, StoreError> {
        let is_answer = |record: &&Record| matches!(record.kind, EventKind::Answered { .. });
        let closed = records.iter().filter(is_answer).map(|record| record.path.clone()).collect();
        let questions = QuestionChange { closed, ..QuestionChange::default() };
        let append = Append {
            run: header.key,
            at,
            time: self.0.env.clock.now(),
            records: Records::from(records),
            header: HeaderChange { nudge: true, questions, ..HeaderChange::default() },
        };
        Ok(self.0.append(append).await? == Appended::Done)
    }
}

/// Waits until the node of a question has asked it in this process, or until the run is at rest: the recorded question
/// may be that of an earlier version of the program.
async fn until_asked(live: &Live, question: &str) -> Result<(), Unfit> {
    let deadline = Instant::now() + READ_WITHIN;
    let mut pause = Duration::from_millis(1);
    while Instant::now() < deadline
        && live.journal.progress.now() == Progress::Running
        && live.journal.desk.is_yet_to_be_asked(question)
    {
        runtime::sleep(pause)?.await;
        pause = (pause * 2).min(PAUSE);
    }
    Ok(())
}

/// Answers a question of a run that is driven here. `None` if no attempt holds the question: then the answer is
/// recorded unchecked.
///
/// # Errors
/// If the run leaves this process: the reason, if it is known already. The state of its questions is not reliable then.
async fn answer_live(live: &Live, answer: &Answer) -> Result<Option<Result<(), AnswerError>>, Option<Halt>> {
    let (journal, run) = (&live.journal, live.journal.run_id.as_str());
    let unless_leaving = |error| match journal.halted() {
        None if !journal.is_stopped() => Ok(Some(Err(error))),
        halt => Err(halt),
    };
    let take = || journal.desk.take_answer(run, &answer.question, &answer.given.answer);
    let taken = match take() {
        Err(_) => {
            journal.until_acknowledged().await;
            take()
        }
        taken => taken,
    };
    let (id, checked) = match taken {
        Ok(taken) => taken,
        Err(error) => return unless_leaving(error),
    };
    let Some(next) = journal.push_answer(id.clone(), answer.given.clone(), checked) else {
        return unless_leaving(AnswerError::Withdrawn { run: run.to_owned(), question: id });
    };
    journal.flush().await.map_err(Some)?;
    if journal.was_late(&id) {
        return Ok(Some(Err(AnswerError::AlreadyAnswered { run: run.to_owned(), question: id })));
    }
    match checked {
        Checked::ByType => Ok(Some(Ok(()))),
        Checked::BySchema => {
            answer.set_unchecked(Unchecked::new(id, next));
            Ok(None)
        }
    }
}
