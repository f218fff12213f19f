//! Views of real runs.

mod flows;
mod moments;
mod read;
mod snapshots;

use graphweft::{Engine, EngineBuilder, Event, Graphs, Workflow};
use graphweft_inspector::view::RunView;

/// An engine with all workflows of these tests.
pub(crate) fn engine() -> Engine {
    builder().build().unwrap()
}

/// One node at a time: otherwise the order of the events depends on how long each takes.
pub(crate) fn engine_of_one() -> Engine {
    builder().max_concurrency(1).build().unwrap()
}

fn builder() -> EngineBuilder {
    use flows::*;
    let builder = Engine::builder().register::<routed>().register::<looped>().register::<items>();
    let builder = builder.register::<long_items>().register::<outer>().register::<items_of_items>();
    let builder = builder.register::<retrying>().register::<fails>().register::<asking>().register::<signalled>();
    builder.register::<children>().register::<raced>()
}

/// What a view is made of.
pub(crate) struct History {
    pub(crate) workflow: &'static str,
    pub(crate) graphs: Option<Graphs>,
    pub(crate) events: Vec<Event>,
}

impl History {
    pub(crate) async fn of<W: Workflow>(engine: &Engine, id: &str) -> History {
        let graphs = engine.run_graph(id).await.unwrap();
        History { workflow: W::NAME, graphs, events: engine.history(id).await.unwrap().unwrap() }
    }

    /// The view after the events up to a number.
    pub(crate) fn view_at(&self, seq: u64) -> RunView {
        let mut view = RunView::new(self.workflow, self.graphs.as_ref());
        for event in self.events.iter().filter(|event| event.seq <= seq) {
            view.apply(event);
        }
        view
    }

    pub(crate) fn view(&self) -> RunView {
        self.view_at(u64::MAX)
    }
}
