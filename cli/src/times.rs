//! Times and durations, for people.

use std::time::{Duration, SystemTime};

/// `842 ms`, `3.4 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`.
pub(crate) fn duration(time: Duration) -> String {
    let (millis, seconds) = (time.as_millis(), time.as_secs());
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if millis < 1000 => format!("{millis} ms"),
        () if seconds < 60 => format!("{}.{} s", seconds, millis / 100 % 10),
        () if minutes < 60 => format!("{minutes} min {} s", seconds % 60),
        () if hours < 24 => format!("{hours} h {} min", minutes % 60),
        () => format!("{days} d {} h", hours % 24),
    }
}

/// How long ago that was: `3 min`.
pub(crate) fn age(time: SystemTime) -> String {
    in_one_unit(SystemTime::now().duration_since(time).unwrap_or_default())
}

/// How soon that is: `in 3 min`, and `now` if it has come.
pub(crate) fn until(time: SystemTime) -> String {
    time.duration_since(SystemTime::now()).map_or_else(|_| "now".to_owned(), |left| format!("in {}", in_one_unit(left)))
}

fn in_one_unit(time: Duration) -> String {
    let seconds = time.as_secs();
    match () {
        () if seconds < 60 => format!("{seconds} s"),
        () if seconds < 3600 => format!("{} min", seconds / 60),
        () if seconds < 86_400 => format!("{} h", seconds / 3600),
        () => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_come_has_one_unit() {
        // By half a minute more than the unit, so that the time that the test takes does not count.
        assert_eq!(until(SystemTime::now() + Duration::from_secs(3 * 60 + 30)), "in 3 min");
        assert_eq!(until(SystemTime::now() - Duration::from_secs(1)), "now");
    }

    #[test]
    fn a_duration_has_two_units_at_most() {
        let text = |millis| duration(Duration::from_millis(millis));
        assert_eq!(text(842), "842 ms");
        assert_eq!(text(3450), "3.4 s");
        assert_eq!(text(125_000), "2 min 5 s");
        assert_eq!(text(12_000_000), "3 h 20 min");
        assert_eq!(text(187_200_000), "2 d 4 h");
    }
}
