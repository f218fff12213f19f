//! The synchronization primitives of modelled code: those of the standard library and of futures; under
//! `--cfg graphweft_loom` those of loom, which tries every interleaving. `docs/concurrency.md` lists the models, and
//! why the rest needs none.
//!
//! The cfg has a name of its own, since `loom` would also change the dependencies of graphweft.

#[cfg(not(graphweft_loom))]
mod real {
    #[cfg(feature = "sqlite")]
    pub(crate) use std::sync::Condvar;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use std::sync::{Mutex, MutexGuard};

    pub(crate) use futures_util::task::AtomicWaker;
}

#[cfg(graphweft_loom)]
mod modelled {
    use std::sync::{LockResult, PoisonError};
    use std::task::Waker;
    use std::time::Duration;

    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    /// The same guarantee as that of futures: a task that registers and then looks misses nothing that was stored
    /// before a wake.
    #[derive(Debug, Default)]
    pub(crate) struct AtomicWaker(Mutex<Option<Waker>>);

    impl AtomicWaker {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        pub(crate) fn register(&self, waker: &Waker) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        }

        pub(crate) fn wake(&self) {
            let waker = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// A wait with a time limit ends only when it is woken: progress must not depend on the limit.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn wait<'g, T>(&self, guard: MutexGuard<'g, T>) -> LockResult<MutexGuard<'g, T>> {
            self.0.wait(guard)
        }

        pub(crate) fn wait_timeout<'g, T>(
            &self,
            guard: MutexGuard<'g, T>,
            _limit: Duration,
        ) -> LockResult<(MutexGuard<'g, T>, ())> {
            Ok((self.wait(guard).unwrap_or_else(PoisonError::into_inner), ()))
        }

        pub(crate) fn wait_timeout_while<'g, T>(
            &self,
            mut guard: MutexGuard<'g, T>,
            limit: Duration,
            mut goes_on: impl FnMut(&mut T) -> bool,
        ) -> LockResult<(MutexGuard<'g, T>, ())> {
            while goes_on(&mut guard) {
                guard = self.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner).0;
            }
            Ok((guard, ()))
        }
    }
}

#[cfg(graphweft_loom)]
pub(crate) use modelled::*;
#[cfg(not(graphweft_loom))]
pub(crate) use real::*;
