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
//! async fn search(topic: String, ctx: &Context) -> Vec<String> {
//!     ctx.state().merge(COST, 0.5);
//!     ctx.state().push(SEEN, topic.clone());
//!     vec![format!("all about {topic}")]
//! }
//!
//! #[node]
//! async fn bill(#[state] cost: f64, #[state] owner: Option<String>) -> String {
//!     format!("{cost} for {}", owner.unwrap_or_default())
//! }
//!
//! workflow! {
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
//! A node reads the state as it was when its attempt started, and its own writes. Its writes are recorded with its
//! completion; those of a failed attempt are discarded. With a reducer, concurrent writes to a key are merged and none
//! is lost. Without one ([`Overwrite`]), a key may be written by one node at a time: a node that overwrites what
//! another node has written since the attempt started fails with [`Fault::StateConflict`], and a retry of it succeeds.
//!
//! All of this holds for a nested workflow and for `[..]` as it does for any node. The nodes inside read the state as it was
//! when the node around them started, and what has been written inside since. The graph around the node sees what they
//! have written when the node completes, all of it at once. What was written inside an attempt that failed is discarded,
//! also where the run continues by the arm `err` or with another attempt.

use std::marker::PhantomData;
use std::sync::MutexGuard;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::core::fold_into;
use crate::draft::{Draft, Part, SharedDraft};
use crate::fault::Fault;
pub use crate::state_write::{StateOp, StateWrite};
use crate::value::{self, Against, MaxSize};

/// A key of the run's state: a name, the type of its value, and its reducer.
#[derive(Debug)]
pub struct StateKey<T, R = Overwrite> {
    name: &'static str,
    holds: PhantomData<fn() -> (T, R)>,
}

impl<T, R> StateKey<T, R> {
    /// A key. Use one constant for each, so that all nodes agree on its type and its reducer.
    pub const fn new(name: &'static str) -> Self {
        StateKey { name, holds: PhantomData }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T, R> Clone for StateKey<T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, R> Copy for StateKey<T, R> {}

/// No reducer: a write replaces the value, and concurrent writes are an error.
#[derive(Clone, Copy, Debug)]
pub enum Overwrite {}

/// Appends to a list.
#[derive(Clone, Copy, Debug)]
pub enum Append {}

/// Appends to a list the items that are not in it yet.
#[derive(Clone, Copy, Debug)]
pub enum Union {}

/// Adds numbers.
#[derive(Clone, Copy, Debug)]
pub enum Sum {}

/// Keeps the smallest number.
#[derive(Clone, Copy, Debug)]
pub enum Min {}

/// Keeps the greatest number.
#[derive(Clone, Copy, Debug)]
pub enum Max {}

/// Merges maps; of each entry, the last write is kept.
#[derive(Clone, Copy, Debug)]
pub enum MergeMap {}

/// Merges concurrent writes to one key.
pub trait Reducer {
    /// The write that merges this value.
    #[doc(hidden)]
    fn op(value: Value) -> Result<StateOp, &'static str>;
}

macro_rules! reducers {
    ($($reducer:ident: $form:ident => $op:ident, $wanted:literal;)*) => {$(
        impl Reducer for $reducer {
            fn op(value: Value) -> Result<StateOp, &'static str> {
                match value {
                    Value::$form(value) => Ok(StateOp::$op(value)),
                    _ => Err($wanted),
                }
            }
        }
    )*};
}

reducers! {
    Append: Array => Append, "a list";
    Union: Array => Union, "a list";
    Sum: Number => Add, "a number";
    Min: Number => Min, "a number";
    Max: Number => Max, "a number";
}

impl Reducer for MergeMap {
    fn op(value: Value) -> Result<StateOp, &'static str> {
        match value {
            // One with other keys is recorded as an object too, which is not to be merged as a map.
            Value::Object(map) if !value::is_marked(&map) => Ok(StateOp::Merge(map)),
            _ => Err("a map whose keys are text"),
        }
    }
}

/// The run's state, or the private state of a collecting node, as one attempt sees it.
#[derive(Debug)]
pub struct State<'c> {
    pub(crate) before: &'c Map<String, Value>,
    pub(crate) draft: &'c SharedDraft,
    pub(crate) part: Part,
    pub(crate) max: MaxSize,
}

impl State<'_> {
    fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock()
    }

    fn read(&self, name: &str) -> Result<Option<Value>, Fault> {
        let draft = self.draft();
        let written = draft.writes(self.part);
        let mut seen = Map::new();
        if let Some(value) = self.before.get(name) {
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

    fn decode<T: Serialize + DeserializeOwned>(name: &str, recorded: &Value) -> Result<T, Fault> {
        let wanted = std::any::type_name::<T>();
        let fault = |what: String| Fault::Context { message: format!("state key `{name}` {what}") };
        let value: T = value::decode(recorded).map_err(|error| {
            let (path, error) = (error.path().to_string(), error.inner());
            let at = if path == "." { String::new() } else { format!(" at `{path}`") };
            fault(format!("does not hold a `{wanted}`{at}: {error}"))
        })?;
        if value::has_fields(recorded) {
            let now = value::encode(&value, MaxSize::NONE);
            let now = now.map_err(|error| fault(format!("holds a `{wanted}` that cannot be written: {error}")))?;
            let rewrite = |json: &Value| value::encode(&value::decode::<T>(json).ok()?, MaxSize::NONE).ok();
            if let Some(loss) = value::loss(recorded, &now, &rewrite, Against::Fields) {
                return Err(fault(format!("has a value that a `{wanted}` would lose some of, {loss}")));
            }
        }
        Ok(value)
    }

    /// The value of a key; `None` if it has none.
    ///
    /// All that reads a key reads it with one type, also after a restart with another version of the program. A field with
    /// a default or an `Option` may be added to that type. A field that the value has and `T` does not read is an error that
    /// names both: keep it, or rename it with `#[serde(alias = "..")]`. To look at a value of any type, read it as a
    /// [`serde_json::Value`].
    ///
    /// # Errors
    /// [`Fault::Context`] if the value is not a `T`, or has a field that `T` does not read.
    pub fn get<T: Serialize + DeserializeOwned, R>(&self, key: StateKey<T, R>) -> Result<Option<T>, Fault> {
        self.read(key.name)?.map(|value| Self::decode(key.name, &value)).transpose()
    }

    /// The value of a parameter `#[state] name: T`: a `T`, or an `Option<T>` if it may be missing.
    ///
    /// # Errors
    /// [`Fault::Context`] if there is no value, if it is not a `T`, or if it has a field that `T` does not read.
    pub fn parameter<T: Serialize + DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        match self.read(name)? {
            Some(value) => Self::decode(name, &value),
            None => serde_json::from_value(Value::Null).map_err(|_| Fault::Context {
                message: format!(
                    "state key `{name}` has no value; set it when the run starts or in a node before this one, or take \
                     an `Option`"
                ),
            }),
        }
    }

    /// Sets the value of a key.
    ///
    /// A value that cannot be recorded fails the attempt when the node returns.
    pub fn set<T: Serialize>(&self, key: StateKey<T, Overwrite>, value: T) {
        let op = value::encode(&value, self.max).map(StateOp::Set).map_err(|error| error.to_string());
        self.write(key.name, op);
    }

    /// Removes the value of a key.
    pub fn remove<T>(&self, key: StateKey<T, Overwrite>) {
        self.write(key.name, Ok(StateOp::Remove));
    }

    /// Merges a value by the reducer of its key.
    ///
    /// A value that cannot be recorded, or that the reducer cannot merge, fails the attempt when the node
    /// returns.
    pub fn merge<T: Serialize, R: Reducer>(&self, key: StateKey<T, R>, value: T) {
        let op = match value::encode(&value, self.max) {
            Ok(value) => R::op(value).map_err(|wanted| format!("its reducer merges {wanted}")),
            Err(error) => Err(error.to_string()),
        };
        self.write(key.name, op);
    }

    /// Merges one item into a list.
    pub fn push<I: Serialize, R: Reducer>(&self, key: StateKey<Vec<I>, R>, item: I) {
        self.merge(key, vec![item]);
    }

    fn write(&self, name: &str, op: Result<StateOp, String>) {
        let mut draft = self.draft();
        match op {
            Ok(op) => draft.write(self.part, StateWrite { key: name.to_owned(), op }),
            Err(why) => {
                draft.broken.get_or_insert_with(|| Fault::Context {
                    message: format!("invalid write to state key `{name}`: {why}"),
                });
            }
        }
    }
}
