//! Plays a scenario: one process after another on the same store, until the run is over.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::at_once::at_once;
use super::behaviour;
use super::bodies::workflows;
use super::disk::{Disk, Takeovers};
use super::follow::Follower;
use super::forks::{ended, ended_early, ended_links};
use super::leases::Leased;
use super::ledger::Ledger;
use super::life::{Ended, Life};
use super::originals::EARLY;
use super::process::{Process, is_on_purpose};
use super::processes::{Driving, is_end, is_what_came_of};
use super::records::{is_retry, millis};
use super::scenario::{Answers, Kept, Scenario};
use super::sites::Sites;
use crate::asked::Question;
use crate::clock::Clock;
use crate::engine::{CancelError, Engine, Outcome, RetryError, Run, StartError};
use crate::event::EventKind;
use crate::question::AnswerError;
use crate::run_error::RunError;
use crate::schema;
use crate::store::{MemoryStore, StoreError, Stored};
use crate::workflow::Flow;

/// How long a process may take for one run; no event of a run takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(300);

/// The time without any process between two processes.
const DOWNTIME: Duration = Duration::from_millis(1500);

/// The result of a scenario.
#[derive(Debug)]
pub(super) struct Played {
    /// The run, and its forks, each of the one before it.
    pub(super) runs: Vec<Ended>,
    /// The log of the play, line by line.
    pub(super) log: Vec<String>,
    /// How many processes died, and how often the store failed one that lived on.
    pub(super) crashes: u64,
    pub(super) store_failures: u64,
    pub(super) commits: u64,
    pub(super) takeovers: Takeovers,
    /// How often the run was forked before it was over, and those while it waited.
    pub(super) forked_early: (u64, u64),
    /// How many attempts of a process began once more in another, while that one lived.
    pub(super) repeated: u64,
    /// How many runs have started over.
    pub(super) started_over: u64,
}

/// Plays it.
///
/// # Errors
/// The guarantee that was broken while it ran.
pub(super) fn play(scenario: &Scenario) -> Result<Played, String> {
    match scenario.store {
        Kept::InMemory => play_on(scenario, MemoryStore::new()),
        #[cfg(feature = "sqlite")]
        Kept::OnDisk => {
            let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
            let open = crate::store::SqliteStore::builder()
                .durability(crate::store::Durability::Relaxed)
                .open(directory.path().join("runs.db"));
            let store = at_once(Box::pin(open)).map_err(|error| error.to_string())?;
            play_on(scenario, store)
        }
        #[cfg(not(feature = "sqlite"))]
        Kept::OnDisk => play_on(scenario, MemoryStore::new()),
    }
}

/// How a process ended.
enum End {
    Died,
    Over,
}

fn play_on(scenario: &Scenario, store: impl Leased) -> Result<Played, String> {
    let sites = Arc::new(Sites::of(scenario));
    let disk = Disk::new(store, scenario, Follower::new(scenario, &sites, &workflows(scenario)));
    let ledger = Ledger::new(scenario, &sites, &disk);
    let mut now = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let begun = now;
    let mut crashes = 0;
    let store_failures = Cell::new(0);
    loop {
        let store = Process::boot(&disk);
        ledger.boot();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let (ended, records) = runtime.block_on(async {
            let booted = Instant::now();
            let from = now;
            let clock = Clock::new(move || from + booted.elapsed());
            let life = Life {
                scenario,
                disk: &disk,
                ledger: &ledger,
                sites: &sites,
                begun,
                clock: clock.clone(),
                store_failures: &store_failures,
            };
            let ended = life.lives(store).await;
            now = clock.now() + DOWNTIME;
            (ended, life.records())
        });
        // Everything that was under way is dropped with it.
        drop(runtime);
        if let Some(broken) = ledger.broken().or(disk.broken()).or(disk.originals_are_untouched().err()) {
            return Err(match std::env::var("GRAPHWEFT_LOG") {
                Ok(_) => format!("{broken}\n  {records}"),
                Err(_) => broken,
            });
        }
        match ended? {
            End::Over => break,
            End::Died => crashes += 1,
        }
        ledger.write(format!("{} a new process", millis(now)));
    }
    let mut runs = ended(&disk, ledger.take_ended());
    runs.extend(ended_early(&disk, ledger.take_ended_early()));
    runs.extend(ended_links(&disk, ledger.take_ended_links())?);
    for (id, outcome) in ledger.take_followed() {
        is_what_came_of(&runs, &id, &outcome)?;
    }
    let mut log = ledger.take_lines();
    log.extend(runs.iter().flat_map(|run| &run.records).map(|at| {
        let kind = serde_json::to_string(&at.record.kind).unwrap_or_default();
        format!("{} {} {} {kind}", at.seq, millis(at.time), at.record.path)
    }));
    Ok(Played {
        runs,
        log,
        crashes,
        store_failures: store_failures.get(),
        commits: disk.all_commits(),
        takeovers: disk.takeovers(),
        forked_early: ledger.forked_early(),
        repeated: ledger.repeated(),
        started_over: disk.started_over(),
    })
}

impl Life<'_> {
    async fn lives(&self, first: Process) -> Result<End, String> {
        tokio::select! {
            biased;
            () = self.disk.died() => Ok(End::Died),
            ended = self.live_together(first) => ended.map(|()| End::Over),
            () = tokio::time::sleep(PATIENCE * (1 + self.scenario.forks.len() + self.scenario.faults.len()) as u32) => Err(self.stuck()),
        }
    }

    fn stuck(&self) -> String {
        let header = self.disk.header(&self.id());
        format!("nothing moves, and the run is not over: {header:?}\n  {}", self.records())
    }

    fn records(&self) -> String {
        self.disk.with_records(|records| {
            let line = |at: &Stored| format!("{} {} {}", millis(at.time), at.record.path, brief(&at.record.kind));
            records.iter().map(line).collect::<Vec<_>>().join("\n  ")
        })
    }

    /// One process, as long as it is in charge of the run; then it only waits for the end of that.
    pub(super) async fn drives(&self, driving: Driving) -> Result<(), String> {
        let Driving { engine, definition, .. } = &driving;
        let mut is_first = self.disk.with_records(|records| records.is_empty());
        loop {
            let run = if let Some(fork) = self.next_fork() {
                self.forks(&driving, fork).await
            } else if self.ledger.is_mended() {
                self.retries(&driving).await
            } else if is_first || (self.scenario.starts_again && !driving.is_back) {
                let flow = Flow::<Value, Value>::new(Arc::clone(definition));
                match engine.start_flow(&flow, behaviour::run_gets(self.scenario)).id(self.id()).await {
                    Ok(run) => Ok(Ok(run)),
                    Err(StartError::Store(error)) => Ok(Err(error)),
                    Err(other) => Err(format!("the run cannot be started: {other}")),
                }
            } else {
                self.recovers(engine, &self.id()).await
            };
            let run = match run {
                // Another retries or forks it.
                Err(_) if !self.is_in_charge(&driving) => return Ok(()),
                run => run?,
            };
            let failed = match run {
                Ok(run) => match self.accompanies(&driving, &run).await? {
                    Ok(outcome) if !self.is_in_charge(&driving) => {
                        self.ledger.follows(self.id(), outcome);
                        return Ok(());
                    }
                    Ok(Outcome::Failed(_) | Outcome::Cancelled) if self.is_to_be_retried() => {
                        self.ledger.mend();
                        continue;
                    }
                    // Another process has retried it since.
                    Ok(outcome @ (Outcome::Failed(_) | Outcome::Cancelled))
                        if self.scenario.retries && !self.is_how_it_ends(&self.id(), &outcome) =>
                    {
                        continue;
                    }
                    Ok(outcome) => {
                        let ended_links = self.ends_links(&driving).await;
                        if !self.is_in_charge(&driving) {
                            return Ok(());
                        }
                        if let Err(error) = ended_links? {
                            self.mends(&driving, error, &mut is_first)?;
                            continue;
                        }
                        let stays_over = self.stays_over(&driving, &outcome).await;
                        if !self.is_in_charge(&driving) {
                            return Ok(());
                        }
                        stays_over?;
                        self.ledger.ends(outcome);
                        if self.next_fork().is_none() {
                            return Ok(());
                        }
                        self.ledger.mend();
                        continue;
                    }
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.mends(&driving, failed, &mut is_first)?;
        }
    }

    /// The disk is freed, and the run is requested again.
    fn mends(&self, driving: &Driving, failed: StoreError, is_first: &mut bool) -> Result<(), String> {
        if !is_on_purpose(&failed, &self.scenario.faults) {
            return Err(format!("the store is said to have failed: {failed}"));
        }
        self.store_failures.update(|before| before + 1);
        driving.process.mend();
        *is_first = self.disk.with_records(|records| records.is_empty());
        if self.store_failures.get() > 10 + self.scenario.faults.len() as u64 {
            return Err(format!("the store is mended, and still fails: {failed}"));
        }
        Ok(())
    }

    fn is_how_it_ends(&self, id: &str, outcome: &Outcome<Value>) -> bool {
        self.disk.with_records_of(id, |records| records.last().is_some_and(|last| is_end(&last.record.kind, outcome)))
    }

    /// Whether a run that has failed or was cancelled is to be retried: once.
    fn is_to_be_retried(&self) -> bool {
        self.scenario.retries && !self.disk.with_records(|records| records.iter().any(is_retry))
    }

    /// Retries the run, if that is not recorded yet.
    async fn retries(&self, driving: &Driving) -> Result<Result<Run<Value>, StoreError>, String> {
        let engine = &driving.engine;
        if !self.is_to_be_retried() {
            return self.recovers(engine, &self.id()).await;
        }
        let requester = if self.scenario.requests_retry { Some(self.without_workflows(driving)?) } else { None };
        let engine_of_retry = requester.as_ref().map_or(engine, |requester| &requester.engine);
        let retry = match self.names(engine_of_retry).await? {
            Ok(retry) => retry,
            Err(error) => return Ok(Err(error)),
        };
        match retry.await {
            Ok(run) => match requester {
                None => Ok(Ok(run)),
                Some(requester) => self.is_requested(driving, &requester, &self.id()).await,
            },
            Err(RetryError::Store(error) | RetryError::Run(RunError::Store(error))) => Ok(Err(error)),
            Err(other) => Err(format!("the run cannot be retried: {other}")),
        }
    }

    pub(super) async fn recovers(&self, engine: &Engine, id: &str) -> Result<Result<Run<Value>, StoreError>, String> {
        let recovery = match engine.recover().await {
            Ok(recovery) => recovery,
            Err(error) => return Ok(Err(error)),
        };
        match recovery.failed.first() {
            Some((_, RunError::Store(error))) => return Ok(Err(error.clone())),
            Some((_, why)) => return Err(format!("the run cannot be gone on with: {why}")),
            None => {}
        }
        if !recovery.unregistered.is_empty() {
            return Err("the run's workflow is not known".to_owned());
        }
        if let Some(run) = recovery.resumed.into_iter().find(|run| run.id() == id) {
            return Ok(Ok(run));
        }
        match engine.get_run(id).await {
            Ok(Some(run)) => Ok(Ok(run)),
            Ok(None) => Err("the run is gone".to_owned()),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Waits for the end of the run, answers its questions, and cancels it when it is time.
    pub(super) async fn accompanies(
        &self,
        driving: &Driving,
        run: &Run<Value>,
    ) -> Result<Result<Outcome<Value>, StoreError>, String> {
        let engine = &driving.engine;
        // From the first moment on, so that they come from the process, and then from the store.
        let events = self.scenario.has_takeovers().then(|| run.events());
        let cancels = async {
            if let Some(at) =
                self.scenario.cancel_at.filter(|_| run.id() != EARLY && !self.is_cancelled_before_its_retry())
            {
                let begun = self.retried_at().unwrap_or(self.begun);
                tokio::time::sleep(self.clock.until(begun + Duration::from_millis(at))).await;
                if self.is_in_charge(driving)
                    && let Err(error) = run.cancel().await
                {
                    return match error {
                        CancelError::Store(error) => error,
                        CancelError::UnknownRun { .. } => StoreError::Other { message: error.to_string() },
                    };
                }
            }
            std::future::pending().await
        };
        let answers = async {
            if self.scenario.answers == Answers::WhenItWaits {
                return std::future::pending().await;
            }
            loop {
                tokio::time::sleep(Duration::from_millis(7)).await;
                let asked = async { self.last_of(engine, run).await?.questions().await };
                let questions = match asked.await {
                    Ok(questions) => questions,
                    Err(error) => return Ok(error),
                };
                for question in questions.iter().filter(|question| self.is_asked(driving, &question.id)) {
                    if let Err(error) = self.answers(engine, &self.last_id_of(run), &question.id).await? {
                        return Ok::<StoreError, String>(error);
                    }
                }
            }
        };
        let ends = async {
            loop {
                match run.outcome().await {
                    Ok(Outcome::Waiting(questions)) => {
                        let is_asked = |question: &&Question| self.is_asked(driving, &question.id);
                        let asked: Vec<&Question> = questions.iter().filter(is_asked).collect();
                        if self.scenario.answers == Answers::AtOnce || asked.is_empty() {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                            continue;
                        }
                        for question in asked {
                            if let Err(error) = self.answers(engine, &self.last_id_of(run), &question.id).await? {
                                return Ok(Err(error));
                            }
                        }
                    }
                    Ok(Outcome::AwaitingSignals(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    Ok(outcome) => return Ok(Ok(outcome)),
                    Err(RunError::Store(error)) => return Ok(Err(error)),
                    Err(other) => return Err(format!("the run has stopped: {other}\n  {}", self.records())),
                }
            }
        };
        let sends = self.sends_signals(driving, run);
        tokio::select! {
            biased;
            ended = ends => {
                if let (Ok(Ok(_)), Some(events)) = (&ended, events) {
                    self.are_the_records(run, events).await?;
                }
                ended
            }
            error = answers => Ok(Err(error?)),
            error = sends => Ok(Err(error?)),
            error = cancels => Ok(Err(error)),
        }
    }

    /// The id of the last of the runs that follow a run by starting over.
    pub(super) fn last_id_of(&self, run: &Run<Value>) -> String {
        if run.id() == EARLY { EARLY.to_owned() } else { self.id() }
    }

    /// The last of the runs that follow a run by starting over.
    pub(super) async fn last_of(&self, engine: &Engine, run: &Run<Value>) -> Result<Run<Value>, StoreError> {
        let id = self.last_id_of(run);
        if id == run.id() {
            return Ok(run.clone());
        }
        Ok(engine.get_run(&id).await?.unwrap_or_else(|| run.clone()))
    }

    fn retried_at(&self) -> Option<SystemTime> {
        self.disk.with_records(|records| records.iter().find(|at| is_retry(at)).map(|at| at.time))
    }

    /// Then it is not cancelled once more, which would keep it from ever being completed.
    fn is_cancelled_before_its_retry(&self) -> bool {
        if self.disk.forks() > 0 {
            return self.is_of_a_cancelled_run();
        }
        let is_cancelled = |at: &Stored| matches!(at.record.kind, EventKind::RunCancelled);
        self.disk.with_records(|records| {
            let retried = records.iter().position(is_retry).unwrap_or(0);
            records[..retried].iter().any(is_cancelled)
        })
    }

    /// Gives a wrong answer, the right one, and the right one again.
    async fn answers(&self, engine: &Engine, run: &str, question: &str) -> Result<Result<(), StoreError>, String> {
        match engine.answer(run, question, json!("not a number")).await {
            Err(AnswerError::Invalid { .. }) => {}
            // Without schemas only its node can refuse it, which is busy.
            Err(AnswerError::Unread { .. }) if !schema::IS_CHECKED => return Ok(Ok(())),
            Err(AnswerError::Store(error)) => return Ok(Err(error)),
            // It may have been withdrawn, or answered by a process that did not live to know it.
            Err(AnswerError::Withdrawn { .. } | AnswerError::AlreadyAnswered { .. }) => return Ok(Ok(())),
            _ if self.has_started_over_since(run) => return Ok(Ok(())),
            other => return Err(format!("a wrong answer to `{question}` gave {other:?}")),
        }
        let right = json!(behaviour::answer(question));
        match engine.answer(run, question, right.clone()).await {
            // Its node may be busy, or wait for its next attempt.
            Ok(()) | Err(AnswerError::Unread { .. }) => {}
            Err(AnswerError::Store(error)) => return Ok(Err(error)),
            Err(AnswerError::Withdrawn { .. } | AnswerError::AlreadyAnswered { .. }) => return Ok(Ok(())),
            _ if self.has_started_over_since(run) => return Ok(Ok(())),
            Err(other) => return Err(format!("the answer to `{question}` was refused: {other}")),
        }
        if self.has_started_over_since(run) {
            return Ok(Ok(()));
        }
        let is_right = |kind: &EventKind| matches!(kind, EventKind::Answered { answer, .. } if *answer == right);
        let answered = |at: &Stored| at.record.path == question && is_right(&at.record.kind);
        if !self.disk.with_records_of(run, |records| records.iter().any(answered)) {
            return Err(format!("the answer to `{question}` was taken, and is not on record"));
        }
        match engine.answer(run, question, right).await {
            Err(AnswerError::Store(error)) => Ok(Err(error)),
            Err(AnswerError::AlreadyAnswered { .. } | AnswerError::Withdrawn { .. }) => Ok(Ok(())),
            _ if self.has_started_over_since(run) => Ok(Ok(())),
            other => Err(format!("a second answer to `{question}` gave {other:?}")),
        }
    }

    /// What was sent to the run has reached the next one, or came too late for this one.
    fn has_started_over_since(&self, run: &str) -> bool {
        run != EARLY && run != self.id()
    }

    /// Checks that a run that is over never changes.
    async fn stays_over(&self, driving: &Driving, outcome: &Outcome<Value>) -> Result<(), String> {
        let before = self.disk.with_records(<[Stored]>::len);
        tokio::time::sleep(Duration::from_secs(100)).await;
        let Driving { process, engine, .. } = driving;
        if process.is_failing() {
            process.mend();
        }
        let recovered = engine.recover().await.map_err(|error| error.to_string());
        if recovered.is_ok_and(|recovery| recovery.resumed.iter().any(|run| run.id() != EARLY)) {
            return Err("a run that is over was gone on with".to_owned());
        }
        let after = self.disk.with_records(<[Stored]>::len);
        if before != after {
            return Err(format!("{} records behind the end", after - before));
        }
        if let Ok(Some(run)) = engine.get_run(&self.id()).await
            && let Ok(again) = run.outcome().await
            && again != *outcome
        {
            return Err(format!("the run ended with {outcome:?}, and then with {again:?}"));
        }
        Ok(())
    }
}

fn brief(kind: &EventKind) -> String {
    serde_json::to_string(kind).unwrap_or_default().chars().take(100).collect()
}
