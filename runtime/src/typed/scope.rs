//! Nodes with a graph inside, behind [`AnyScope`], and the definitions of whole workflows.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::arrival::{JoinTable, cast, take};
use super::edge::Gives;
use super::exit::Exit;
use super::group::JoinFn;

use super::mention::{Each, Source, Target, show};
use super::shape::{Shape, Shaped};
use crate::box_value::BoxValue;
use crate::fault::{Failure, Fault, Never};
use crate::field::Unreadable;
use crate::graph::Graph;
use crate::node::{Node, Payload, not_written, reread};
use crate::options::NodeOptions;
use crate::state::StateFacts;
use crate::table::{
    AnyScope, Arrived, Definition, Door, Emitted, Entry, Finished, GivenKey, Limits, Moment, Reread, Routed, ScopeKind,
};
use crate::value::{MaxSize, Unrecordable};
use crate::workflow::{Flow, Workflow};

/// A workflow that is used as a node.
pub struct NestedScope<N: Node> {
    inside: fn() -> &'static Arc<Definition>,
    joins: JoinTable,
    exit: Exit<N::Output, N::Error>,
}

impl<N: Node> NestedScope<N> {
    pub(crate) fn new(
        inside: fn() -> &'static Arc<Definition>,
        joins: JoinTable,
        exit: Exit<N::Output, N::Error>,
    ) -> Self {
        NestedScope { inside, joins, exit }
    }
}

fn mismatch<T>() -> Fault {
    Fault::Context { message: format!("a value does not have the type `{}`", std::any::type_name::<T>()) }
}

fn open<T: 'static>(mut value: BoxValue) -> Result<T, Fault> {
    value.take().ok_or_else(mismatch::<T>)
}

fn copy<T: Target>(input: &BoxValue) -> Result<BoxValue, Fault> {
    let input = input.get::<T::Input>().ok_or_else(mismatch::<T::Input>)?;
    Ok(BoxValue::new(T::copy(input)?))
}

fn finish<S: Source, E>(
    exit: &Exit<S::Output, E>,
    output: S::Output,
    records: Option<MaxSize>,
    moment: Moment<'_>,
) -> Result<Finished, Fault> {
    let record =
        records.map(|max| S::json(&output, max)).transpose().map_err(|error| Fault::unrecordable("output", error))?;
    Ok(Finished::Emitted { emitted: exit.value(output, moment), output: record.map(Box::new), holder: None })
}

impl<N: Node> AnyScope for NestedScope<N> {
    fn definition(&self) -> &Arc<Definition> {
        (self.inside)()
    }

    fn kind(&self) -> ScopeKind {
        ScopeKind::Nested
    }

    fn enter(&self, arrived: Arrived) -> Result<Vec<BoxValue>, Fault> {
        Ok(vec![BoxValue::new(take::<N::Input>(arrived, &self.joins)?)])
    }

    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault> {
        copy::<N>(input)
    }

    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Fault> {
        show::<N>(input, max)
    }

    fn leave(&self, outputs: Vec<BoxValue>, records: Option<MaxSize>, moment: Moment<'_>) -> Result<Finished, Fault> {
        let output = outputs.into_iter().next().ok_or_else(mismatch::<N::Output>)?;
        finish::<N, _>(&self.exit, open::<N::Output>(output)?, records, moment)
    }

    fn route_failure(&self, failure: &Failure, records: Option<MaxSize>, moment: Moment<'_>) -> Option<Routed> {
        self.exit.error(cast::<Failure, N::Error>(failure.clone())?, records, moment).ok()
    }

    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        Ok(self.exit.value(N::from_json(output)?, Moment::recorded(choice)))
    }

    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.exit.recorded_error(error, choice)
    }
}

/// `[first => .. => last]`
pub struct EachScope<First, Last: Source> {
    definition: Arc<Definition>,
    joins: JoinTable,
    exit: Exit<Vec<Last::Output>, Failure>,
    first: PhantomData<fn() -> First>,
}

impl<First: Target + 'static, Last: Source + 'static> AnyScope for EachScope<First, Last> {
    fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    fn kind(&self) -> ScopeKind {
        ScopeKind::Each
    }

    fn enter(&self, arrived: Arrived) -> Result<Vec<BoxValue>, Fault> {
        take::<Vec<BoxValue>>(arrived, &self.joins)
    }

    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault> {
        copy::<First>(input)
    }

    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Fault> {
        show::<First>(input, max)
    }

    fn leave(&self, outputs: Vec<BoxValue>, records: Option<MaxSize>, moment: Moment<'_>) -> Result<Finished, Fault> {
        let outputs = outputs.into_iter().map(open::<Last::Output>).collect::<Result<Vec<_>, _>>()?;
        finish::<Each<First, Last>, _>(&self.exit, outputs, records, moment)
    }

    fn route_failure(&self, failure: &Failure, records: Option<MaxSize>, moment: Moment<'_>) -> Option<Routed> {
        self.exit.error(failure.clone(), records, moment).ok()
    }

    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        Ok(self.exit.value(Each::<First, Last>::from_json(output)?, Moment::recorded(choice)))
    }

    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.exit.recorded_error(error, choice)
    }
}

/// An entry for `[..]`.
pub fn each_entry<First: Target + 'static, Last: Source + 'static>(
    name: &'static str,
    definition: Definition,
    joins: JoinTable,
    exit: Exit<Vec<Last::Output>, Failure>,
) -> Entry {
    let resources = definition.entries.iter().flat_map(|entry| entry.resources.clone()).collect();
    let scope = EachScope::<First, Last> { definition: Arc::new(definition), joins, exit, first: PhantomData };
    Entry {
        name: name.to_owned(),
        renamed_from: &[],
        doc: "",
        parameters: &[],
        type_id: TypeId::of::<Each<First, Last>>(),
        options: NodeOptions::default(),
        collects: false,
        pool: None,
        never_waits: false,
        node: None,
        scope: Some(Arc::new(scope)),
        resources,
        state: StateFacts::NONE,
        input_schema: <Each<First, Last> as Target>::schema,
        output_schema: <Each<First, Last> as Source>::schema,
        output: Reread {
            type_name: type_name::<Vec<Last::Output>>,
            rewrite: |json| {
                let output = Each::<First, Last>::from_json(json)?;
                Each::<First, Last>::json(&output, MaxSize::NONE).map_err(not_written)
            },
        },
    }
}

/// "`max_parallel` has something to limit": the nodes of a nested workflow.
#[diagnostic::on_unimplemented(
    message = "`max_parallel` has no effect on `{Self}`, which is outside of `[..]`",
    label = "`{Self}` runs once, and has no nodes inside",
    note = "in `[..]` it limits how many items are in a node at once, and at a nested workflow how many of its nodes run at \
            once; `#[max_parallel = 8]` above a workflow limits all of its own nodes"
)]
pub trait HasNodes {}

#[diagnostic::do_not_recommend]
impl<W: Workflow> HasNodes for W {}

/// `let nested = nested(max_parallel = 4)`, outside of `[..]`.
pub fn limits_nodes_of<W: HasNodes>() {}

/// With the limits of its runs.
pub fn with_limits(definition: Definition, timeout: Option<Duration>, max_parallel: Option<u32>) -> Definition {
    Definition { limits: Limits { timeout, max_parallel }, ..definition }
}

/// With the keys of the state that a run is given at its start.
pub fn with_given(definition: Definition, given: Vec<GivenKey>) -> Definition {
    Definition { given, ..definition }
}

/// Puts a definition together.
pub fn define<I: Payload, O: Payload>(
    name: &'static str,
    doc: &'static str,
    shape: &Shape,
    _: Gives<O>,
    start: Exit<I, Never>,
    end: JoinTable,
    entries: Vec<Entry>,
) -> Definition {
    let Shaped { graph, labels, bounds } = shape.read();
    let plan = Shape::plan(&graph);
    Definition {
        name: name.to_owned(),
        doc,
        plan,
        labels,
        bounds: bounds.into_iter().collect(),
        entries: distinct(entries, &graph),
        graph,
        is_unit: shape.is_unit,
        start: Box::new(move |input| match start.boxed(input, Moment::START) {
            Some(emitted) => emitted,
            None => unreachable!("a workflow is entered through its own input type"),
        }),
        end: Box::new(move |arrived| match arrived {
            // An edge to END passes its value on unchanged.
            Arrived::One(token) if token.value.is::<O>() => token.value,
            arrived => match take::<O>(arrived, &end) {
                Ok(output) => BoxValue::new(output),
                Err(fault) => unreachable!("END takes what its edges were checked for: {fault}"),
            },
        }),
        compiled: Default::default(),
        limits: Limits::default(),
        given: Vec::new(),
        door: Door {
            read_plain_input: |json| {
                let input = I::__from_plain(json)?;
                Ok(BoxValue::new(input))
            },
            read_input: |json| {
                let input = I::__from_json(json)?;
                Ok(BoxValue::new(input))
            },
            write_input: write::<I>,
            write_output: write::<O>,
            input_schema: I::__schema,
            output_schema: O::__schema,
            input: reread::<I>(),
        },
    }
}

fn write<T: Payload>(value: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
    value.get::<T>().map_or(Ok(serde_json::Value::Null), |value| value.__to_json(max))
}

/// Two functions may have the same `name = ".."`; in one workflow they get the names that were written there instead.
fn distinct(mut entries: Vec<Entry>, written: &graphweft_graph::Graph<&'static str>) -> Vec<Entry> {
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    for (at, entry) in entries.iter_mut().enumerate() {
        let taken = names.iter().enumerate().any(|(other, name)| other != at && *name == entry.name);
        if let (true, Some(written)) = (taken, written.nodes.get(at + 2)) {
            entry.name = written.id.to_owned();
        }
    }
    entries
}

/// One way in that is a join.
pub fn join(way: usize, join: JoinFn) -> (usize, JoinFn) {
    (way, join)
}

/// The joins among a node's ways in.
pub fn joins(ways: impl IntoIterator<Item = (usize, JoinFn)>) -> JoinTable {
    let mut joins = JoinTable::new();
    for (way, join) in ways {
        joins.resize(joins.len().max(way + 1), None);
        joins[way] = Some(join);
    }
    joins
}

/// A placeholder for a flow whose graph was rejected.
pub fn broken<I: Payload, O: Payload>(_: Gives<O>) -> Flow<I, O> {
    unreachable!("{REFUSED}")
}

/// A placeholder for a definition whose graph was rejected.
pub fn refused() -> Definition {
    unreachable!("{REFUSED}")
}

const REFUSED: &str = "a workflow that was refused does not compile";

/// A workflow in expression position.
pub fn flow<I: Payload, O: Payload>(_: Gives<O>, definition: Definition) -> Flow<I, O> {
    Flow::new(Arc::new(definition))
}

/// `checkout::graph()`
pub fn graph_of<W: Workflow>() -> Graph {
    Graph::of(W::definition())
}
