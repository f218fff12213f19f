//! The position of an event in its run.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The position of an event among those of its run: where a client that has lost its connection continues
/// ([`Run::events_after`](crate::Run::events_after)). As text, and as JSON, it is `17`, or `17.3` for the third progress
/// that was sent since the run began or continued in its process: a `Last-Event-ID` of server-sent events.
///
/// Positions of records and of progress do not get smaller in the course of a run. An event that follows from another one
/// ([`Event::derived`](crate::Event::derived)) has the position of that, and may come behind progress.
///
/// ```
/// use graphweft::EventPosition;
///
/// let position: EventPosition = "17.3".parse()?;
/// assert!(position > "17".parse()? && position < "18".parse()?);
/// assert_eq!(position.to_string(), "17.3");
/// assert!("17.".parse::<EventPosition>().is_err());
/// # Ok::<(), graphweft::ParseEventPositionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventPosition {
    seq: u64,
    /// 0 for an event that is not progress.
    progress: u64,
}

/// A text is not an [`EventPosition`].
///
/// A server answers it with a bad request, and not with the events from the beginning:
///
/// ```
/// use graphweft::EventPosition;
///
/// let from_header: Result<EventPosition, _> = "seventeen".parse();
/// let error = from_header.unwrap_err();
/// assert!(error.to_string().starts_with("`seventeen` is not the position of an event, such as `17` or `17.3`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the position of an event, such as `17` or `17.3`: {source}")]
#[non_exhaustive]
pub struct ParseEventPositionError {
    text: String,
    source: ParseIntError,
}

impl EventPosition {
    pub(crate) fn new(seq: u64, progress: u64) -> Self {
        EventPosition { seq, progress }
    }

    /// The number of the event, or of the recorded event before it: [`Event::seq`](crate::Event::seq).
    pub fn seq(self) -> u64 {
        self.seq
    }
}

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.progress {
            0 => write!(f, "{}", self.seq),
            progress => write!(f, "{}.{progress}", self.seq),
        }
    }
}

impl FromStr for EventPosition {
    type Err = ParseEventPositionError;

    fn from_str(text: &str) -> Result<Self, ParseEventPositionError> {
        let (seq, progress) = text.split_once('.').unwrap_or((text, "0"));
        let part = |part: &str| {
            // Rust reads a `+` before a number.
            let digits = if part.starts_with('+') { "+" } else { part };
            digits.parse().map_err(|source| ParseEventPositionError { text: text.chars().take(40).collect(), source })
        };
        Ok(EventPosition { seq: part(seq)?, progress: part(progress)? })
    }
}

impl Serialize for EventPosition {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EventPosition {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}
