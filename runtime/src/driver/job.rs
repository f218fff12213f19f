//! A run that is to be driven, and one that is ready for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::run::{ATTEMPTS_BETWEEN_YIELDS, Driver};
use super::run_snapshot::RunSnapshot;
use super::spawned::SpawnedTasks;
use super::timers::Timers;
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::compile::{executable_in, fingerprint};
use crate::core::{Run, TimeLimit};
use crate::fault::Fault;
use crate::halt::Halt;
use crate::question::States;
use crate::shared::{Shared, Within};
use crate::store::Stored;
use crate::table::Definition;

/// A run that is to be driven.
pub(crate) struct Job {
    pub(crate) definition: Arc<Definition>,
    pub(crate) shared: Arc<Shared>,
    /// Asks it to end. A run that is recorded is asked by its journal.
    pub(crate) cancel: Option<CancellationToken>,
    /// The state that it begins with.
    pub(crate) state: Map<String, Value>,
    /// Whether it is a run of its own, or a part of a node.
    pub(crate) part: Part,
    /// How long it may take.
    pub(crate) limit: Option<TimeLimit>,
    /// The records that exist of it.
    pub(crate) history: Vec<Stored>,
    /// What the records before those come to.
    pub(crate) snapshot: Option<Arc<RunSnapshot>>,
}

/// The part of a run that a job drives.
pub(crate) enum Part {
    /// The run itself.
    Whole,
    /// A node that has started it; the text is the prefix of all of its paths.
    Of(String),
    /// A child, by its path.
    Child(String, Arc<Within>),
}

impl Job {
    /// Drives the run to its end. Dropping the future drops every node at its `.await`.
    pub(crate) async fn run(self, input: BoxValue) -> Ending {
        self.begin(input).run().await
    }

    /// Begins it, without running a node. Why it cannot begin is how it ends.
    pub(crate) fn begin(mut self, input: BoxValue) -> Prepared {
        let (limit, past) = (self.limit, (self.snapshot.take(), std::mem::take(&mut self.history)));
        let mut driver = Box::new(self.driver());
        if tokio::runtime::Handle::try_current().is_err() {
            let message = "a workflow runs inside a tokio runtime, and there is none here".to_owned();
            match driver.shared.records() {
                // Another process can drive it.
                true => driver.halt = Some(Halt::ShutDown),
                false => driver.failed = Some(Fault::Context { message }),
            }
        } else if let Err(halt) = driver.begin_run(input, limit, past) {
            driver.halt = Some(halt);
        }
        Prepared(driver)
    }

    /// Folds what is recorded of the run and reads the values that it needs next. Runs no node and records nothing.
    ///
    /// # Errors
    /// Why the run cannot be resumed by this program.
    pub(crate) fn prepare(mut self, input: BoxValue) -> Result<Prepared, Halt> {
        let (limit, past) = (self.limit, (self.snapshot.take(), std::mem::take(&mut self.history)));
        let mut driver = Box::new(self.driver());
        match driver.begin_run(input, limit, past) {
            Ok(()) => Ok(Prepared(driver)),
            Err(halt) => {
                // The values of the user may panic when they are dropped.
                let _refused_already = caught(|| drop(driver));
                Err(halt)
            }
        }
    }

    /// Its driver, before anything has happened.
    pub(super) fn driver(self) -> Driver {
        let executable = executable_in(&self.shared.env, &self.definition);
        let env = &self.shared.env;
        if let (Some(_), Some(outermost)) = (&env.executor, executable.program.layouts.first()) {
            outermost.hash.get_or_init(|| fingerprint(&self.definition).hash);
        }
        let (prefix, within) = match self.part {
            Part::Whole => (None, None),
            Part::Of(prefix) => (Some(prefix), None),
            Part::Child(path, within) => (Some(path), Some(within)),
        };
        let is_whole = prefix.is_none();
        let work = match &within {
            Some(within) => within.work.clone(),
            None => self.shared.work.clone(),
        };
        let permits = self.shared.permits.clone();
        let waiting = (env.max_concurrency() > 0).then(Arc::default);
        let program = Arc::clone(&executable.program);
        let is_bare =
            !self.shared.records() && within.is_none() && permits.is_none() && self.shared.env.around.is_empty();
        let is_watched = self.shared.records() || within.is_some();
        let run = Box::new(Run::new(program, env.max_concurrency(), is_watched, self.state, prefix));
        Driver {
            run,
            definition: self.definition,
            executable,
            shared: self.shared,
            ready: Vec::new(),
            alone: None,
            lanes: None,
            batch: None,
            ended: Vec::new().into_iter(),
            spawned: SpawnedTasks::default(),
            retained: HashMap::new(),
            timers: Timers::default(),
            cancelling: Vec::new(),
            permits,
            waiting,
            spare: None,
            has_recorded_values: false,
            wants_cancel: false,
            past_questions: None,
            halt: None,
            is_bare,
            has_one_thread: tokio::runtime::Handle::try_current()
                .is_ok_and(|runtime| runtime.runtime_flavor() == tokio::runtime::RuntimeFlavor::CurrentThread),
            is_whole,
            within,
            still_at: None,
            says_that_it_waits: false,
            leaves: false,
            failed: None,
            turn_began: Instant::now(),
            until_yield: ATTEMPTS_BETWEEN_YIELDS,
            lag: 0,
            clock_first: false,
            work,
            was_cancelled: false,
            cancel: self.cancel.map(|token| Box::pin(token.cancelled_owned())),
        }
    }
}

/// A run that is ready to be driven, with its records folded. Dropping it leaves no trace.
pub(crate) struct Prepared(Box<Driver>);

impl Prepared {
    /// Drives the run to its end; see [`Job::run`].
    pub(crate) async fn run(self) -> Ending {
        let Prepared(mut driver) = self;
        let mut ending = driver.until_end().await.unwrap_or_else(Ending::Halted);
        driver.record_ending(&mut ending).await;
        driver.end_span(&ending);
        let shared = driver.is_whole.then(|| Arc::clone(&driver.shared));
        // A panic of a destructor no longer changes how the run has ended.
        let _ended_already = caught(|| drop(driver));
        // A node with a task of its own may be in the middle of a poll, and the run may begin again at once, here or in
        // another process. So all such tasks must be gone first.
        if let Some(shared) = shared {
            shared.until_alone().await;
        }
        ending
    }

    /// The questions of the run by its records, and whether it was retried.
    pub(crate) fn take_questions(&mut self) -> Option<(States, bool)> {
        self.0.past_questions.take().map(|questions| *questions)
    }

    /// Drops it, with all that it has read.
    pub(crate) fn discard(self) {
        let _checked_already = caught(|| drop(self));
    }
}
