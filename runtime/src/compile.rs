//! From the table of a workflow to the program of the core: made once, at the first run.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::core::{Layout, NodeKind, NodeSpec, Place, Program};
use crate::fingerprint::Fingerprint;
use crate::node::ResourceNeed;
use crate::table::{AnyNode, AnyScope, Definition, Entry};

/// Room for what the engine makes of a [`Definition`].
#[derive(Default)]
pub struct Compiled {
    executable: OnceLock<Arc<Executable>>,
    pub(crate) fingerprint: OnceLock<Arc<Fingerprint>>,
}

/// A workflow with all that it can enter.
pub(crate) struct Executable {
    pub(crate) program: Arc<Program>,
    /// The definition of each graph of the program. The first is the workflow that owns this, and is left out: it would
    /// own itself.
    inside: Vec<Option<Arc<Definition>>>,
    /// What has to be there before a run starts, and which node wants it.
    pub(crate) needs: Vec<(ResourceNeed, String)>,
}

impl Executable {
    /// What `definition` compiles to.
    pub(crate) fn of(definition: &Arc<Definition>) -> Arc<Executable> {
        Arc::clone(definition.compiled.executable.get_or_init(|| Arc::new(Executable::build(definition, &|_| false))))
    }

    /// The same, with the nodes of some types replaced: a replaced workflow is a node like any other, and no replaced
    /// node needs its resources.
    pub(crate) fn build(definition: &Arc<Definition>, is_replaced: &dyn Fn(TypeId) -> bool) -> Executable {
        let mut found = vec![Arc::clone(definition)];
        let mut places = HashMap::from([(Arc::as_ptr(definition), 0)]);
        let mut layouts = Vec::new();
        let mut needs = Vec::new();
        while let Some(definition) = found.get(layouts.len()).cloned() {
            let mut specs = Vec::new();
            for entry in &definition.entries {
                let replaced = is_replaced(entry.type_id);
                let kind = match &entry.scope {
                    Some(scope) if !(replaced && entry.node.is_some()) => {
                        let inside = scope.definition();
                        let place = *places.entry(Arc::as_ptr(inside)).or_insert_with(|| {
                            found.push(Arc::clone(inside));
                            found.len() - 1
                        });
                        NodeKind::Scope(scope.kind(), place)
                    }
                    _ => NodeKind::Leaf,
                };
                if !replaced && kind == NodeKind::Leaf {
                    let wants = format!("{}/{}", definition.name, entry.name);
                    needs.extend(entry.resources.iter().map(|need| (*need, wants.clone())));
                }
                specs.push(NodeSpec { name: entry.name.clone(), kind, options: entry.options.clone() });
            }
            let name = definition.name.clone();
            layouts.push(Arc::new(Layout::new(layouts.len(), name, &definition.graph, &definition.plan, specs)));
        }
        let inside = found.into_iter().enumerate().map(|(at, definition)| (at > 0).then_some(definition)).collect();
        Executable { program: Arc::new(Program { layouts }), inside, needs }
    }

    fn definition<'d>(&'d self, root: &'d Arc<Definition>, layout: usize) -> &'d Arc<Definition> {
        self.inside.get(layout).and_then(Option::as_ref).unwrap_or(root)
    }

    pub(crate) fn entry<'d>(&'d self, root: &'d Arc<Definition>, place: &Place) -> Option<&'d Entry> {
        self.definition(root, place.scope.layout.index).entry(place.node as usize)
    }

    /// The body of a node; `layout` is the place of its graph in the program.
    pub(crate) fn node<'d>(
        &'d self,
        root: &'d Arc<Definition>,
        layout: usize,
        node: u32,
    ) -> Option<&'d Arc<dyn AnyNode>> {
        self.definition(root, layout).entry(node as usize)?.node.as_ref()
    }

    pub(crate) fn scope<'d>(&'d self, root: &'d Arc<Definition>, place: &Place) -> Option<&'d Arc<dyn AnyScope>> {
        self.entry(root, place)?.scope.as_ref()
    }

    /// How the labels at START of the graph inside a node were written; none where that is not routed.
    pub(crate) fn labels_inside<'d>(&'d self, root: &'d Arc<Definition>, place: &Place) -> &'d [&'static str] {
        let inside = self.scope(root, place).map(|scope| scope.definition());
        inside.and_then(|inside| inside.labels.first()).map_or(&[], Vec::as_slice)
    }

    /// The choice whose label was written like this; `None` is an unrouted node's.
    pub(crate) fn choice(&self, root: &Arc<Definition>, place: &Place, label: Option<&str>) -> Option<usize> {
        let labels = self.definition(root, place.scope.layout.index).labels.get(place.node as usize)?;
        match label {
            None => labels.is_empty().then_some(0),
            Some(label) => labels.iter().position(|known| *known == label),
        }
    }

    /// How the label of a choice was written; `None` for an unrouted node.
    pub(crate) fn label(&self, root: &Arc<Definition>, place: &Place, choice: usize) -> Option<&'static str> {
        let labels = &self.definition(root, place.scope.layout.index).labels;
        labels.get(place.node as usize)?.get(choice).copied()
    }
}
