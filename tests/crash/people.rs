//! Those who answer and cancel, from a process that does not know the workflow. They cancel whether the process that asks
//! lives or not; an answer is accepted as long as a living process knows the workflow.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use graphweft::store::SqliteStore;
use graphweft::{AnswerError, Engine, Event, EventKind, Question, RunError, json};

use crate::chance::Chance;
use crate::flows;
use crate::kills::recorded;
use crate::process::run_id;

pub(crate) struct People {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    runs: u64,
    /// What they have answered, and were told that it is recorded.
    accepted: BTreeSet<(u64, String)>,
    /// Whether they were told that the run is cancelled.
    has_cancelled: bool,
}

impl People {
    pub(crate) fn new(directory: &Path, runs: u64) -> People {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
        let runtime = runtime.expect("there is a runtime");
        let store = SqliteStore::builder().busy_timeout(Duration::from_secs(30)).open(directory.join("runs.db"));
        let store = runtime.block_on(store).expect("the database opens");
        let engine = Engine::builder().store(store).build().expect("the engine is sound");
        People { runtime, engine, runs, accepted: BTreeSet::new(), has_cancelled: false }
    }

    pub(crate) fn history(&self, run: u64) -> Vec<Event> {
        self.runtime.block_on(recorded(&self.engine, &run_id(run)))
    }

    /// Perhaps answers some of the open questions. Takes a millisecond or more.
    pub(crate) fn answer(&mut self, chance: &mut Chance) -> Result<(), String> {
        std::thread::sleep(Duration::from_millis(1));
        for run in 0..self.runs {
            for question in self.open(run)? {
                let what = (run, question.id.clone());
                if self.accepted.contains(&what) {
                    return Err(format!("`{}` was answered, and is open again", question.id));
                }
                if chance.percent(10) && self.give(run, &question.id, chance)? {
                    self.accepted.insert(what);
                }
            }
        }
        Ok(())
    }

    /// Perhaps cancels the one run, where it has begun. Takes a millisecond or more.
    pub(crate) fn cancel(&mut self, chance: &mut Chance) {
        std::thread::sleep(Duration::from_millis(1));
        if !self.has_cancelled && chance.below(150) == 0 && !self.history(0).is_empty() {
            self.runtime.block_on(self.engine.cancel(&run_id(0))).expect("it can be cancelled");
            self.has_cancelled = true;
        }
    }

    fn open(&self, run: u64) -> Result<Vec<Question>, String> {
        let open = self.runtime.block_on(async {
            match self.engine.get_run(&run_id(run)).await {
                Ok(Some(run)) => run.questions().await,
                other => other.map(|_| Vec::new()),
            }
        });
        open.map_err(|error| error.to_string())
    }

    /// Whether this was the answer, as far as that is known after some time: the process that is to read it may be killed
    /// before it has.
    fn give(&self, run: u64, question: &str, chance: &mut Chance) -> Result<bool, String> {
        let answer = json!(flows::answer(question));
        let (run, patience) = (run_id(run), Duration::from_millis(1 + chance.below(400)));
        let answering = async { tokio::time::timeout(patience, self.engine.answer(&run, question, answer)).await };
        let Ok(answered) = self.runtime.block_on(answering) else { return Ok(false) };
        match answered {
            Ok(()) => Ok(true),
            Err(AnswerError::AlreadyAnswered { .. } | AnswerError::Run(RunError::NotRegistered { .. })) => Ok(false),
            Err(error) => Err(format!("`{question}` cannot be answered: {error}")),
        }
    }

    /// What was accepted is on record.
    pub(crate) fn are_heard(&self, run: u64, history: &[Event]) -> Result<(), String> {
        let ends = |event: &Event| matches!(event.kind, EventKind::CancelRequested | EventKind::RunCompleted { .. });
        if self.has_cancelled && !history.iter().any(ends) {
            return Err("it was cancelled, and that is not on record".to_owned());
        }
        let is_on_record = |question: &str| {
            history.iter().any(|event| event.path == question && matches!(event.kind, EventKind::Answered { .. }))
        };
        match self.accepted.iter().find(|(of, question)| *of == run && !is_on_record(question)) {
            Some((_, question)) => Err(format!("the answer to `{question}` was accepted, and is not on record")),
            None => Ok(()),
        }
    }
}
