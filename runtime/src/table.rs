//! The table that a workflow compiles to: plain data about the graph, and for each node a typed body behind a trait
//! object. The macro fills it through `typed`; the core reads its shape, the driver calls its bodies.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use graphweft_graph::state_proof::{StateFacts, StateKeyFact, Zero};
use graphweft_graph::{Graph, NodeIx, Plan};
use schemars::Schema;
use tokio_util::sync::ReusableBoxFuture;

use crate::around::Attempted;
pub use crate::attempt::Holder;
use crate::attempt::{At, Bodies};
pub use crate::box_value::BoxValue;
use crate::context::Context;
use crate::core::{Place, Program, TimeLimit, after};
use crate::fault::{Cause, Failure, Fault};
pub use crate::field::Unreadable;
use crate::fingerprint::{Fingerprint, position_of_label};
use crate::node_info::NodeInfo;
use crate::options::{NodeOptions, Retryable};
use crate::resource::ResourceNeed;
use crate::shared::Env;
use crate::value::{self, Against, Loss, MaxSize, Unrecordable};

/// The fault of a node without a body, in a table that was written by hand.
pub(crate) fn no_body(place: impl fmt::Display) -> Fault {
    Fault::Context { message: format!("`{place}` has no body; the table of its workflow was not made by `workflow!`") }
}

/// How the target of an edge takes the output of its source: takes the value out of the box, and puts `In::from(value)`
/// into a slot that is an `Option<In>`.
pub type Hand = fn(value: &mut BoxValue, slot: &mut dyn Any);

/// A live token: a value, and the function by which the target takes it. The one of a token at a join is never called.
pub struct Token {
    /// The value that the source emitted on this edge.
    pub value: BoxValue,
    /// How the target takes it.
    pub hand: Hand,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// One token for each edge of a choice.
pub type Tokens = crate::core::Tokens<Token>;
/// The tokens that a finished node emits on its edges.
pub type Emitted = crate::core::Emitted<Token>;
/// The tokens that fire a node.
pub type Arrived = crate::core::Arrived<Token>;

/// How an attempt ended.
#[derive(Debug)]
pub enum Finished {
    /// With an output.
    Emitted {
        /// The tokens for its edges.
        emitted: Emitted,
        /// The output as JSON, if the run records values (`Context::records`).
        output: Option<Box<serde_json::Value>>,
        /// The reference to the attempt, for the next node: counting references takes longer than most other work for a
        /// node.
        holder: Option<Holder>,
    },
    /// A collecting node waits for another arrival.
    Waiting,
    /// With the node's own error.
    Failed(Box<Error>),
    /// With a fault, which is not the node's own error.
    Fault(Box<Fault>),
}

/// The future of an attempt, in a box that the next attempt can reuse.
pub type AttemptBody<'n, T = Finished> = ReusableBoxFuture<'n, T>;

/// A node's own error. Boxed in [`Finished`], which is moved very often and has to be small.
#[derive(Debug)]
pub struct Error {
    /// The error and what caused it.
    pub cause: Cause,
    /// Whether the node's `retry(when = .., after = ..)` allows another attempt after this error, and when.
    pub retryable: Retryable,
    /// The tokens for the arm `err` when no attempt is left, if `err` is routed.
    pub routed: Option<Routed>,
    /// The recorded form of the error, if it takes no arm and has one.
    pub json: Option<Box<serde_json::Value>>,
}

impl Attempted for Finished {
    fn error(&self) -> Option<String> {
        match self {
            Finished::Emitted { .. } | Finished::Waiting => None,
            Finished::Fault(fault) if fault.is_start_over() => None,
            Finished::Failed(error) => Some(error.cause.to_string()),
            Finished::Fault(fault) => Some(fault.to_string()),
        }
    }
}

impl From<Fault> for Finished {
    fn from(fault: Fault) -> Self {
        Finished::Fault(Box::new(fault))
    }
}

/// An error that the arm `err` takes.
#[derive(Debug)]
pub struct Routed {
    /// The tokens for its edges.
    pub emitted: Emitted,
    /// The error as JSON, if the run records values (`Context::records`).
    pub error: Option<serde_json::Value>,
}

/// A node's body with its types erased.
pub trait AnyNode: Any + Send + Sync {
    /// The type that implements `Node`, as a program writes it.
    fn type_name(&self) -> &'static str;

    /// The nodes that it may call.
    fn uses(&self) -> Vec<NodeInfo> {
        Vec::new()
    }

    /// Converts the arrived tokens to the node's input (boxed `N::Input`). Runs user code: `From` of an edge.
    fn prepare(&self, arrived: Arrived) -> Result<BoxValue, Fault>;

    /// A copy of an input, for another attempt.
    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault>;

    /// An input as JSON, in the form of a record.
    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Fault>;

    /// An input from its record, for an attempt whose run another engine drives.
    fn read_input(&self, input: &serde_json::Value) -> Result<BoxValue, Unreadable>;

    /// Runs one attempt on a prepared input. The body finds its node by its context. The driver catches panics and
    /// enforces time limits.
    fn run(&self, input: BoxValue, context: Context) -> AttemptBody<'static>;

    /// `prepare` and `run` in one, without the box between them. The body converts the arrived tokens when it is
    /// polled.
    fn run_once(&self, arrived: Arrived, context: Context) -> AttemptBody<'static>;

    /// The same for the parts of one token, which is converted here. `spare` is a body that is over: if the new one has
    /// the same size, it takes its memory.
    fn go_on(
        &self,
        value: BoxValue,
        hand: Hand,
        context: Context,
        spare: Option<AttemptBody<'static>>,
    ) -> AttemptBody<'static>;

    /// The whole attempt of a node that [never waits](Entry::never_waits), without a body. The token that fires it becomes
    /// the one that it emits, in the same memory if the type allows it. In a run that is recorded, `output` becomes what
    /// is to be recorded. Returns the choice; or how the attempt ends if it does not emit one token.
    fn run_at_once(
        &self,
        token: &mut Token,
        output: &mut Option<Box<serde_json::Value>>,
        context: &Context,
    ) -> Result<usize, Finished>;

    /// The tokens for the arm `err` after a fault, if `err` is routed and its type can be made of a fault. `input`: that
    /// of the attempt, if the node [keeps](Self::keeps_input) it. With `records`, also the JSON form of the error; an
    /// error without one is not routed.
    fn route_fault(
        &self,
        fault: &Fault,
        input: Option<BoxValue>,
        records: Option<MaxSize>,
        moment: Moment<'_>,
    ) -> Option<Routed>;

    /// Whether `err` is routed, and its type is made of a fault and the input of the attempt.
    fn keeps_input(&self) -> bool {
        false
    }

    /// The tokens for a recorded output, with the choice that was taken then. Runs no user code except serde,
    /// `Route::split` and, for a fan-out, `Clone`: the conversions of edges wait in their tokens.
    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;

    /// The tokens for the arm `err` from a recorded error.
    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;
}

/// The moment at which a node routes its output. It decides whether a bounded arm is spent: a run decides that once, by
/// the turn of the loop, and a recorded decision stays, even if the bound has changed since.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    when: When<'a>,
    /// A box for the value that is emitted, if its type fits.
    spare: Option<&'a Spare>,
}

/// The box of a value that was taken out of it.
pub(crate) type Spare = Cell<Option<BoxValue>>;

#[derive(Clone, Copy)]
enum When<'a> {
    Begins,
    Ends(&'a Context),
    IsAt(&'a Place),
    Was(usize),
}

impl<'a> Moment<'a> {
    /// START of a graph, which is in no loop.
    pub const START: Self = Moment::when(When::Begins);

    /// An attempt has ended.
    pub(crate) fn of(context: &'a Context) -> Self {
        Moment::when(When::Ends(context))
    }

    /// The driver routes the output of a node: of one with a graph inside, or one whose attempt it has ended.
    pub(crate) fn at(place: &'a Place) -> Self {
        Moment::when(When::IsAt(place))
    }

    /// The node was routed before, by this recorded choice.
    pub(crate) fn recorded(choice: usize) -> Self {
        Moment::when(When::Was(choice))
    }

    const fn when(when: When<'a>) -> Self {
        Moment { when, spare: None }
    }

    /// The same, with a box for what is emitted.
    #[inline]
    pub(crate) fn with_box(self, spare: &'a Spare) -> Self {
        Moment { spare: Some(spare), ..self }
    }

    /// This value in a box, for an edge: in the spare one if that fits.
    #[inline]
    pub(crate) fn boxed<T: Any + Send>(self, value: T) -> BoxValue {
        match self.spare.and_then(Cell::take) {
            Some(mut spare) => {
                spare.put(value);
                spare
            }
            None => BoxValue::new(value),
        }
    }

    /// Whether the choice `spent` is taken in place of an arm that may be taken `at_most` times, in the loop at this
    /// nesting level.
    pub fn is_spent(self, level: usize, at_most: u32, spent: usize) -> bool {
        let is_over = |place: &Place| place.turns.at(level).is_some_and(|turn| turn > u64::from(at_most));
        match self.when {
            When::Begins => false,
            When::Ends(context) => match context.0.place() {
                At::Node(place) => is_over(&place),
                At::Child(_) => false,
            },
            When::IsAt(place) => is_over(place),
            When::Was(choice) => choice == spent,
        }
    }
}

/// The body of a node that has a graph inside: a nested workflow, or `[..]`.
pub trait AnyScope: Send + Sync {
    /// The graph inside.
    fn definition(&self) -> &Arc<Definition>;

    /// Whether the graph runs once, or for each item.
    fn kind(&self) -> ScopeKind;

    /// Converts the arrived tokens to boxed inputs of the graph inside: one, or one for each item.
    fn enter(&self, arrived: Arrived) -> Result<Vec<BoxValue>, Fault>;

    /// A copy of one such input, for another attempt.
    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault>;

    /// One such input as JSON, in the form of a record.
    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Fault>;

    /// The emission of the node, from the boxed outputs of the graph inside, in the order of the inputs. With
    /// `records`, also the JSON form of the output.
    fn leave(&self, outputs: Vec<BoxValue>, records: Option<MaxSize>, moment: Moment<'_>) -> Result<Finished, Fault>;

    /// The tokens for the arm `err` when the graph inside has failed, if `err` is routed. With `records`, also the JSON
    /// form of the failure.
    fn route_failure(&self, failure: &Failure, records: Option<MaxSize>, moment: Moment<'_>) -> Option<Routed>;

    /// The tokens for a recorded output, as [`AnyNode::restore`].
    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;

    /// The tokens for the arm `err` from a recorded failure.
    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;
}

pub use crate::core::ScopeKind;

/// A node of a definition.
pub struct Entry {
    /// Its name in paths, unique in its definition.
    pub name: String,
    /// Its former names, which older records may contain.
    pub renamed_from: &'static [&'static str],
    /// Its doc comment.
    pub doc: &'static str,
    /// The names of its inputs.
    pub parameters: &'static [&'static str],
    /// The type that implements `Node`, by which a mock finds it.
    pub type_id: TypeId,
    /// Retries, time limit and the like.
    pub options: NodeOptions,
    /// Whether it is the target of `a | b => node`.
    pub collects: bool,
    /// The pool that executes its attempts; `None` is the engine of the run.
    pub pool: Option<&'static str>,
    /// Whether each attempt at it is done by its first poll, if it is not replaced: a mock may wait.
    pub never_waits: bool,
    /// Its body. A nested workflow has one too, for a mock.
    pub node: Option<Arc<dyn AnyNode>>,
    /// The graph inside, for a nested workflow and for `[..]`.
    pub scope: Option<Arc<dyn AnyScope>>,
    /// The resources that must be registered before the run starts.
    pub resources: Vec<ResourceNeed>,
    /// Its declarations of state keys; for a graph inside, its nodes declare them.
    pub state: StateFacts,
    /// The JSON Schema of its input.
    pub input_schema: fn() -> Schema,
    /// The JSON Schema of its output.
    pub output_schema: fn() -> Schema,
    /// How its recorded output is read.
    pub output: Reread,
}

impl Entry {
    /// The nodes that it may call.
    pub(crate) fn uses(&self) -> Vec<NodeInfo> {
        self.node.as_ref().map_or_else(Vec::new, |node| node.uses())
    }

    fn info(&self) -> NodeInfo {
        let (node, inside) = (self.node.clone(), self.scope.as_ref().map(|scope| Arc::clone(scope.definition())));
        NodeInfo {
            name: self.name.clone(),
            doc: self.doc,
            parameters: self.parameters,
            input: self.input_schema,
            output: self.output_schema,
            pool: self.pool,
            type_id: self.type_id,
            resources: self.resources.clone(),
            is_workflow: inside.is_some(),
            called: || None,
            uses: Arc::new(move || match (&inside, &node) {
                (Some(inside), _) => inside.infos(),
                (None, Some(node)) => node.uses(),
                (None, None) => Vec::new(),
            }),
        }
    }
}

impl Definition {
    /// Its nodes.
    pub(crate) fn infos(&self) -> Vec<NodeInfo> {
        self.entries.iter().map(Entry::info).collect()
    }
}

/// How a recorded value is read by the current type, which may have changed since it was recorded.
#[derive(Clone, Copy)]
pub struct Reread {
    /// The name of the type.
    pub type_name: fn() -> &'static str,
    /// Reads a value, and writes it again.
    pub rewrite: fn(&serde_json::Value) -> Result<serde_json::Value, Unreadable>,
}

/// Why a recorded value is not a value of its type any more.
#[derive(Debug)]
pub(crate) enum Misread {
    /// The type cannot read it.
    Unreadable(Unreadable),
    /// The type would lose some of it.
    Loses(Loss),
}

impl Reread {
    /// Checks a recorded value against the type.
    pub(crate) fn check(&self, recorded: &serde_json::Value, against: Against) -> Result<(), Misread> {
        let now = (self.rewrite)(recorded).map_err(Misread::Unreadable)?;
        let lost = value::loss(recorded, &now, &self.rewrite, against);
        lost.map_or(Ok(()), |loss| Err(Misread::Loses(loss)))
    }
}

impl From<Misread> for Unreadable {
    fn from(misread: Misread) -> Self {
        match misread {
            Misread::Unreadable(error) => error,
            Misread::Loses(loss) => Unreadable { message: loss.what(), field: loss.field },
        }
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misread::Unreadable(error) => write!(f, "{error}"),
            Misread::Loses(loss) => write!(f, "{loss}"),
        }
    }
}

/// A compiled workflow: the graph, the plan that was derived from it, and the bodies of its nodes.
pub struct Definition {
    /// The name of the workflow; the root of every path.
    pub name: String,
    /// Its doc comment.
    pub doc: &'static str,
    /// The shape. Ids are the names that were written.
    pub graph: Graph<&'static str>,
    /// Loops and joins.
    pub plan: Plan,
    /// For each node and choice, how its labels were written (`"ok"`, `"low | medium"`); empty for an unrouted node.
    pub labels: Vec<Vec<&'static str>>,
    /// By node and choice, how often an arm may be taken before `spent` is.
    pub bounds: BTreeMap<(usize, usize), u32>,
    /// The nodes behind START and END: entry `i` is node `i + 2` of the graph.
    pub entries: Vec<Entry>,
    /// Routes a boxed input from START.
    pub start: Box<dyn Fn(BoxValue) -> Emitted + Send + Sync>,
    /// Makes the boxed output from the tokens that arrive at END.
    pub end: Box<dyn Fn(Arrived) -> BoxValue + Send + Sync>,
    /// Whether the workflow has no output: then END is reached by an implied edge from START.
    pub is_unit: bool,
    /// Input and output as JSON.
    pub door: Door,
    /// The limits of a run.
    pub limits: Limits,
    /// The keys of the state that a run is given at its start.
    pub given: Vec<GivenKey>,
    /// The compiled forms, which are made at the first run: `Compiled::default()`.
    pub compiled: Compiled,
}

/// The limits of a run of a workflow, from its attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How many of its nodes may be under way at once.
    pub max_parallel: Option<u32>,
}

impl Limits {
    /// The time limit of a run that begins at this time.
    pub(crate) fn time_limit(&self, begins: SystemTime) -> Option<TimeLimit> {
        self.timeout.map(|limit| TimeLimit { after: limit, until: after(begins, limit) })
    }
}

/// A key of the state that a run is given at its start.
#[derive(Clone, Copy)]
pub struct GivenKey {
    /// The key.
    pub fact: StateKeyFact,
    /// Its value from JSON that comes from outside, as it is recorded.
    pub read_plain: fn(&serde_json::Value, MaxSize) -> Result<serde_json::Value, Unreadable>,
}

/// The untyped way in and out of a workflow.
pub struct Door {
    /// The input from JSON that comes from outside; the error names the field.
    pub read_plain_input: fn(&serde_json::Value) -> Result<BoxValue, Unreadable>,
    /// The input from its record; the error names the field.
    pub read_input: fn(&serde_json::Value) -> Result<BoxValue, Unreadable>,
    /// A boxed input as JSON.
    pub write_input: fn(&BoxValue, MaxSize) -> Result<serde_json::Value, Unrecordable>,
    /// A boxed output as JSON.
    pub write_output: fn(&BoxValue, MaxSize) -> Result<serde_json::Value, Unrecordable>,
    /// The JSON Schema of the input.
    pub input_schema: fn() -> Schema,
    /// The JSON Schema of the output.
    pub output_schema: fn() -> Schema,
    /// How the recorded input is read.
    pub input: Reread,
}

impl Definition {
    /// The entry of a node of the graph; `None` for START and END.
    pub fn entry(&self, node: NodeIx) -> Option<&Entry> {
        node.checked_sub(2).and_then(|at| self.entries.get(at))
    }

    /// The entry of a node of the graph, with its body; `None` if it has none.
    #[inline]
    pub(crate) fn with_body(&self, node: u32) -> Option<(&Entry, &Arc<dyn AnyNode>)> {
        let entry = self.entry(node as usize)?;
        Some((entry, entry.node.as_ref()?))
    }
}

impl Bodies for Definition {
    fn body(&self, node: u32) -> Option<&dyn Any> {
        let (_, node) = self.with_body(node)?;
        let node: &dyn AnyNode = &**node;
        Some(node)
    }

    fn declares(&self, node: u32, key: &str) -> bool {
        self.entry(node as usize).is_some_and(|entry| {
            entry.state.may_be_written(key) || entry.scope.as_ref().is_some_and(|scope| scope.definition().writes(key))
        })
    }

    fn zero(&self, key: &str) -> Option<Zero> {
        let around = || self.compiled.around.get().and_then(Weak::upgrade);
        self.key_fact(key, |fact| fact.has_zero.then_some(fact.zero))
            .or_else(|| around().and_then(|around| around.zero(key)))
    }

    fn time_limit(&self, node: u32) -> Option<Duration> {
        self.entry(node as usize)?.options.timeout
    }
}

impl Definition {
    /// Whether a node of it, or of a graph inside, writes a key of the state.
    pub(crate) fn writes(&self, key: &str) -> bool {
        self.written().iter().any(|fact| fact.name == key)
    }

    /// The keys that its nodes, and those of graphs inside, write or may write.
    pub(crate) fn written(&self) -> Vec<StateKeyFact> {
        let mut written = Vec::new();
        self.visit(&mut Vec::new(), &mut |entry| written.extend(entry.state.written().copied()));
        written
    }

    /// A fact about a key, from the nodes that declare it.
    fn key_fact<T>(&self, key: &str, of: impl Fn(&StateKeyFact) -> Option<T>) -> Option<T> {
        let mut found = self.given.iter().filter(|given| given.fact.name == key).find_map(|given| of(&given.fact));
        self.visit(&mut Vec::new(), &mut |entry| {
            let facts = entry.state.written().chain(entry.state.reads).filter(|fact| fact.name == key);
            found = found.take().or_else(|| facts.into_iter().find_map(&of));
        });
        found
    }

    /// Every entry of it and of the graphs inside, also where a workflow is inside itself.
    fn visit(&self, seen: &mut Vec<*const Definition>, each: &mut impl FnMut(&Entry)) {
        if seen.contains(&std::ptr::from_ref(self)) {
            return;
        }
        seen.push(self);
        for entry in &self.entries {
            each(entry);
            if let Some(scope) = &entry.scope {
                scope.definition().visit(seen, each);
            }
        }
    }

    /// The keys that a run has to be given at its start and is not.
    pub(crate) fn missing_keys(&self, state: &serde_json::Map<String, serde_json::Value>) -> Vec<&'static str> {
        let facts = self.given.iter().map(|given| given.fact);
        facts.filter(|fact| !fact.has_zero && !state.contains_key(fact.name)).map(|fact| fact.name).collect()
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The compiled forms of a [`Definition`].
#[derive(Default)]
pub struct Compiled {
    pub(crate) executable: OnceLock<Arc<Executable>>,
    /// The same for engines that replace some of its nodes.
    pub(crate) replaced: Mutex<Vec<(Weak<Env>, Arc<Executable>)>>,
    pub(crate) fingerprint: OnceLock<Arc<Fingerprint>>,
    /// For the graph of a `[..]`: the graph around it, whose nodes declare keys of the state too.
    pub(crate) around: OnceLock<Weak<Definition>>,
}

/// A workflow with all graphs that it can enter.
pub(crate) struct Executable {
    pub(crate) program: Arc<Program>,
    /// The definition of each graph of the program. The first is the workflow that owns this, and is left out: it would
    /// own itself.
    pub(crate) inside: Vec<Option<Arc<Definition>>>,
    /// The resources that must be registered before a run starts, each with the node that needs it.
    pub(crate) needs: Vec<NeededBy>,
    /// What a snapshot of a run must fit; made by the first one.
    pub(crate) print: OnceLock<u64>,
}

/// A resource that a node needs.
#[derive(Clone)]
pub(crate) struct NeededBy {
    pub(crate) need: ResourceNeed,
    /// The node, behind the name of its graph.
    pub(crate) node: String,
    /// The pool that executes its attempts, and needs the resource in the place of the engine of the run.
    pub(crate) pool: Option<&'static str>,
}

impl Executable {
    /// The graph at this place in the program.
    pub(crate) fn definition<'d>(&'d self, root: &'d Arc<Definition>, layout: usize) -> &'d Arc<Definition> {
        self.inside.get(layout).and_then(Option::as_ref).unwrap_or(root)
    }

    pub(crate) fn entry<'d>(&'d self, root: &'d Arc<Definition>, place: &Place) -> Option<&'d Entry> {
        self.definition(root, place.scope.layout.index).entry(place.node as usize)
    }

    pub(crate) fn scope<'d>(&'d self, root: &'d Arc<Definition>, place: &Place) -> Option<&'d Arc<dyn AnyScope>> {
        self.entry(root, place)?.scope.as_ref()
    }

    /// How the labels at START of the graph inside a node were written; empty if that is not routed.
    pub(crate) fn labels_inside<'d>(&'d self, root: &'d Arc<Definition>, place: &Place) -> &'d [&'static str] {
        let inside = self.scope(root, place).map(|scope| scope.definition());
        inside.and_then(|inside| inside.labels.first()).map_or(&[], Vec::as_slice)
    }

    /// The choice with this recorded label; `None` is an unrouted node's.
    pub(crate) fn choice(&self, root: &Arc<Definition>, place: &Place, label: Option<&str>) -> Option<usize> {
        let labels = self.definition(root, place.scope.layout.index).labels.get(place.node as usize)?;
        match label {
            None => labels.is_empty().then_some(0),
            Some(label) => position_of_label(labels, label),
        }
    }

    /// How the label of a choice was written; `None` for an unrouted node.
    pub(crate) fn label(&self, root: &Arc<Definition>, place: &Place, choice: usize) -> Option<&'static str> {
        let labels = &self.definition(root, place.scope.layout.index).labels;
        labels.get(place.node as usize)?.get(choice).copied()
    }
}
