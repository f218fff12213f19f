//! How the arms of a run's nodes are written in its records.

use std::sync::Arc;

use crate::core::Place;
use crate::fingerprint::position_of_label;
use crate::table::{Definition, Executable};

/// How the arms of a run's nodes are written in its records.
pub(crate) trait Labels: Send + Sync {
    /// The name of the workflow.
    fn workflow(&self) -> &str;

    /// The choice whose label was written like this; `None` is the label of a node without routes.
    fn choice(&self, place: &Place, label: Option<&str>) -> Option<usize>;

    /// The choice at START of the graph inside a node.
    fn choice_inside(&self, place: &Place, label: &str) -> Option<usize>;
}

/// Those of a workflow whose code is there.
pub(crate) struct LabelsInCode {
    executable: Arc<Executable>,
    definition: Arc<Definition>,
}

impl LabelsInCode {
    pub(super) fn shared(executable: &Arc<Executable>, definition: &Arc<Definition>) -> Arc<dyn Labels> {
        let (executable, definition) = (Arc::clone(executable), Arc::clone(definition));
        Arc::new(LabelsInCode { executable, definition })
    }
}

impl Labels for LabelsInCode {
    fn workflow(&self) -> &str {
        &self.definition.name
    }

    fn choice(&self, place: &Place, label: Option<&str>) -> Option<usize> {
        self.executable.choice(&self.definition, place, label)
    }

    fn choice_inside(&self, place: &Place, label: &str) -> Option<usize> {
        position_of_label(self.executable.labels_inside(&self.definition, place), label)
    }
}
