//! The services of pools: executes attempts at nodes for runs that are driven elsewhere ([`calls`](crate::calls)).

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use futures::FutureExt;
use graphweft::{Engine, ExecuteError, Fault, NodeResult, NodeTask};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::drive::SLOW;
use crate::invocation::{Invocation, Reply, Stop};
use crate::manifest::pool_service;

/// The pools of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    names: BTreeSet<String>,
    /// Held from before the begin of an attempt to its end.
    permits: Arc<Semaphore>,
    /// Held by attempts that have no permit yet and say already that they begin, so that the server's answer is there when they have one.
    ahead: Arc<Semaphore>,
}

impl Pools {
    /// `most`: how many attempts are under way at once; by default, one for each core.
    pub(crate) fn new(names: BTreeSet<String>, most: Option<NonZeroUsize>) -> Self {
        let most = most.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let permits = || Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Pools { names, permits: permits(), ahead: permits() }
    }

    /// The names of their services.
    pub(crate) fn services(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(|pool| pool_service(pool))
    }

    /// How many attempts are under way at once.
    pub(crate) fn most(&self) -> u32 {
        u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX)
    }

    pub(crate) fn has(&self, service: &str) -> bool {
        self.services().any(|own| own == service)
    }

    /// Executes one attempt, in one of perhaps several invocations of the same task that follow one another.
    pub(crate) async fn execute(&self, engine: &Engine, invocation: &mut Invocation) -> Result<Reply, Stop> {
        let has_begun = invocation.pass_begins()?;
        let task: NodeTask = match serde_json::from_slice(&invocation.input) {
            Ok(task) => task,
            // A status of 400 or 404 says that it has not begun.
            Err(error) if has_begun => return Err(Stop::Broken(format!("the task cannot be read any more: {error}"))),
            Err(error) => return Ok(Err((400, format!("this is no task of a pool: {error}")))),
        };
        tracing::debug!(run = task.run_id, path = task.path, "an attempt at a node of a pool is here");
        if has_begun && task.at_most_once {
            // The worker before this one has died in it.
            return Ok(reply(&NodeResult::of_fault(Fault::Interrupted)));
        }
        if !self.names.contains(&task.pool) {
            return Ok(Err((404, format!("this worker does not execute nodes of pool `{}`", task.pool))));
        }
        let stops = CancellationToken::new();
        // It is said that an attempt begins, since a worker that was stalled must not begin with what was given to another one. One that is made
        // once says so when it does begin: if its worker dies behind that, it is interrupted.
        let _permit = if task.at_most_once {
            let Some(permit) = permit_of(&self.permits, &stops, invocation).await? else { return Ok(cancelled()) };
            invocation.says_begin(SLOW).await?;
            permit
        } else {
            let Some(ahead) = permit_of(&self.ahead, &stops, invocation).await? else { return Ok(cancelled()) };
            let asked = Instant::now();
            invocation.says_begin(SLOW).await?;
            let Some(permit) = permit_of(&self.permits, &stops, invocation).await? else { return Ok(cancelled()) };
            drop(ahead);
            if asked.elapsed() > SLOW {
                invocation.says_begin(SLOW).await?;
            }
            permit
        };
        let execution = engine.execute(task).cancelled_by(stops.clone().cancelled_owned());
        let executed = beside(invocation, &stops, execution.into_future().map(Some)).await?;
        Ok(match executed {
            None | Some(Err(ExecuteError::Cancelled)) => cancelled(),
            Some(Ok(result)) => reply(&result),
            Some(Err(error)) => reply(&NodeResult::of_fault(Fault::Context { message: error.to_string() })),
        })
    }
}

/// A permit, or `None` if the invocation is cancelled before.
async fn permit_of(
    permits: &Arc<Semaphore>,
    stops: &CancellationToken,
    invocation: &mut Invocation,
) -> Result<Option<OwnedSemaphorePermit>, Stop> {
    let permit = stops.run_until_cancelled(Arc::clone(permits).acquire_owned());
    let permit = permit.map(|permit| permit.and_then(Result::ok));
    beside(invocation, stops, permit).await
}

/// Waits for something, and for what the server says meanwhile: if that is that the invocation is cancelled, what is waited for ends by
/// `stops`.
async fn beside<T>(
    invocation: &mut Invocation,
    stops: &CancellationToken,
    waits: impl Future<Output = Option<T>>,
) -> Result<Option<T>, Stop> {
    let mut waits = std::pin::pin!(waits);
    loop {
        // It may have been said to an attempt before this one.
        if invocation.is_cancelled_now()? {
            stops.cancel();
        }
        tokio::select! {
            biased;
            value = &mut waits => return Ok(value),
            read = invocation.read() => read?,
        }
    }
}

fn cancelled() -> Reply {
    Err((409, "it was cancelled".to_owned()))
}

fn reply(result: &NodeResult) -> Reply {
    serde_json::to_value(result).map_err(|error| (500, format!("the result cannot be sent: {error}")))
}

#[cfg(test)]
mod tests {
    use graphweft::Json;

    use super::*;

    #[test]
    fn a_service_of_a_pool_is_found_by_its_name() {
        let pools = Pools::new(BTreeSet::from(["gpu".to_owned(), "large gpu".to_owned()]), NonZeroUsize::new(2));
        assert!(pools.services().eq(["graphweft.pool.gpu", "graphweft.pool.large_x20_gpu"]));
        assert!(pools.has("graphweft.pool.gpu") && !pools.has("graphweft.pool.tpu"));
    }

    #[test]
    fn a_result_is_sent_as_its_json() {
        let sent: Json = reply(&NodeResult::of_fault(Fault::Interrupted)).unwrap();
        let read: NodeResult = serde_json::from_value(sent).unwrap();
        assert_eq!(read, NodeResult::of_fault(Fault::Interrupted));
    }
}
