//! Whether a tokio runtime is being shut down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use tokio::runtime::Handle;

/// Sets its flag when it is dropped, unless its task has run.
struct Probe(Option<Arc<AtomicBool>>);

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(is_closing) = self.0.take() {
            is_closing.store(true, Ordering::Release);
        }
    }
}

/// Whether the runtime drops its tasks, or has dropped them.
///
/// A runtime that shuts down refuses new tasks, and drops them inside `spawn`, before it drops the first of its old
/// ones. So this returns `true` to every caller that has observed the end of a task dropped by its runtime.
pub(super) fn is_closing(runtime: &Handle) -> bool {
    let is_closing = Arc::new(AtomicBool::new(false));
    let mut probe = Probe(Some(Arc::clone(&is_closing)));
    drop(runtime.spawn(async move { drop(probe.0.take()) }.boxed()));
    is_closing.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_closing_from_before_its_first_task_is_dropped() {
        struct Asks(Handle, Arc<AtomicBool>);
        impl Drop for Asks {
            fn drop(&mut self) {
                self.1.store(is_closing(&self.0), Ordering::Release);
            }
        }
        let one = || tokio::runtime::Builder::new_current_thread().build().unwrap();
        let several = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        for runtime in [one(), several()] {
            let handle = runtime.handle().clone();
            let was_closing = Arc::new(AtomicBool::new(false));
            let asks = Asks(handle.clone(), Arc::clone(&was_closing));
            runtime.spawn(async move {
                let _asks = asks;
                std::future::pending::<()>().await;
            });
            runtime.block_on(async { tokio::task::yield_now().await });
            assert!(!is_closing(&handle));
            drop(runtime);
            assert!(was_closing.load(Ordering::Acquire));
            assert!(is_closing(&handle));
        }
    }
}
