//! Definitions whose values are JSON and whose nodes are closures.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphweft_graph::{Graph, START};
use serde_json::{Map, Value, json};

use super::exits::{Bound, Exits, recorded};
use super::net::{Net, net};
use crate::box_value::BoxValue;
use crate::context::Context;
use crate::driver::{Ending, Job, Part};
use crate::fault::{Cause, Failure, Fault};
use crate::field::Unreadable;
use crate::node::{Payload, reread};
use crate::options::NodeOptions;
use crate::resource::ResourceNeed;
use crate::shared::{Env, Shared};
use crate::state::{StateFacts, StateKeyFact};
use crate::table::{
    AnyNode, AnyScope, Arrived, AttemptBody, Compiled, Definition, Door, Emitted, Entry, Error, Finished, Hand, Limits,
    Moment, Routed, ScopeKind, Token,
};
use crate::value::MaxSize;

/// How a node ends.
pub(crate) enum Step {
    Give(Value),
    Take(&'static str, Value),
    Wait,
    Fail(&'static str),
    /// An error that takes the arm with this label once no attempt is left.
    FailBy(&'static str, &'static str),
}

/// Where a node panics, besides its body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panics {
    Prepare,
    Copy,
    RouteFault,
    Enter,
    Leave,
    Start,
    End,
}

/// The items of a value.
pub(crate) type Items = fn(&Value) -> Vec<Value>;

type Body = Arc<dyn Fn(Value, Context) -> BoxFuture<'static, Step> + Send + Sync>;

struct MadeNode {
    body: Body,
    exits: Arc<Exits>,
    panics: Option<Panics>,
    faults_by: Option<&'static str>,
}

struct MadeScope {
    kind: ScopeKind,
    inside: Arc<Definition>,
    items: Option<Items>,
    exits: Exits,
    panics: Option<Panics>,
    faults_by: Option<&'static str>,
}

pub(crate) fn value(arrived: Arrived) -> Value {
    let open = |mut token: Token| token.value.take::<Value>().expect("JSON");
    match arrived {
        Arrived::One(token) => open(token),
        Arrived::Join { places, .. } => places.into_iter().map(|place| place.map_or(Value::Null, open)).collect(),
    }
}

fn panic_if(panics: Option<Panics>, here: Panics) {
    assert!(panics != Some(here), "on purpose");
}

impl AnyNode for MadeNode {
    fn type_name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    fn prepare(&self, arrived: Arrived) -> Result<BoxValue, Fault> {
        panic_if(self.panics, Panics::Prepare);
        Ok(BoxValue::new(value(arrived)))
    }

    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault> {
        panic_if(self.panics, Panics::Copy);
        Ok(BoxValue::new(input.get::<Value>().expect("JSON").clone()))
    }

    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<Value, Fault> {
        Ok(recorded(input.get::<Value>().expect("JSON"), max))
    }

    fn read_input(&self, input: &Value) -> Result<BoxValue, Unreadable> {
        Ok(BoxValue::new(input.clone()))
    }

    fn run(&self, mut input: BoxValue, context: Context) -> AttemptBody<'static> {
        let (body, exits) = (Arc::clone(&self.body), Arc::clone(&self.exits));
        AttemptBody::new(async move {
            let records = context.__records();
            let stop = context.clone();
            let mut running = body(input.take::<Value>().expect("JSON"), context);
            let step = std::future::poll_fn(|waker| match running.as_mut().poll(waker) {
                std::task::Poll::Ready(step) => std::task::Poll::Ready(Ok(step)),
                std::task::Poll::Pending => {
                    stop.__take_fault().map_or(std::task::Poll::Pending, |fault| std::task::Poll::Ready(Err(fault)))
                }
            })
            .await;
            let failed = |text: &str, routed: Option<Routed>| {
                Finished::Failed(Box::new(Error {
                    cause: Cause { chain: vec![text.to_owned()], fault: None },
                    retryable: true.into(),
                    json: routed.is_none().then(|| Box::new(Value::from(text))),
                    routed,
                }))
            };
            match step {
                Ok(Step::Give(value)) => Finished::Emitted {
                    emitted: exits.emit(None, &value, Moment::of(&stop)),
                    output: records.map(|max| Box::new(recorded(&value, max))),
                    holder: None,
                },
                Ok(Step::Take(label, value)) => {
                    let emitted = exits.emit(Some(label), &value, Moment::of(&stop));
                    let output = records.map(|max| Box::new(recorded(&value, max)));
                    Finished::Emitted { emitted, output, holder: None }
                }
                Ok(Step::Wait) => Finished::Waiting,
                Ok(Step::Fail(text)) => failed(text, None),
                Ok(Step::FailBy(text, label)) => {
                    failed(text, Some(exits.route(label, json!(text), records, Moment::of(&stop))))
                }
                Err(fault) => Finished::from(fault),
            }
        })
    }

    fn run_once(&self, arrived: Arrived, context: Context) -> AttemptBody<'static> {
        match self.prepare(arrived) {
            Ok(input) => self.run(input, context),
            Err(fault) => AttemptBody::new(async move { Finished::from(fault) }),
        }
    }

    fn go_on(
        &self,
        value: BoxValue,
        hand: Hand,
        context: Context,
        _: Option<AttemptBody<'static>>,
    ) -> AttemptBody<'static> {
        self.run_once(Arrived::One(Token { value, hand }), context)
    }

    fn run_at_once(&self, _: &mut Token, _: &mut Option<Box<Value>>, _: &Context) -> Result<usize, Finished> {
        unreachable!("its entry does not say that it never waits")
    }

    fn route_fault(
        &self,
        fault: &Fault,
        _: Option<BoxValue>,
        records: Option<MaxSize>,
        moment: Moment<'_>,
    ) -> Option<Routed> {
        panic_if(self.panics, Panics::RouteFault);
        self.faults_by.map(|label| self.exits.route(label, json!(fault.to_string()), records, moment))
    }

    fn restore(&self, output: &Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.exits.restore(output, choice)
    }

    fn restore_error(&self, error: &Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.exits.restore_error(error, choice)
    }
}

impl AnyScope for MadeScope {
    fn definition(&self) -> &Arc<Definition> {
        &self.inside
    }

    fn kind(&self) -> ScopeKind {
        self.kind
    }

    fn enter(&self, arrived: Arrived) -> Result<Vec<BoxValue>, Fault> {
        panic_if(self.panics, Panics::Enter);
        let arrived = value(arrived);
        let arrived = self.items.map_or(arrived.clone(), |items| Value::Array(items(&arrived)));
        Ok(match (self.kind, arrived) {
            (ScopeKind::Each, Value::Array(items)) => items.into_iter().map(BoxValue::new).collect(),
            (_, value) => vec![BoxValue::new(value)],
        })
    }

    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault> {
        Ok(BoxValue::new(input.get::<Value>().expect("JSON").clone()))
    }

    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<Value, Fault> {
        Ok(recorded(input.get::<Value>().expect("JSON"), max))
    }

    fn leave(&self, outputs: Vec<BoxValue>, records: Option<MaxSize>, moment: Moment<'_>) -> Result<Finished, Fault> {
        panic_if(self.panics, Panics::Leave);
        let mut values = outputs.into_iter().map(|mut output| output.take::<Value>().expect("JSON"));
        let value = match self.kind {
            ScopeKind::Each => values.collect(),
            ScopeKind::Nested => values.next().expect("one output"),
        };
        let output = records.map(|max| Box::new(recorded(&value, max)));
        Ok(Finished::Emitted { emitted: self.exits.emit(None, &value, moment), output, holder: None })
    }

    fn route_failure(&self, failure: &Failure, records: Option<MaxSize>, moment: Moment<'_>) -> Option<Routed> {
        self.faults_by.map(|label| self.exits.route(label, json!(failure.to_string()), records, moment))
    }

    fn restore(&self, output: &Value, choice: usize) -> Result<Emitted, Unreadable> {
        // The edges of a scope are those of its first choice, whatever the output is.
        Ok(self.exits.emit(None, &Value::__from_json(output)?, Moment::recorded(choice)))
    }

    fn restore_error(&self, error: &Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.exits.restore_error(error, choice)
    }
}

/// A workflow in the making.
pub(crate) struct Made {
    name: String,
    net: Net,
    bodies: BTreeMap<String, Body>,
    inside: BTreeMap<String, (ScopeKind, Arc<Definition>)>,
    items: BTreeMap<String, Items>,
    starts_by: Option<fn(&Value, usize) -> usize>,
    options: BTreeMap<String, NodeOptions>,
    panics: BTreeMap<String, Panics>,
    faults_by: BTreeMap<String, &'static str>,
    resources: BTreeMap<String, ResourceNeed>,
    types: BTreeMap<String, TypeId>,
    limits: Limits,
    /// The state declarations of every node.
    state: StateFacts,
    /// By node: the arm, how often it may be taken, and the choice after that.
    bounds: BTreeMap<String, (usize, u32, usize)>,
}

/// A workflow named `w`. Nodes that are not given a body pass on what they get.
pub(crate) fn made(text: &str) -> Made {
    made_of(net(text))
}

/// The same for an existing graph.
pub(crate) fn made_of(net: Net) -> Made {
    Made {
        name: "w".to_owned(),
        net,
        bodies: BTreeMap::new(),
        inside: BTreeMap::new(),
        items: BTreeMap::new(),
        starts_by: None,
        options: BTreeMap::new(),
        panics: BTreeMap::new(),
        faults_by: BTreeMap::new(),
        resources: BTreeMap::new(),
        types: BTreeMap::new(),
        limits: Limits::default(),
        state: StateFacts::NONE,
        bounds: BTreeMap::new(),
    }
}

impl Made {
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    pub(crate) fn node<R>(mut self, name: &str, body: impl Fn(Value, Context) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Step> + Send + 'static,
    {
        self.bodies.insert(name.to_owned(), Arc::new(move |input, context| body(input, context).boxed()));
        self
    }

    pub(crate) fn inside(self, name: &str, kind: ScopeKind, made: Made) -> Self {
        self.enters(name, kind, made.build())
    }

    pub(crate) fn enters(mut self, name: &str, kind: ScopeKind, inside: Arc<Definition>) -> Self {
        self.inside.insert(name.to_owned(), (kind, inside));
        self
    }

    /// How `[..]` makes items of a value.
    pub(crate) fn items(mut self, name: &str, items: Items) -> Self {
        self.items.insert(name.to_owned(), items);
        self
    }

    /// The limits of its runs.
    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The state keys that every node may write.
    pub(crate) fn may_write(mut self, keys: &'static [StateKeyFact]) -> Self {
        self.state = StateFacts { may_write: keys, ..StateFacts::NONE };
        self
    }

    /// The choice `arm` of a node may be taken so often, and `spent` is taken after that.
    pub(crate) fn bounded(mut self, name: &str, arm: usize, at_most: u32, spent: usize) -> Self {
        self.bounds.insert(name.to_owned(), (arm, at_most, spent));
        self
    }

    /// The choice that a routed START takes, of so many.
    pub(crate) fn starts_by(mut self, choose: fn(&Value, usize) -> usize) -> Self {
        self.starts_by = Some(choose);
        self
    }

    pub(crate) fn options(mut self, name: &str, set: impl FnOnce(&mut NodeOptions)) -> Self {
        set(self.options.entry(name.to_owned()).or_default());
        self
    }

    pub(crate) fn panics(mut self, name: &str, at: Panics) -> Self {
        self.panics.insert(name.to_owned(), at);
        self
    }

    pub(crate) fn faults_by(mut self, name: &str, label: &'static str) -> Self {
        self.faults_by.insert(name.to_owned(), label);
        self
    }

    pub(crate) fn wants<T: 'static>(mut self, name: &str) -> Self {
        let need = ResourceNeed { type_id: TypeId::of::<T>(), type_name: std::any::type_name::<T>() };
        self.resources.insert(name.to_owned(), need);
        self
    }

    pub(crate) fn of_type<T: 'static>(mut self, name: &str) -> Self {
        self.types.insert(name.to_owned(), TypeId::of::<T>());
        self
    }

    pub(crate) fn build(self) -> Arc<Definition> {
        let graph = names_of(&self.net.graph);
        let plan = &self.net.plan;
        let bound = |node: usize| {
            let (arm, at_most, spent) = *self.bounds.get(graph.nodes[node].id)?;
            let counted = plan.turned(&graph, node, arm).expect("it leads back");
            Some(Bound { arm, at_most, spent, level: plan.level(counted) })
        };
        let exits = |node: usize| Exits {
            bound: bound(node),
            labels: self.net.labels[node].clone(),
            edges: graph.nodes[node].choices.iter().map(|choice| choice.edges.len()).collect(),
        };
        let entries = (2..graph.nodes.len()).map(|at| {
            let name = graph.nodes[at].id;
            let panics = self.panics.get(name).copied();
            let faults_by = self.faults_by.get(name).copied();
            let pass_on: Body = Arc::new(|input, _| async move { Step::Give(input) }.boxed());
            let body = self.bodies.get(name).cloned();
            let scope = self.inside.get(name).map(|(kind, inside)| {
                let (inside, items) = (Arc::clone(inside), self.items.get(name).copied());
                Arc::new(MadeScope { kind: *kind, inside, items, exits: exits(at), panics, faults_by })
                    as Arc<dyn AnyScope>
            });
            let node = MadeNode { body: body.unwrap_or(pass_on), exits: Arc::new(exits(at)), panics, faults_by };
            Entry {
                name: name.to_owned(),
                renamed_from: &[],
                doc: "",
                parameters: &[],
                type_id: self.types.get(name).copied().unwrap_or(TypeId::of::<()>()),
                options: self.options.get(name).cloned().unwrap_or_default(),
                collects: false,
                pool: None,
                never_waits: false,
                node: Some(Arc::new(node)),
                scope,
                resources: self.resources.get(name).copied().into_iter().collect(),
                input_schema: || schemars::schema_for!(Value),
                output_schema: || schemars::schema_for!(Value),
                output: reread::<Value>(),
                state: self.state,
            }
        });
        let entries = entries.collect();
        let bounded = (0..graph.nodes.len()).filter_map(|node| Some((node, bound(node)?)));
        let bounds = bounded.map(|(node, bound)| ((node, bound.arm), bound.at_most)).collect();
        let labels = self.net.labels.iter().map(|labels| labels.iter().map(|label| leak(label)).collect()).collect();
        let (start, panics) = (exits(START), self.panics.get("START").copied());
        let end_panics = self.panics.get("END").copied();
        let starts_by = self.starts_by;
        Arc::new(Definition {
            name: self.name,
            is_unit: false,
            doc: "",
            plan: self.net.plan,
            labels,
            bounds,
            entries,
            start: Box::new(move |input| {
                panic_if(panics, Panics::Start);
                let input = input.get::<Value>().expect("JSON");
                let choose = starts_by.filter(|_| !start.labels.is_empty());
                let label = choose.map(|choose| start.labels[choose(input, start.labels.len())].as_str());
                start.emit(label, input, Moment::START)
            }),
            end: Box::new(move |arrived| {
                panic_if(end_panics, Panics::End);
                BoxValue::new(value(arrived))
            }),
            door: Door {
                read_plain_input: |json| Ok(BoxValue::new(json.clone())),
                read_input: |json| Ok(BoxValue::new(Value::__from_json(json)?)),
                write_input: |input, max| input.get::<Value>().expect("JSON").__to_json(max),
                write_output: |output, max| output.get::<Value>().expect("JSON").__to_json(max),
                input_schema: || schemars::schema_for!(Value),
                output_schema: || schemars::schema_for!(Value),
                input: reread::<Value>(),
            },
            graph,
            compiled: Compiled::default(),
            limits: self.limits,
            given: Vec::new(),
        })
    }

    /// Runs it in memory, in this task.
    pub(crate) async fn run(self, input: Value) -> Result<Value, Failure> {
        self.run_with(Env::default(), input).await
    }

    pub(crate) async fn run_with(self, env: Env, input: Value) -> Result<Value, Failure> {
        let job = Job {
            definition: self.build(),
            shared: Arc::new(Shared::in_memory(Arc::new(env))),
            cancel: None,
            state: Map::new(),
            part: Part::Whole,
            limit: None,
            history: Vec::new(),
            snapshot: None,
        };
        match job.run(BoxValue::new(input)).await {
            Ending::Completed(mut output) => Ok(output.take().expect("JSON")),
            Ending::Failed(failure) => Err(failure),
            Ending::Cancelled | Ending::StartsOver(_) | Ending::StartedOver(_) | Ending::Halted(_) => {
                panic!("nobody could stop it")
            }
        }
    }
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn names_of(graph: &Graph<String>) -> Graph<&'static str> {
    let nodes = graph.nodes.iter().map(|node| graphweft_graph::NodeData {
        id: leak(&node.id),
        choices: node.choices.clone(),
        ways: node.ways.clone(),
    });
    Graph { nodes: nodes.collect(), edges: graph.edges.clone() }
}
