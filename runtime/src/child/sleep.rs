//! `ctx.sleep(..)`: a timer that outlives the process.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::Lazy;
use crate::attempt::Wait;
use crate::clock::Clock;
use crate::context::Context;
use crate::driver::Journal;
use crate::event::EventKind;
use crate::fault::Fault;

/// How long a sleep relies on the one clock before it looks at the other: a machine that was suspended has not counted.
const LOOK: Duration = Duration::from_secs(60);

/// A time so far off that it makes no difference, and which every clock can still hold.
const FAR_OFF: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A timer that is set when this is awaited. It is a future, so that `join!` and `select!` take it.
#[must_use = "nothing sleeps before it is awaited"]
pub struct Sleep<'c>(Lazy<'c, Request<'c>, ()>);

struct Request<'c> {
    context: &'c Context,
    key: String,
    duration: Duration,
}

impl Context {
    /// Waits, as long as it takes: the time at which it is over is recorded, and after a restart the rest of it is waited
    /// for; one that came while nothing ran has come. While a run does nothing but wait it may leave the memory.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn remind(text: String, ctx: &Context) -> String {
    ///     ctx.sleep(Duration::from_millis(20)).await;
    ///     format!("do not forget: {text}")
    /// }
    ///
    /// workflow! {
    ///     pub reminder(String) -> String { START => remind; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<reminder>("the milk".into()).await?;
    /// assert_eq!(run.result().await?, "do not forget: the milk");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// A timer stands below its node as `sleep:1`, `sleep:2`, in the order of the calls, or by its [`key`](Sleep::key):
    /// where that order may be another when the node runs again, timers need keys. A recorded one keeps its time, whatever
    /// duration is asked for then. A second use of one key fails the node with a [`Fault::Context`].
    ///
    /// Cancel safe: a timer whose future is dropped stays on record and wakes nobody.
    pub fn sleep(&self, duration: Duration) -> Sleep<'_> {
        let key = self.0.next_timer().to_string();
        Sleep(Lazy::Described(Request { context: self, key, duration }))
    }
}

impl Sleep<'_> {
    /// Tells the timers of a node apart, in place of their order.
    pub fn key(mut self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.0.describe(|request| request.key = key);
        self
    }
}

impl Request<'_> {
    async fn sleep(self) {
        let context = self.context;
        if let Err(fault) = self.slept().await {
            context.stop(fault).await
        }
    }

    async fn slept(self) -> Result<(), Fault> {
        let Request { context, key, duration } = self;
        let attempt = &context.0;
        let path = attempt.claim("sleep", Some(&key))?;
        let duration = duration.min(FAR_OFF);
        let Some(journal) = &attempt.run.journal else {
            tokio::time::sleep(duration).await;
            return Ok(());
        };
        let item = journal.desk.item(&path).unwrap_or_default();
        if item.fired {
            return Ok(());
        }
        let push = |kind: EventKind| {
            journal.desk.note(&path, &kind, journal.clock.now());
            journal.push(path.clone(), kind);
        };
        let until = match item.until {
            Some(until) => until,
            None => {
                let until = journal.clock.now() + duration;
                push(EventKind::TimerSet { until });
                attempt.recorded(journal).await;
                until
            }
        };
        {
            let _sleeper = Sleeper::of(journal, &path);
            let _wait = Wait::of(attempt);
            pass(until, &journal.clock).await;
        }
        push(EventKind::TimerFired);
        Ok(())
    }
}

/// Waits for a time by the clock on the wall, or until as much time has gone by as it was off.
async fn pass(until: SystemTime, clock: &Clock) {
    let rest = clock.until(until).min(FAR_OFF);
    let due = Instant::now() + rest;
    while Instant::now() < due && clock.now() < until {
        tokio::time::sleep_until(due.min(Instant::now() + LOOK)).await;
    }
}

/// The run is to be woken for this timer.
struct Sleeper<'a> {
    journal: &'a Journal,
    path: &'a str,
}

impl<'a> Sleeper<'a> {
    fn of(journal: &'a Journal, path: &'a str) -> Self {
        journal.desk.sleeps(path, true);
        Sleeper { journal, path }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.journal.desk.sleeps(self.path, false);
    }
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<()> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.sleep()))
    }
}

impl std::fmt::Debug for Sleep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Sleep");
        if let Some(request) = self.0.description() {
            shown.field("key", &request.key).field("duration", &request.duration);
        }
        shown.finish_non_exhaustive()
    }
}
