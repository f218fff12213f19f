//! Writers for the state.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::Attempt;
use crate::draft::Part;
use crate::fault::Fault;
use crate::state::{Overwrite, Overwrites, Reducer, StateKey, merge_op, set_op, write};

/// Writes a key of the run's [state](crate::state).
///
/// A node declares the keys that it writes by parameters of this type:
///
/// - `#[writes(OWNER)] owner: StateWriter<String>`: the node has written the key whenever it completes. One that has
///   not fails with [`Fault::StateNotWritten`].
/// - `#[may_write(OWNER)] owner: StateWriter<String>`: it may leave the key as it is.
///
/// What is written is recorded with the node's completion, and discarded if the attempt fails.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Append;
///
/// const OWNER: StateKey<String> = StateKey::new("owner");
/// const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");
///
/// #[node]
/// async fn assign(
///     order: u32,
///     #[writes(OWNER)] owner: StateWriter<String>,
///     #[may_write(SEEN)] seen: StateWriter<Vec<u32>, Append>,
/// ) -> u32 {
///     owner.set("Ada".to_owned());
///     if order > 10 {
///         seen.push(order);
///     }
///     order
/// }
///
/// #[node]
/// async fn label(order: u32, #[state(OWNER)] owner: String, #[state(SEEN)] seen: Vec<u32>) -> String {
///     format!("{order} of {owner}, {} seen", seen.len())
/// }
///
/// let flow = workflow! { START => assign => label };
/// assert_eq!(graphweft::block_on(flow.run(7)).unwrap(), "7 of Ada, 0 seen");
/// ```
pub struct StateWriter<T, R = Overwrite> {
    attempt: Arc<Attempt>,
    key: StateKey<T, R>,
    is_declared: bool,
}

impl<T, R> StateWriter<T, R> {
    /// The writer of a parameter, which is a declaration.
    pub(crate) fn declared(attempt: &Arc<Attempt>, key: StateKey<T, R>) -> Self {
        StateWriter { attempt: Arc::clone(attempt), key, is_declared: true }
    }

    /// The writer of a key that the node may not have declared.
    pub(super) fn checked(attempt: &Arc<Attempt>, key: StateKey<T, R>) -> Self {
        let is_declared = attempt.declares(key.name());
        if !is_declared {
            let (node, key) = (attempt.path().into(), key.name().into());
            attempt.draft().broken.get_or_insert(Fault::StateNotDeclared { node, key, child: None });
        }
        StateWriter { attempt: Arc::clone(attempt), key, is_declared }
    }
}

impl<T: Serialize + Send, R> StateWriter<T, R> {
    /// Sets the value of a key without a reducer.
    ///
    /// One that cannot be recorded fails the attempt when the node returns. If another node has overwritten the key
    /// since this attempt started, the attempt fails with [`Fault::StateConflict`].
    pub fn set(&self, value: T)
    where
        R: Overwrites,
        T: DeserializeOwned,
    {
        if self.is_declared {
            let op = set_op(value, self.attempt.run.env.max_value_size);
            write(&self.attempt.draft, Part::Shared, self.key.name(), op);
        }
    }

    /// Merges a value by the reducer of the key.
    ///
    /// One that cannot be recorded, or that the reducer cannot merge, fails the attempt when the node returns.
    pub fn merge(&self, value: T)
    where
        R: Reducer,
        T: DeserializeOwned,
    {
        self.merge_any(value);
    }

    fn merge_any(&self, value: impl Serialize + DeserializeOwned + Send)
    where
        R: Reducer,
    {
        if self.is_declared {
            let op = merge_op::<R>(value, self.attempt.run.env.max_value_size);
            write(&self.attempt.draft, Part::Shared, self.key.name(), op);
        }
    }
}

impl<I: Serialize + Send, R> StateWriter<Vec<I>, R> {
    /// Merges one item into a list.
    pub fn push(&self, item: I)
    where
        R: Reducer,
        I: DeserializeOwned,
    {
        self.merge_any([item]);
    }
}

impl<T, R> Clone for StateWriter<T, R> {
    fn clone(&self) -> Self {
        StateWriter { attempt: Arc::clone(&self.attempt), key: self.key, is_declared: self.is_declared }
    }
}

impl<T, R> fmt::Debug for StateWriter<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateWriter").field("key", &self.key.name()).finish_non_exhaustive()
    }
}
