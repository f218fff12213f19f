//! Writes to the state of a scope.

use std::fmt;
use std::future::IntoFuture;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{ScopeError, WrittenBy};
use super::fold::Entry;
use super::id::Scope;
use super::scoped::{Reader, ScopedState};
use crate::core::Totals;
use crate::state::{Overwrite, Reducer, StateKey, StateOp, StateWrite, holds, merge_op, set_op};

/// Writes to the state of a scope, from [`ScopedState::update`]. Awaiting it writes all of them, or none.
///
/// In a node it is a step: if the future is dropped before it is ready, the writes may have been made or not, and the node that makes
/// them again makes them once.
///
/// # Errors
/// Awaiting it fails with [`ScopeError::Conflict`] if a key that it [sets](Self::set) was written since it was read, with
/// [`ScopeError::Refused`] if a value cannot be recorded or merged, and with [`ScopeError::Store`] if the store fails.
///
/// All of it, or nothing: the sum and the list never differ.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::User;
/// use graphweft::state::{Append, Sum};
///
/// const CENTS: StateKey<u64, Sum, User> = StateKey::new("cents");
/// const ORDERS: StateKey<Vec<String>, Append, User> = StateKey::new("orders");
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let ada = engine.scope(User, "ada").await?;
/// ada.update().merge(CENTS, 40).push(ORDERS, "a lamp".into()).await?;
///
/// let ada = engine.scope(User, "ada").await?;
/// assert_eq!((ada.get(CENTS)?, ada.get(ORDERS)?), (Some(40), Some(vec!["a lamp".to_owned()])));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is written before it is awaited"]
pub struct ScopeUpdate<'c, S> {
    state: ScopedState<'c, S>,
    writes: Vec<StateWrite>,
    totals: Totals,
    refused: Option<ScopeError>,
}

impl<'c, S: Scope> ScopedState<'c, S> {
    /// Writes to this state, all at once, when it is awaited.
    pub fn update(self) -> ScopeUpdate<'c, S> {
        ScopeUpdate { state: self, writes: Vec::new(), totals: Totals::default(), refused: None }
    }
}

impl<S: Scope> ScopeUpdate<'_, S> {
    /// Replaces the value of a key.
    pub fn set<T: Serialize + DeserializeOwned + Send>(self, key: StateKey<T, Overwrite, S>, value: T) -> Self {
        let max = self.state.max;
        self.with(key.name(), set_op(value, max))
    }

    /// Merges a value by the reducer of its key.
    pub fn merge<T, R: Reducer>(mut self, key: StateKey<T, R, S>, value: T) -> Self
    where
        T: Serialize + DeserializeOwned + Send,
    {
        self.totals.add(key.name(), holds::<T>());
        let max = self.state.max;
        self.with(key.name(), merge_op::<R>(value, max))
    }

    /// Merges one item into a list.
    pub fn push<I, R: Reducer>(self, key: StateKey<Vec<I>, R, S>, item: I) -> Self
    where
        I: Serialize + DeserializeOwned + Send,
    {
        let max = self.state.max;
        self.with(key.name(), merge_op::<R>([item], max))
    }

    fn with(mut self, key: &str, op: Result<StateOp, String>) -> Self {
        match op {
            Ok(op) => self.writes.push(StateWrite { key: key.to_owned(), op }),
            Err(message) => {
                let refused = self.state.log.refuse(key.to_owned(), message);
                self.refused.get_or_insert(refused);
            }
        }
        self
    }

    async fn write(self) -> Result<(), ScopeError> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        if let Some((key, why)) = self.state.fold.refuses(&self.writes, &self.totals) {
            return Err(self.state.log.refuse(key, why));
        }
        if self.writes.is_empty() {
            return Ok(());
        }
        let (ScopedState { log, fold, entry: key, reader, .. }, totals) = (self.state, self.totals);
        let by = match &reader {
            Reader::Node(step) => WrittenBy::InRun { run: step.context.run_id().to_owned(), path: step.context.path() },
            Reader::Program => WrittenBy::Program,
        };
        let entry = Entry { by, read: fold.end, writes: self.writes };
        match &reader {
            Reader::Node(step) => step.write(&log, &key, &entry, &fold, &totals).await,
            Reader::Program => log.append(&key, &entry, &fold, &totals).await,
        }
    }
}

impl<'c, S: Scope> IntoFuture for ScopeUpdate<'c, S> {
    type Output = Result<(), ScopeError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.write().boxed()
    }
}

impl<S: Scope> fmt::Debug for ScopeUpdate<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.writes.iter().map(|write| write.key.as_str()).collect();
        f.debug_struct("ScopeUpdate").field("state", &self.state).field("writes", &keys).finish()
    }
}
