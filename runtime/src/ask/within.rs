//! `ctx.ask(..).within(..)` and `ctx.wait(..).within(..)`: a question, or a wait for a signal, with a deadline.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ask, Wait};
use crate::child::Sleep;

/// A question, or a wait for a signal, that is withdrawn when its time is over. Awaiting it returns the answer or the
/// payload, or [`Elapsed`].
///
/// A node that does not wait for ever is a choice between the answer and what happens without one:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft::{Elapsed, Within};
///
/// #[node]
/// async fn offer(seat: u32, ctx: &Context) -> String {
///     let reply: Within<'_, bool> = ctx.ask("take", "Do you take the seat?").within(Duration::from_millis(10));
///     match reply.await {
///         Ok(true) => format!("seat {seat} is taken"),
///         Ok(false) => format!("seat {seat} is refused"),
///         Err(Elapsed { after, .. }) => format!("seat {seat} is free again after {after:?}"),
///     }
/// }
///
/// workflow! { pub seats(u32) -> String { START => offer; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<seats>(12).await?;
/// # let mut events = run.events();
/// # while events.next().await.is_some() {}
/// assert_eq!(run.result().await?, "seat 12 is free again after 10ms");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is asked before it is awaited"]
pub struct Within<'c, T> {
    /// It and the timer are dropped, which withdraws them, when one of them has its result.
    request: Option<Request<'c, T>>,
    /// `None` if the request was made before.
    sleep: Option<Sleep<'c>>,
    after: Duration,
}

enum Request<'c, T> {
    Ask(Ask<'c, T>),
    Wait(Wait<'c, T>),
}

impl<T> Future for Request<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<T> {
        match self.get_mut() {
            Request::Ask(ask) => Pin::new(ask).poll(waker),
            Request::Wait(wait) => Pin::new(wait).poll(waker),
        }
    }
}

/// No answer, or no signal, came in time.
///
/// It is an error, so `?` returns it from a node, and a payload, so it has a route:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft::{Elapsed, Signal};
///
/// const PAID: Signal<u64> = Signal::new("paid");
///
/// #[node]
/// async fn collect(ctx: &Context) -> Result<u64, Elapsed> {
///     Ok(ctx.wait(PAID).within(Duration::ZERO).await?)
/// }
///
/// #[node]
/// async fn ship(cents: u64) -> String { format!("shipped for {cents}") }
/// #[node]
/// async fn remind(late: Elapsed) -> String { format!("please pay: {late}") }
///
/// workflow! { pub order(()) -> String { START => collect => <ok: ship, err: remind>; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<order>(()).await?;
/// # let mut events = run.events();
/// # while events.next().await.is_some() {}
/// assert_eq!(run.result().await?, "please pay: nothing came within 0ns");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("nothing came within {after:?}")]
#[non_exhaustive]
pub struct Elapsed {
    /// How long the question or the wait was open, as the node has said by `within`. After a restart it is what the node
    /// says then, which is the same unless it is computed from what may change.
    pub after: Duration,
}

impl<'c, T> Ask<'c, T> {
    /// Waits for an answer for this long at most. The time counts from when the question is asked, by a recorded timer,
    /// as that of [`Context::sleep`](crate::Context::sleep): a restart does not lengthen it. When it is over, the
    /// question is withdrawn, and answering it is an error. Which of the two came first is recorded, so after a restart
    /// the result is the same, as it is for another attempt of the node.
    ///
    /// Call it last, behind [`payload`](Self::payload) and [`key`](Self::key), and before the first poll: later it has no
    /// effect. The path of the timer is below its node, `within:approve` for a question `approve`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn review(text: String, ctx: &Context) -> String {
    ///     match ctx.ask::<bool>("approve", "Ship it?").within(Duration::from_secs(1)).await {
    ///         Ok(true) => text,
    ///         Ok(false) => "nothing".to_owned(),
    ///         Err(elapsed) => format!("no text: {elapsed}"),
    ///     }
    /// }
    ///
    /// workflow! {
    ///     pub publish(String) -> String { START => review; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<publish>("a poem".into()).await?;
    /// assert!(matches!(run.outcome().await?, Outcome::Waiting(_)));
    /// # let mut events = run.events();
    /// # while events.next().await.is_some() {}
    /// assert_eq!(run.result().await?, "no text: nothing came within 1s");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// Cancel safe: if the future is dropped, the question and its timer are withdrawn.
    pub fn within(mut self, duration: Duration) -> Within<'c, T> {
        self.0.describe(|request| request.within = Some(duration));
        let sleep = self.0.description().map(|request| {
            let key = match &request.key {
                Some(key) => format!("{}:{key}", request.name),
                None => request.name.clone(),
            };
            request.context.timer("within", key, duration)
        });
        Within { request: Some(Request::Ask(self)), sleep, after: duration }
    }
}

impl<'c, T> Wait<'c, T> {
    /// Waits for the signal for this long at most. The time counts from when the wait begins, by a recorded timer, as that
    /// of [`Context::sleep`](crate::Context::sleep): a restart does not lengthen it. Which of the two came first is
    /// recorded, so after a restart the result is the same. A signal that the run had got before is returned, also with a
    /// duration of zero. One that comes later is kept for the next wait, also if it comes while no process executes the run.
    ///
    /// Call it last, behind [`key`](Self::key), and before the first poll: later it has no effect.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    /// use graphweft::Signal;
    ///
    /// const PAID: Signal<u64> = Signal::new("paid");
    ///
    /// #[node]
    /// async fn collect(ctx: &Context) -> String {
    ///     match ctx.wait(PAID).within(Duration::from_millis(20)).await {
    ///         Ok(cents) => format!("{cents} were paid"),
    ///         Err(elapsed) => elapsed.to_string(),
    ///     }
    /// }
    ///
    /// workflow! {
    ///     pub payment(()) -> String { START => collect; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let early = engine.start::<payment>(()).await?;
    /// early.signal(PAID, 60).await?;
    /// assert_eq!(early.result().await?, "60 were paid");
    /// let late = engine.start::<payment>(()).await?;
    /// # let mut events = late.events();
    /// # while events.next().await.is_some() {}
    /// assert_eq!(late.result().await?, "nothing came within 20ms");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// Cancel safe: if the future is dropped, the wait and its timer are withdrawn.
    pub fn within(mut self, duration: Duration) -> Within<'c, T> {
        self.0.describe(|request| request.within = Some(duration));
        let timer =
            |request: &super::wait::Request<'c, T>| request.context.timer("wait_within", request.key.clone(), duration);
        let sleep = self.0.description().map(timer);
        Within { request: Some(Request::Wait(self)), sleep, after: duration }
    }
}

impl<T> Future for Within<'_, T> {
    type Output = Result<T, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        let Within { request, sleep, after } = &mut *self;
        let Some(made) = request else { return Poll::Pending };
        let result = if let Poll::Ready(result) = Pin::new(made).poll(waker) {
            Ok(result)
        } else if sleep.as_mut().is_some_and(|sleep| Pin::new(sleep).poll(waker).is_ready()) {
            Err(Elapsed { after: *after })
        } else {
            return Poll::Pending;
        };
        (*request, *sleep) = (None, None);
        Poll::Ready(result)
    }
}

impl<T> fmt::Debug for Within<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Within");
        match &self.request {
            Some(Request::Ask(ask)) => shown.field("ask", ask),
            Some(Request::Wait(wait)) => shown.field("wait", wait),
            None => &mut shown,
        };
        shown.field("after", &self.after).finish()
    }
}
