//! The questions of a search.

use crate::model::{NodeIx, START};

/// Up to 128 questions: whether a node may start before a key is written.
#[derive(Clone, Copy)]
pub(super) struct Questions {
    pub(super) nodes: [NodeIx; Questions::MOST],
    pub(super) keys: [u64; Questions::MOST],
    pub(super) len: usize,
    /// Each key once, and which questions ask about it.
    pub(super) each_key: [u64; Questions::MOST],
    pub(super) about: [u128; Questions::MOST],
    pub(super) different: usize,
}

impl Questions {
    pub(super) const MOST: usize = 128;
    pub(super) const NONE: Questions = Questions {
        nodes: [START; Questions::MOST],
        keys: [0; Questions::MOST],
        len: 0,
        each_key: [0; Questions::MOST],
        about: [0; Questions::MOST],
        different: 0,
    };

    pub(super) const fn add(&mut self, node: NodeIx, key: u64) {
        let mut at = 0;
        while at < self.different && self.each_key[at] != key {
            at += 1;
        }
        if at == self.different {
            self.each_key[at] = key;
            self.about[at] = 0;
            self.different += 1;
        }
        self.about[at] |= 1 << self.len;
        self.nodes[self.len] = node;
        self.keys[self.len] = key;
        self.len += 1;
    }

    /// The mask of all of them.
    pub(super) const fn all(&self) -> u128 {
        if self.len < Questions::MOST { (1 << self.len) - 1 } else { u128::MAX }
    }
}
