//! Which arms the runs of a lab take.

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use graphweft_graph::START;
use graphweft_graph::picture::labelled;

use super::lab::{Lab, fail};
use super::places::{InGraph, Places};
use crate::box_value::BoxValue;
use crate::event::{AfterFailure, Event, EventKind};
use crate::node::Payload;
use crate::table::Definition;
use crate::workflow::Workflow;

/// An arm: a node, and the number of the choice.
type Arm = (InGraph, usize);

impl<W: Workflow> Lab<W> {
    /// Runs the workflow with each input, and asserts that every arm is taken by one of the runs at least: `validate => <err:
    /// refuse>`. Counted are the arms of the workflow and of the workflows inside it, of the latter once, wherever they are. A mocked
    /// workflow has none. Runs that fail or wait count as far as they come. There is an example at [`Lab`].
    ///
    /// # Panics
    /// If an arm is not taken: the message names each, as it is written. As [`run`](Self::run) does.
    #[track_caller]
    pub fn covers_every_arm(&self, inputs: impl IntoIterator<Item = W::Input>) -> impl Future<Output = ()> + Send + '_ {
        let here = Location::caller();
        let inputs: Vec<_> = inputs.into_iter().map(|input| (input.to_record(), first_choice::<W>(input))).collect();
        async move {
            let places = self.places();
            let (mut taken, count) = (BTreeSet::new(), inputs.len());
            for (number, (input, first)) in inputs.into_iter().enumerate() {
                let run = match input {
                    Ok(input) => self.ran_once(&input).await,
                    Err(error) => Err(format!("cannot be recorded: {error}")),
                };
                match run {
                    Ok(run) => note_taken(&places, run.journal(), &mut taken),
                    Err(problem) => fail::<W>(here, &format!("input {number}: {problem}")),
                }
                taken.extend(first.map(|first| (InGraph { graph: 0, node: START }, first)));
            }
            let missing: Vec<String> =
                arms(&places).filter(|arm| !taken.contains(arm)).map(|arm| written(&places, arm)).collect();
            if !missing.is_empty() {
                let arms = if missing.len() == 1 { "1 arm is" } else { &format!("{} arms are", missing.len()) };
                let runs = if count == 1 {
                    "the run of the input".to_owned()
                } else {
                    format!("any of the runs of {count} inputs")
                };
                let problem = format!(
                    "{arms} not taken by {runs}:\n    {}\n  help: add an input that leads there, or a mock or an answer that does",
                    missing.join("\n    ")
                );
                fail::<W>(here, &problem);
            }
        }
    }

    pub(super) fn places(&self) -> Places {
        self.places_of(W::definition())
    }

    pub(super) fn places_of(&self, root: &Arc<Definition>) -> Places {
        Places::of(root, self.mocks.iter().map(|mock| mock.node.type_id).collect())
    }
}

/// The choice of START, which is not recorded.
fn first_choice<W: Workflow>(input: W::Input) -> Option<usize> {
    let definition = W::definition();
    // A routed START calls a conversion of the user. If it panics, the run fails and takes no arm.
    crate::catch::caught(|| (definition.start)(BoxValue::new(input)).choice).ok()
}

/// All arms of the graphs.
fn arms(places: &Places) -> impl Iterator<Item = Arm> {
    let graphs = places.graphs.iter().enumerate();
    graphs.flat_map(|(graph, definition)| {
        let nodes = definition.labels.iter().enumerate();
        nodes.flat_map(move |(node, labels)| (0..labels.len()).map(move |choice| (InGraph { graph, node }, choice)))
    })
}

fn note_taken(places: &Places, events: &[Event], taken: &mut BTreeSet<Arm>) {
    let mut note = |place: InGraph, label: &str| {
        let labels = &places.graphs[place.graph].labels[place.node];
        taken.extend(labels.iter().position(|known| *known == label).map(|choice| (place, choice)));
    };
    for Event { path, kind, .. } in events {
        let Some(place) = places.find(path) else { continue };
        match kind {
            EventKind::NodeCompleted { label: Some(label), .. }
            | EventKind::NodeFailed { then: AfterFailure::Routed { label, .. }, .. } => note(place, label),
            EventKind::NodeStarted { inside: Some(entered), .. } => {
                if let Some(graph) = places.index_inside(place) {
                    entered.labels.iter().for_each(|label| note(InGraph { graph, node: START }, label));
                }
            }
            _ => {}
        }
    }
}

/// An arm as it is written, with the graph that it is in.
fn written(places: &Places, (place, choice): Arm) -> String {
    let definition = Arc::clone(&places.graphs[place.graph]);
    let edges = &definition.graph.nodes[place.node].choices[choice].edges;
    let mut targets: Vec<&str> = Vec::new();
    for edge in edges {
        let target = places.name(InGraph { node: definition.graph.edges[*edge].to, ..place });
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let targets = match targets.as_slice() {
        [] => "nothing".to_owned(),
        [target] => (*target).to_owned(),
        several => format!("({})", several.join(", ")),
    };
    let label = labelled(definition.labels[place.node][choice], definition.bounds.get(&(place.node, choice)).copied());
    format!("{}: {} => <{label}: {targets}>", definition.name, places.name(place))
}
