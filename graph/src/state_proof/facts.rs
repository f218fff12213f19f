//! What a node declares about the state of a run.

use std::any::Any;
use std::fmt;

/// A key of the state, as a node names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateKeyFact {
    /// Its name, for messages.
    pub name: &'static str,
    /// [`hash`](Self::hash_of) of the name, by which keys are compared.
    pub hash: u64,
    /// Whether a write replaces the value, so that two at the same time are a conflict.
    pub overwrites: bool,
    /// Whether the key has a value before anything is written to it (`Sum`, `Append`, ..).
    pub has_zero: bool,
    /// Which value that is, if there is one. Proofs only ask whether there is.
    pub zero: Zero,
    /// For a reducer that makes values which nothing has written, such as a sum: whether the type of the key holds one.
    pub holds: Option<Holds>,
}

/// Whether the type of a key holds a value, and if not, why. The value is passed as [`Any`], since this crate knows no JSON.
#[derive(Clone, Copy)]
pub struct Holds(pub fn(&dyn Any) -> Result<(), String>);

/// One key has one type, so this says nothing about whether two keys are the same.
impl PartialEq for Holds {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Holds {}

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Holds")
    }
}

/// The value that a key has before anything is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zero {
    /// The number 0.
    Number,
    /// A list without items.
    List,
    /// A map without entries.
    Map,
}

impl StateKeyFact {
    /// A key that a write replaces.
    pub const fn overwrite(name: &'static str) -> Self {
        StateKeyFact { overwrites: true, ..Self::reduced(name, false) }
    }

    /// A key with a reducer; `has_zero`: whether that has a value to begin with.
    pub const fn reduced(name: &'static str, has_zero: bool) -> Self {
        StateKeyFact { name, hash: Self::hash_of(name), overwrites: false, has_zero, zero: Zero::Number, holds: None }
    }

    /// A key with a reducer that has this value to begin with.
    pub const fn with_zero(name: &'static str, zero: Zero) -> Self {
        StateKeyFact { zero, ..Self::reduced(name, true) }
    }

    /// The same key, whose reducer makes values that its type may not hold.
    #[must_use]
    pub const fn holding(self, holds: Option<Holds>) -> Self {
        StateKeyFact { holds, ..self }
    }

    /// Every key at once: what a node has written that never completes.
    pub(super) const ANY: Self = StateKeyFact { hash: 0, overwrites: false, ..Self::overwrite("") };

    pub(super) const fn is_any(&self) -> bool {
        self.hash == Self::ANY.hash
    }

    /// FNV-1a, 64 bits (Fowler, Noll and Vo).
    pub const fn hash_of(name: &str) -> u64 {
        let bytes = name.as_bytes();
        let mut hash = 0xcbf2_9ce4_8422_2325;
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            at += 1;
        }
        hash
    }
}

/// The keys that a node reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateFacts {
    /// Keys that must have been written before the node starts.
    pub reads: &'static [StateKeyFact],
    /// Keys that it has written whenever it completes, except by a choice that is a failure.
    pub writes: &'static [StateKeyFact],
    /// Keys that it may have written when it completes. They are not counted as written, but as writes that may meet
    /// others.
    pub may_write: &'static [StateKeyFact],
    /// The workflows that run inside it, if it is one: [`NodeKeys`](super::NodeKeys) says how they are numbered.
    #[doc(hidden)]
    pub inside: &'static [u64],
}

impl StateFacts {
    /// A node that has nothing to do with the state.
    pub const NONE: StateFacts = StateFacts { reads: &[], writes: &[], may_write: &[], inside: &[] };

    /// Whether it has nothing to do with the state, and no workflow inside that may.
    // Of a value, and by one pattern: the compiler evaluates it once for each node of a program, and a call or a borrow takes
    // longer than this.
    pub const fn is_none(self) -> bool {
        matches!(self, StateFacts { reads: [], writes: [], may_write: [], inside: [] })
    }

    /// All keys that it writes, or may write.
    pub fn written(&self) -> impl Iterator<Item = &'static StateKeyFact> + use<> {
        self.writes.iter().chain(self.may_write)
    }

    /// Whether it writes a key, or may do so.
    pub fn may_be_written(&self, key: &str) -> bool {
        self.written().any(|fact| fact.name == key)
    }

    /// The value of a key before it is written, if these facts contain it.
    pub fn zero(&self, key: &str) -> Option<Zero> {
        let is_it = |fact: &&StateKeyFact| fact.has_zero && fact.name == key;
        self.written().chain(self.reads).find(is_it).map(|fact| fact.zero)
    }

    /// Whether every node of a graph is such a node.
    pub(super) const fn are_none(facts: &[StateFacts]) -> bool {
        let mut node = 0;
        while node < facts.len() {
            let StateFacts { reads, writes, may_write, .. } = facts[node];
            if reads.len() + writes.len() + may_write.len() > 0 {
                return false;
            }
            node += 1;
        }
        true
    }
}

/// Whether one of these is the key.
pub(super) const fn contains(keys: &[StateKeyFact], hash: u64) -> bool {
    let mut at = 0;
    while at < keys.len() {
        if keys[at].hash == hash {
            return true;
        }
        at += 1;
    }
    false
}
