//! Resumes runs that wait outside of the memory, and takes over runs of processes that have died.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, select};
use tokio::time::Instant;

use super::inner::Engine;
use super::inner::Inner;
use crate::catch::caught;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::store::{Claim, Claimed, StoreError};

/// How often the store is polled for changes by other processes.
const LOOK: Duration = Duration::from_millis(250);

/// The same of a store that tells of most of them.
const LOOK_IF_TOLD: Duration = Duration::from_secs(1);

/// The pause after a change by another process: one answer is often followed by the next. The pauses double from then
/// on.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

impl Engine {
    /// Spawns a task that looks after runs. It ends with the engine, or with the tokio runtime.
    pub(crate) fn keep(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.0.is_kept.swap(true, Ordering::AcqRel) {
            return;
        }
        let inner = Arc::downgrade(&self.0);
        if self.0.retention.deletes_something() {
            runtime.spawn(Engine::delete_regularly(Weak::clone(&inner)));
        }
        runtime.spawn(async move {
            let kept = Kept(inner);
            let (mut pause, mut most) = (LOOK, LOOK);
            let mut changed: Option<BoxFuture<'static, ()>> = None;
            let mut stopped = Stopped::default();
            loop {
                let Ok(sleep) = caught(|| tokio::time::sleep(pause.min(most))) else {
                    tracing::warn!("the tokio runtime has no timers, so runs that wait are not resumed");
                    return;
                };
                match changed.take() {
                    // One change is often followed by the next, and each look is work for the store.
                    Some(changed) => {
                        let changed = changed.then(|()| tokio::time::sleep(LOOK_AGAIN));
                        select(pin!(sleep), pin!(changed)).await;
                    }
                    None => sleep.await,
                }
                let Some(inner) = kept.0.upgrade().filter(|inner| !inner.runs.is_closed()) else { return };
                // What changes during the look is looked at next.
                changed = inner.store.changed();
                let every = if changed.is_some() { LOOK_IF_TOLD } else { LOOK };
                let engine = Engine::behind(inner);
                if stopped.is_time() {
                    stopped.looked(engine.forget_stopped());
                }
                let looked = engine.look(every).await;
                most = if looked.was_nudged { LOOK_AGAIN } else { (most * 2).min(every) };
                pause = looked.pause;
            }
        });
    }

    /// Resumes the runs that are due. `every`: the longest pause until the next look.
    async fn look(&self, every: Duration) -> Looked {
        let claimed = match self.claim_due().await {
            Ok(claimed) => claimed,
            Err(error) => {
                self.0.lost_claim.store(true, Ordering::Release);
                tracing::warn!(%error, "the store cannot be asked which runs can go on");
                return Looked { pause: every, was_nudged: false };
            }
        };
        let was_nudged = !claimed.nudged.is_empty();
        for damaged in claimed.damaged {
            self.halted().insert(damaged.key, Halt::Store(damaged.error.clone()));
            tracing::error!(run = damaged.id, error = %damaged.error, "a run cannot be resumed");
        }
        for header in claimed.runs {
            let id = header.id.clone();
            if let Err(halt) = self.resume(header).await
                && halt != Halt::Fenced
            {
                let error = RunError::from(halt);
                tracing::error!(run = id, %error, "a run cannot be resumed here");
            }
        }
        let now = self.0.env.clock.now();
        let until = claimed.next_wake.and_then(|wake| wake.duration_since(now).ok());
        Looked { pause: until.unwrap_or(every).clamp(Duration::from_millis(1), every), was_nudged }
    }

    /// Has the runs claimed that were stopped since the server of the store was away. Returns whether there are any.
    fn forget_stopped(&self) -> bool {
        let mut halted = self.halted();
        let before = halted.len();
        halted.retain(|_, halt| !matches!(halt, Halt::Store(error) if error.may_pass()));
        let are_some = halted.len() < before;
        if are_some {
            self.0.lost_claim.store(true, Ordering::Release);
        }
        are_some
    }

    async fn claim_due(&self) -> Result<Claimed, StoreError> {
        let has_lost_one = self.0.lost_claim.swap(false, Ordering::AcqRel);
        let claim = Claim {
            own: has_lost_one,
            orphans: self.0.recovers.load(Ordering::Acquire),
            limit: 64,
            ..self.claim(None).await?
        };
        let claimed = self.claim_runs(claim).await?;
        if has_lost_one {
            // The lost one may have reported any of them.
            for live in self.0.runs.keys().into_iter().filter_map(|key| self.0.runs.by_key(key)) {
                live.journal.catch_up().await;
            }
        }
        Ok(claimed)
    }
}

/// When runs that were stopped are resumed: at once, and later each time that some were stopped again.
#[derive(Default)]
struct Stopped {
    at: Option<Instant>,
    pause: Duration,
}

impl Stopped {
    /// The longest pause.
    const MOST: Duration = Duration::from_secs(30);

    fn is_time(&self) -> bool {
        self.at.is_none_or(|at| at <= Instant::now())
    }

    fn looked(&mut self, are_some: bool) {
        self.pause = if are_some { (2 * self.pause).clamp(LOOK_IF_TOLD, Stopped::MOST) } else { Duration::ZERO };
        self.at = Some(Instant::now() + self.pause);
    }
}

/// The result of a look.
struct Looked {
    /// How long no run of this engine becomes due by itself.
    pause: Duration,
    /// Whether another engine had recorded something for a run that is driven here.
    was_nudged: bool,
}

/// Alive while the task looks after runs.
struct Kept(Weak<Inner>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            inner.is_kept.store(false, Ordering::Release);
        }
    }
}
