//! Whether the agent of a turn is still there, by the records of its run.
//!
//! An agent that ends leaves its session itself. One that is dropped cannot: its node or the call of it has reached a time limit, its node
//! has panicked, or nothing needs its result any more. The run may continue without it, for as long as it likes.

use graphweft::{AfterFailure, Event, EventKind, Json, Run, RunError};

use super::entry::TurnId;

/// What the records of a run say of an agent, as far as they are read.
pub(super) struct Presence {
    path: String,
    /// The number of the first record that is not read.
    next: u64,
    has_left: bool,
}

impl Presence {
    pub(super) fn of(turn: &TurnId) -> Self {
        Presence { path: turn.path.clone(), next: 0, has_left: false }
    }

    /// Reads what its run has recorded since, and whether the agent has left.
    pub(super) async fn has_left(&mut self, run: &Run<Json>) -> Result<bool, RunError> {
        for event in run.recorded(self.next..u64::MAX).await? {
            self.apply(&event);
            self.next = event.seq.saturating_add(1);
        }
        Ok(self.has_left)
    }

    /// Its own node may come back: at its next attempt, if its enclosing node calls it again, or if the run is retried. The end of a node
    /// around it is its end.
    fn apply(&mut self, event: &Event) {
        let is_own = event.path == self.path;
        if !is_own && !is_inside(&self.path, &event.path) {
            return;
        }
        match &event.kind {
            EventKind::NodeStarted { .. } | EventKind::RequestReopened if is_own => self.has_left = false,
            EventKind::NodeFailed { then: AfterFailure::RetryAt { .. }, .. } if is_own => {}
            EventKind::NodeCompleted { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::NodeCancelled
            | EventKind::RequestWithdrawn => self.has_left = true,
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
        for (path, kind) in records {
            let mut event = json!({ "version": 1, "run_id": "run", "seq": 0, "time": 0, "path": path });
            event.as_object_mut().unwrap().append(&mut kind.as_object().unwrap().clone());
            presence.apply(&serde_json::from_value(event).unwrap());
        }
        presence.has_left
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
    fn an_agent_whose_own_node_is_tried_again_has_not_left_and_one_that_is_called_again_is_back() {
        let own = "chat/team[1]/guest#2/expert:1.0";
        let again = failed(json!({ "retry_at": { "time": 0 } }));
        assert!(!has_left(&[(own, again.clone())]));
        assert!(has_left(&[("chat/team[1]/guest#2", again)]));
        assert!(!has_left(&[(own, kind("request_withdrawn")), (own, kind("request_reopened"))]));
        assert!(!has_left(&[(own, kind("node_cancelled")), (own, kind("node_started"))]));
    }
}
