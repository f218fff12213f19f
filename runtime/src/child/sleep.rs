//! `ctx.sleep(..)`: a timer that outlives the process.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::context::Context;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::lazy::Lazy;
use crate::requests::Held;

/// How long a sleep relies on the monotonic clock before it reads the wall clock: the monotonic one does not count
/// while a machine is suspended.
const LOOK: Duration = Duration::from_secs(60);

/// A time so far off that it is like never, and which every clock can still represent.
const FAR_OFF: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// The name of a timer that a node has set by itself.
const SLEEP: &str = "sleep";

/// A timer, which is set when this is awaited. It is a future, so it works with `join!` and `select!`.
///
/// A reminder beside the work that it is about: the first of the two to be ready is used, and the timer of the other is withdrawn.
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> String {
///     tokio::select! {
///         is_fine = ctx.ask::<bool>("approve", "Ship it?") => format!("{text}: {is_fine}"),
///         () = ctx.sleep(Duration::from_secs(7 * 24 * 3600)) => format!("{text}: no answer in a week"),
///     }
/// }
///
/// workflow! { pub publish(String) -> String { START => review; } }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<publish>("a poem".into()).await?;
/// run.outcome().await?;
/// run.answer("approve", true).await?;
/// assert_eq!(run.result().await?, "a poem: true");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing sleeps before it is awaited"]
pub struct Sleep<'c>(Lazy<'c, Request<'c>, ()>);

struct Request<'c> {
    context: &'c Context,
    name: &'static str,
    key: String,
    duration: Duration,
    early: Option<BoxFuture<'static, ()>>,
}

impl Context {
    /// Waits for a duration, which may be long: the time at which it ends is recorded, and after a restart the node
    /// waits for the rest of it, or not at all if that time has passed. If the clock was set back meanwhile, the rest
    /// is never longer than the duration. A run that only waits may be unloaded from memory.
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
    /// The path of a timer is below its node, `sleep:1`, `sleep:2`, in the order of the calls, or by its
    /// [`key`](Sleep::key). Use keys if the order may be different when the node starts again. A recorded timer keeps
    /// its time, whatever the duration is then. A second use of one key fails the node with a [`Fault::Context`].
    ///
    /// Cancel safe: if the future is dropped, the timer is withdrawn and does not fire.
    pub fn sleep(&self, duration: Duration) -> Sleep<'_> {
        self.timer(SLEEP, self.0.next_timer().to_string(), duration)
    }

    /// A timer by the name of what it is for, and a key.
    pub(crate) fn timer(&self, name: &'static str, key: String, duration: Duration) -> Sleep<'_> {
        Sleep(Lazy::Described(Request { context: self, name, key, duration, early: None }))
    }
}

impl Sleep<'_> {
    /// Identifies the timer by a key, in place of the order of the calls.
    pub fn key(mut self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.0.describe(|request| request.key = key);
        self
    }

    /// Ends the timer early when a future is ready. What is recorded, and what the node sees, is that the timer has fired, and not why: so the node
    /// does the same when it starts again, and looks itself for what it waits for.
    ///
    /// The future is a hint. It is executed beside the node, under no `max_concurrency`, and does not keep the run in memory. If the run
    /// is unloaded, or the process ends, the future is dropped, and another one is made when the node starts again and
    /// comes to this timer; if the run is not in memory, the timer fires at its time. A panic in it is one of the node.
    ///
    /// A job that looks every hour, and at once if another task of this process says that there is something:
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    /// use tokio::sync::Notify;
    ///
    /// static HAS_COME: Notify = Notify::const_new();
    ///
    /// #[node]
    /// async fn collect(shelf: String, ctx: &Context) -> String {
    ///     ctx.sleep(Duration::from_secs(3600)).or_when(HAS_COME.notified()).await;
    ///     format!("what is on {shelf}") // if anything
    /// }
    ///
    /// workflow! { pub shelf(String) -> String { START => collect; } }
    ///
    /// # graphweft::block_on(async {
    /// let run = Engine::builder().build()?.start::<shelf>("shelf 3".into()).await?;
    /// HAS_COME.notify_one();
    /// assert_eq!(run.result().await?, "what is on shelf 3");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn or_when(mut self, early: impl Future<Output = ()> + Send + 'static) -> Self {
        self.0.describe(|request| request.early = Some(early.boxed()));
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
        let Request { context, name, key, duration, early } = self;
        let attempt = &context.0;
        let path = match name {
            SLEEP => attempt.path_of(name, Some(&key))?,
            _ => attempt.path_of_wait(name, &key)?,
        };
        let (mut held, item) = Held::ask(attempt, path, None).await?;
        let item = item.unwrap_or_default();
        let path = held.path().to_owned();
        if item.withdrawn {
            held.reopened().await;
        }
        if !item.fired {
            let clock = &attempt.run.env.clock;
            // A timer that is set now runs for exactly its duration.
            let (until, due) = match item.until {
                Some(until) => (until, Instant::now() + clock.until(until).min(FAR_OFF)),
                None => {
                    let duration = duration.min(FAR_OFF);
                    let until = clock.now() + duration;
                    attempt.requests().push(&path, EventKind::TimerSet { until });
                    (until, Instant::now() + duration)
                }
            };
            let (attempt, clock) = (Arc::clone(attempt), clock.clone());
            held.spawn(
                async move {
                    match early {
                        Some(early) => {
                            let time = std::pin::pin!(pass(until, due, &clock));
                            let (Either::Left(_) | Either::Right(_)) = select(early, time).await;
                        }
                        None => pass(until, due, &clock).await,
                    }
                    // What was asked for with the timer is recorded before it fires, however short its time is: a signal that was
                    // there before the wait for it is delivered with the record of that wait.
                    attempt.requests().recorded().await;
                    attempt.requests().push(&path, EventKind::TimerFired);
                }
                .boxed(),
            );
        }
        held.result().await;
        held.take();
        Ok(())
    }
}

/// Waits for a time by the wall clock, or until the remaining duration has passed by the monotonic one.
async fn pass(until: SystemTime, due: Instant, clock: &Clock) {
    let mut look = LOOK;
    while Instant::now() < due && clock.now() < until {
        let begun = std::time::Instant::now();
        tokio::time::sleep_until(due.min(Instant::now() + look)).await;
        // Where tokio's time is paused it passes at once: a month is a few looks, not one for each minute of it.
        look = if begun.elapsed() < LOOK / 2 { look.saturating_mul(2).min(FAR_OFF) } else { LOOK };
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
