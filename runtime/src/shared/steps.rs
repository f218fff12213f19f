//! The records of nodes that follow one another in place, in the compact form in which they are kept until they
//! are read.

use serde_json::Value;

use crate::core::{Place, Stand};
use crate::event::EventKind;
use crate::store::{Compact, Part, Record};

/// Steps from node to node, between other records. Each is two records: a node is completed, and the next one has
/// started.
#[derive(Default)]
pub(super) struct Steps {
    steps: Vec<(Step, Position)>,
    origin: Option<Place>,
    later_origins: Vec<Place>,
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

/// The paths of a step take fewer bytes as a rule.
const ROOM_FOR_PATHS: usize = 96;

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

    fn origin_of(&self, number: u32) -> Option<&Place> {
        match number.checked_sub(1) {
            None => self.origin.as_ref(),
            Some(later) => self.later_origins.get(later as usize),
        }
    }

    /// Adds a step behind so many other records. `begins`: whether it is the first one from `origin`.
    pub(super) fn push(&mut self, behind: usize, step: Step, begins: bool, origin: &Place) {
        if self.steps.len() == self.steps.capacity() {
            match self.steps.len() {
                0 => self.steps = Vec::with_capacity(FEW),
                _ => self.steps.reserve(MANY),
            }
        }
        if self.origin.is_none() {
            self.origin = Some(origin.clone());
        } else if begins {
            self.later_origins.push(origin.clone());
        }
        let (behind, origin) = (behind as u32, self.later_origins.len() as u32);
        self.steps.push((step, Position { behind, origin }));
    }
}

impl Compact for Steps {
    fn len(&self) -> usize {
        self.records()
    }

    fn among(&self, plain: &[Record]) -> Vec<Record> {
        let mut all = Vec::with_capacity(plain.len() + self.records());
        self.visit(plain, &mut |part| match part {
            Part::Record(record) => all.push(record.clone()),
            Part::Step { from, label, output, to } => {
                let (label, output) = (label.map(str::to_owned), output.cloned());
                let completed = EventKind::NodeCompleted { label, output, state: Vec::new(), items: None };
                let started = EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None };
                let record = |path: &str, kind| Record { path: path.to_owned(), kind };
                all.extend([record(from, completed), record(to, started)]);
            }
        });
        all
    }

    fn visit(&self, plain: &[Record], to: &mut dyn FnMut(Part<'_>)) {
        let mut plain = plain.iter();
        let mut taken = 0;
        let mut paths = String::with_capacity(ROOM_FOR_PATHS);
        for (step, Position { behind, origin }) in &self.steps {
            let others = (*behind as usize).saturating_sub(taken);
            plain.by_ref().take(others).for_each(|record| to(Part::Record(record)));
            taken += others;
            let Some(origin) = self.origin_of(*origin) else {
                debug_assert!(false, "a step is pushed with its origin");
                continue;
            };
            paths.clear();
            origin.write_path_at(step.from, &mut paths);
            let from = paths.len();
            origin.write_path_at(step.to, &mut paths);
            let (from, now) = paths.split_at(from);
            to(Part::Step { from, label: step.label, output: step.output.as_ref(), to: now });
        }
        plain.for_each(|record| to(Part::Record(record)));
    }

    fn before(&self, plain: usize) -> usize {
        2 * self.steps.partition_point(|(_, position)| position.behind as usize <= plain)
    }
}
