//! What others need to know of a node.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use schemars::Schema;

use crate::resource::ResourceNeed;

/// What is known of a node before it runs: its name, what it does, what it takes and gives, the resources that it needs and
/// the nodes that it may call.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::NodeInfo;
///
/// struct Archive;
///
/// /// Searches the archive.
/// #[node]
/// async fn search(query: String, #[resource] archive: &Archive) -> Vec<String> {
///     let _ = archive;
///     vec![query]
/// }
///
/// /// Answers a question.
/// #[node(uses(search))]
/// async fn answer(question: String, ctx: &Context) -> String {
///     ctx.call::<search>(question).await.map_or_else(|error| error.to_string(), |found| found.join(", "))
/// }
///
/// let answer = NodeInfo::of::<answer>();
/// let search = &answer.uses()[0];
/// assert_eq!((search.name(), search.doc()), ("search", "Searches the archive."));
/// assert_eq!(search.parameters(), ["query"]);
/// assert!(search.resources()[0].type_name().ends_with("Archive"));
/// ```
#[derive(Clone)]
pub struct NodeInfo {
    pub(crate) name: String,
    pub(crate) doc: &'static str,
    pub(crate) parameters: &'static [&'static str],
    pub(crate) input: fn() -> Schema,
    pub(crate) output: fn() -> Schema,
    pub(crate) type_id: TypeId,
    /// The pool that executes its attempts.
    pub(crate) pool: Option<&'static str>,
    pub(crate) resources: Vec<ResourceNeed>,
    /// Made when it is asked for: two agents may be tools of each other.
    pub(crate) uses: Arc<dyn Fn() -> Vec<NodeInfo> + Send + Sync>,
    pub(crate) is_workflow: bool,
    /// The definition of a workflow that is called.
    pub(crate) called: fn() -> Option<AnyGraph>,
}

/// The definition of a workflow, which is on a higher floor.
pub(crate) type AnyGraph = Arc<dyn Any + Send + Sync>;

impl NodeInfo {
    /// Its name in paths.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The doc comment of the function or the workflow; empty without one.
    pub fn doc(&self) -> &str {
        self.doc
    }

    /// The names of its inputs, in order; empty if they have none.
    pub fn parameters(&self) -> &[&'static str] {
        self.parameters
    }

    /// The JSON Schema of its input.
    pub fn input_schema(&self) -> Schema {
        (self.input)()
    }

    /// The JSON Schema of its output.
    pub fn output_schema(&self) -> Schema {
        (self.output)()
    }

    /// The resources that it needs itself.
    pub fn resources(&self) -> &[ResourceNeed] {
        &self.resources
    }

    /// The nodes that it may call: those of `#[node(uses(..))]`, the tools of an agent, the nodes of a workflow. A node can be
    /// among those that it uses itself.
    pub fn uses(&self) -> Vec<NodeInfo> {
        (self.uses)()
    }

    /// Whether it is a workflow.
    pub fn is_workflow(&self) -> bool {
        self.is_workflow
    }
}

impl fmt::Debug for NodeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeInfo { name, doc, parameters, resources, .. } = self;
        let mut shown = f.debug_struct("NodeInfo");
        shown.field("name", name).field("doc", doc).field("parameters", parameters);
        shown.field("resources", resources).finish_non_exhaustive()
    }
}
