//! Reads behind the recorded result of a request, which end its future and leave no record.
//!
//! A body that runs again gets recorded results one at a time, in the order of their records. When the first run of the body
//! got this result, it had at once what is read here. So a result behind it becomes ready only after the body has seen that.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::task::RequestTask;
use super::{Requests, had_ended};
use crate::fault::Fault;

/// While it lives, a read is under way, and no result becomes ready. Then the body is polled once before the next one does.
struct Following(Arc<Requests>);

impl Drop for Following {
    fn drop(&mut self) {
        {
            let mut inner = self.0.inner();
            inner.following -= 1;
            inner.has_followed = true;
        }
        self.0.waker.wake_body();
    }
}

/// Ends a read whose result is not wanted any more.
struct Wanted(RequestTask);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Requests {
    /// Reads what the result of the request with this path refers to, beside the body: a body that does not poll this, and
    /// waits for something else, gets that once the read has ended.
    ///
    /// # Errors
    /// If the body ends before that.
    pub(crate) async fn follow<T: Send + 'static>(
        self: &Arc<Self>,
        path: &str,
        read: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Fault> {
        let (found, result) = oneshot::channel();
        let Some(following) = self.begin_following() else {
            // For a task of the node that has outlived it there is no order.
            return Ok(read.await);
        };
        let task = RequestTask::new(Box::pin(async move {
            let read = read.await;
            // The request may be dropped meanwhile.
            drop(found.send(read));
            drop(following);
        }));
        let _wanted = Wanted(task.clone());
        self.add_task(task);
        result.await.map_err(|_| had_ended(path))
    }

    /// `None` if the body has ended.
    fn begin_following(self: &Arc<Self>) -> Option<Following> {
        let mut inner = self.inner();
        if inner.is_over {
            return None;
        }
        inner.following += 1;
        Some(Following(Arc::clone(self)))
    }
}
