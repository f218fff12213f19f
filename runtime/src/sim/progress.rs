//! The progress of a node of a graph, by its records.

use std::time::{Duration, SystemTime};

use super::scenario::Special;
use crate::event::{AfterFailure, EventKind};
use crate::fault::Fault;
use crate::store::Stored;

/// The state of a node in one turn of its graph.
#[derive(Debug, Default)]
pub(super) struct Progress {
    attempt: u32,
    at: At,
    /// The record with which it began last.
    begun_at: u64,
    /// How often the run had been taken over when the attempt began last.
    resumed: u32,
    /// When the time of the graph inside is up, and whether that is recorded.
    limit: Option<SystemTime>,
    is_timed_out: bool,
}

#[derive(Debug, Default, PartialEq)]
enum At {
    /// It has not begun, or waits for another arrival.
    #[default]
    Idle,
    UnderWay,
    /// The next attempt begins then.
    Delayed(SystemTime),
    /// The delay is over.
    Due,
    /// It has failed for good.
    Failed,
    Over,
}

fn require(holds: bool, what: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

impl Progress {
    pub(super) fn is_under_way(&self) -> bool {
        self.at == At::UnderWay
    }

    pub(super) fn is_delayed(&self) -> bool {
        matches!(self.at, At::Delayed(_))
    }

    pub(super) fn is_due(&self) -> bool {
        self.at == At::Due
    }

    pub(super) fn begun_at(&self) -> u64 {
        self.begun_at
    }

    /// Whether it is done, unless it gets another arrival.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.at, At::Idle | At::Failed | At::Over)
    }

    /// Takes the next record of it.
    ///
    /// # Errors
    /// The rule that the record breaks.
    pub(super) fn follow(
        &mut self,
        stored: &Stored,
        special: &Special,
        resumed: u32,
        late: Duration,
    ) -> Result<(), String> {
        match &stored.record.kind {
            EventKind::NodeStarted { attempt, inside, .. } => {
                self.begun_at = stored.seq;
                let limit = inside.as_ref().and_then(|inside| inside.limit.as_ref());
                require(limit.map(|limit| limit.after) == special.time_limit(), "begins with another time limit")?;
                (self.limit, self.is_timed_out) = (limit.map(|limit| limit.until), false);
                self.starts(*attempt, special, resumed)
            }
            EventKind::NodeCompleted { .. } => {
                require(self.is_under_way() && !self.is_timed_out, "completes and is not under way, or too late")?;
                self.goes_to(At::Over)
            }
            EventKind::NodeFailed { attempt, then, cause, .. } => {
                let is_after_its_last_arrival = matches!(cause.fault, Some(Fault::NothingCollected { .. }));
                require(self.is_under_way() || is_after_its_last_arrival, "fails and is not under way")?;
                require(
                    *attempt == self.attempt || is_after_its_last_arrival,
                    "fails in another attempt than it is at",
                )?;
                let is_timeout = matches!(cause.fault, Some(Fault::Timeout { .. }));
                require(is_timeout || !self.is_timed_out, "was timed out, and fails otherwise")?;
                let until = match then {
                    AfterFailure::RetryAt { time } => *time,
                    AfterFailure::Routed { .. } => return self.goes_to(At::Over),
                    AfterFailure::Fails => return self.goes_to(At::Failed),
                };
                require(*attempt < special.max_attempts(), "is to be tried more often than it may")?;
                let cut_short = cause.fault.as_ref().is_some_and(Fault::is_cut_short);
                require(!cut_short, "is to be tried again, and was cut short")?;
                self.goes_to(At::Delayed(until))
            }
            EventKind::NodeCollecting { .. } => {
                require(self.is_under_way(), "waits for more and is not under way")?;
                self.attempt = 0;
                self.goes_to(At::Idle)
            }
            EventKind::NodeSkipped => {
                require(self.at == At::Idle && self.attempt == 0, "is skipped when it has begun")?;
                self.goes_to(At::Over)
            }
            EventKind::NodeCancelled => {
                require(self.at != At::Over && !matches!(self.at, At::Failed), "is cancelled when it is over")?;
                self.goes_to(At::Over)
            }
            EventKind::RunStartingOver { .. } => {
                require(self.is_under_way(), "starts over and is not under way")?;
                self.goes_to(At::Over)
            }
            EventKind::TimerFired => match self.at {
                At::UnderWay => {
                    let is_up = self.limit.is_some_and(|until| stored.time + late >= until);
                    require(is_up && !self.is_timed_out, "is timed out before its time, or twice")?;
                    self.is_timed_out = true;
                    Ok(())
                }
                At::Delayed(until) => {
                    require(stored.time + late >= until, "is tried again before its time")?;
                    self.goes_to(At::Due)
                }
                _ => Err("was not waited for".to_owned()),
            },
            EventKind::ItemStarted { .. } => require(self.is_under_way(), "begins an item and is not under way"),
            EventKind::ItemCancelled { .. } => require(self.is_under_way(), "cancels an item and is not under way"),
            EventKind::Message { .. } | EventKind::Note { .. } => {
                require(self.is_under_way(), "says something and is not under way")
            }
            _ => Err("is a node, and has no such records".to_owned()),
        }
    }

    fn starts(&mut self, attempt: u32, special: &Special, resumed: u32) -> Result<(), String> {
        require(attempt <= special.max_attempts(), format!("begins attempt {attempt} of {}", special.max_attempts()))?;
        match self.at {
            At::Idle => require(attempt == 1, "begins with another attempt than the first")?,
            At::Due => require(attempt == self.attempt + 1, "leaves an attempt out, or makes one twice")?,
            At::UnderWay => {
                return Err("begins an attempt that is under way".to_owned());
            }
            At::Delayed(_) => return Err("begins before its delay is over".to_owned()),
            At::Failed => return Err("begins when it has failed".to_owned()),
            At::Over => return Err("begins when it is over".to_owned()),
        }
        (self.attempt, self.resumed) = (attempt, resumed);
        self.goes_to(At::UnderWay)
    }

    fn goes_to(&mut self, at: At) -> Result<(), String> {
        self.at = at;
        Ok(())
    }
}
