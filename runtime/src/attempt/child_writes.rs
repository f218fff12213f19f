//! State writes of an attempt's children.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Attempt;
use crate::core::fold_into;
use crate::draft::Part;
use crate::fault::Fault;
use crate::state_write::{StateOp, StateWrite};

impl Attempt {
    /// The run's state as this attempt sees it now, and the number of its own writes in it.
    pub(crate) fn view(&self) -> Result<(Arc<Map<String, Value>>, usize), Fault> {
        let draft = self.draft();
        let written = draft.writes(Part::Shared);
        if written.is_empty() {
            return Ok((Arc::clone(&self.state), 0));
        }
        let mut values = Map::clone(&self.state);
        fold_into(&mut values, written)?;
        Ok((Arc::new(values), written.len()))
    }

    /// Keeps the writes of a completed child. `seen` is the number of this attempt's own writes when the child began.
    /// If the child overwrites a key that was written since, it has not seen that write, and none of its own are kept.
    pub(crate) fn child_finished(&self, child: &str, writes: &[StateWrite], seen: usize) -> Result<(), Fault> {
        if writes.is_empty() {
            return Ok(());
        }
        let mut draft = self.draft();
        let replaces = |since: &StateWrite| {
            let is_replaced = |write: &StateWrite| matches!(write.op, StateOp::Set(_));
            writes.iter().any(|write| is_replaced(write) && write.key == since.key)
        };
        let conflict = |key: &str, first: String| Fault::StateConflict {
            key: key.into(),
            first: first.into(),
            second: child.into(),
        };
        for (at, since) in draft.writes(Part::Shared).iter().enumerate().skip(seen) {
            if replaces(since) {
                let adopted = draft.adopted.iter().find(|(writes, _)| writes.contains(&at));
                let first = adopted.map_or_else(|| self.place().to_string(), |(_, path)| path.clone());
                return Err(conflict(since.key.as_str(), first));
            }
        }
        for (other, since) in &draft.finished {
            if let Some(since) = since.iter().find(|since| replaces(since)) {
                return Err(conflict(since.key.as_str(), other.clone()));
            }
        }
        draft.finished.push((child.to_owned(), writes.to_vec()));
        Ok(())
    }

    /// The body receives the output of a child: the child's writes become its own.
    pub(crate) fn adopt_finished(&self, child: &str) {
        let mut draft = self.draft();
        if let Some(at) = draft.finished.iter().position(|(path, _)| path == child) {
            let (_, writes) = draft.finished.remove(at);
            draft.adopt(child, &writes);
        }
    }

    /// Makes the recorded writes of a child this attempt's own.
    pub(crate) fn adopt(&self, child: &str, writes: &[StateWrite]) {
        self.draft().adopt(child, writes);
    }

    /// Drops the writes of a child whose output the body has dropped.
    pub(crate) fn forget_finished(&self, child: &str) {
        self.draft().finished.retain(|(path, _)| path != child);
    }
}
