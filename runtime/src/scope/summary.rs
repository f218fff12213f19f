//! The entry that sums up the beginning of the log of a scope.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::WrittenBy;
use super::fold::{Entry, Fold};

use crate::sorted::SortedMap;

/// An entry as it is read.
pub(super) enum Logged {
    Update(Entry),
    Summary(Summary),
}

/// What the entries up to a position come to, in the place of the last of them. A program that does not know it finds no
/// writes in it, which is an error and no empty update.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Summary {
    /// Of the update whose place it has.
    pub(super) by: WrittenBy,
    pub(super) read: u64,
    summary: Folded,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Folded {
    fold: Fold,
    /// By key.
    last: SortedMap<String, LastWrite>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LastWrite {
    position: u64,
    by: WrittenBy,
}

impl Logged {
    pub(super) fn read(value: &Value) -> Result<Self, serde_json::Error> {
        match value.get("summary") {
            Some(_) => Summary::deserialize(value).map(Logged::Summary),
            None => Entry::deserialize(value).map(Logged::Update),
        }
    }

    pub(super) fn by(&self) -> &WrittenBy {
        match self {
            Logged::Update(entry) => &entry.by,
            Logged::Summary(summary) => &summary.by,
        }
    }

    /// The position up to which its writer had read.
    pub(super) fn read_up_to(&self) -> u64 {
        match self {
            Logged::Update(entry) => entry.read,
            Logged::Summary(summary) => summary.read,
        }
    }

    /// Who has written one of these keys in it, behind a position.
    pub(super) fn writer_of(&self, keys: &[&str], behind: u64) -> Option<(String, WrittenBy)> {
        match self {
            Logged::Update(entry) => {
                let write = entry.writes.iter().find(|write| keys.contains(&write.key.as_str()))?;
                Some((write.key.clone(), entry.by.clone()))
            }
            Logged::Summary(Summary { summary, .. }) => {
                let mut written = keys.iter().filter_map(|key| Some((*key, summary.last.get(*key)?)));
                let (key, last) = written.find(|(_, last)| last.position > behind)?;
                Some((key.to_owned(), last.by.clone()))
            }
        }
    }
}

impl Summary {
    /// That of these entries, in order, with their positions; `kept` are left beside it. None of no entries.
    pub(super) fn of(entries: impl IntoIterator<Item = (u64, Logged)>, kept: usize) -> Option<Self> {
        let (mut folded, mut place) = (Folded::default(), None);
        for (position, logged) in entries {
            place = Some((logged.by().clone(), logged.read_up_to()));
            match logged {
                Logged::Update(entry) => {
                    folded.fold.apply(position, &entry.writes);
                    let last = |key| (key, LastWrite { position, by: entry.by.clone() });
                    folded.last.extend(entry.writes.into_iter().map(|write| last(write.key)));
                }
                Logged::Summary(before) => folded = before.summary,
            }
        }
        let (by, read) = place?;
        (folded.fold.updates, folded.fold.kept) = (0, kept);
        Some(Summary { by, read, summary: folded })
    }

    /// The state at its position.
    pub(super) fn into_fold(self) -> Fold {
        self.summary.fold
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::state_write::{StateOp, StateWrite};

    fn update(run: &str, writes: &[(&str, StateOp)]) -> Logged {
        let writes = writes.iter().map(|(key, op)| StateWrite { key: (*key).to_owned(), op: op.clone() }).collect();
        Logged::Update(Entry { by: by(run), read: 3, writes })
    }

    fn by(run: &str) -> WrittenBy {
        WrittenBy::InRun { run: run.to_owned(), path: "chat/greet".to_owned() }
    }

    #[test]
    fn a_summary_is_what_the_entries_come_to_and_says_who_has_written_a_key_last() {
        let sum = |number: u32| StateOp::Add(number.into());
        let entries = [
            (4, update("one", &[("visits", sum(1)), ("name", StateOp::Set(json!("Ada")))])),
            (6, update("two", &[("visits", sum(2))])),
        ];
        let first = Summary::of(entries, 0).unwrap();
        let third = (9, update("three", &[("visits", sum(4))]));
        let both = Summary::of([(6, Logged::Summary(first)), third], 7).unwrap();
        let stored = serde_json::to_value(&both).unwrap();
        let Ok(Logged::Summary(read)) = Logged::read(&stored) else { panic!("it is a summary") };
        let logged = Logged::Summary(read.clone());
        assert_eq!((logged.by(), logged.read_up_to()), (&by("three"), 3));
        assert_eq!(logged.writer_of(&["name"], 3), Some(("name".to_owned(), by("one"))));
        assert_eq!(logged.writer_of(&["name"], 4), None);
        assert_eq!(logged.writer_of(&["name", "visits"], 6), Some(("visits".to_owned(), by("three"))));
        let fold = read.into_fold();
        assert_eq!((fold.end, fold.updates, fold.kept), (9, 0, 7));
        assert_eq!((fold.get("visits"), fold.get("name")), (Ok(Some(&json!(7))), Ok(Some(&json!("Ada")))));
        // As another version reads it.
        assert!(Entry::deserialize(&stored).is_err());
    }
}
