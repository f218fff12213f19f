//! Nodes, and the payloads that edges carry.

use std::any::{TypeId, type_name};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

use crate::context::Context;
use crate::fault::Failure;
use crate::field::{Unreadable, at_field};
use crate::node_facts::NodeFacts;
use crate::node_info::{AnyGraph, NodeInfo};
use crate::options::NodeOptions;
use crate::resource::ResourceNeed;
use crate::state::StateFacts;
use crate::table::{Definition, Reread};
use crate::value::{self, Against, MaxSize, Unrecordable};

/// A type that a node can take and return: its values can be recorded, read back, described by a JSON Schema, and sent
/// to another thread. Implemented for every type that is `Serialize + DeserializeOwned + JsonSchema + Send + 'static`,
/// and for no other; `#[graphweft::value]` derives what is needed.
///
/// # What is recorded
/// JSON, as serde_json writes it, from which the value is read back exactly: floats bit for bit. Values that JSON
/// cannot distinguish or cannot write are marked by an object with a key that begins with `$graphweft:`, so
/// `Some(None)`, `Some(())`, NaN and infinities, integers of 128 bits and maps with keys of any kind come back as they
/// were. A reader of the records without the type sees these marks. Inputs of
/// [`Engine::start_json`](crate::Engine::start_json), answers and the payloads of questions are plain JSON without
/// marks.
///
/// serde reads no `i128` and no `u128` below its attributes `tag`, `untagged` and `flatten`, however small they are; such a value is
/// not recorded.
///
/// Attributes of serde can lose parts of a value, in any format: a field with `skip`, one with
/// `skip_serializing_if` whose default is another value, variants of an `untagged` enum that look alike. Such a value
/// is one thing in the process that made it, and another after a restart:
///
/// ```
/// #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
/// #[serde(untagged)]
/// enum Price {
///     Whole(u32),
///     Cents(u32), // reads back as `Whole`
/// }
///
/// let json = serde_json::to_value(Price::Cents(5))?;
/// assert_eq!(serde_json::from_value::<Price>(json)?, Price::Whole(5));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// A value whose lists and maps nest more than 100 levels deep, or that is larger than
/// [`EngineBuilder::max_value_size`](crate::EngineBuilder::max_value_size), is not recorded: its node fails with an
/// error that names the part of the value. A refused value is dropped on a stack of its own, since most types drop
/// what they contain by recursion. Wherever else a program drops a value that is nested very deep, on an edge of a run
/// that is not recorded too, its type has to do that without recursion, as in every Rust program.
///
/// These are not supertraits, so that a type which lacks all of them is one compile error and not one for each.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel through a workflow",
    label = "put `#[value]` on `{Self}`: what travels is `Serialize + DeserializeOwned + JsonSchema + Send + 'static`",
    note = "graphweft's prelude brings `#[value]`; put a type of another crate into one of your own, or take from it what the \
            next node needs"
)]
pub trait Payload: Send + 'static {
    /// The value as JSON, in the form of a record, with marks for what JSON cannot say.
    ///
    /// # Errors
    /// If the type refuses to be written, or the value is nested more than 100 levels deep or larger than 64 MiB.
    ///
    /// ```
    /// use graphweft::Payload;
    ///
    /// let recorded = (7, f64::INFINITY).to_record()?;
    /// assert_eq!(<(i32, f64)>::from_record(&recorded)?, (7, f64::INFINITY));
    /// let error = <(i32, f64)>::from_record(&graphweft::json!([7, "much"])).unwrap_err();
    /// assert_eq!(error.field, "[1]");
    /// # Ok::<(), graphweft::PayloadError>(())
    /// ```
    fn to_record(&self) -> Result<serde_json::Value, PayloadError> {
        self.__to_json(MaxSize::DEFAULT)
            .map_err(|error| PayloadError { field: error.field(), message: error.message().to_owned() })
    }

    /// The value of a record.
    ///
    /// # Errors
    /// If it is no value of this type.
    fn from_record(json: &serde_json::Value) -> Result<Self, PayloadError>
    where
        Self: Sized,
    {
        Self::__from_json(json).map_err(|Unreadable { field, message }| PayloadError { field, message })
    }

    /// The value as plain JSON, as programs in other languages write and read it: without the marks of a record.
    ///
    /// # Errors
    /// As [`to_record`](Payload::to_record), and if plain JSON has no such value, so that it would not be read back: NaN and
    /// infinities, `Some(None)`, integers beyond 64 bits, maps whose keys are no texts.
    ///
    /// ```
    /// use graphweft::Payload;
    ///
    /// assert_eq!((7, 0.5).to_plain_json()?, graphweft::json!([7, 0.5]));
    /// let error = (7, f64::NAN).to_plain_json().unwrap_err();
    /// assert_eq!(error.to_string(), "at `[1]`: plain JSON has no such value: give it another type, such as a text");
    /// # Ok::<(), graphweft::PayloadError>(())
    /// ```
    fn to_plain_json(&self) -> Result<serde_json::Value, PayloadError> {
        let record = self.to_record()?;
        // One that cannot be written at all differs as a whole.
        let plain = self.__to_plain(MaxSize::DEFAULT).unwrap_or_default();
        let Some(field) = value::first_difference(&record, &plain) else { return Ok(plain) };
        let message = "plain JSON has no such value: give it another type, such as a text".to_owned();
        Err(PayloadError { field, message })
    }

    #[doc(hidden)]
    fn __to_json(&self, max: MaxSize) -> Result<serde_json::Value, Unrecordable>;

    #[doc(hidden)]
    fn __from_json(json: &serde_json::Value) -> Result<Self, Unreadable>
    where
        Self: Sized;

    /// Plain JSON, for people.
    #[doc(hidden)]
    fn __to_plain(&self, max: MaxSize) -> Result<serde_json::Value, Unrecordable>;

    /// From JSON that comes from outside, as serde_json reads it.
    #[doc(hidden)]
    fn __from_plain(json: &serde_json::Value) -> Result<Self, Unreadable>
    where
        Self: Sized;

    #[doc(hidden)]
    fn __schema() -> Schema
    where
        Self: Sized;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Payload for T {
    fn __to_json(&self, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        value::encode(self, max)
    }

    fn __from_json(json: &serde_json::Value) -> Result<Self, Unreadable> {
        value::decode(json)
    }

    fn __to_plain(&self, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        value::to_plain(self, max)
    }

    fn __from_plain(json: &serde_json::Value) -> Result<Self, Unreadable> {
        value::from_plain(json)
    }

    fn __schema() -> Schema {
        schemars::schema_for!(T)
    }
}

/// A value that cannot be recorded, or a record that is no value of its type.
///
/// ```
/// use graphweft::{Payload, json};
///
/// // A record that another version of the program has written:
/// let error = Vec::<(String, u32)>::from_record(&json!([["lamp", 40], ["rug", "much"]])).unwrap_err();
/// assert_eq!(error.field, "[1][1]");
/// assert_eq!(error.to_string(), r#"at `[1][1]`: invalid type: string "much", expected u32"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", at_field(.field))]
#[non_exhaustive]
pub struct PayloadError {
    /// Which part of it, as in `items[0].name`; `.` is the whole.
    pub field: String,
    /// The problem there.
    pub message: String,
}

/// How a recorded value of a type is read.
pub(crate) const fn reread<T: Payload>() -> Reread {
    Reread {
        type_name: type_name::<T>,
        rewrite: |json| T::__from_json(json)?.__to_json(MaxSize::NONE).map_err(not_written),
    }
}

/// Reads a value that another version of the program may have written, unless that loses some of its fields.
pub(crate) fn read_whole<T: Payload>(json: &serde_json::Value) -> Result<T, Unreadable> {
    let value = T::__from_json(json)?;
    reread::<T>().check(json, Against::Fields)?;
    Ok(value)
}

/// A value that was read from its record, and cannot be written.
pub(crate) fn not_written(error: Unrecordable) -> Unreadable {
    Unreadable { field: error.field(), message: error.message().to_owned() }
}

impl Failure {
    /// The error itself with which the node has failed, of its last attempt; also if the run has failed in another
    /// process, and for a node in a nested workflow, in `[..]` or in the graph of a child.
    ///
    /// The error of a node is recorded if its type is `Serialize`; a `&'static str` is read as a `String`. `None` if it is
    /// not an `E`: it is of another type, was too large to be recorded, or is a fault
    /// ([`cause.fault`](crate::Cause::fault)). Several nodes can have errors that look alike; [`path`](Self::path) is
    /// the node that has failed.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[value]
    /// enum PaymentError {
    ///     Declined { cents: u64 },
    ///     NoCard,
    /// }
    ///
    /// #[node]
    /// async fn charge(cents: u64) -> Result<String, PaymentError> {
    ///     if cents > 5_000 { Err(PaymentError::Declined { cents }) } else { Ok(format!("paid {cents}")) }
    /// }
    ///
    /// workflow! { pub pay(u64) -> String { START => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<pay>(6_000).await?;
    /// let Err(RunError::Failed(failure)) = run.result().await else { panic!() };
    /// let Some(PaymentError::Declined { cents }) = failure.error_as() else { panic!() };
    /// assert_eq!(cents, 6_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn error_as<E: Payload>(&self) -> Option<E> {
        let recorded = self.error.as_deref()?;
        // It was recorded without the type that reads it, so in the form that most types read.
        read_whole(recorded).ok().or_else(|| read_whole(&value::with_marked_keys(recorded)?).ok())
    }

    /// The recorded JSON of that error.
    pub fn error_json(&self) -> Option<&serde_json::Value> {
        self.error.as_deref()
    }
}

/// One step of a workflow.
///
/// `#[node]` implements it for a function. A hand-written implementation can carry configuration:
///
/// ```
/// use graphweft::prelude::*;
///
/// struct BatchProcessor {
///     size: usize,
/// }
///
/// impl Node for BatchProcessor {
///     type Input = Vec<u32>;
///     type Output = Vec<Vec<u32>>;
///     type Error = Never;
///
///     async fn run(&self, input: Vec<u32>, _: &Context) -> Result<Vec<Vec<u32>>, Never> {
///         Ok(input.chunks(self.size).map(<[u32]>::to_vec).collect())
///     }
/// }
///
/// let size = 2;
/// let flow = workflow! {
///     let batch = BatchProcessor { size };
///     START => batch
/// };
/// assert_eq!(graphweft::block_on(flow.run(vec![1, 2, 3])).unwrap(), [vec![1, 2], vec![3]]);
/// ```
///
/// A `let` takes a value. Named by its type alone, as a function is, such a node has to be a struct without fields, or, if its name
/// begins in lower case, one that is `Default`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node",
    label = "not a node",
    note = "a node is an async function marked `#[node]`, a workflow, or a type that implements `Node`"
)]
pub trait Node: Send + Sync + 'static {
    /// The input: `()` for none, a tuple for several values.
    type Input: Payload;
    /// The output.
    type Output: Payload;
    /// The error; [`Never`](crate::Never) if it cannot fail.
    type Error: Send + 'static;

    /// Runs the node once. Called for every attempt and for every turn of a loop. The future is dropped at an `.await`
    /// when the run is cancelled or the time limit has passed, so hold no lock or half-written file across one.
    fn run(
        &self,
        input: Self::Input,
        context: &Context,
    ) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send;

    /// The keys of the run's [state](crate::state) that the node reads and writes. `#[node]` states it by the
    /// parameters of the function; a node that is written by hand gets its writers from
    /// [`Context::state_writer`](crate::Context::state_writer).
    const STATE: StateFacts = StateFacts::NONE;

    /// Whether the node has to do with the state, or is a workflow. A graph of which no node has is not proven.
    #[doc(hidden)]
    const USES_STATE: bool = !Self::STATE.is_none();

    /// Retries, time limit and other options. `let name = node(..)` in a workflow overrides those written there.
    fn options(&self) -> NodeOptions {
        NodeOptions::default()
    }

    /// The option `name`.
    #[doc(hidden)]
    const OWN_NAME: Option<&'static str> = None;

    /// The name of the node, what it does, the names of its parameters, and the text of its error. `#[node]` takes them from
    /// the function.
    const FACTS: NodeFacts<Self::Input, Self::Error> = NodeFacts::NONE;

    /// The option `renamed_from`: the node's former names.
    #[doc(hidden)]
    const RENAMED_FROM: &'static [&'static str] = &[];

    /// Whether another attempt may follow this error (`retry(when = ..)`), if there is one left.
    fn retry_when(&self, _error: &Self::Error) -> bool {
        true
    }

    /// The delay before the next attempt that this error asks for (`retry(after = ..)`), such as the `Retry-After` of a
    /// rate limit. `None`: that of the policy.
    fn retry_after(&self, _error: &Self::Error) -> Option<Duration> {
        None
    }

    /// The resources that the engine has to have before a run of the node starts: the `#[resource]` parameters of a
    /// function. The node gets them by [`Context::resource`].
    fn resources(&self) -> Vec<ResourceNeed> {
        Vec::new()
    }

    /// The nodes that it may call as children, `#[node(uses(search, read))]`. Their resources are checked before a run starts,
    /// and graphs show them. A node may call others too.
    fn uses(&self) -> Vec<NodeInfo> {
        Vec::new()
    }

    /// A function that returns the graph inside, for a workflow that is used as a node. Not the graph itself: a
    /// workflow may be a node of its own graph, and making it would wait for itself.
    #[doc(hidden)]
    fn nested() -> Option<fn() -> &'static Arc<Definition>> {
        None
    }
}

/// A collecting node, the target of `a | b => node`: it runs for each arrival. `None` waits for the next one, the first
/// `Some` is its output.
///
/// The first offer that is good enough, or nothing that is: the run fails if all have come and none was.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::Collector;
///
/// #[node(collect)]
/// async fn choose(offer: u32) -> Option<u32> { (offer < 110).then_some(offer) }
///
/// #[node]
/// async fn bakery(pieces: u32) -> u32 { pieces * 30 }
/// #[node]
/// async fn market(pieces: u32) -> u32 { pieces * 25 }
///
/// workflow! {
///     pub buy(u32) -> u32 {
///         START => (bakery, market);
///         bakery | market => choose;
///     }
/// }
///
/// fn collects<N: Collector<Collected = u32>>(_: N) {}
/// collects(choose {});
/// assert_eq!(graphweft::block_on(buy(4)).unwrap(), 100);
/// let RunError::Failed(failure) = graphweft::block_on(buy(5)).unwrap_err() else { panic!("no offer is good enough") };
/// assert_eq!(failure.cause.fault, Some(Fault::NothingCollected { arrivals: 2 }));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes one arrival after another, but it is not a collecting node",
    label = "has to be marked `#[node(collect)]`",
    note = "a collecting node returns `Option<Out>`: `None` keeps waiting, the first `Some` completes it"
)]
pub trait Collector: Node<Output = Option<Self::Collected>> {
    /// The value of the first `Some`.
    type Collected: Payload;
}

impl NodeInfo {
    /// Of a node by its type.
    pub fn of<N: Node + Default>() -> Self {
        NodeInfo::by_value(name_of::<N>(), N::default)
    }

    /// Of a node by value, under the name by which it is called.
    pub fn by_value<N: Node>(name: impl Into<String>, make: impl Fn() -> N + Send + Sync + 'static) -> Self {
        NodeInfo {
            name: name.into(),
            doc: N::FACTS.doc,
            parameters: N::FACTS.parameters,
            input: N::Input::__schema,
            output: N::Output::__schema,
            type_id: TypeId::of::<N>(),
            pool: N::FACTS.pool,
            resources: make().resources(),
            uses: Arc::new(move || match N::nested() {
                Some(inside) => inside().infos(),
                None => make().uses(),
            }),
            is_workflow: N::nested().is_some(),
            called: definition_of::<N>,
        }
    }
}

fn definition_of<N: Node>() -> Option<AnyGraph> {
    let inside: &'static Arc<Definition> = N::nested()?();
    Some(Arc::<Definition>::clone(inside))
}

/// The name of a node that is called by its type.
pub(crate) fn name_of<N: Node>() -> String {
    let of_type = || {
        let name = type_name::<N>();
        let plain = name.split('<').next().unwrap_or(name);
        plain.rsplit("::").next().unwrap_or(plain)
    };
    N::OWN_NAME.or(N::FACTS.name).unwrap_or_else(of_type).to_owned()
}
