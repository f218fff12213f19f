//! Reducers: how writes to one key are merged.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

use graphweft_graph::state_proof::{Holds, Zero as ZeroValue};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::state_write::StateOp;
use crate::value;

/// No reducer: a write replaces the value, and concurrent writes are an error.
///
/// Two nodes that may run at the same time do not both write such a key; one after the other may:
///
/// ```
/// use graphweft::prelude::*;
///
/// const TITLE: StateKey<String> = StateKey::new("title"); // `StateKey<String, Overwrite>`
///
/// #[node]
/// async fn draft(text: String, #[writes(TITLE)] title: StateWriter<String>) -> String {
///     title.set("A draft".into());
///     text
/// }
/// #[node]
/// async fn publish(text: String, #[writes(TITLE)] title: StateWriter<String>) -> String {
///     title.set("A poem".into());
///     text
/// }
/// #[node]
/// async fn print(text: String, #[state(TITLE)] title: String) -> String { format!("{title}: {text}") }
///
/// workflow! { pub blog(String) -> String { START => draft => publish => print; } }
///
/// assert_eq!(graphweft::block_on(blog("ants".into())).unwrap(), "A poem: ants");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Overwrite {}

/// Appends to a list.
///
/// Nodes that run at the same time add to one list:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Append;
///
/// const LOG: StateKey<Vec<String>, Append> = StateKey::new("log");
///
/// #[node]
/// async fn fetch(page: u32, #[writes(LOG)] log: StateWriter<Vec<String>, Append>) -> u32 {
///     log.push(format!("page {page}"));
///     page
/// }
/// #[node]
/// async fn report(_pages: Vec<u32>, #[state(LOG)] mut log: Vec<String>) -> Vec<String> {
///     log.sort(); // they are in the order in which the nodes have completed
///     log
/// }
///
/// workflow! { pub crawl(Vec<u32>) -> Vec<String> { START => [fetch] => report; } }
///
/// assert_eq!(graphweft::block_on(crawl(vec![2, 1])).unwrap(), ["page 1", "page 2"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Append {}

/// Appends to a list the items that are not in it yet.
///
/// Each source once, however many pages name it:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Union;
///
/// const SOURCES: StateKey<Vec<String>, Union> = StateKey::new("sources");
///
/// #[node]
/// async fn read(page: String, #[writes(SOURCES)] sources: StateWriter<Vec<String>, Union>) {
///     sources.merge(page.split(' ').map(str::to_owned).collect());
/// }
/// #[node]
/// async fn count(_read: Vec<()>, #[state(SOURCES)] sources: Vec<String>) -> usize { sources.len() }
///
/// workflow! { pub cite(Vec<String>) -> usize { START => [read] => count; } }
///
/// assert_eq!(graphweft::block_on(cite(vec!["knuth dijkstra".into(), "dijkstra".into()])).unwrap(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Union {}

/// Adds numbers: finite ones of at most 64 bits. Any other, and one with which the sum leaves them or the type of its key, is an error of
/// the node that writes it, and the sum stays what it was. What a node writes by several calls is one sum. What nodes add at the same time is
/// summed in the order in which they complete.
///
/// What all nodes of a run have spent:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Sum;
///
/// const CENTS: StateKey<u32, Sum> = StateKey::new("cents");
///
/// #[node]
/// async fn call(words: u32, #[writes(CENTS)] cents: StateWriter<u32, Sum>) { cents.merge(2 * words) }
/// #[node]
/// async fn bill(_calls: Vec<()>, #[state(CENTS)] cents: u32) -> u32 { cents }
///
/// workflow! { pub translate(Vec<u32>) -> u32 { START => [call] => bill; } }
///
/// assert_eq!(graphweft::block_on(translate(vec![10, 5])).unwrap(), 30);
/// assert_eq!(graphweft::block_on(translate(vec![])).unwrap(), 0); // its zero
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Sum {}

/// Keeps the smallest number, of finite ones of at most 64 bits. Any other is an error of the node that writes it.
///
/// The best of what was found. It has no zero, so a key that was not written is `None`:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Min;
///
/// const BEST: StateKey<u32, Min> = StateKey::new("best");
///
/// #[node]
/// async fn offer(cents: u32, #[writes(BEST)] best: StateWriter<u32, Min>) { best.merge(cents) }
/// #[node]
/// async fn choose(_offers: Vec<()>, #[state(BEST)] best: Option<u32>) -> Option<u32> { best }
///
/// workflow! { pub cheapest(Vec<u32>) -> Option<u32> { START => [offer] => choose; } }
///
/// assert_eq!(graphweft::block_on(cheapest(vec![40, 25, 30])).unwrap(), Some(25));
/// assert_eq!(graphweft::block_on(cheapest(vec![])).unwrap(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Min {}

/// Keeps the greatest number, of finite ones of at most 64 bits. Any other is an error of the node that writes it.
///
/// The worst of several checks:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Max;
///
/// const RISK: StateKey<f64, Max> = StateKey::new("risk");
///
/// #[node]
/// async fn check(amount: f64, #[writes(RISK)] risk: StateWriter<f64, Max>) { risk.merge(amount / 1000.0) }
/// #[node]
/// async fn decide(_checks: Vec<()>, #[state(RISK)] risk: Option<f64>) -> bool { risk.unwrap_or(1.0) < 0.5 }
///
/// workflow! { pub approve(Vec<f64>) -> bool { START => [check] => decide; } }
///
/// assert!(graphweft::block_on(approve(vec![10.0, 400.0])).unwrap());
/// assert!(!graphweft::block_on(approve(vec![10.0, 900.0])).unwrap());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Max {}

/// Merges maps; of each entry, the last write is kept. The keys are text, or integers of at most 64 bits, which are text in JSON;
/// a map with others is an error of the node that writes it.
///
/// Each node writes its own entries:
///
/// ```
/// use std::collections::BTreeMap;
/// use graphweft::prelude::*;
/// use graphweft::state::MergeMap;
///
/// const SIZES: StateKey<BTreeMap<String, usize>, MergeMap> = StateKey::new("sizes");
///
/// #[node]
/// async fn measure(page: String, #[writes(SIZES)] sizes: StateWriter<BTreeMap<String, usize>, MergeMap>) {
///     sizes.merge([(page.clone(), page.len())].into());
/// }
/// #[node]
/// async fn largest(_all: Vec<()>, #[state(SIZES)] sizes: BTreeMap<String, usize>) -> Option<String> {
///     sizes.into_iter().max_by_key(|(_, size)| *size).map(|(page, _)| page)
/// }
///
/// workflow! { pub crawl(Vec<String>) -> Option<String> { START => [measure] => largest; } }
///
/// assert_eq!(graphweft::block_on(crawl(vec!["a".into(), "bcd".into()])).unwrap().as_deref(), Some("bcd"));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum MergeMap {}

/// Merges concurrent writes to one key.
///
/// A helper for keys with any reducer:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::{Append, Reducer, Sum};
///
/// const CENTS: StateKey<u32, Sum> = StateKey::new("cents");
/// const LINES: StateKey<Vec<String>, Append> = StateKey::new("lines");
///
/// fn note<T, R: Reducer>(writer: &StateWriter<T, R>, value: Option<T>)
/// where
///     T: serde::Serialize + serde::de::DeserializeOwned + Send,
/// {
///     if let Some(value) = value {
///         writer.merge(value);
///     }
/// }
///
/// #[node]
/// async fn buy(
///     line: String,
///     #[may_write(CENTS)] cents: StateWriter<u32, Sum>,
///     #[may_write(LINES)] lines: StateWriter<Vec<String>, Append>,
/// ) {
///     note(&cents, line.parse().ok());
///     note(&lines, Some(vec![line]));
/// }
/// #[node]
/// async fn bill((): (), #[state(CENTS)] cents: u32, #[state(LINES)] lines: Vec<String>) -> (u32, usize) { (cents, lines.len()) }
///
/// workflow! { pub shop(String) -> (u32, usize) { START => buy => bill; } }
///
/// assert_eq!(graphweft::block_on(shop("40".into())).unwrap(), (40, 1));
/// assert_eq!(graphweft::block_on(shop("a lamp".into())).unwrap(), (0, 1));
/// ```
#[diagnostic::on_unimplemented(
    message = "a key with `{Self}` has no reducer, and is set",
    label = "write `.set(..)`, or give the key a reducer: `StateKey<Vec<u32>, Append>`, `StateWriter<Vec<u32>, Append>`"
)]
pub trait Reducer {
    #[doc(hidden)]
    const SEAL: seal::Seal;
    /// The write that merges this value.
    #[doc(hidden)]
    fn op(value: Value) -> Result<StateOp, &'static str>;
}

mod seal {
    #[derive(Debug)]
    pub struct Seal;
}

/// "A key with it is set." A bound of its own, for its message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a key with the reducer `{Self}` is merged, and not set",
    label = "write `.merge(..)`, or `.push(..)` for one item of a list; a key that nodes set has no reducer: `StateKey<u32>`"
)]
pub trait Overwrites {}

#[diagnostic::do_not_recommend]
impl Overwrites for Overwrite {}

macro_rules! reducers {
    ($($reducer:ident: $form:ident => $op:ident, $wanted:literal;)*) => {$(
        impl Reducer for $reducer {
            const SEAL: seal::Seal = seal::Seal;

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
    Sum: Number => Add, "a finite number of at most 64 bits";
    Min: Number => Min, "a finite number of at most 64 bits";
    Max: Number => Max, "a finite number of at most 64 bits";
}

impl Reducer for MergeMap {
    const SEAL: seal::Seal = seal::Seal;

    fn op(value: Value) -> Result<StateOp, &'static str> {
        match value {
            // A map with other keys is recorded as a marked object, which must not be merged as a map.
            Value::Object(map) if !value::is_marked(&map) => Ok(StateOp::Merge(map)),
            _ => Err("a map whose keys are text"),
        }
    }
}

/// How a key of type `T` is written: [`Overwrite`], or a reducer.
///
/// What fits the type of a key. A number has no [`Append`]:
///
/// ```compile_fail,E0277
/// use graphweft::prelude::*;
/// use graphweft::state::Append;
///
/// const COUNT: StateKey<u32, Append> = StateKey::new("count");
/// ```
///
/// A function that takes keys of any kind names it:
///
/// ```
/// use graphweft::StateKey;
/// use graphweft::state::{Sum, WriteMode};
///
/// const fn key_of_tenant<T, R: WriteMode<T>>(_: &str) -> StateKey<T, R> { StateKey::new("tenant") }
///
/// const TENANT: StateKey<u64, Sum> = key_of_tenant("acme");
/// assert_eq!(TENANT.name(), "tenant");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to merge a `{T}`",
    label = "a key of this type has to begin with the zero of `{Self}`",
    note = "`Sum` adds numbers, `Append` and `Union` lists, `MergeMap` maps; for a type of your own that is written as one of them \
            implement `state::Zero<{Self}>`"
)]
pub trait WriteMode<T> {
    /// Of a type that has no name elsewhere: the ways to write are those of this crate.
    #[doc(hidden)]
    const SEAL: seal::Seal;
    /// Whether a write replaces the value.
    #[doc(hidden)]
    const OVERWRITES: bool = false;
    /// The value of the key before it is written.
    #[doc(hidden)]
    const ZERO: Option<ZeroValue> = None;
    /// Whether the type holds a value that the reducer makes, if that may be one which nothing has written.
    #[doc(hidden)]
    const HOLDS: Option<Holds> = None;
}

/// A type that can be read from the zero of a reducer: 0 for [`Sum`], `[]` for [`Append`] and [`Union`], `{}` for
/// [`MergeMap`]. A key of this type has that value before anything is written to it.
///
/// Implemented for numbers, lists and maps of the standard library. For a type of your own, written by serde as one of
/// them, it is a promise:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::{Sum, Zero};
///
/// #[value]
/// struct Cents(u64);
///
/// impl Zero<Sum> for Cents {}
///
/// const SPENT: StateKey<Cents, Sum> = StateKey::new("spent");
/// # assert_eq!(SPENT.name(), "spent");
/// ```
pub trait Zero<R> {}

impl<T> WriteMode<T> for Overwrite {
    const SEAL: seal::Seal = seal::Seal;
    const OVERWRITES: bool = true;
}

impl<T> WriteMode<T> for Min {
    const SEAL: seal::Seal = seal::Seal;
}

impl<T> WriteMode<T> for Max {
    const SEAL: seal::Seal = seal::Seal;
}

#[diagnostic::do_not_recommend]
impl<T: Zero<Sum> + DeserializeOwned> WriteMode<T> for Sum {
    const SEAL: seal::Seal = seal::Seal;
    const ZERO: Option<ZeroValue> = Some(ZeroValue::Number);
    const HOLDS: Option<Holds> = Some(holds::<T>());
}

macro_rules! zeros {
    ($($reducer:ident: $zero:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Zero<$reducer>> WriteMode<T> for $reducer {
            const SEAL: seal::Seal = seal::Seal;
            const ZERO: Option<ZeroValue> = Some(ZeroValue::$zero);
        }
    )*};
}

zeros! {
    Append: List;
    Union: List;
    MergeMap: Map;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Zero<Sum> for $number {}
    )*};
}

numbers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 serde_json::Number Value }

macro_rules! lists {
    ($(($($of:ident),*) $list:ty;)*) => {$(
        impl<$($of),*> Zero<Append> for $list {}
        impl<$($of),*> Zero<Union> for $list {}
    )*};
}

lists! {
    (I) Vec<I>;
    (I) VecDeque<I>;
    (I) LinkedList<I>;
    (I) BinaryHeap<I>;
    (I) BTreeSet<I>;
    (I, S) HashSet<I, S>;
    () Value;
}

impl<K, V> Zero<MergeMap> for BTreeMap<K, V> {}
impl<K, V, S> Zero<MergeMap> for HashMap<K, V, S> {}
impl Zero<MergeMap> for Map<String, Value> {}
impl Zero<MergeMap> for Value {}

/// Whether this type holds a value, as it is recorded.
pub(crate) const fn holds<T: DeserializeOwned>() -> Holds {
    Holds(|value| {
        let Some(value) = value.downcast_ref::<Value>() else { return Ok(()) };
        let read = value::decode::<T>(value).map(drop);
        read.map_err(|error| format!("is no `{}`: {}", std::any::type_name::<T>(), error.message))
    })
}

/// A zero, as it is recorded.
pub(crate) fn zero_of(zero: ZeroValue) -> Value {
    match zero {
        ZeroValue::Number => Value::from(0),
        ZeroValue::List => Value::Array(Vec::new()),
        ZeroValue::Map => Value::Object(Map::new()),
    }
}
