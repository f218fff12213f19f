//! Reducers: how writes to one key are merged.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

use graphweft_graph::state_proof::Zero as ZeroValue;
use serde_json::{Map, Value};

use crate::state_write::StateOp;
use crate::value;

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
            // A map with other keys is recorded as a marked object, which must not be merged as a map.
            Value::Object(map) if !value::is_marked(&map) => Ok(StateOp::Merge(map)),
            _ => Err("a map whose keys are text"),
        }
    }
}

/// How a key of type `T` is written: [`Overwrite`], or a reducer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to merge a `{T}`",
    label = "a key of this type has to begin with the zero of `{Self}`",
    note = "`Sum` adds numbers, `Append` and `Union` lists, `MergeMap` maps; for a type of your own that is written as one of them \
            implement `state::Zero<{Self}>`"
)]
pub trait WriteMode<T> {
    /// Whether a write replaces the value.
    #[doc(hidden)]
    const OVERWRITES: bool = false;
    /// The value of the key before it is written.
    #[doc(hidden)]
    const ZERO: Option<ZeroValue> = None;
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
    const OVERWRITES: bool = true;
}

impl<T> WriteMode<T> for Min {}
impl<T> WriteMode<T> for Max {}

macro_rules! zeros {
    ($($reducer:ident: $zero:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Zero<$reducer>> WriteMode<T> for $reducer {
            const ZERO: Option<ZeroValue> = Some(ZeroValue::$zero);
        }
    )*};
}

zeros! {
    Sum: Number;
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

/// A zero, as it is recorded.
pub(crate) fn zero_of(zero: ZeroValue) -> Value {
    match zero {
        ZeroValue::Number => Value::from(0),
        ZeroValue::List => Value::Array(Vec::new()),
        ZeroValue::Map => Value::Object(Map::new()),
    }
}
