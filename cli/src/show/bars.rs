//! Bars over the time of a run.

use std::time::{SystemTime, UNIX_EPOCH};

use graphweft_inspector::view::State;

use super::tree::Row;

/// The times of the events, from their differences.
pub(super) fn whole(differences: &[i64]) -> Vec<u64> {
    let mut time = 0i64;
    let next = |difference: &i64| {
        time = time.wrapping_add(*difference);
        time.unsigned_abs()
    };
    differences.iter().map(next).collect()
}

/// These times, and a later one behind them, to which what has not ended lasts.
pub(super) fn until(mut times: Vec<u64>, now: SystemTime) -> Vec<u64> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    times.push(u64::try_from(now).unwrap_or(u64::MAX));
    times
}

/// When a thing ran (`█`), waited (`░`) or failed (`×`), in so many characters.
pub(super) fn bar(row: &Row, times: &[u64], width: usize) -> String {
    let (Some(&first), Some(&last)) = (times.first(), times.iter().max()) else { return String::new() };
    if width == 0 || row.moves.is_empty() {
        return String::new();
    }
    let span = last.saturating_sub(first).max(1);
    let place = |seq: u64| {
        let time = usize::try_from(seq).ok().and_then(|seq| times.get(seq)).copied().unwrap_or(last);
        let at = u128::from(time.saturating_sub(first)) * (width as u128 - 1) / u128::from(span);
        usize::try_from(at).unwrap_or(width - 1).min(width - 1)
    };
    let mut cells = vec![' '; width];
    for (at, (seq, state, _)) in row.moves.iter().enumerate() {
        let until = row.moves.get(at + 1).map_or(u64::MAX, |next| next.0);
        let fill = match state {
            State::Running => '█',
            State::Waiting | State::Sleeping | State::WaitsToRetry | State::Queued | State::Collecting => '░',
            State::Failed => {
                cells[place(*seq)] = '×';
                continue;
            }
            _ => continue,
        };
        for cell in &mut cells[place(*seq)..=place(until)] {
            // What it did there counts more than that it waited.
            if *cell != '█' {
                *cell = fill;
            }
        }
    }
    cells.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(moves: &[(u64, State)]) -> Row {
        let moves = moves.iter().map(|(seq, state)| (*seq, *state, 1)).collect();
        Row { label: String::new(), lead: String::new(), path: String::new(), state: String::new(), moves }
    }

    #[test]
    fn a_bar_is_as_long_as_its_thing_took() {
        let times = whole(&[1000, 50, 50, 0]);
        assert_eq!(times, [1000, 1050, 1100, 1100]);
        let all = [(0, State::Running), (2, State::Completed)];
        assert_eq!(bar(&row(&all), &times, 5), "█████");
        assert_eq!(bar(&row(&[(1, State::Running), (2, State::Failed)]), &times, 5), "  ██×");
        assert_eq!(bar(&row(&[(0, State::Running), (1, State::Waiting)]), &times, 5), "███░░");
        assert_eq!(bar(&row(&[(1, State::Running)]), &times, 5), "  ███");
        assert_eq!(bar(&row(&[(3, State::Skipped)]), &times, 5), "");
    }

    #[test]
    fn odd_times_make_a_bar_as_well() {
        for times in [vec![], vec![5], vec![5, 3], vec![0, u64::MAX]] {
            for width in [0, 1, 2, 80] {
                assert!(bar(&row(&[(0, State::Running), (9, State::Failed)]), &times, width).chars().count() <= width);
            }
        }
    }
}
