//! Whether the agent of a turn is still there, by the records of its run.
//!
//! An agent that ends leaves its session itself. One that is dropped cannot: its node or the call of it has reached a time limit, its node
//! has panicked, or nothing needs its result any more. The run may continue without it, for as long as it likes.

use graphweft::{Event, EventKind, Json, Run, RunError};

use super::entry::TurnId;

/// What the records of a run say of an agent, as far as they are read.
pub(super) struct Presence {
    path: String,
    /// The number of the first record that is not read.
    next: u64,
    /// The numbers of the records with which it came, or left, and whether it left. Those that a retry of the run has voided are none.
    marks: Vec<(u64, bool)>,
    is_retried: bool,
}

impl Presence {
    pub(super) fn of(turn: &TurnId) -> Self {
        Presence { path: turn.path.clone(), next: 0, marks: Vec::new(), is_retried: false }
    }

    /// Reads what its run has recorded since, and whether the agent has left.
    pub(super) async fn has_left(&mut self, run: &Run<Json>) -> Result<bool, RunError> {
        for event in run.recorded(self.next..u64::MAX).await? {
            self.apply(&event);
            self.next = event.seq.saturating_add(1);
        }
        Ok(self.is_absent())
    }

    /// Whether it has left. Where a retry of the run has voided all that is known of it, it may never come again.
    fn is_absent(&self) -> bool {
        self.marks.last().map_or(self.is_retried, |(_, has_left)| *has_left)
    }

    /// Its own node may come back: at its next attempt, if its enclosing node calls it again, or if the run is retried. The end of a node
    /// around it is its end.
    fn apply(&mut self, event: &Event) {
        if let EventKind::RunRetried { voids, .. } = &event.kind {
            self.marks.retain(|(number, _)| !voids.iter().any(|voided| voided.contains(number)));
            self.is_retried = true;
        }
        let is_own = event.path == self.path;
        if !is_own && !is_inside(&self.path, &event.path) {
            return;
        }
        match &event.kind {
            EventKind::NodeStarted { .. } | EventKind::RequestReopened if is_own => self.marks.push((event.seq, false)),
            EventKind::NodeCompleted { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::NodeCancelled
            | EventKind::RequestWithdrawn => self.marks.push((event.seq, true)),
            _ => {}
        }
    }
}

/// Whether a node is inside of another one, or is an item of it.
pub(super) fn is_inside(path: &str, around: &str) -> bool {
    path.strip_prefix(around).is_some_and(|rest| rest.starts_with(['/', '[']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether the agent has left behind these records, each a path and a kind.
    fn has_left(records: &[(&str, Json)]) -> bool {
        let turn = TurnId { run: "run".to_owned(), path: "chat/team[1]/guest#2/expert:1.0".to_owned(), again: 0 };
        let mut presence = Presence::of(&turn);
        for (number, (path, kind)) in records.iter().enumerate() {
            let mut event = json!({ "version": 1, "run_id": "run", "seq": number, "time": 0, "path": path });
            event.as_object_mut().unwrap().append(&mut kind.as_object().unwrap().clone());
            presence.apply(&serde_json::from_value(event).unwrap());
        }
        presence.is_absent()
    }

    fn kind(name: &str) -> Json {
        json!({ "type": name, "attempt": 1 })
    }

    fn failed(then: Json) -> Json {
        json!({ "type": "node_failed", "attempt": 1, "cause": { "chain": ["no"], "fault": null }, "then": then })
    }

    #[test]
    fn an_agent_has_left_with_its_node_and_with_each_one_around_it() {
        let (own, started) = ("chat/team[1]/guest#2/expert:1.0", kind("node_started"));
        assert!(!has_left(&[(own, started.clone())]));
        for path in [own, "chat/team[1]/guest#2", "chat/team[1]", "chat/team", "chat"] {
            for end in [kind("node_cancelled"), kind("request_withdrawn"), failed(json!("fails"))] {
                assert!(has_left(&[(own, started.clone()), (path, end.clone())]), "{path}: {end}");
            }
        }
        for path in [
            "chat/team[1]/guest",
            "chat/team[10]",
            "chat/team[1]/guest#2/expert:1.0/model:1",
            "chat/team[1]/guest#2/expert:1",
        ] {
            assert!(!has_left(&[(own, started.clone()), (path, kind("node_cancelled"))]), "{path}");
        }
    }

    #[test]
    fn an_agent_that_waits_for_its_next_attempt_has_left_and_one_that_is_called_again_is_back() {
        let own = "chat/team[1]/guest#2/expert:1.0";
        for path in [own, "chat/team[1]/guest#2"] {
            let again = (path, failed(json!({ "retry_at": { "time": 0 } })));
            assert!(has_left(&[(own, kind("node_started")), again.clone()]), "{path}");
            assert!(!has_left(&[again, (own, kind("node_started"))]), "{path}");
        }
        assert!(!has_left(&[(own, kind("request_withdrawn")), (own, kind("request_reopened"))]));
        assert!(!has_left(&[(own, kind("node_cancelled")), (own, kind("node_started"))]));
    }

    #[test]
    fn what_a_retry_of_the_run_has_voided_does_not_count() {
        let own = "chat/team[1]/guest#2/expert:1.0";
        let (started, cancelled) = ((own, kind("node_started")), ("chat/team[1]", kind("node_cancelled")));
        let retried = |voids: Json| ("chat", json!({ "type": "run_retried", "voids": voids }));
        let void = |from: u64, to: u64| json!([{ "start": from, "end": to }]);
        // It continues where it was.
        assert!(!has_left(&[started.clone(), cancelled.clone(), retried(void(1, 2))]));
        // It may never come again, until it does.
        let from_before = [started.clone(), cancelled.clone(), retried(void(0, 2))];
        assert!(has_left(&from_before));
        assert!(!has_left(&[&from_before[..], &[started]].concat()));
    }
}
