//! Work elsewhere that a body waits for: no record is its result.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Requests;
use super::task::RequestTask;

/// While it lives, the body waits for work that is executed elsewhere, as it does for a request. The work wakes the body itself
/// ([`BodyWaker::wake_body`](super::BodyWaker::wake_body)).
pub(crate) struct Elsewhere {
    requests: Arc<Requests>,
    task: RequestTask,
}

impl Elsewhere {
    /// To be called while the body is polled. The work is polled beside the body, and dropped with this.
    pub(crate) fn new(requests: &Arc<Requests>, work: BoxFuture<'static, ()>) -> Self {
        let task = RequestTask::new(work);
        let mut inner = requests.inner();
        inner.elsewhere += 1;
        inner.tasks.push(task.clone());
        drop(inner);
        Elsewhere { requests: Arc::clone(requests), task }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.task.abort();
        self.requests.inner().elsewhere -= 1;
    }
}
