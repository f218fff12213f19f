//! Child workflows: which one a node runs is a matter of its type, so the scenario that they belong to is that of the
//! thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::scenario::{Flow, Scenario};
use crate::context::Context;
use crate::fault::Failure;
use crate::node::Node;
use crate::table::Definition;

#[derive(Default)]
struct Stage {
    jobs: Vec<&'static Arc<Definition>>,
    /// All that were ever made on this thread, by their flows: they are never dropped.
    made: HashMap<String, &'static Arc<Definition>>,
}

thread_local! {
    static STAGE: RefCell<Stage> = RefCell::default();
}

/// From here on the jobs of this thread are those of this scenario.
pub(super) fn set_stage(scenario: &Scenario, definition: fn(&Flow) -> Arc<Definition>) {
    let jobs = scenario.jobs.iter().map(|flow| made(flow, definition)).collect();
    STAGE.with_borrow_mut(|stage| stage.jobs = jobs);
}

pub(super) fn job(which: usize) -> &'static Arc<Definition> {
    STAGE.with_borrow(|stage| stage.jobs[which])
}

fn made(flow: &Flow, definition: fn(&Flow) -> Arc<Definition>) -> &'static Arc<Definition> {
    let text = serde_json::to_string(flow).expect("a flow is data");
    if let Some(made) = STAGE.with_borrow(|stage| stage.made.get(&text).copied()) {
        return made;
    }
    let made: &'static Arc<Definition> = Box::leak(Box::new(definition(flow)));
    STAGE.with_borrow_mut(|stage| stage.made.insert(text, made));
    made
}

/// One of the scenario's jobs.
#[derive(Default)]
pub(super) struct Job<const WHICH: usize>;

impl<const WHICH: usize> Node for Job<WHICH> {
    type Input = Value;
    type Output = Value;
    type Error = Failure;

    async fn run(&self, _: Value, _: &Context) -> Result<Value, Failure> {
        unreachable!("a workflow is run by a driver of its own")
    }

    fn nested() -> Option<fn() -> &'static Arc<Definition>> {
        Some(|| job(WHICH))
    }
}
