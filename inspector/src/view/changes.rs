//! What was added to a view since a cursor.

use graphweft::RunStatus;

use super::part::{Progress, Things, ViewPart, differences};
use super::run_view::RunView;
use super::{KINDS, Kind};

/// How much of each list a reader has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen([u64; 8]);

/// A place in a view, while it grows: [`RunView::mark`].
///
/// Several readers who all get the same moment, though the view grows meanwhile:
///
/// ```
/// use graphweft_inspector::view::RunView;
///
/// let view = RunView::new("publish", None);
/// let mark = view.mark();
/// let (one, other) = (view.part_until(None, &mark), view.part_until(None, &mark));
/// assert_eq!(one, other);
/// assert!(!view.has_news(&one.cursor, &mark)); // who has it, waits
/// ```
#[derive(Clone, Debug)]
pub struct Mark {
    seen: Seen,
    status: Option<RunStatus>,
}

impl RunView {
    /// The end of the view as it is now.
    pub fn mark(&self) -> Mark {
        let lengths = [
            self.times.len(),
            self.things.len(),
            self.moves.len(),
            self.taken.len(),
            self.began.len(),
            self.runs.len(),
            self.details.len(),
        ];
        let mut seen = [self.progressed; 8];
        for (to, length) in seen.iter_mut().zip(lengths) {
            *to = length as u64;
        }
        Mark { seen: Seen(seen), status: self.status() }
    }

    /// Where a part of the view that ends now ends.
    pub fn cursor(&self) -> String {
        self.cursor_at(&self.mark())
    }

    /// Where a part of the view that ends at a mark ends.
    pub fn cursor_at(&self, mark: &Mark) -> String {
        let seen = mark.seen.0.map(|number| number.to_string());
        format!("{}-{}", self.fold, seen.join("."))
    }

    /// Whether there is something between a cursor and a mark. For a cursor of another fold there is everything.
    pub fn has_news(&self, since: &str, mark: &Mark) -> bool {
        self.read(since).is_none_or(|since| since.0.iter().zip(mark.seen.0).any(|(since, there)| *since < there))
    }

    /// What was added since a cursor. The whole view without one, and for one of another fold of the run.
    pub fn part(&self, since: Option<&str>) -> ViewPart {
        self.part_until(since, &self.mark())
    }

    /// The same up to a mark.
    pub fn part_until(&self, since: Option<&str>, mark: &Mark) -> ViewPart {
        let since = since.and_then(|cursor| self.read(cursor));
        let Seen([times, things, moves, taken, began, runs, details, progress]) = since.unwrap_or_default();
        let end = mark.seen.0;
        ViewPart {
            cursor: self.cursor_at(mark),
            whole: since.is_none(),
            seq: i64::try_from(end[0]).unwrap_or(i64::MAX) - 1,
            status: mark.status,
            times: flat(between(&self.times, times, end[0]).iter().map(|time| [*time]), 0),
            things: self.things_between(things, end[1]),
            moves: flat(between(&self.moves, moves, end[2]).iter().copied(), 1),
            taken: flat(between(&self.taken, taken, end[3]).iter().copied(), 1),
            began: flat(between(&self.began, began, end[4]).iter().copied(), 1),
            runs: between(&self.runs, runs, end[5]).to_vec(),
            details: between(&self.details, details, end[6]).to_vec(),
            progress: self.progress_between(progress, end[7]),
        }
    }

    fn read(&self, cursor: &str) -> Option<Seen> {
        let numbers = cursor.strip_prefix(&self.fold)?.strip_prefix('-')?;
        let mut seen = [0; 8];
        let mut parts = numbers.split('.');
        for number in &mut seen {
            *number = parts.next()?.parse().ok()?;
        }
        let is_past = seen.iter().zip(self.mark().seen.0).all(|(seen, there)| *seen <= there);
        (is_past && parts.next().is_none()).then_some(Seen(seen))
    }

    fn things_between(&self, from: u64, until: u64) -> Things {
        let mut columns = Things::default();
        let number = |value: Option<usize>| value.and_then(|value| i64::try_from(value).ok()).unwrap_or(-1);
        for thing in (from..until).map(|thing| self.things.get(thing as u32)) {
            columns.path.push(thing.path.clone());
            columns.kind.push(code(thing.kind));
            columns.within.push(thing.within.map_or(-1, i64::from));
            columns.node.push(number(thing.node));
            columns.item.push(thing.item.and_then(|item| i64::try_from(item).ok()).unwrap_or(-1));
            columns.turn.push(i64::try_from(thing.turn).unwrap_or(i64::MAX));
        }
        columns
    }

    /// One that was replaced behind the mark comes with the next part.
    fn progress_between(&self, from: u64, until: u64) -> Vec<Progress> {
        self.progress.iter().filter(|progress| (from + 1..=until).contains(&progress.number)).cloned().collect()
    }
}

fn code(kind: Kind) -> u8 {
    KINDS.iter().position(|one| *one == kind).and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

fn between<T>(list: &[T], from: u64, until: u64) -> &[T] {
    let (from, until) = (usize::try_from(from).unwrap_or(usize::MAX), usize::try_from(until).unwrap_or(usize::MAX));
    list.get(from..until).unwrap_or_default()
}

/// Entries one after another, with the number of the event, or the time, as a difference.
fn flat<const N: usize>(entries: impl Iterator<Item = [u64; N]>, column: usize) -> Vec<i64> {
    let mut list: Vec<i64> = entries.flatten().map(|number| i64::try_from(number).unwrap_or(i64::MAX)).collect();
    differences(&mut list, N, column);
    list
}
