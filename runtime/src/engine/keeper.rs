//! Resumes runs that wait outside of the memory, and takes over runs of processes that have died.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};
use tokio::time::Instant;

use super::inner::Engine;
use super::inner::Inner;
use crate::catch::caught;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::sorted::SortedSet;
use crate::store::{Claim, Claimed, RunKey, StoreError};

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
        // Boxed, as all tasks of which there are few: the compiler builds what tokio has for a task once for them, and not for each.
        if self.0.retention.deletes_something() {
            runtime.spawn(Engine::delete_regularly(Weak::clone(&inner)).boxed());
        }
        let looking = async move {
            let kept = Kept(inner);
            let (mut pause, mut most) = (LOOK, LOOK);
            let mut changed: Option<BoxFuture<'static, ()>> = None;
            let mut owed = Owed::default();
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
                let mut look = pin!(engine.look(every, &mut owed));
                let looked = poll_fn(|waker| match caught(|| look.as_mut().poll(waker)) {
                    Ok(polled) => polled.map(Ok),
                    Err(panic) => Poll::Ready(Err(panic)),
                });
                let looked = looked.await.unwrap_or_else(|panic| {
                    engine.0.lost_claim.store(true, Ordering::Release);
                    tracing::error!(%panic, "the store has failed when it was asked which runs can be resumed; it is asked again");
                    Looked { pause: every, was_nudged: false }
                });
                most = if looked.was_nudged { LOOK_AGAIN } else { (most * 2).min(every) };
                pause = looked.pause;
            }
        };
        runtime.spawn(looking.boxed());
    }

    /// Resumes the runs that are due. `every`: the longest pause until the next look.
    async fn look(&self, every: Duration, owed: &mut Owed) -> Looked {
        let claimed = match self.claim_due(owed).await {
            Ok(claimed) => claimed,
            Err(error) => {
                self.0.lost_claim.store(true, Ordering::Release);
                if owed.outage.is_to_be_logged(&error) {
                    tracing::warn!(
                        %error,
                        "the store cannot be asked which runs can be resumed; it is asked again until it works"
                    );
                }
                return Looked { pause: every, was_nudged: false };
            }
        };
        if let Some(lasted) = owed.outage.has_ended() {
            tracing::info!(seconds = lasted.as_secs(), "the store works again, and runs that can be resumed are");
        }
        let was_nudged = !claimed.nudged.is_empty();
        for damaged in claimed.damaged {
            self.halted().insert(damaged.key, Halt::Store(damaged.error.clone()).into());
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

    /// The runs that an outage of the store has stopped, and that were not resumed since.
    fn stopped_by_outage(&self) -> SortedSet<RunKey> {
        self.halted().iter().filter(|(_, halted)| halted.halt.is_of_outage()).map(|(key, _)| *key).collect()
    }

    async fn claim_due(&self, owed: &mut Owed) -> Result<Claimed, StoreError> {
        let has_lost_one = self.0.lost_claim.swap(false, Ordering::AcqRel);
        let stopped = owed.may_resume_stopped().then(|| self.stopped_by_outage());
        let mut claim = Claim {
            own: owed.may_have_own(has_lost_one) || stopped.as_ref().is_some_and(|stopped| !stopped.is_empty()),
            orphans: self.0.recovers.load(Ordering::Acquire),
            limit: 64,
            ..self.claim(None).await?
        };
        if let Some(stopped) = &stopped {
            claim.except.retain(|key| !stopped.contains(key));
        }
        let claimed = self.claim_runs(claim).await?;
        if let Some(stopped) = stopped {
            owed.has_claimed_of(stopped.len());
        }
        if has_lost_one {
            // The lost one may have reported any of them.
            for live in self.0.runs.keys().into_iter().filter_map(|key| self.0.runs.by_key(key)) {
                live.journal.catch_up().await;
            }
        }
        Ok(claimed)
    }
}

/// What later looks have to do for earlier ones, and for what has failed meanwhile.
#[derive(Default)]
struct Owed {
    /// When runs that an outage has stopped are claimed next; at once if not said.
    next: Option<Instant>,
    /// The pause until then. It doubles as long as they do not become fewer.
    pause: Duration,
    /// How many of them there were when they were claimed last.
    stopped: usize,
    /// Until then a claim whose reply was lost may have given runs to this engine.
    own_until: Option<Instant>,
    outage: Outage,
}

/// The time in which the store cannot be asked. It is asked several times a second, and the log has a few lines of that.
#[derive(Default)]
struct Outage {
    begun: Option<Instant>,
    /// Whether the log says that it has begun.
    is_logged: bool,
    /// The error that was logged last, of any outage, and when.
    last: Option<(StoreError, Instant)>,
}

impl Outage {
    /// How long the same error is not logged again.
    const QUIET: Duration = Duration::from_secs(60);

    /// The store could not be asked.
    fn is_to_be_logged(&mut self, error: &StoreError) -> bool {
        let now = Instant::now();
        self.begun.get_or_insert(now);
        let is_known = self.last.as_ref().is_some_and(|(last, when)| last == error && now - *when < Outage::QUIET);
        if !is_known {
            (self.is_logged, self.last) = (true, Some((error.clone(), now)));
        }
        !is_known
    }

    /// The store could be asked. Returns how long it could not, if the log says that it has begun.
    fn has_ended(&mut self) -> Option<Duration> {
        let (begun, is_logged) = (self.begun.take(), std::mem::take(&mut self.is_logged));
        begun.filter(|_| is_logged).map(|begun| begun.elapsed())
    }
}

impl Owed {
    /// The longest pause.
    const MOST: Duration = Duration::from_secs(30);

    /// How long a statement whose reply was lost may be under way in the store, or hold the rows of its runs.
    const UNDER_WAY: Duration = Duration::from_secs(5);

    fn may_resume_stopped(&self) -> bool {
        self.next.is_none_or(|next| next <= Instant::now())
    }

    /// So many were stopped when they were claimed.
    fn has_claimed_of(&mut self, stopped: usize) {
        self.pause = match stopped {
            0 => Duration::ZERO,
            fewer if fewer < self.stopped => LOOK_IF_TOLD,
            _ => (2 * self.pause).clamp(LOOK_IF_TOLD, Owed::MOST),
        };
        (self.next, self.stopped) = (Some(Instant::now() + self.pause), stopped);
    }

    fn may_have_own(&mut self, has_lost_one: bool) -> bool {
        if has_lost_one {
            self.own_until = Some(Instant::now() + Owed::UNDER_WAY);
        }
        self.own_until.is_some_and(|until| Instant::now() < until)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_error_that_stays_or_comes_and_goes_is_logged_once_a_minute() {
        let error = |message: &str| StoreError::Other { message: message.to_owned() };
        for comes_and_goes in [false, true] {
            let mut outage = Outage::default();
            let (mut begun, mut ended) = (0, 0);
            for _ in 0..4 * 150 {
                begun += u32::from(outage.is_to_be_logged(&error("nothing listens")));
                tokio::time::advance(LOOK).await;
                if comes_and_goes {
                    ended += u32::from(outage.has_ended().is_some());
                }
            }
            assert_eq!((begun, ended), (3, if comes_and_goes { 3 } else { 0 }), "of 150 seconds");
            assert!(outage.is_to_be_logged(&error("no password")));
            assert!(!outage.is_to_be_logged(&error("no password")));
        }
    }
}
