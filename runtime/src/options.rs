//! The options of a node.

use std::time::Duration;

/// The options of a node: how often it is tried, how long one attempt may take, how many run at once.
///
/// A node that is written by hand has them, as `#[node(..)]` gives them to a function:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft::NodeOptions;
///
/// struct Flaky { succeeds_at: u32 }
///
/// impl Node for Flaky {
///     type Input = ();
///     type Output = u32;
///     type Error = String;
///
///     fn options(&self) -> NodeOptions {
///         let mut options = NodeOptions::default();
///         options.retry = RetryPolicy::with_max_attempts(3).initial_delay(Duration::from_millis(1)).jitter(0.0);
///         options
///     }
///
///     async fn run(&self, (): (), ctx: &Context) -> Result<u32, String> {
///         if ctx.attempt() < self.succeeds_at { Err("no connection".into()) } else { Ok(ctx.attempt()) }
///     }
/// }
///
/// let flow = workflow! { let call = Flaky { succeeds_at: 3 }; START => call };
/// assert_eq!(graphweft::block_on(flow.run(())).unwrap(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NodeOptions {
    /// When and how often a failed attempt is repeated.
    pub retry: RetryPolicy,
    /// How long one attempt may take. `None`: no limit.
    pub timeout: Option<Duration>,
    /// Inside `[..]`: how many items may be in this node at once. For a nested workflow outside of `[..]`: how many of
    /// its nodes may be under way at once, in place of the `#[max_parallel = ..]` above it. `None`: no limit. No effect
    /// elsewhere.
    pub max_parallel: Option<u32>,
    /// The attempt is recorded before it starts, and an interrupted one is reported, never repeated.
    pub at_most_once: bool,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions { retry: RetryPolicy::none(), timeout: None, max_parallel: None, at_most_once: false }
    }
}

/// When a failed attempt is followed by another.
///
/// The delay before attempt `n + 1`, after attempt `n` (counted from 1) has failed, is
/// `min(initial_delay * backoff_factor^(n - 1), max_delay) * (1 + r)` with `r` drawn evenly from `0..jitter`.
/// Fields, defaults and formula are those of Google ADK's `RetryConfig`.
///
/// Any error is retried, unless the node says otherwise (`retry(when = ..)`), and so is any
/// [`Fault`](crate::Fault), such as a panic or a time limit, except `Interrupted`, `Dropped` and `NothingCollected`:
/// `when` is asked about the node's own errors only. An attempt that has called
/// [`ctx.no_retry()`](crate::Context::no_retry) is the last. An error for which `retry(after = ..)` returns a delay is
/// followed by the next attempt after exactly that delay, also if it is longer than `max_delay`; it counts as an attempt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "nothing is retried by it before a child, a step or a node has it"]
pub struct RetryPolicy {
    /// The number of attempts, the first included. 1: no retry.
    pub max_attempts: u32,
    /// Before the second attempt.
    pub initial_delay: Duration,
    /// The longest delay, before jitter.
    pub max_delay: Duration,
    /// The factor between a delay and the next; one below 1, or that is not finite, counts as 1.
    pub backoff_factor: f64,
    /// 0: none; 1: a delay may grow to twice its length. One below 0, or that is not finite, counts as 0.
    pub jitter: f64,
}

/// Whether another attempt may follow an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryable {
    /// None may follow.
    No,
    /// One may follow, after the delay of the policy.
    AfterPolicy,
    /// One may follow, after the delay that the error asks for.
    After(Duration),
}

impl Retryable {
    /// `when` and `after` of a node, as they answer about an error.
    pub(crate) fn of(when: bool, after: impl FnOnce() -> Option<Duration>) -> Self {
        match when {
            true => after().map_or(Retryable::AfterPolicy, Retryable::After),
            false => Retryable::No,
        }
    }

    /// The same, if the attempt does not say that no other may follow.
    pub(crate) fn unless(self, is_last: bool) -> Self {
        if is_last { Retryable::No } else { self }
    }
}

impl From<bool> for Retryable {
    fn from(is_retryable: bool) -> Self {
        if is_retryable { Retryable::AfterPolicy } else { Retryable::No }
    }
}

impl RetryPolicy {
    /// No retries: one attempt.
    pub fn none() -> Self {
        RetryPolicy { max_attempts: 1, ..RetryPolicy::default() }
    }

    /// At most this many attempts, the first included, with the delays of [`RetryPolicy::default`] between them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::RetryPolicy;
    ///
    /// let policy = RetryPolicy::with_max_attempts(3).initial_delay(Duration::from_millis(100)).jitter(0.0);
    /// assert_eq!(policy.delay_after(2, 0.0), Duration::from_millis(200));
    /// ```
    pub fn with_max_attempts(max_attempts: u32) -> Self {
        RetryPolicy { max_attempts, ..RetryPolicy::default() }
    }

    /// Sets the delay before the second attempt, and the longest delay if that was shorter.
    pub fn initial_delay(self, initial_delay: Duration) -> Self {
        RetryPolicy { initial_delay, max_delay: self.max_delay.max(initial_delay), ..self }
    }

    /// Sets the longest delay, before jitter.
    pub fn max_delay(self, max_delay: Duration) -> Self {
        RetryPolicy { max_delay, ..self }
    }

    /// Sets the factor between a delay and the next.
    pub fn backoff_factor(self, backoff_factor: f64) -> Self {
        RetryPolicy { backoff_factor, ..self }
    }

    /// Sets by how much a delay may grow at random: 0, not at all; 1, up to twice its length.
    pub fn jitter(self, jitter: f64) -> Self {
        RetryPolicy { jitter, ..self }
    }

    /// The delay after `attempt` (from 1) has failed; `random` is in `0.0..1.0`.
    pub fn delay_after(&self, attempt: u32, random: f64) -> Duration {
        let at_least = |least: f64, number: f64| if number.is_finite() { number.max(least) } else { least };
        let (factor, jitter) = (at_least(1.0, self.backoff_factor), at_least(0.0, self.jitter));
        let grown = self.initial_delay.as_secs_f64() * factor.powi(attempt.saturating_sub(1).min(1 << 20) as i32);
        let capped = grown.min(self.max_delay.as_secs_f64());
        Duration::try_from_secs_f64(capped * (1.0 + random * jitter)).unwrap_or(self.max_delay)
    }
}

impl Default for RetryPolicy {
    /// What `retry()` means: 5 attempts, delays of 1 s, 2 s, 4 s .. up to 60 s, each up to doubled by jitter.
    fn default() -> Self {
        RetryPolicy {
            max_attempts: 5,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            backoff_factor: 2.0,
            jitter: 1.0,
        }
    }
}
