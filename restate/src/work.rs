//! What the engine of a run is asked for, and what comes of it.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::{Engine, ForkError, Json, RetryError, RunError, StartError};

use crate::handlers::ForkOf;
use crate::message::{Source, Verdict};

/// What came of it.
pub(crate) enum Done {
    /// It drives the run, or the run waits.
    Driven,
    /// A message was processed.
    Processed(Source, Verdict),
    /// The run cannot be driven here, by this program.
    Obstacle(String),
    /// Another attempt has to be made.
    Failed(String),
    /// The invocation ends with this.
    Refused(u16, String),
}

/// Whether two bodies are the same JSON. None at all is null.
pub(crate) fn is_same_json(a: &[u8], b: &[u8]) -> bool {
    let read = |body| read_json(body).ok();
    a == b || read(a).is_some_and(|a| read(b) == Some(a))
}

fn read_json(body: &[u8]) -> serde_json::Result<Json> {
    if body.is_empty() { Ok(Json::Null) } else { serde_json::from_slice(body) }
}

pub(crate) fn start(engine: Engine, workflow: String, id: String, input: &Bytes) -> BoxFuture<'static, Done> {
    let input = read_json(input);
    async move {
        let input = match input {
            Ok(input) => input,
            Err(error) => return Done::Refused(400, format!("the input of run `{id}` is not JSON: {error}")),
        };
        match engine.start_json(&workflow, input).id(id).await {
            Ok(_) => Done::Driven,
            Err(StartError::Store(error)) => Done::Failed(error.to_string()),
            Err(error @ StartError::MissingResources(_)) => Done::Obstacle(error.to_string()),
            Err(error) => Done::Refused(400, error.to_string()),
        }
    }
    .boxed()
}

pub(crate) fn fork(engine: Engine, of: ForkOf, id: String) -> BoxFuture<'static, Done> {
    async move {
        let mut fork = engine.fork(of.from).id(id);
        if let Some(before) = of.before {
            fork = fork.before(before);
        }
        match fork.await {
            Ok(_) => Done::Driven,
            Err(ForkError::Store(error) | ForkError::Run(RunError::Store(error))) => Done::Failed(error.to_string()),
            // Another program may be able to.
            Err(ForkError::Run(error)) => Done::Obstacle(error.to_string()),
            Err(error) => Done::Refused(409, error.to_string()),
        }
    }
    .boxed()
}

pub(crate) fn retry(engine: Engine, id: String) -> BoxFuture<'static, Done> {
    async move {
        match engine.retry(&id).await {
            Ok(_) => Done::Driven,
            Err(RetryError::Store(error)) => Done::Failed(error.to_string()),
            Err(error) => Done::Refused(409, error.to_string()),
        }
    }
    .boxed()
}

/// What becomes of an attempt whose run cannot be continued: of the one run that its engine has.
fn cannot_continue(mut runs: Vec<(String, RunError)>) -> Option<Done> {
    Some(match runs.pop()?.1 {
        RunError::Store(error) => Done::Failed(error.to_string()),
        why => Done::Obstacle(why.to_string()),
    })
}

/// `away`: the run, if one of its nodes is executed elsewhere. Then it may be `Sleeping`, and has to ask for the result.
pub(crate) fn resume(engine: Engine, away: Option<String>) -> BoxFuture<'static, Done> {
    async move {
        // A claim is recorded before the run is read: of one that this program cannot resume, each attempt would leave a record.
        match engine.check().await {
            Ok(check) => {
                if let Some(done) = cannot_continue(check.refused) {
                    return done;
                }
            }
            Err(error) => return Done::Failed(error.to_string()),
        }
        match engine.recover().await {
            Ok(recovery) => {
                if let Some(done) = cannot_continue(recovery.failed) {
                    return done;
                }
            }
            Err(error) => return Done::Failed(error.to_string()),
        }
        match away {
            Some(run) => {
                engine.wake(&run).await.map_or_else(|error| Done::Failed(error.to_string()), |()| Done::Driven)
            }
            None => Done::Driven,
        }
    }
    .boxed()
}
