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

/// Shows how far a run is, until there is nothing more to wait for; what was done before a restart counts as done. Draws on
/// stderr, and nothing at all where that is no terminal.
pub(crate) async fn show_until<T>(mut events: Events, end: impl Future<Output = T>) -> T {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} packages, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
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
}
