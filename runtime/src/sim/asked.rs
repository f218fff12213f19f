//! The progress of a request of a node, by its records: a step, a child, a question, a timer.

use std::time::{Duration, SystemTime};

use crate::event::{AfterFailure, EventKind};
use crate::store::Stored;

#[derive(Debug, Default)]
pub(super) struct Asked {
    attempt: u32,
    is_under_way: bool,
    is_done: bool,
    /// How often the run had been taken over when the attempt began last.
    resumed: u32,
    /// When its next attempt begins.
    delayed: Option<SystemTime>,
    is_asked: bool,
    is_answered: bool,
    /// Whether its answer was recorded before it was checked against its type.
    is_unchecked: bool,
    until: Option<SystemTime>,
    has_fired: bool,
    /// Whether it is a wait for a signal.
    awaits: bool,
    /// Whether a signal was delivered to it, and whether its node has taken that.
    has_signal: bool,
    has_taken: bool,
    is_withdrawn: bool,
    /// Whether the attempt of its node that it belonged to has ended.
    is_cut_short: bool,
}

fn require(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

impl Asked {
    /// Whether it is a question without an answer, a wait without a signal, or a timer that has not run out.
    pub(super) fn is_waited_for(&self) -> bool {
        let is_asked = (self.is_asked && !self.is_answered) || (self.awaits && !self.has_signal);
        let is_open = is_asked || (self.until.is_some() && !self.has_fired);
        is_open && !self.is_withdrawn
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way && !self.is_withdrawn
    }

    /// The attempt of its node is over: the next one begins again what was under way.
    pub(super) fn cut_short(&mut self) {
        self.is_cut_short = true;
    }

    /// Takes the next record of it.
    ///
    /// # Errors
    /// The rule that the record breaks.
    pub(super) fn follow(&mut self, stored: &Stored, resumed: u32, late: Duration) -> Result<(), String> {
        let is_again = stored.record.kind == EventKind::RequestReopened;
        require(!self.is_withdrawn || is_again, "was withdrawn, and something becomes of it")?;
        match &stored.record.kind {
            EventKind::RequestWithdrawn => {
                let is_known = self.attempt > 0 || self.is_asked || self.awaits || self.until.is_some();
                require(is_known, "is withdrawn, and was never asked for")?;
                self.is_withdrawn = true;
                if std::mem::take(&mut self.is_unchecked) {
                    self.is_answered = false;
                }
                (self.has_signal, self.has_taken) = (false, false);
                Ok(())
            }
            EventKind::RequestReopened => {
                require(self.is_withdrawn, "is reopened, and was not withdrawn")?;
                self.is_withdrawn = false;
                Ok(())
            }
            EventKind::NodeStarted { attempt, .. } => {
                require(!self.is_done, "is on record, and begins again")?;
                let again = self.is_under_way && *attempt == self.attempt;
                let is_next = !self.is_under_way && *attempt == self.attempt + 1;
                require(again || is_next, "leaves an attempt out, or makes one twice")?;
                let was_cut_short = std::mem::take(&mut self.is_cut_short) || resumed > self.resumed;
                require(!again || was_cut_short, "begins an attempt anew, and nobody has cut it short")?;
                let is_due = self.delayed.take().is_none_or(|until| stored.time + late >= until);
                require(is_due, "is tried again before its time")?;
                (self.attempt, self.is_under_way, self.resumed) = (*attempt, true, resumed);
                Ok(())
            }
            EventKind::NodeCompleted { .. } => {
                require(self.is_under_way && !self.is_done, "completes and is not under way")?;
                (self.is_under_way, self.is_done) = (false, true);
                Ok(())
            }
            EventKind::NodeFailed { attempt, then, .. } => {
                require(self.is_under_way && *attempt == self.attempt, "fails in another attempt than it is at")?;
                self.is_under_way = false;
                self.delayed = match then {
                    AfterFailure::RetryAt { time } => Some(*time),
                    AfterFailure::Routed { .. } | AfterFailure::Fails => None,
                };
                Ok(())
            }
            EventKind::QuestionAsked { again, .. } => {
                require(self.is_asked == *again, "is asked twice, or again and was never asked")?;
                self.is_asked = true;
                Ok(())
            }
            EventKind::Answered { unchecked, .. } => {
                self.is_unchecked = *unchecked;
                require(
                    self.is_asked && !self.is_answered && !self.is_withdrawn,
                    "is answered and is no open question",
                )?;
                self.is_answered = true;
                Ok(())
            }
            EventKind::AnswerAccepted => {
                let was_unchecked = std::mem::take(&mut self.is_unchecked);
                require(was_unchecked, "is accepted, and was not answered, or with an answer that was checked")
            }
            EventKind::AnswerRejected { .. } => {
                let was_unchecked = std::mem::take(&mut self.is_unchecked);
                require(was_unchecked && self.is_answered, "is rejected, and has no answer that was not checked")?;
                self.is_answered = false;
                Ok(())
            }
            EventKind::TimerSet { until } => {
                require(self.until.is_none(), "is set twice")?;
                self.until = Some(*until);
                Ok(())
            }
            EventKind::TimerFired => {
                let is_due = self.until.is_some_and(|until| stored.time + late >= until);
                require(is_due && !self.has_fired, "runs out before its time, or twice")?;
                self.has_fired = true;
                Ok(())
            }
            EventKind::SignalAwaited { .. } => {
                require(!self.awaits, "is awaited twice")?;
                self.awaits = true;
                Ok(())
            }
            EventKind::SignalDelivered { .. } => {
                require(self.awaits && !self.has_signal, "gets a signal, and is no open wait")?;
                self.has_signal = true;
                Ok(())
            }
            EventKind::SignalTaken => {
                require(self.has_signal && !self.has_taken, "takes a signal twice, or has none")?;
                self.has_taken = true;
                Ok(())
            }
            EventKind::SignalRejected { .. } => {
                require(self.has_signal && !self.has_taken, "rejects a signal that it does not have")?;
                self.has_signal = false;
                Ok(())
            }
            EventKind::Message { .. } | EventKind::Note { .. } | EventKind::RunCancelling => Ok(()),
            _ => Err("was asked for, and has no such records".to_owned()),
        }
    }
}
