//! Keys of the state.

use std::marker::PhantomData;

use graphweft_graph::state_proof::StateKeyFact;

use super::reducer::{Overwrite, WriteMode};
use super::scope::PerRun;

/// A key of the state: a name, the type of its value, its reducer, and how long the value lives.
///
/// | | whose state | read and written by |
/// | --- | --- | --- |
/// | `StateKey<T, R>` | that of the run | parameters of nodes: [`state`](crate::state) |
/// | `StateKey<T, R, Session>`, `StateKey<T, R, User>`, `StateKey<T, R, App>` | that of a session, a user or an application, over all their runs | [`Context::scope`](crate::Context::scope), [`Engine::scope`](crate::Engine::scope): [`scope`](crate::scope) |
#[derive(Debug)]
pub struct StateKey<T, R = Overwrite, S = PerRun> {
    name: &'static str,
    holds: PhantomData<fn() -> (T, R)>,
    scope: PhantomData<S>,
}

impl<T, R: WriteMode<T>, S> StateKey<T, R, S> {
    /// A key. Use one constant for each, so that all nodes agree on its type and its reducer.
    pub const fn new(name: &'static str) -> Self {
        StateKey { name, holds: PhantomData, scope: PhantomData }
    }
}

impl<T, R: WriteMode<T>> StateKey<T, R> {
    /// Its declaration for [`Node::STATE`](crate::Node::STATE) of a node that is written by hand.
    pub const fn fact(&self) -> StateKeyFact {
        match R::ZERO {
            Some(zero) => StateKeyFact::with_zero(self.name, zero),
            None if R::OVERWRITES => StateKeyFact::overwrite(self.name),
            None => StateKeyFact::reduced(self.name, false),
        }
    }
}

impl<T, R, S> StateKey<T, R, S> {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T, R, S> Clone for StateKey<T, R, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, R, S> Copy for StateKey<T, R, S> {}
