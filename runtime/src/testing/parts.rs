//! What a lab consists of.

use std::any::{Any, TypeId};
use std::sync::Arc;

use serde_json::Value as Json;

use super::repeatable::Named;
use super::world::World;
use crate::engine::{EngineBuilder, Start};
use crate::table::Definition;
use crate::workflow::Workflow;

/// Registers a workflow or a node.
pub(super) struct Registered {
    /// That of the workflow; `None` if it is a node.
    pub(super) definition: Option<&'static Arc<Definition>>,
    pub(super) register: fn(EngineBuilder) -> EngineBuilder,
}

impl Registered {
    pub(super) fn is_of<W: Workflow>(&self) -> bool {
        self.definition.is_some_and(|definition| definition.name == W::NAME)
    }
}

/// Adds something to an engine, by what is outside of the processes of the run.
pub(super) type ConfigureIn = Box<dyn Fn(EngineBuilder, &Arc<World>) -> EngineBuilder + Send + Sync>;

/// Adds something to the start of a run.
pub(super) type StartWith = Box<dyn Fn(Start<Json>) -> Start<Json> + Send + Sync>;

/// A value that is made when a run begins.
pub(super) type Make = Box<dyn Fn() -> Box<dyn Any + Send + Sync> + Send + Sync>;

/// What has been done to a resource, as text; `None` if there is no such resource.
pub(super) type EffectsOf = Box<dyn Fn(&World) -> Option<String> + Send + Sync>;

/// A node that is replaced.
pub(super) struct Mock {
    pub(super) node: Named,
    pub(super) install: ConfigureIn,
}

/// A resource of the nodes.
pub(super) struct Resource {
    pub(super) type_id: TypeId,
    /// Makes what is outside of all processes of a run; `None` if each process makes its own.
    pub(super) make: Option<Make>,
    /// Whether each run makes its own.
    pub(super) is_of_run: bool,
    pub(super) give: ConfigureIn,
}

/// Effects that are seen in a resource.
pub(super) struct Effects {
    pub(super) type_id: TypeId,
    pub(super) type_name: &'static str,
    pub(super) of: EffectsOf,
}
