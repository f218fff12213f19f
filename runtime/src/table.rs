//! The table that a workflow compiles to: plain data about the graph, and for each node a typed body behind a trait
//! object. The macro fills it through `typed`; the core reads its shape, the driver calls its bodies.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use graphweft_graph::state_proof::{StateFacts, StateKeyFact, Zero};
use graphweft_graph::{Graph, NodeIx, Plan};
use schemars::Schema;
use tokio_util::sync::ReusableBoxFuture;

pub use crate::attempt::Holder;
use crate::attempt::{At, Bodies};
use crate::clock::Clock;
use crate::context::Context;
use crate::core::{Place, Program, TimeLimit, after};
use crate::fault::{Cause, Failure, Fault};
pub use crate::field::Unreadable;
use crate::fingerprint::Fingerprint;
use crate::options::NodeOptions;
use crate::resource::ResourceNeed;
use crate::shared::Env;
use crate::value::{self, Against, Loss, MaxSize, Unrecordable};

/// A node of a table that was written by hand, without a body.
pub(crate) fn no_body(place: impl fmt::Display) -> Fault {
    Fault::Context { message: format!("`{place}` has no body; the table of its workflow was not made by `workflow!`") }
}

/// A value whose type only the two ends of its edge know.
pub type BoxValue = Box<dyn Any + Send>;

/// How the target of an edge takes what its source gives: puts `In::from(*value)` into a slot that is an `Option<In>`.
pub type Hand = fn(value: BoxValue, slot: &mut dyn Any);

/// A live token: a value, and how the target takes it. A place of a join has a hand that is never called.
pub struct Token {
    /// What the source gave on this edge.
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
/// What a finished node puts on its edges.
pub type Emitted = crate::core::Emitted<Token>;
/// What fires a node.
pub type Arrived = crate::core::Arrived<Token>;

/// How an attempt ended.
#[derive(Debug)]
pub enum Finished {
    /// With an output.
    Emitted {
        /// What goes on.
        emitted: Emitted,
        /// The output as JSON, where the run asked for it (`Context::records`).
        output: Option<Box<serde_json::Value>>,
        /// What the attempt was held by, for the next node: to count references takes longer than most of what is done for
        /// one.
        holder: Option<Holder>,
    },
    /// A collecting node wants another arrival.
    Waiting,
    /// With the node's own error.
    Failed(Box<Error>),
    /// By something that is not the node's own error.
    Fault(Box<Fault>),
}

/// What runs in an attempt, in a box that the next can have.
pub type AttemptBody<'n, T = Finished> = ReusableBoxFuture<'n, T>;

/// A node's own error. Kept apart, so that a [`Finished`], which is moved more often than anything else, is small.
#[derive(Debug)]
pub struct Error {
    /// The error and what caused it.
    pub cause: Cause,
    /// Whether the node's `retry(when = ..)` allows another attempt after this error.
    pub retryable: bool,
    /// What goes on by the arm `err` when no attempt is left, where `err` is routed.
    pub routed: Option<Routed>,
}

impl From<Fault> for Finished {
    fn from(fault: Fault) -> Self {
        Finished::Fault(Box::new(fault))
    }
}

/// An error on its way along the arm `err`.
#[derive(Debug)]
pub struct Routed {
    /// What goes on.
    pub emitted: Emitted,
    /// The error as JSON, where the run asked for it (`Context::records`).
    pub error: Option<serde_json::Value>,
}

/// A node's body with its types erased.
pub trait AnyNode: Any + Send + Sync {
    /// Converts what arrived to the node's input (boxed `N::Input`). Runs user code: `From` of an edge.
    fn prepare(&self, arrived: Arrived) -> Result<BoxValue, Fault>;

    /// A copy of an input, for another attempt.
    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault>;

    /// Runs one attempt on a prepared input. The body finds its node by its context. It catches no panic and knows no time
    /// limit: that is the driver's.
    fn run(&self, input: BoxValue, context: Context) -> AttemptBody<'static>;

    /// `prepare` and `run` in one, without the box between them. What arrived is converted by the body, where that is polled.
    fn run_once(&self, arrived: Arrived, context: Context) -> AttemptBody<'static>;

    /// The same for the parts of one token, which is converted here. `spare` is a body that is over: where the new one is as
    /// large, it takes its memory.
    fn go_on(
        &self,
        value: BoxValue,
        hand: Hand,
        context: Context,
        spare: Option<AttemptBody<'static>>,
    ) -> AttemptBody<'static>;

    /// What goes on by the arm `err` after a fault, where `err` is routed and its type is `From<Fault>`. The JSON form of
    /// the error comes with it where `records`; one that has none is not routed.
    fn route_fault(&self, fault: &Fault, records: Option<MaxSize>, moment: Moment<'_>) -> Option<Routed>;

    /// What goes on from an output that is recorded, with the choice that was taken then. Runs no user code but serde, `Route::split` and, for a fan-out,
    /// `Clone`: the conversions of edges wait in their tokens.
    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;

    /// What goes on by the arm `err` from an error that is on record.
    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;
}

/// When a node goes on. It says whether a bounded arm is spent: a run decides that once, by the turn of the loop, and what
/// is recorded stands, even if the bound is another by now.
#[derive(Clone, Copy)]
pub struct Moment<'a>(When<'a>);

#[derive(Clone, Copy)]
enum When<'a> {
    Begins,
    Ends(&'a Context),
    IsAt(&'a Place),
    Was(usize),
}

impl<'a> Moment<'a> {
    /// START of a graph, which is in no loop.
    pub const START: Self = Moment(When::Begins);

    /// An attempt has ended.
    pub(crate) fn of(context: &'a Context) -> Self {
        Moment(When::Ends(context))
    }

    /// The driver has a node go on: one with a graph inside, or one whose attempt it has ended.
    pub(crate) fn at(place: &'a Place) -> Self {
        Moment(When::IsAt(place))
    }

    /// A node went on before, by this choice.
    pub(crate) fn recorded(choice: usize) -> Self {
        Moment(When::Was(choice))
    }

    /// Whether the choice `spent` is taken in the place of an arm that may be taken `at_most` so often, in the loop with so
    /// many loops around it.
    pub fn is_spent(self, level: usize, at_most: u32, spent: usize) -> bool {
        let is_over = |place: &Place| place.turns.at(level).is_some_and(|turn| turn > u64::from(at_most));
        match self.0 {
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

    /// What arrives, as the boxed inputs of the graph inside: one, or one for each item.
    fn enter(&self, arrived: Arrived) -> Result<Vec<BoxValue>, Fault>;

    /// A copy of one such input, for another attempt.
    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault>;

    /// What the node emits, from the boxed outputs of the graph inside, in the order of the inputs. The JSON form of the
    /// output comes with it where `records`.
    fn leave(&self, outputs: Vec<BoxValue>, records: Option<MaxSize>, moment: Moment<'_>) -> Result<Finished, Fault>;

    /// What goes on by the arm `err` when the graph inside has failed, where `err` is routed. The JSON form of the failure
    /// comes with it where `records`.
    fn route_failure(&self, failure: &Failure, records: Option<MaxSize>, moment: Moment<'_>) -> Option<Routed>;

    /// What goes on from an output that is on record, as [`AnyNode::restore`].
    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;

    /// What goes on by the arm `err` from a failure that is on record.
    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable>;
}

pub use crate::core::ScopeKind;

/// A node of a definition.
pub struct Entry {
    /// Its name in paths, unique in its definition.
    pub name: String,
    /// The names that it had before, by which records may know it.
    pub renamed_from: &'static [&'static str],
    /// Its doc comment.
    pub doc: &'static str,
    /// The type that implements `Node`; what `replace` finds it by.
    pub type_id: TypeId,
    /// Retries, time limit and the like.
    pub options: NodeOptions,
    /// Whether it is the target of `a | b => node`.
    pub collects: bool,
    /// Its body. A nested workflow has one too: that is what `replace` puts a closure into.
    pub node: Option<Arc<dyn AnyNode>>,
    /// The graph inside, for a nested workflow and for `[..]`.
    pub scope: Option<Arc<dyn AnyScope>>,
    /// What must be there before the run starts.
    pub resources: Vec<ResourceNeed>,
    /// What it says of the state; of a graph inside, its nodes say it.
    pub state: StateFacts,
    /// The JSON Schema of its input.
    pub input_schema: fn() -> Schema,
    /// The JSON Schema of its output.
    pub output_schema: fn() -> Schema,
    /// How its recorded output is read.
    pub output: Reread,
}

/// How a recorded value is read by the type of today, which may have changed since it was recorded.
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
    /// Holds a recorded value against the type.
    pub(crate) fn check(&self, recorded: &serde_json::Value, against: Against) -> Result<(), Misread> {
        let now = (self.rewrite)(recorded).map_err(Misread::Unreadable)?;
        let lost = value::loss(recorded, &now, &|json| (self.rewrite)(json).ok(), against);
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

/// A compiled workflow: the graph, what was proven of it, and the bodies of its nodes.
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
    /// Makes the boxed output of what arrives at END.
    pub end: Box<dyn Fn(Arrived) -> BoxValue + Send + Sync>,
    /// Whether the workflow has no output: then END is reached by an implied edge from START.
    pub is_unit: bool,
    /// Input and output as JSON.
    pub door: Door,
    /// The limits of a run.
    pub limits: Limits,
    /// The keys of the state that a run is given at its start.
    pub given: Vec<GivenKey>,
    /// What the engine makes of it at its first run: `Compiled::default()`.
    pub compiled: Compiled,
}

/// The limits of a run of a workflow, as its attributes say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How many of its nodes may be under way at once.
    pub max_parallel: Option<u32>,
}

impl Limits {
    /// Until when a run that starts now may take.
    pub(crate) fn time_limit(&self, clock: &Clock) -> Option<TimeLimit> {
        self.timeout.map(|limit| TimeLimit { after: limit, until: after(clock.now(), limit) })
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
    pub read_plain_input: fn(&serde_json::Value) -> Result<BoxValue, serde_path_to_error::Error<serde_json::Error>>,
    /// The input from its record; the error names the field.
    pub read_input: fn(&serde_json::Value) -> Result<BoxValue, serde_path_to_error::Error<serde_json::Error>>,
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
}

impl Bodies for Definition {
    fn body(&self, node: u32) -> Option<&dyn Any> {
        let node: &dyn AnyNode = &**self.entry(node as usize)?.node.as_ref()?;
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

    /// What is known of a key by the nodes that mention it.
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

/// Room for what the engine makes of a [`Definition`].
#[derive(Default)]
pub struct Compiled {
    pub(crate) executable: OnceLock<Arc<Executable>>,
    /// The same for engines that replace some of its nodes.
    pub(crate) replaced: Mutex<Vec<(Weak<Env>, Arc<Executable>)>>,
    pub(crate) fingerprint: OnceLock<Arc<Fingerprint>>,
    /// Of the graph of a `[..]`: the graph that it is in, whose nodes know the keys of the state too.
    pub(crate) around: OnceLock<Weak<Definition>>,
}

/// A workflow with all that it can enter.
pub(crate) struct Executable {
    pub(crate) program: Arc<Program>,
    /// The definition of each graph of the program. The first is the workflow that owns this, and is left out: it would
    /// own itself.
    pub(crate) inside: Vec<Option<Arc<Definition>>>,
    /// What has to be there before a run starts, and which node wants it.
    pub(crate) needs: Vec<(ResourceNeed, String)>,
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
