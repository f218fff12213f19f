//! What is asked of the store is done in tasks of its own.
//!
//! While a run records something, its driver does not poll the node that is alone in it. A statement in the future of that node would keep a
//! connection of the pool meanwhile, or its turn for one, and the record may be waiting for just that. So would its transaction keep
//! what it has locked.

use std::future::Future;
use std::panic::resume_unwind;

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::store::StoreError;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Instrument;

/// Spawns a task that any thread may take at once. The last one that a thread has spawned waits for this thread, which may go on computing;
/// the one before does not.
pub(crate) fn spawn_for_any<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let task = runtime.spawn(work);
    drop(runtime.spawn(std::future::ready(())));
    task
}

/// Does this in a task of its own, to its end: also when the future is not polled, or is dropped, once it was polled.
pub(crate) fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> BoxFuture<'static, Result<T, StoreError>> {
    let done = async move {
        let Ok(runtime) = Handle::try_current() else { return work.await };
        match spawn_for_any(&runtime, work.in_current_span()).await {
            Ok(done) => done,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(StoreError::Other {
                    message: "the runtime in which the store was asked for something has ended".to_owned(),
                }),
            },
        }
    };
    done.boxed()
}
