//! Views of real runs.

mod conversations;
mod flows;
mod moments;
mod read;
mod snapshots;
mod upgrades;

use std::collections::HashMap;

use graphweft::{Engine, EngineBuilder, Event, EventKind, Graphs, Workflow};
use graphweft_inspector::view::RunView;

/// An engine with all workflows of these tests.
pub(crate) fn engine() -> Engine {
    builder().build().unwrap()
}

/// One node at a time: otherwise the order of the events depends on how long each takes.
pub(crate) fn engine_of_one() -> Engine {
    builder().max_concurrency(1).build().unwrap()
}

pub(crate) fn builder() -> EngineBuilder {
    use flows::*;
    let builder = Engine::builder().register::<routed>().register::<looped>().register::<items>();
    let builder = builder.register::<long_items>().register::<outer>().register::<items_of_items>();
    let builder = builder.register::<retrying>().register::<fails>().register::<asking>().register::<signalled>();
    let builder = builder.register::<deep>().register::<calls_broken>().register::<asking_inside>();
    builder.register::<children>().register::<raced>().register::<judging>().register::<judged>()
}

/// What a view is made of.
pub(crate) struct History {
    pub(crate) workflow: &'static str,
    pub(crate) graphs: Option<Graphs>,
    /// Those of child workflows.
    pub(crate) child_graphs: HashMap<u64, Graphs>,
    pub(crate) events: Vec<Event>,
}

impl History {
    pub(crate) async fn of<W: Workflow>(engine: &Engine, id: &str) -> History {
        let graphs = engine.run_graph(id).await.unwrap();
        let events = engine.history(id).await.unwrap().unwrap();
        let mut child_graphs = HashMap::new();
        for event in &events {
            if let EventKind::NodeStarted { inside: Some(entered), .. } = &event.kind
                && let Some(hash) = entered.graph
            {
                child_graphs.insert(hash, engine.stored_graph(hash).await.unwrap().expect("it is stored"));
            }
        }
        History { workflow: W::NAME, graphs, child_graphs, events }
    }

    /// A view without events, and with all graphs.
    pub(crate) fn empty_view(&self) -> RunView {
        let mut view = RunView::new(self.workflow, self.graphs.as_ref());
        for (hash, graphs) in &self.child_graphs {
            view.add_graph(*hash, graphs);
        }
        view
    }

    /// The view after the events up to a number.
    pub(crate) fn view_at(&self, seq: u64) -> RunView {
        let mut view = self.empty_view();
        for event in self.events.iter().filter(|event| event.seq <= seq) {
            view.apply(event);
        }
        view
    }

    pub(crate) fn view(&self) -> RunView {
        self.view_at(u64::MAX)
    }
}
