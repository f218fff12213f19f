//! What the entries of a scope come to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::WrittenBy;
use crate::core::{Totals, fold_into, fold_within};
use crate::state_write::{StateOp, StateWrite};

/// An entry: the writes of one update.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) by: WrittenBy,
    /// The position up to which the writer had read.
    pub(super) read: u64,
    pub(super) writes: Vec<StateWrite>,
}

/// The fold of the entries up to a position. It is stored as it is, so that not all of them are read each time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Fold {
    /// The position of the last entry.
    pub(super) end: u64,
    values: Map<String, Value>,
    /// Keys that hold something else than what their reducer merges, and why.
    broken: BTreeMap<String, String>,
    /// How many entries are behind the last summary.
    #[serde(default)]
    pub(super) updates: usize,
    /// How many entries were kept before it.
    #[serde(default)]
    pub(super) kept: usize,
}

impl Fold {
    pub(super) fn apply(&mut self, position: u64, writes: &[StateWrite]) {
        self.end = position;
        self.updates += 1;
        for write in writes {
            // One key that two programs use in different ways must not make the others unreadable.
            match fold_into(&mut self.values, std::slice::from_ref(write)) {
                Ok(()) if matches!(write.op, StateOp::Set(_)) => drop(self.broken.remove(&write.key)),
                Ok(()) => {}
                Err(fault) => {
                    self.broken.entry(write.key.clone()).or_insert_with(|| fault.to_string());
                }
            }
        }
    }

    /// The same as what was read up to a position, whether an entry is left there or not.
    pub(super) fn read_to(self, end: u64) -> Self {
        Fold { end, ..self }
    }

    /// The value of a key as it is recorded, if there is one, or why there is none.
    pub(super) fn get(&self, key: &str) -> Result<Option<&Value>, &str> {
        match self.broken.get(key) {
            Some(why) => Err(why),
            None => Ok(self.values.get(key)),
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The first key that these writes would break, and why.
    pub(super) fn refuses(&self, writes: &[StateWrite], totals: &Totals) -> Option<(String, String)> {
        let touched = writes.iter().filter_map(|write| Some((write.key.clone(), self.values.get(&write.key)?.clone())));
        let (write, why) = fold_within(&mut touched.collect(), writes, totals).err()?;
        Some((write.key.clone(), why.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(key: &str, op: StateOp) -> StateWrite {
        StateWrite { key: key.to_owned(), op }
    }

    #[test]
    fn a_key_that_two_programs_use_in_different_ways_is_broken_alone_until_it_is_set() {
        let mut fold = Fold::default();
        fold.apply(1, &[write("name", StateOp::Set(json!("Ada"))), write("visits", StateOp::Add(1.into()))]);
        let more = [write("name", StateOp::Add(1.into())), write("visits", StateOp::Add(2.into()))];
        assert_eq!(fold.refuses(&more, &Totals::default()).unwrap().0, "name");
        fold.apply(2, &more);
        assert!(fold.get("name").unwrap_err().contains("not a number"));
        assert_eq!(fold.get("visits"), Ok(Some(&json!(3))));
        fold.apply(3, &[write("name", StateOp::Set(json!("Bob")))]);
        assert_eq!(fold.get("name"), Ok(Some(&json!("Bob"))));
        assert_eq!(fold.end, 3);
    }

    #[test]
    fn a_fold_is_the_same_after_it_was_stored() {
        let mut fold = Fold::default();
        fold.apply(
            7,
            &[
                write("half", StateOp::Set(json!(985.690_694_632_896_5))),
                write("a", StateOp::Append(vec![json!(null)])),
            ],
        );
        fold.apply(9, &[write("a", StateOp::Add(1.into()))]);
        let stored = serde_json::to_string(&fold).unwrap();
        assert_eq!(serde_json::from_str::<Fold>(&stored).unwrap(), fold);
    }
}
