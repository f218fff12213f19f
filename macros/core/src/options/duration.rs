//! Durations as people write them: `200ms`, `1.5s`, `1m30s`, `1h 30m`.

use std::time::Duration;

/// The units, the longer spellings first where one begins with another.
const UNITS: [(&str, f64); 8] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)];

/// The form of a duration, for a help text.
pub(super) const EXAMPLE: &str = "a duration is a number with a unit, one of `ns`, `us`, `ms`, `s`, `m`, `h` and `d`, or \
                                  a sum of them: `200ms`, `1.5s`, `1m30s`";

/// Why a text is no duration.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoDuration {
    /// It has no number where one is expected.
    Number,
    /// A number has no unit behind it.
    Unit,
    /// Such a unit does not exist.
    UnknownUnit(String),
    /// It does not fit a [`Duration`].
    TooLong,
}

/// Reads a sum of numbers with units.
pub(super) fn parse(text: &str) -> Result<Duration, NoDuration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(NoDuration::Number);
    }
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let (number, behind) = split_at_first(rest, |letter| !letter.is_ascii_digit() && letter != '.');
        let (unit, behind) = split_at_first(behind.trim_start(), |letter| !letter.is_alphabetic());
        let number = exactly(number)?;
        if unit.is_empty() {
            return Err(NoDuration::Unit);
        }
        let known = UNITS.iter().find(|(name, _)| *name == unit);
        let (_, seconds) = known.ok_or_else(|| NoDuration::UnknownUnit(unit.into()))?;
        let part = number.times(*seconds).ok_or(NoDuration::TooLong)?;
        sum = sum.checked_add(part).ok_or(NoDuration::TooLong)?;
        rest = behind.trim_start();
    }
    Ok(sum)
}

/// A number without loss: the digits before its point, and those behind it.
struct Number {
    whole: u64,
    fraction: f64,
}

impl Number {
    fn times(&self, seconds: f64) -> Option<Duration> {
        let nanoseconds = (seconds * 1e9) as u64;
        let whole = u128::from(self.whole) * u128::from(nanoseconds);
        let fraction = (self.fraction * seconds * 1e9).round() as u128;
        let sum = whole + fraction;
        let seconds = u64::try_from(sum / 1_000_000_000).ok()?;
        Some(Duration::new(seconds, (sum % 1_000_000_000) as u32))
    }
}

fn exactly(number: &str) -> Result<Number, NoDuration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return Err(NoDuration::Number);
    }
    let fraction = format!("0.{fraction}").parse().map_err(|_| NoDuration::Number)?;
    Ok(Number { whole: whole.parse().map_err(|_| NoDuration::TooLong)?, fraction })
}

fn split_at_first(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        for (text, expected) in [
            ("200ms", Duration::from_millis(200)),
            ("10s", Duration::from_secs(10)),
            ("1.5s", Duration::from_millis(1500)),
            ("1m30s", Duration::from_secs(90)),
            ("1h 30m", Duration::from_secs(5400)),
            ("2 d", Duration::from_secs(172_800)),
            ("5us", Duration::from_micros(5)),
            ("5µs", Duration::from_micros(5)),
            ("7ns", Duration::from_nanos(7)),
            ("0s", Duration::ZERO),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        assert_eq!(parse(""), Err(NoDuration::Number));
        assert_eq!(parse("soon"), Err(NoDuration::Number));
        assert_eq!(parse("-3s"), Err(NoDuration::Number));
        assert_eq!(parse("1.s"), Err(NoDuration::Number));
        assert_eq!(parse("10"), Err(NoDuration::Unit));
        assert_eq!(parse("3 weeks"), Err(NoDuration::UnknownUnit("weeks".into())));
        assert_eq!(parse("99999999999999999999s"), Err(NoDuration::TooLong));
        assert_eq!(parse("18446744073709551615d"), Err(NoDuration::TooLong));
    }
}
