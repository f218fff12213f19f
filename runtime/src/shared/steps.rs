//! The records of nodes that follow one another in place, in the compact form in which they are kept until they
//! are read.

use serde_json::Value;

use crate::core::{Place, Stand};
use crate::event::EventKind;
use crate::store::{Compact, Record};

/// Steps from node to node, between other records. Each is two records: a node is completed, and the next one has
/// started.
#[derive(Default)]
pub(super) struct Steps {
    steps: Vec<(Step, Position)>,
    origins: Vec<Place>,
}

/// Where a step is among the other records, and where its attempt began.
struct Position {
    behind: u32,
    origin: u32,
}

/// One step.
pub(crate) struct Step {
    pub(crate) from: Stand,
    pub(crate) to: Stand,
    /// The arm that was taken.
    pub(crate) label: Option<&'static str>,
    /// The output of the completed node. It is not boxed: the boxes of a long run would all be allocated before the first
    /// one is freed, which is much slower than one at a time.
    pub(crate) output: Option<Value>,
}

/// How many steps a batch has room for at first: many batches have one or two, and stay in memory.
const FEW: usize = 4;

/// For how many more it gets room when that is full.
const MANY: usize = 64;

impl Steps {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many records they are.
    pub(super) fn records(&self) -> usize {
        2 * self.steps.len()
    }

    /// Adds a step behind so many other records. `begins`: whether it is the first one from `origin`.
    pub(super) fn push(&mut self, behind: usize, step: Step, begins: bool, origin: &Place) {
        if self.steps.len() == self.steps.capacity() {
            match self.steps.len() {
                0 => self.steps = Vec::with_capacity(FEW),
                _ => self.steps.reserve(MANY),
            }
        }
        if begins || self.origins.is_empty() {
            self.origins.push(origin.clone());
        }
        let (behind, origin) = (behind as u32, self.origins.len().saturating_sub(1) as u32);
        self.steps.push((step, Position { behind, origin }));
    }
}

impl Compact for Steps {
    fn len(&self) -> usize {
        self.records()
    }

    fn among(&self, plain: Vec<Record>) -> Vec<Record> {
        let mut all = Vec::with_capacity(plain.len() + self.records());
        let mut plain = plain.into_iter();
        let mut taken = 0;
        for (step, Position { behind, origin }) in &self.steps {
            let before = (*behind as usize).saturating_sub(taken);
            all.extend(plain.by_ref().take(before));
            taken += before;
            if let Some(origin) = self.origins.get(*origin as usize) {
                all.extend(step.records(origin));
            }
        }
        all.extend(plain);
        all
    }

    fn before(&self, plain: usize) -> usize {
        2 * self.steps.partition_point(|(_, position)| position.behind as usize <= plain)
    }
}

impl Step {
    fn records(&self, origin: &Place) -> [Record; 2] {
        let path_at = |stand: Stand| origin.clone().moved_to(stand).path();
        let (label, output) = (self.label.map(str::to_owned), self.output.clone());
        let completed = EventKind::NodeCompleted { label, output, state: Vec::new(), items: None };
        let started = EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None };
        [Record { path: path_at(self.from), kind: completed }, Record { path: path_at(self.to), kind: started }]
    }
}
