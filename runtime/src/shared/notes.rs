//! Notes of attempts that were under way when their process ended. Such an attempt starts again, and makes them again.

use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tree::below;
use crate::core::pairs;

/// By path: the notes that an attempt has recorded in an earlier process and not repeated in this one.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Notes(#[serde(with = "pairs")] HashMap<String, Vec<(String, Value)>>);

impl Notes {
    pub(super) fn restore(&mut self, path: &str, name: String, payload: Value) {
        self.0.entry(path.to_owned()).or_default().push((name, payload));
    }

    /// Takes a note with this name and payload, in any order: tasks of a node may make notes at once.
    pub(super) fn take(&mut self, path: &str, name: &str, payload: &Value) -> bool {
        let Some(notes) = self.0.get_mut(path) else { return false };
        let Some(at) = notes.iter().position(|(of, data)| of == name && data == payload) else { return false };
        notes.remove(at);
        true
    }

    pub(super) fn first_named(&self, path: &str, name: &str) -> Option<&Value> {
        self.0.get(path)?.iter().find(|(of, _)| of == name).map(|(_, payload)| payload)
    }

    /// Takes the first note with this name.
    pub(super) fn take_named(&mut self, path: &str, name: &str) -> Option<Value> {
        let notes = self.0.get_mut(path)?;
        let at = notes.iter().position(|(of, _)| of == name)?;
        Some(notes.remove(at).1)
    }

    /// An attempt is over, and with it those at its requests.
    pub(super) fn forget(&mut self, path: &str) {
        if !self.0.is_empty() {
            self.0.retain(|of, _| !(*of == *path || below(of, path)));
        }
    }
}
