//! Starting a run.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::run::RunState;
use super::{Engine, MissingResources, Run, StartError};
use crate::driver::{Ending, Job, Log, Shared, caught, new_run_id};
use crate::event::EventKind;
use crate::fault::{Cause, Failure, Fault};
use crate::state::StateKey;
use crate::table::{BoxValue, Definition};

/// A run that starts when this is awaited, which gives a [`Run`] or a [`StartError`].
#[must_use = "nothing starts before it is awaited"]
pub struct Start<T> {
    engine: Engine,
    id: Option<String>,
    state: Map<String, Json>,
    what: Result<(Arc<Definition>, BoxValue), StartError>,
    gives: PhantomData<fn() -> T>,
}

impl<T> Start<T> {
    pub(super) fn new(engine: &Engine, definition: &Arc<Definition>, input: Result<BoxValue, StartError>) -> Self {
        let what = input.map(|input| (Arc::clone(definition), input));
        Start { engine: engine.clone(), id: None, state: Map::new(), what, gives: PhantomData }
    }

    pub(super) fn refused(engine: &Engine, error: StartError) -> Self {
        Start { engine: engine.clone(), id: None, state: Map::new(), what: Err(error), gives: PhantomData }
    }

    /// The id of the run, a new UUID where none is given. Where the engine has a run of this id, of the same workflow
    /// and with the same input, that is the run that is given, whether it goes on or has ended; otherwise starting fails.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// What stands under a key of the run's state when it begins.
    pub fn state<S: Serialize, R>(mut self, key: StateKey<S, R>, value: S) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => {
                self.state.insert(key.name().to_owned(), value);
            }
            Err(error) if self.what.is_ok() => {
                let what = format!("state key `{}`", key.name());
                self.what = Err(StartError::NotJson { what, message: error.to_string() });
            }
            Err(_) => {}
        }
        self
    }

    fn start(self) -> Result<Run<T>, StartError> {
        let Start { engine, id, state, what, .. } = self;
        let (definition, input) = what?;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        MissingResources::check(&engine.0.env, &definition)?;
        let recorded = written("the input", || (definition.door.write_input)(&input))?;
        let id = id.unwrap_or_else(new_run_id);

        let mut runs = engine.runs();
        if let Some(existing) = runs.by_id.get(&id) {
            return same_run(existing, id, &definition.name, &recorded);
        }
        let log = Arc::new(Log::new(id.clone()));
        let (over, is_over) = watch::channel(false);
        let run = Arc::new(RunState {
            workflow: definition.name.clone(),
            input: recorded.clone(),
            log: Arc::clone(&log),
            cancel: CancellationToken::new(),
            over: is_over,
            output: Mutex::new(None),
        });
        runs.by_id.insert(id.clone(), Arc::clone(&run));
        drop(runs);

        let workflow = definition.name.clone();
        log.record(workflow.clone(), EventKind::RunStarted { workflow, input: recorded });
        let job = Job {
            definition: Arc::clone(&definition),
            shared: Arc::new(Shared::recorded(Arc::clone(&engine.0.env), Arc::clone(&log))),
            cancel: Some(run.cancel.clone()),
            state,
            around: None,
        };
        let ends = Arc::clone(&run);
        runtime.spawn(async move {
            let ending = job.run(input).await;
            let kind = ended(&definition, &ends, ending);
            log.record(definition.name.clone(), kind);
            over.send_replace(true);
            engine.has_ended(&id);
        });
        Ok(Run::new(run))
    }
}

/// The run that has the id already, if it is the one that was to be started.
fn same_run<T>(existing: &Arc<RunState>, id: String, workflow: &str, input: &Json) -> Result<Run<T>, StartError> {
    if existing.workflow != workflow {
        let (existing, requested) = (existing.workflow.clone(), workflow.to_owned());
        return Err(StartError::OtherWorkflow { id, existing, requested });
    }
    if existing.input != *input {
        return Err(StartError::OtherInput { id, workflow: workflow.to_owned() });
    }
    Ok(Run::new(Arc::clone(existing)))
}

/// The last record of a run; its output is kept for whoever asks first.
fn ended(definition: &Definition, run: &RunState, ending: Ending) -> EventKind {
    match ending {
        Ending::Completed(output) => match written("the output", || (definition.door.write_output)(&output)) {
            Ok(recorded) => {
                *run.output.lock().unwrap_or_else(PoisonError::into_inner) = Some(output);
                EventKind::RunCompleted { output: recorded }
            }
            Err(error) => {
                let cause = Cause::from(Fault::Context { message: error.to_string() });
                EventKind::RunFailed { failure: Failure { path: definition.name.clone(), attempts: 1, cause } }
            }
        },
        Ending::Failed(failure) => EventKind::RunFailed { failure },
        Ending::Cancelled => EventKind::RunCancelled,
    }
}

fn written(what: &str, write: impl FnOnce() -> Result<Json, serde_json::Error>) -> Result<Json, StartError> {
    let not_json = |message| StartError::NotJson { what: what.to_owned(), message };
    caught(write).map_err(|fault| not_json(fault.to_string()))?.map_err(|error| not_json(error.to_string()))
}

impl<T: 'static> IntoFuture for Start<T> {
    type Output = Result<Run<T>, StartError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.start() })
    }
}

impl<T> std::fmt::Debug for Start<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start").field("id", &self.id).finish_non_exhaustive()
    }
}
