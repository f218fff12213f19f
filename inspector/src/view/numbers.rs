//! Which events are about a thing.

use std::collections::HashSet;
use std::ops::Range;

use graphweft::Event;

use super::Kind;
use super::detail::What;
use super::run_view::RunView;

/// By thing, the numbers of its recorded events.
#[derive(Debug, Default)]
pub(crate) struct EventNumbers(Vec<Vec<u64>>);

/// Events that are so close are read together.
const CLOSE: u64 = 16;

impl EventNumbers {
    /// Adds an event that was applied to the view.
    pub(crate) fn add(&mut self, view: &RunView, event: &Event) {
        let is_record = event.kind.is_recorded() && !event.derived && event.seq < view.next();
        let Some(thing) = view.things.at(&event.path).filter(|_| is_record) else { return };
        let thing = thing as usize;
        if self.0.len() <= thing {
            self.0.resize_with(thing + 1, Vec::new);
        }
        if self.0[thing].last().is_none_or(|last| *last < event.seq) {
            self.0[thing].push(event.seq);
        }
    }

    /// The events at a path, as few ranges: there are others in them. Empty if there is no event.
    pub(crate) fn at(&self, view: &RunView, path: &str) -> Vec<Range<u64>> {
        close(self.of(view.things.at(path)))
    }

    /// The events of a conversation: those at a path, of what is right in it, and of the questions there. As few ranges, with the
    /// paths.
    pub(crate) fn of_conversation<'v>(&self, view: &'v RunView, path: &str) -> (Vec<Range<u64>>, HashSet<&'v str>) {
        let mut things: Vec<u32> = view.things.at(path).into_iter().collect();
        for at in 0..2 {
            let inside = things.iter().flat_map(|thing| view.things.get(*thing).members().iter().copied());
            let inside = inside.filter(|member| at == 0 || view.things.get(*member).kind == Kind::Question);
            let inside: Vec<u32> = inside.collect();
            things.extend(inside);
        }
        let mut numbers: Vec<u64> = things.iter().flat_map(|thing| self.of(Some(*thing))).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        (close(&numbers), things.iter().map(|thing| view.things.get(*thing).path.as_str()).collect())
    }

    fn of(&self, thing: Option<u32>) -> &[u64] {
        thing.and_then(|thing| self.0.get(thing as usize)).map_or(&[], Vec::as_slice)
    }
}

/// Numbers in their order, as ranges.
fn close(numbers: &[u64]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some(last) if number < last.end + CLOSE => last.end = number + 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}

impl RunView {
    /// The numbers that retries up to a moment have voided.
    pub(crate) fn voided(&self, at: u64) -> Vec<Range<u64>> {
        let until = self.details.iter().take_while(|detail| detail.seq <= at);
        let voids = until.filter_map(|detail| match &detail.what {
            What::Retried { voids, .. } => Some(voids.clone()),
            _ => None,
        });
        voids.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_close_are_read_together() {
        let mut view = RunView::new("w", None);
        let mut numbers = EventNumbers::default();
        for (seq, path) in [(0, "w"), (1, "w/a"), (2, "w/b"), (3, "w/a"), (40, "w/a")] {
            let event = serde_json::json!({
                "version": Event::VERSION, "run_id": "r", "seq": seq, "time": 0, "path": path, "type": "message", "text": "so"
            });
            let event: Event = serde_json::from_value(event).unwrap();
            view.apply(&event);
            numbers.add(&view, &event);
        }
        assert_eq!(numbers.at(&view, "w/a"), [1..4, 40..41]);
        assert_eq!(numbers.at(&view, "w/b"), Vec::from_iter([Range { start: 2, end: 3 }]));
        assert!(numbers.at(&view, "w/c").is_empty());
    }
}
