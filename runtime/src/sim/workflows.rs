//! The workflows of a scenario.

use std::sync::Arc;

use crate::table::Definition;

/// The workflow of the run, and those that its nodes may run as children.
#[derive(Clone)]
pub(super) struct Workflows {
    pub(super) run: Arc<Definition>,
    pub(super) jobs: Vec<Arc<Definition>>,
}
