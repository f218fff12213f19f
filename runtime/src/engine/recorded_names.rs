//! The names of nodes in events that were recorded before an upgrade.

use serde_json::Value as Json;

use super::changed::each_path;
use super::inner::Engine;
use crate::event::{Event, EventKind};
use crate::fingerprint::Translation;
use crate::store::StoreError;

/// What the nodes of a run are called now, for events that were recorded under other names:
/// [`Engine::recorded_names`].
///
/// The history of a run that has waited over an upgrade, as its nodes are called now:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::MemoryStore;
///
/// mod before {
///     use graphweft::prelude::*;
///     #[node]
///     pub async fn check(n: u32) -> u32 { n }
///     #[node]
///     pub async fn approve(n: u32, ctx: &Context) -> bool { ctx.ask("fine", "Is it fine?").await }
///     workflow! { pub order(u32) -> bool { START => check => approve; } }
/// }
///
/// mod after {
///     use super::before::approve;
///     use graphweft::prelude::*;
///     #[node(renamed_from = "check")]
///     pub async fn validate(n: u32) -> u32 { n }
///     workflow! { pub order(u32) -> bool { START => validate => approve; } }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<before::order>().build()?;
/// engine.start::<before::order>(1).id("mine").await?.outcome().await?;
/// engine.shutdown().await;
///
/// let engine = Engine::builder().store(store).register::<after::order>().build()?;
/// engine.recover().await?;
/// engine.answer("mine", "fine", true).await?;
/// engine.get_run("mine").await?.ok_or("it was started")?.outcome().await?;
///
/// let mut events = engine.history("mine").await?.ok_or("it was started")?;
/// let names = engine.recorded_names(&events).await?;
/// assert!(events.iter().any(|event| event.path == "order/check"));
/// for event in &mut events {
///     names.rename(event);
/// }
/// assert!(events.iter().all(|event| event.path != "order/check"));
/// assert!(events.iter().any(|event| event.path == "order/validate"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })
/// # }
/// ```
#[derive(Debug, Default)]
pub struct RecordedNames {
    /// For each graph before the last one, in order: the first event that was not recorded under it, and its names.
    spans: Vec<(u64, Option<Translation>)>,
}

impl RecordedNames {
    /// Gives the nodes that an event names the names that they have now. Below the nodes, the names of children, steps and questions
    /// stay as they are, and so does an event that has the current names already.
    pub fn rename(&self, event: &mut Event) {
        let span = self.spans.iter().find(|(end, _)| event.seq < *end);
        if let Some((_, Some(names))) = span {
            each_path(&mut event.path, &mut event.kind, |path| *path = names.path(path).into_owned());
        }
    }

    /// Whether all events were recorded under one graph, so that there is nothing to rename.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

impl Engine {
    /// The current names of the nodes in the events of a run, which are all of its [history](Self::history): for viewers, in which a node
    /// that was renamed by `renamed_from` is one node. The graphs come from the store, so this needs no code of the workflow.
    ///
    /// An event keeps the names under which it was recorded. The ones of now are those of the graph that is in the last
    /// [`EventKind::GraphChanged`], and so in [`run_graph`](Self::run_graph). The nodes of workflows that others have called are not
    /// renamed.
    ///
    /// An example is at [`RecordedNames`].
    ///
    /// # Errors
    /// If the store cannot be read. Events of a graph that it does not have, or that this version cannot read, keep their names.
    pub async fn recorded_names(&self, events: &[Event]) -> Result<RecordedNames, StoreError> {
        let changes = events.iter().filter_map(|event| match event.kind {
            EventKind::GraphChanged { from, to } => Some((event.seq, from, to)),
            _ => None,
        });
        let changes: Vec<(u64, u64, u64)> = changes.collect();
        let Some((_, _, last)) = changes.last() else { return Ok(RecordedNames::default()) };
        let now = self.0.store.graph(*last).await?;
        let mut spans = Vec::with_capacity(changes.len());
        for (end, from, _) in &changes {
            let then = if from == last { None } else { self.0.store.graph(*from).await? };
            spans.push((*end, now.as_ref().zip(then.as_ref()).and_then(|(now, then)| names(then, now))));
        }
        Ok(RecordedNames { spans })
    }
}

/// The names of a graph in a later one, if there are others.
fn names(then: &Json, now: &Json) -> Option<Translation> {
    Translation::between(then, now).ok().filter(Translation::renames)
}
