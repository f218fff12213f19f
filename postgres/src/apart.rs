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

/// Does this in a task of its own, to its end: also when the future is not polled, or is dropped, once it was polled.
pub(crate) fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> BoxFuture<'static, Result<T, StoreError>> {
    let done = async move {
        let Ok(runtime) = Handle::try_current() else { return work.await };
        match runtime.spawn(work).await {
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
