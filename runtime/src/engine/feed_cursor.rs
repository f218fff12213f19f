//! Where a feed begins, and where a reader of it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::store::FeedPlace;

/// A place in the [`Feed`](crate::Feed) of a store. It outlives the process: written down as a string, or by serde, it
/// is where another feed of the same store continues.
///
/// ```
/// use graphweft::FeedCursor;
///
/// # let saved = "17.2";
/// let cursor: FeedCursor = saved.parse()?;
/// assert_eq!(cursor.to_string(), saved);
/// assert!("yesterday".parse::<FeedCursor>().is_err());
/// # Ok::<(), graphweft::InvalidFeedCursor>(())
/// ```
///
/// Cursors of one store are ordered as its records are. What is in the string is not documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedCursor(pub(super) FeedPlace);

/// A string that is no [`FeedCursor`].
///
/// ```
/// use graphweft::FeedCursor;
///
/// let from_query: Result<FeedCursor, _> = "yesterday".parse();
/// assert_eq!(from_query.unwrap_err().text, "yesterday"); // a bad request, and not a feed from the beginning
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the cursor of a feed; pass a string that a `FeedCursor` was written as")]
#[non_exhaustive]
pub struct InvalidFeedCursor {
    /// The string.
    pub text: String,
}

/// Where a [`Feed`](crate::Feed) begins.
///
/// A consumer begins where it has stopped, and the first time with everything:
///
/// ```
/// use graphweft::{FeedCursor, FeedFrom};
///
/// fn from(stored: Option<&str>) -> Result<FeedFrom, graphweft::InvalidFeedCursor> {
///     Ok(match stored {
///         Some(cursor) => cursor.parse::<FeedCursor>()?.into(),
///         None => FeedFrom::default(),
///     })
/// }
///
/// assert_eq!(from(None)?, FeedFrom::Beginning);
/// # Ok::<(), graphweft::InvalidFeedCursor>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FeedFrom {
    /// With the oldest record that the store still has.
    #[default]
    Beginning,
    /// With what is recorded after the call.
    Now,
    /// Behind the event with this cursor.
    After(FeedCursor),
}

impl From<FeedCursor> for FeedFrom {
    fn from(cursor: FeedCursor) -> Self {
        FeedFrom::After(cursor)
    }
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.position, self.0.record)
    }
}

impl FromStr for FeedCursor {
    type Err = InvalidFeedCursor;

    fn from_str(text: &str) -> Result<Self, InvalidFeedCursor> {
        let place = text.split_once('.').and_then(|(position, record)| {
            Some(FeedPlace { position: position.parse().ok()?, record: record.parse().ok()? })
        });
        // Only what is written: a plus sign and leading zeros are read as well.
        let cursor = place.map(FeedCursor).filter(|cursor| cursor.to_string() == text);
        cursor.ok_or_else(|| InvalidFeedCursor { text: text.to_owned() })
    }
}

impl Serialize for FeedCursor {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FeedCursor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::FeedCursor;
    use crate::store::FeedPlace;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        for place in [FeedPlace::BEGINNING, FeedPlace { position: u64::MAX, record: u32::MAX }] {
            let cursor = FeedCursor(place);
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
            let json = serde_json::to_string(&cursor).unwrap();
            assert_eq!(serde_json::from_str::<FeedCursor>(&json).unwrap(), cursor);
        }
        for text in ["", ".", "1", "1.", ".1", "1.2.3", "+1.2", "01.2", "1.-2", " 1.2", "18446744073709551616.0"] {
            assert!(text.parse::<FeedCursor>().is_err(), "{text}");
        }
    }
}
