//! The states of the attempts at a node, or at a child or a step that a node has requested.
//!
//! ```text
//!          Begun                       Ended
//!   Due ──────────> UnderWay ─────────────────────────> Ended
//!    ^ ^             ^  │  │                             ^ │
//!    │ │ DelayOver   │  │  │ RetryAt                     │ │ CallerRetries, after a failure that may be retried
//!    │ └── Backoff <─│──│──┘                             │ │
//!    │               │  │ Dropped, CallerRetries         │ │
//!    │         Begun │  v                          Ended │ │
//!    │             CutShort ─────────────────────────────┘ │
//!    └─────────────────────────────────────────────────────┘
//! ```
//!
//! `Begun` is also allowed in Backoff, whose end it implies for a request, and in UnderWay: the attempt was
//! interrupted, or dropped and requested again without a record of that, and it or the next one begins.
//!
//! Nodes are tasks of the core, and their [`Task`](super::task::Task) holds its attempts. The requests of nodes are
//! folded by their paths (`shared/request_state.rs`), and hold theirs there. Each of them chooses its work under way
//! (`W`) and its end (`E`). Numbers, retries, delays, `at_most_once` and the effect of an interruption are decided here
//! for both. Whether an attempt in a graph inside was cut short is known by its scopes (`has_cut` in `core/scope.rs`).
//!
//! The states are a function of the records, except for the process in which an attempt was under way ([`Process`]). If
//! it was an earlier one, its end has interrupted the attempt. If it is this one, the caller has dropped the attempt
//! and requests it again, which is not recorded within one poll.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::event::Chance;
use super::impossible::Impossible;
use crate::fault::{Fault, Never};
use crate::options::{NodeOptions, RetryPolicy, Retryable};

/// The attempts at a node, a child or a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attempts<W, E = Never> {
    /// The number of the last attempt that has begun, counted from 1; 0 before the first.
    number: u32,
    /// How many have failed since this was requested, or since its caller was retried after all had failed.
    failures: u32,
    state: AttemptState<W, E>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum AttemptState<W, E = Never> {
    /// The next attempt may begin.
    Due,
    /// An attempt is under way.
    UnderWay(W),
    /// The next attempt begins at this time.
    Backoff { until: SystemTime },
    /// The last attempt was cut short, and it is not known whether it had its effect.
    CutShort,
    /// No attempt is left, or none is needed.
    Ended(E),
}

/// An event of attempts. Each is a recorded event, or follows from one.
#[derive(Debug)]
pub(crate) enum AttemptEvent<W, E = Never> {
    /// An attempt begins: the next one, or the one that was cut short.
    Begun {
        number: u32,
        work: W,
    },
    /// It has failed, and another follows.
    RetryAt(SystemTime),
    /// The delay before the next attempt is over. For a request this is implied by the begin of the next attempt.
    DelayOver,
    Ended(E),
    /// The caller has dropped it.
    Dropped,
    /// The caller's own attempt has failed, and may be followed by another.
    CallerRetries,
}

/// Why an attempt was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The end of its process.
    Interrupted,
    /// Its caller, which dropped it.
    Dropped,
}

/// How attempts have ended, as far as that matters here.
pub(crate) trait Outcome {
    fn verdict(&self) -> Verdict;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Completed,
    Failed,
    /// An attempt that may be made at most once was cut short, perhaps inside it: no other follows, however often it is
    /// requested.
    CutShort,
}

/// The task of a node is gone when its attempts end.
impl Outcome for Never {
    fn verdict(&self) -> Verdict {
        match *self {}
    }
}

/// How a node, child or step can be resumed whose attempt was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumable {
    /// Its body runs again from its top: a node, or a step.
    FromItsTop,
    /// From its records: a graph.
    FromRecords,
}

/// The process in which the last attempt was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Process {
    Earlier,
    This,
}

/// The action when a child or step is requested, or a node is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// The next attempt begins, when its delay is over.
    Next { number: u32, after: Option<SystemTime> },
    /// The attempt that was cut short begins again.
    Again { number: u32 },
    /// The attempt continues, and nothing is recorded.
    Continue { number: u32 },
    /// It may not be made again: it has failed.
    Fail { number: u32, fault: Fault },
}

impl<W, E: Outcome> Attempts<W, E> {
    /// The transition table: the state after an event.
    ///
    /// # Errors
    /// If the event is impossible in that state, which is then unchanged.
    #[inline]
    pub(crate) fn apply(&mut self, event: AttemptEvent<W, E>) -> Result<(), Box<Impossible>> {
        use {AttemptEvent as Event, AttemptState as State};
        let last = self.number;
        let is_next = |number: u32| number == last + 1;
        let is_again = |number: u32| number == last;
        // By reference: a state is larger than most of what becomes of it.
        let next = match (&self.state, event) {
            (State::Due | State::Backoff { .. }, Event::Begun { number, work }) if is_next(number) => {
                self.number = number;
                State::UnderWay(work)
            }
            (State::UnderWay(_) | State::CutShort, Event::Begun { number, work })
                if is_again(number) || is_next(number) =>
            {
                self.number = number;
                State::UnderWay(work)
            }
            (State::UnderWay(_), Event::RetryAt(until)) => {
                self.failures += 1;
                State::Backoff { until }
            }
            (State::Backoff { .. }, Event::DelayOver) => State::Due,
            (State::UnderWay(_), Event::Ended(end)) => State::Ended(end),
            (State::CutShort, Event::Ended(end)) if end.verdict() == Verdict::CutShort => State::Ended(end),
            (State::UnderWay(_), Event::Dropped | Event::CallerRetries) => State::CutShort,
            (State::Ended(end), Event::CallerRetries) => match end.verdict() {
                Verdict::Completed | Verdict::CutShort => return Ok(()),
                Verdict::Failed => {
                    self.failures = 0;
                    State::Due
                }
            },
            (_, Event::Dropped | Event::CallerRetries) => return Ok(()),
            (_, event) => return Err(Box::new(Impossible { event: event.name(), found: self.in_words() })),
        };
        self.state = next;
        Ok(())
    }

    /// The action when this is requested or resumed; `None` if it has ended.
    pub(crate) fn resumption(&self, options: &NodeOptions, how: Resumable, process: Process) -> Option<Resumption> {
        let (number, next) = (self.number, self.number + 1);
        let cut = match (&self.state, process) {
            (AttemptState::Ended(_), _) => return None,
            (AttemptState::Due, _) => return Some(Resumption::Next { number: next, after: None }),
            (AttemptState::Backoff { until }, _) => {
                return Some(Resumption::Next { number: next, after: Some(*until) });
            }
            (AttemptState::UnderWay(_), Process::Earlier) => Cut::Interrupted,
            (AttemptState::UnderWay(_), Process::This) | (AttemptState::CutShort, _) => Cut::Dropped,
        };
        let is_under_way = matches!(self.state, AttemptState::UnderWay(_));
        Some(match (how, cut) {
            (Resumable::FromRecords, Cut::Interrupted) if is_under_way => Resumption::Continue { number },
            _ if options.at_most_once => Resumption::Fail { number, fault: cut.fault() },
            (Resumable::FromItsTop, _) => Resumption::Again { number },
            // Everything inside a graph begins anew with it, and another number distinguishes that from earlier
            // records.
            (Resumable::FromRecords, _) => Resumption::Next { number: next, after: None },
        })
    }

    /// When the next attempt begins, if the one under way fails now; `None` if no other follows.
    pub(crate) fn next_attempt(
        &self,
        policy: &RetryPolicy,
        retryable: Retryable,
        chance: impl FnOnce() -> Chance,
    ) -> Option<SystemTime> {
        if retryable == Retryable::No || !self.may_be_followed(policy) {
            return None;
        }
        let Chance { now, random } = chance();
        let delay = match retryable {
            Retryable::After(delay) => delay,
            Retryable::No | Retryable::AfterPolicy => policy.delay_after(self.failures + 1, random),
        };
        Some(after(now, delay))
    }
}

impl<W, E> Attempts<W, E> {
    /// None has begun.
    pub(crate) fn none() -> Self {
        Attempts { number: 0, failures: 0, state: AttemptState::Due }
    }

    /// The first is under way.
    pub(crate) fn first(work: W) -> Self {
        Attempts::known(1, AttemptState::UnderWay(work))
    }

    /// Turns the attempt under way into the first attempt at the next node, whose task takes the place of this one.
    pub(crate) fn move_on(&mut self) {
        debug_assert!(self.work().is_some(), "a node that moves on is under way");
        (self.number, self.failures) = (1, 0);
    }

    /// Attempts in a state that another fold has found.
    pub(crate) fn known(number: u32, state: AttemptState<W, E>) -> Self {
        Attempts { number, failures: number.saturating_sub(1), state }
    }

    /// The number of the last attempt that has begun; 0 before the first.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn state(&self) -> &AttemptState<W, E> {
        &self.state
    }

    pub(crate) fn is_due(&self) -> bool {
        matches!(self.state, AttemptState::Due)
    }

    /// The work under way.
    pub(crate) fn work(&self) -> Option<&W> {
        match &self.state {
            AttemptState::UnderWay(work) => Some(work),
            _ => None,
        }
    }

    pub(crate) fn work_mut(&mut self) -> Option<&mut W> {
        match &mut self.state {
            AttemptState::UnderWay(work) => Some(work),
            _ => None,
        }
    }

    /// How they have ended.
    pub(crate) fn end(&self) -> Option<&E> {
        match &self.state {
            AttemptState::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Whether another attempt may follow the present one, or the next one if none is under way: that needs the same
    /// input.
    pub(crate) fn may_be_followed(&self, policy: &RetryPolicy) -> bool {
        self.failures + 1 < policy.max_attempts
    }

    fn in_words(&self) -> String {
        let number = self.number;
        match &self.state {
            AttemptState::Due => format!("attempt {} is due", number + 1),
            AttemptState::UnderWay(_) => format!("attempt {number} is under way"),
            AttemptState::Backoff { .. } => format!("attempt {} has its time", number + 1),
            AttemptState::CutShort => format!("attempt {number} was cut short"),
            AttemptState::Ended(_) => format!("attempt {number} was the last"),
        }
    }
}

impl<W, E> AttemptEvent<W, E> {
    fn name(&self) -> &'static str {
        match self {
            AttemptEvent::Begun { .. } => "Begun",
            AttemptEvent::RetryAt(_) => "RetryAt",
            AttemptEvent::DelayOver => "DelayOver",
            AttemptEvent::Ended(_) => "Ended",
            AttemptEvent::Dropped => "Dropped",
            AttemptEvent::CallerRetries => "CallerRetries",
        }
    }
}

impl Cut {
    fn fault(self) -> Fault {
        match self {
            Cut::Interrupted => Fault::Interrupted,
            Cut::Dropped => Fault::Dropped,
        }
    }
}

/// Whether another attempt may follow a fault.
pub(crate) fn is_retryable(fault: &Fault) -> bool {
    !matches!(fault, Fault::NothingCollected { .. } | Fault::Unrecordable { .. }) && !fault.is_cut_short()
}

/// A time as a record can hold it: to the millisecond, and not before it is due.
pub(crate) fn after(now: SystemTime, delay: Duration) -> SystemTime {
    let far_off = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default() + delay.min(far_off);
    let millis = u64::try_from(since.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_millis(millis)
}
