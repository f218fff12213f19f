//! `ctx.ask(..).within(..)`: a question with a deadline.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use super::Ask;
use crate::child::Sleep;

/// A question that is withdrawn when its time is over. Awaiting it returns the answer, or [`Elapsed`].
#[must_use = "nothing is asked before it is awaited"]
pub struct Within<'c, T> {
    /// The question. It and the timer are dropped, which withdraws them, when one of them has its result.
    ask: Option<Ask<'c, T>>,
    /// `None` if the question was asked before.
    sleep: Option<Sleep<'c>>,
    after: Duration,
}

/// No answer came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer came within {after:?}")]
#[non_exhaustive]
pub struct Elapsed {
    /// How long the question was open.
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
    ///     match ctx.ask::<bool>("approve", "Ship it?").within(Duration::from_millis(20)).await {
    ///         Ok(true) => text,
    ///         Ok(false) => "nothing".to_owned(),
    ///         Err(elapsed) => format!("nothing: {elapsed}"),
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
    /// # tokio::time::sleep(Duration::from_millis(60)).await;
    /// assert_eq!(run.result().await?, "nothing: no answer came within 20ms");
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
        Within { ask: Some(self), sleep, after: duration }
    }
}

impl<T> Future for Within<'_, T> {
    type Output = Result<T, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        let Within { ask: asked, sleep, after } = &mut *self;
        let Some(ask) = asked else { return Poll::Pending };
        let result = if let Poll::Ready(answer) = Pin::new(ask).poll(waker) {
            Ok(answer)
        } else if sleep.as_mut().is_some_and(|sleep| Pin::new(sleep).poll(waker).is_ready()) {
            Err(Elapsed { after: *after })
        } else {
            return Poll::Pending;
        };
        (*asked, *sleep) = (None, None);
        Poll::Ready(result)
    }
}

impl<T> fmt::Debug for Within<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").field("ask", &self.ask).field("after", &self.after).finish()
    }
}
