//! What viewers and servers know of a workflow: its graph, and what its start needs.

use serde::Deserialize;

use super::inner::Engine;
use crate::compile;
use crate::fingerprint::SHOWN;
use crate::graph::Graphs;
use crate::store::StoreError;

impl Engine {
    /// The graph of a registered workflow with those of the workflows in it; `None` if none of this name is registered.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # workflow! { outer(u32) -> u32 { START => doubled; } }
    /// let engine = Engine::builder().register::<outer>().build()?;
    /// let graphs = engine.graph("outer").expect("it is registered");
    /// assert_eq!(graphs.nested[0].nodes[2].name, "double");
    /// # Ok::<(), graphweft::BuildError>(())
    /// ```
    pub fn graph(&self, workflow: &str) -> Option<Graphs> {
        self.newest(workflow).map(compile::graphs)
    }

    /// The names of the keys of the state that have to be set at the start of a registered workflow: those of its
    /// `#[given(..)]` that have no [zero](crate::state::Zero). None if no workflow of this name is registered.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// const OWNER: StateKey<String> = StateKey::new("owner");
    ///
    /// #[node]
    /// async fn who(#[state(OWNER)] owner: String) -> String {
    ///     owner
    /// }
    ///
    /// workflow! {
    ///     #[given(OWNER)]
    ///     owned() -> String { START => who; }
    /// }
    ///
    /// let engine = Engine::builder().register::<owned>().build()?;
    /// assert_eq!(engine.required_state("owned"), ["owner"]);
    /// # Ok::<(), graphweft::BuildError>(())
    /// ```
    pub fn required_state(&self, workflow: &str) -> Vec<&'static str> {
        self.newest(workflow).map(|definition| definition.missing_keys(&serde_json::Map::new())).unwrap_or_default()
    }

    /// The graph under which the last records of a run were made, from the store: also in a program that does not have
    /// its workflow, and after the workflow has changed. The texts and schemas in it are those of the program that first
    /// recorded a run of this graph. `None` if there is no such run.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// engine.start::<doubled>(4).id("order-7").await?.result().await?;
    /// let graphs = engine.run_graph("order-7").await?.expect("it was started");
    /// assert!(graphs.graph.to_mermaid().contains("double"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn run_graph(&self, run: &str) -> Result<Option<Graphs>, StoreError> {
        if let Some(live) = self.0.runs.get(run) {
            live.journal.catch_up_now();
        }
        match self.0.store.header(run).await? {
            Some(header) => self.stored_graph(header.graph).await,
            None => Ok(None),
        }
    }

    /// The graph with a hash that is in the events of a run: that of a child workflow ([`Entered::graph`](crate::Entered::graph)), which
    /// is in no graph of the run, or one of [`EventKind::GraphChanged`](crate::EventKind::GraphChanged). As
    /// [`run_graph`](Self::run_graph), it comes from the store. `None` if the store does not have it.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// #[node]
    /// async fn twice(n: u32, ctx: &Context) -> u32 {
    ///     ctx.call::<doubled>(n).await.unwrap_or(0)
    /// }
    /// # workflow! { outer(u32) -> u32 { START => twice; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<outer>().build()?;
    /// engine.start::<outer>(4).id("order-7").await?.result().await?;
    /// let events = engine.history("order-7").await?.expect("it was started");
    /// let entered = events.iter().find_map(|event| match &event.kind {
    ///     EventKind::NodeStarted { inside, .. } => inside.as_ref()?.graph,
    ///     _ => None,
    /// });
    /// let graphs = engine.stored_graph(entered.expect("it has called a workflow")).await?.expect("it is stored");
    /// assert_eq!(graphs.graph.name, "doubled");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn stored_graph(&self, hash: u64) -> Result<Option<Graphs>, StoreError> {
        let Some(stored) = self.0.store.graph(hash).await? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| StoreError::Other {
            message: format!("the graph {hash:016x} cannot be read: {error}"),
        };
        stored.get(SHOWN).map(Graphs::deserialize).transpose().map_err(unreadable)
    }
}
