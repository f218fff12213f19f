//! The state that the nodes of a run share, through typed keys with a reducer.
//!
//! ```
//! use graphweft::prelude::*;
//! use graphweft::state::{Append, Sum};
//!
//! const SEEN: StateKey<Vec<String>, Append> = StateKey::new("seen");
//! const COST: StateKey<f64, Sum> = StateKey::new("cost");
//! const OWNER: StateKey<String> = StateKey::new("owner"); // Overwrite
//!
//! #[node]
//! async fn search(
//!     topic: String,
//!     #[writes(COST)] cost: StateWriter<f64, Sum>,
//!     #[writes(SEEN)] seen: StateWriter<Vec<String>, Append>,
//! ) -> Vec<String> {
//!     cost.merge(0.5);
//!     seen.push(topic.clone());
//!     vec![format!("all about {topic}")]
//! }
//!
//! #[node]
//! async fn bill(#[state(COST)] cost: f64, #[state(OWNER)] owner: String) -> String {
//!     format!("{cost} for {owner}")
//! }
//!
//! workflow! {
//!     #[given(OWNER)]
//!     pub research(String) -> String { START => search => bill; }
//! }
//!
//! # graphweft::block_on(async {
//! let engine = Engine::builder().build()?;
//! let run = engine.start::<research>("ants".into()).state(OWNER, "Ada".to_owned()).await?;
//! assert_eq!(run.result().await?, "0.5 for Ada");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # Reading
//! `#[state(OWNER)] owner: String` is a parameter with the value of a key, and `#[state] owner: String` reads the key
//! that is called like the parameter. Take an `Option` if the key may have no value.
//! [`Context::state`](crate::Context::state) reads any key, and always gives an `Option`.
//!
//! A key whose reducer has a [`Zero`] has that value before anything is written to it: 0 for [`Sum`], an empty list
//! for [`Append`] and [`Union`], an empty map for [`MergeMap`].
//!
//! # Writing
//! A node declares the keys that it writes: `#[writes(OWNER)] owner: StateWriter<String>` is a key that the node has
//! written whenever it completes, and one that has not fails with [`Fault::StateNotWritten`]. `#[may_write(OWNER)]` is
//! a key that it may leave as it is. A type that implements [`Node`](crate::Node) by hand states its keys in
//! [`Node::STATE`](crate::Node::STATE), and gets its writers from
//! [`Context::state_writer`](crate::Context::state_writer), as does a closure that [mocks](crate::EngineBuilder::mock)
//! a node. A node that [calls](crate::Context::call) a child which writes declares the keys of the child too: what a
//! child writes is what its caller writes.
//!
//! # At the start
//! `#[given(OWNER)]` above a workflow is a key that the caller sets: `engine.start::<research>(..).state(OWNER, ..)`.
//! Without it the run does not start ([`StartError::MissingState`](crate::StartError::MissingState)). A key with a zero
//! may be left out.
//!
//! # What is proven
//! A workflow compiles only if
//!
//! - no node reads a key that may not have been written, whichever routes the run takes. A key counts as written if it is
//!   given at the start, has a [`Zero`], or is written (`#[writes]`) by a node that is sure to complete before. A failure that
//!   is routed has written nothing. An `Option` may be read anywhere;
//! - no two nodes that may run at the same time overwrite one key. Items of `[..]` run at the same time, and so may a
//!   turn of a loop and a branch of an earlier turn that the loop does not wait for.
//!
//! A nested workflow reads the keys that it is given, and has written those that it is sure to write. What nodes in `[..]`
//! read is written around it, or before them for the same item; after it nothing counts as written, since there may be no
//! item.
//!
//! ```compile_fail,E0080
//! use graphweft::prelude::*;
//!
//! const OWNER: StateKey<String> = StateKey::new("owner");
//!
//! #[node]
//! async fn bill(#[state(OWNER)] owner: String) -> String {
//!     owner
//! }
//!
//! // node `bill` reads `owner`, which nothing writes before it
//! workflow! { research() -> String { START => bill; } }
//! ```
//!
//! `cargo check` shows this, except where a workflow in an expression has a `let` with a type that only the function around it
//! may know, as in `let batch: Batch<T> = Batch::new();`. Such a workflow is proven when the compiler makes code of
//! the function:
//!
//! ```compile_fail,E0080
//! # use std::marker::PhantomData;
//! # use graphweft::prelude::*;
//! # use graphweft::state::StateFacts;
//! # const OWNER: StateKey<String> = StateKey::new("owner");
//! # struct Bill<T>(PhantomData<fn() -> T>);
//! # impl<T: 'static> Node for Bill<T> {
//! #     type Input = ();
//! #     type Output = String;
//! #     type Error = Fault;
//! #     const STATE: StateFacts = StateFacts { reads: &[OWNER.fact()], ..StateFacts::NONE };
//! #     async fn run(&self, (): (), ctx: &Context) -> Result<String, Fault> {
//! #         Ok(ctx.state().get(OWNER)?.unwrap_or_default())
//! #     }
//! # }
//! fn bills<T: 'static>() {
//!     let flow = workflow! { let bill: Bill<T> = Bill(PhantomData); START => bill };
//! }
//! bills::<u32>(); // without this line it compiles
//! ```
//!
//! # Concurrency
//! A node reads the state as it was when its attempt started, and its own writes. Its writes are recorded with its
//! completion; those of a failed attempt are discarded. With a reducer, concurrent writes to a key are merged and none
//! is lost. Without one ([`Overwrite`]), a key may be written by one node at a time: a node that overwrites what
//! another node has written since the attempt started fails with [`Fault::StateConflict`], and a retry of it succeeds.
//!
//! All of this holds for a nested workflow and for `[..]` as it does for any node. The nodes inside read the state as
//! it was when the node around them started, and what has been written inside since. The graph around the node sees
//! what they have written when the node completes, all of it at once. What was written inside an attempt that failed is
//! discarded, also where the run continues by the arm `err` or with another attempt.
//!
//! # Beyond the run
//! What outlives a run, of a session, of a user or of the application, has keys with a third parameter: [`scope`](crate::scope).

mod key;
mod reducer;
mod scope;
pub(crate) mod scope_ids;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// A node that is written by hand states what `#[writes(..)]` and `#[state(..)]` state for a function, so that the compiler
/// proves the workflows that it is in:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::{StateFacts, Sum};
///
/// const CENTS: StateKey<u32, Sum> = StateKey::new("cents");
///
/// #[derive(Default)]
/// struct Buy;
///
/// impl Node for Buy {
///     type Input = u32;
///     type Output = ();
///     type Error = Never;
///     const STATE: StateFacts = StateFacts { writes: &[CENTS.fact()], ..StateFacts::NONE };
///
///     async fn run(&self, cents: u32, ctx: &Context) -> Result<(), Never> {
///         ctx.state_writer(CENTS).merge(cents);
///         Ok(())
///     }
/// }
///
/// #[node]
/// async fn bill((): (), #[state(CENTS)] cents: u32) -> u32 { cents }
///
/// let flow = workflow! { let buy = Buy(); START => buy => bill };
/// assert_eq!(graphweft::block_on(flow.run(40)).unwrap(), 40);
/// ```
#[doc(inline)]
pub use graphweft_graph::state_proof::StateFacts;
/// [`StateKey::fact`] makes it:
///
/// ```
/// use graphweft::StateKey;
/// use graphweft::state::{StateKeyFact, Sum};
///
/// const CENTS: StateKey<u32, Sum> = StateKey::new("cents");
/// const FACT: StateKeyFact = CENTS.fact();
/// assert!(FACT.has_zero && !FACT.overwrites); // nodes that run at the same time may write it
/// ```
#[doc(inline)]
pub use graphweft_graph::state_proof::StateKeyFact;
pub use key::StateKey;
pub use reducer::{Append, Max, MergeMap, Min, Overwrite, Overwrites, Reducer, Sum, Union, WriteMode, Zero};
pub(crate) use reducer::{holds, zero_of};
pub use scope::{App, PerRun, Session, User};

use crate::core::{Totals, fold_into, fold_within};
use crate::draft::{Part, SharedDraft};
use crate::fault::Fault;
use crate::field::Unreadable;
pub use crate::state_write::{StateOp, StateWrite};
use crate::value::{self, Against, MaxSize, Unrecordable, drop_refused};

/// The run's state as one attempt sees it, to read from.
///
/// A node that looks at a key only in one case reads it by its context:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Sum;
///
/// const COST: StateKey<u32, Sum> = StateKey::new("cost");
///
/// #[node]
/// async fn buy(cents: u32, #[writes(COST)] cost: StateWriter<u32, Sum>) -> u32 {
///     cost.merge(cents);
///     cents
/// }
///
/// #[node]
/// async fn report(cents: u32, ctx: &Context) -> Result<String, Fault> {
///     let total = if cents > 10 { ctx.state().get(COST)? } else { None };
///     Ok(total.map_or_else(|| "little".to_owned(), |total| format!("{total} cents")))
/// }
///
/// workflow! { pub shop(u32) -> String { START => buy => report; } }
///
/// assert_eq!(graphweft::block_on(shop(40)).unwrap(), "40 cents");
/// assert_eq!(graphweft::block_on(shop(4)).unwrap(), "little");
/// ```
#[derive(Debug)]
pub struct State<'c> {
    pub(crate) before: &'c Map<String, Value>,
    pub(crate) draft: &'c SharedDraft,
}

impl State<'_> {
    /// The value of a key; `None` if nothing has been written to it.
    ///
    /// All that reads a key reads it with one type, also after a restart with another version of the program. A field
    /// with a default or an `Option` may be added to that type. A field that the value has and `T` does not read is an
    /// error that names both: keep it, or rename it with `#[serde(alias = "..")]`. To look at a value of any type, read
    /// it as a [`serde_json::Value`].
    ///
    /// # Errors
    /// [`Fault::Context`] if the value is not a `T`, or has a field that `T` does not read.
    pub fn get<T: Serialize + DeserializeOwned, R>(&self, key: StateKey<T, R>) -> Result<Option<T>, Fault> {
        self.value(key.name())?.map(|value| decode(key.name(), &value)).transpose()
    }

    /// The value of a key, as it is recorded.
    pub(crate) fn value(&self, name: &str) -> Result<Option<Value>, Fault> {
        read(self.before, self.draft, Part::Shared, name)
    }

    /// Never callable: its error message shows how a node writes.
    #[doc(hidden)]
    pub fn set<T, R>(&self, _: StateKey<T, R>, _: T)
    where
        StateKey<T, R>: WrittenByContext,
    {
    }

    /// Never callable: its error message shows how a node writes.
    #[doc(hidden)]
    pub fn merge<T, R>(&self, _: StateKey<T, R>, _: T)
    where
        StateKey<T, R>: WrittenByContext,
    {
    }

    /// Never callable: its error message shows how a node writes.
    #[doc(hidden)]
    pub fn push<I, R>(&self, _: StateKey<Vec<I>, R>, _: I)
    where
        StateKey<Vec<I>, R>: WrittenByContext,
    {
    }
}

/// Never implemented: a node writes by its parameters.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`ctx.state()` reads the state, and does not write it",
    label = "a key is written by a parameter of the node",
    note = "declare it: `#[writes(KEY)] name: StateWriter<..>`, or `#[may_write(KEY)]` if the node writes it only sometimes; then \
            `name.set(..)`, `name.merge(..)` or `name.push(..)`"
)]
pub trait WrittenByContext {}

/// The private state of a collecting node, kept from one arrival to the next.
///
/// No other node sees it, so nothing is declared: every key may be read and written.
///
/// How many have come, and which was the best, over the arrivals of one execution:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::{Min, Sum};
///
/// const SEEN: StateKey<u32, Sum> = StateKey::new("seen");
/// const BEST: StateKey<u32, Min> = StateKey::new("best");
///
/// #[node(collect)]
/// async fn choose(offer: u32, ctx: &Context) -> Result<Option<u32>, Fault> {
///     let state = ctx.collector_state();
///     state.merge(SEEN, 1);
///     state.merge(BEST, offer);
///     Ok(if state.get(SEEN)? == Some(2) { state.get(BEST)? } else { None })
/// }
///
/// #[node]
/// async fn bakery(pieces: u32) -> u32 { pieces * 30 }
/// #[node]
/// async fn market(pieces: u32) -> u32 { pieces * 25 }
///
/// workflow! {
///     pub cheapest(u32) -> u32 {
///         START => (bakery, market);
///         bakery | market => choose;
///     }
/// }
///
/// assert_eq!(graphweft::block_on(cheapest(4)).unwrap(), 100);
/// ```
#[derive(Debug)]
pub struct CollectorState<'c> {
    pub(crate) before: &'c Map<String, Value>,
    pub(crate) draft: &'c SharedDraft,
    pub(crate) max: MaxSize,
}

impl CollectorState<'_> {
    /// The value of a key; `None` if nothing has been written to it.
    ///
    /// # Errors
    /// [`Fault::Context`] if the value is not a `T`, or has a field that `T` does not read.
    pub fn get<T: Serialize + DeserializeOwned, R>(&self, key: StateKey<T, R>) -> Result<Option<T>, Fault> {
        let value = read(self.before, self.draft, Part::Local, key.name())?;
        value.map(|value| decode(key.name(), &value)).transpose()
    }

    /// Sets the value of a key.
    ///
    /// A value that cannot be recorded fails the attempt when the node returns.
    pub fn set<T: Serialize + DeserializeOwned + Send>(&self, key: StateKey<T, Overwrite>, value: T) {
        write(self.draft, Part::Local, key.name(), set_op(value, self.max));
    }

    /// Merges a value by the reducer of its key.
    ///
    /// A value that cannot be recorded, or that the reducer cannot merge, fails the attempt when the node returns.
    pub fn merge<T: Serialize + DeserializeOwned + Send, R: Reducer>(&self, key: StateKey<T, R>, value: T) {
        let op = merge_op::<R>(value, self.max).and_then(|op| self.sum_of::<T>(key.name(), op));
        write(self.draft, Part::Local, key.name(), op);
    }

    /// Merges one item into a list.
    pub fn push<I: Serialize + DeserializeOwned + Send, R: Reducer>(&self, key: StateKey<Vec<I>, R>, item: I) {
        self.merge(key, vec![item]);
    }

    /// A write, if what it makes of a sum is a value of its type.
    fn sum_of<T: DeserializeOwned>(&self, name: &str, op: StateOp) -> Result<StateOp, String> {
        if matches!(op, StateOp::Add(_)) {
            let before = read(self.before, self.draft, Part::Local, name).map_err(|fault| fault.to_string())?;
            let mut seen: Map<String, Value> = before.into_iter().map(|value| (name.to_owned(), value)).collect();
            let mut totals = Totals::default();
            totals.add(name, holds::<T>());
            let write = StateWrite { key: name.to_owned(), op: op.clone() };
            fold_within(&mut seen, std::slice::from_ref(&write), &totals).map_err(|(_, fault)| fault.to_string())?;
        }
        Ok(op)
    }
}

fn read(before: &Map<String, Value>, draft: &SharedDraft, part: Part, name: &str) -> Result<Option<Value>, Fault> {
    let draft = draft.lock();
    let written = draft.writes(part);
    let mut seen = Map::new();
    if let Some(value) = before.get(name) {
        if !written.iter().any(|write| write.key == name) {
            return Ok(Some(value.clone()));
        }
        seen.insert(name.to_owned(), value.clone());
    }
    for write in written.iter().filter(|write| write.key == name) {
        fold_into(&mut seen, std::slice::from_ref(write))?;
    }
    Ok(seen.remove(name))
}

/// A recorded value of a key, as a `T`.
pub(crate) fn decode<T: Serialize + DeserializeOwned>(name: &str, recorded: &Value) -> Result<T, Fault> {
    let wanted = std::any::type_name::<T>();
    let fault = |what: String| Fault::Context { message: format!("state key `{name}` {what}") };
    let value: T = value::decode(recorded).map_err(|error| {
        let Unreadable { field, message } = error;
        let at = if field == "." { String::new() } else { format!(" at `{field}`") };
        fault(format!("does not hold a `{wanted}`{at}: {message}"))
    })?;
    if value::has_fields(recorded) {
        let now = value::encode(&value, MaxSize::NONE);
        let now = now.map_err(|error| fault(format!("holds a `{wanted}` that cannot be written: {error}")))?;
        let rewrite = |json: &Value| {
            value::encode(&value::decode::<T>(json)?, MaxSize::NONE).map_err(|error| Unreadable::whole(error.message()))
        };
        if let Some(loss) = value::loss(recorded, &now, &rewrite, Against::Fields) {
            return Err(fault(format!("has a value that a `{wanted}` would lose some of, {loss}")));
        }
    }
    Ok(value)
}

pub(crate) fn set_op<T: Serialize + DeserializeOwned + Send>(value: T, max: MaxSize) -> Result<StateOp, String> {
    let written = value::encode(&value, max);
    written.map(StateOp::Set).map_err(|error| refused(value, &error))
}

pub(crate) fn merge_op<R: Reducer>(
    value: impl Serialize + DeserializeOwned + Send,
    max: MaxSize,
) -> Result<StateOp, String> {
    let written = value::encode_merged(&value, max).map_err(|error| refused(value, &error))?;
    R::op(written).map_err(|wanted| format!("its reducer merges {wanted}"))
}

fn refused(value: impl Send, error: &Unrecordable) -> String {
    drop_refused(value);
    error.to_string()
}

pub(crate) fn write(draft: &SharedDraft, part: Part, name: &str, op: Result<StateOp, String>) {
    let mut draft = draft.lock();
    match op {
        Ok(op) => draft.write(part, StateWrite { key: name.to_owned(), op }),
        Err(why) => {
            let message = format!("invalid write to state key `{name}`: {why}");
            draft.broken.get_or_insert(Fault::Context { message });
        }
    }
}
