//! The progress bar, driven by nothing but the events of the run.

use std::pin::pin;

use graphweft::{Event, EventKind, Events};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What an event means for the bar.
#[derive(Debug, PartialEq)]
enum Step {
    /// So many packages are to be inspected.
    Begin(u64),
    /// One of them is done.
    One,
}

impl Step {
    fn of(event: &Event) -> Option<Self> {
        let EventKind::NodeCompleted { output, .. } = &event.kind else { return None };
        match event.path.strip_prefix("audit/")? {
            "pair_up" => Some(Step::Begin(output.as_ref()?.as_array()?.len() as u64)),
            // The whole inspection of one package, not a node within it.
            item if item.starts_with("inspect[") && item.ends_with(']') => Some(Step::One),
            _ => None,
        }
    }
}

/// Shows how far a run is, until there is nothing more to wait for. It begins behind what has happened already, and goes
/// on with the events behind that. Draws on stderr, and nothing at all where that is no terminal.
pub(crate) async fn show_until<T>(past: &[Event], mut events: Events, end: impl Future<Output = T>) -> T {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} packages, {eta} left");
    let (done, all) = so_far(past);
    let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr()).with_position(done);
    bar.reset_eta();
    if let Ok(style) = style {
        bar.set_style(style);
    }
    let mut end = pin!(end);
    loop {
        tokio::select! {
            end = &mut end => {
                bar.finish_and_clear();
                return end;
            }
            Some(event) = events.next() => match Step::of(&event) {
                Some(Step::Begin(packages)) => bar.set_length(packages),
                Some(Step::One) => bar.inc(1),
                None => {}
            },
        }
    }
}

/// How many packages are done, of how many.
fn so_far(past: &[Event]) -> (u64, u64) {
    past.iter().filter_map(Step::of).fold((0, 0), |(done, all), step| match step {
        Step::Begin(packages) => (done, packages),
        Step::One => (done + 1, all),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(path: &str, output: serde_json::Value) -> Event {
        let event = serde_json::json!({
            "version": 1, "run_id": "r", "seq": 0, "time": 0, "path": path, "type": "node_completed", "output": output,
        });
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn the_bar_begins_when_the_packages_are_known() {
        let event = completed("audit/pair_up", serde_json::json!([{}, {}, {}]));
        assert_eq!(Step::of(&event), Some(Step::Begin(3)));
    }

    #[test]
    fn a_package_counts_when_all_of_its_inspection_is_done() {
        assert_eq!(Step::of(&completed("audit/inspect[12]", serde_json::json!({}))), Some(Step::One));
        assert_eq!(Step::of(&completed("audit/inspect[12]/classify", serde_json::json!({}))), None);
    }

    #[test]
    fn what_was_done_before_counts() {
        let past = [
            completed("audit/pair_up", serde_json::json!([{}, {}, {}])),
            completed("audit/inspect[2]/classify", serde_json::json!({})),
            completed("audit/inspect[2]", serde_json::json!({})),
        ];
        assert_eq!(so_far(&past), (1, 3));
    }
}
