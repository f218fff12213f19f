//! Keys of the state.

use std::marker::PhantomData;

use graphweft_graph::state_proof::StateKeyFact;

use super::reducer::{Overwrite, WriteMode};

/// A key of the run's state: a name, the type of its value, and its reducer.
#[derive(Debug)]
pub struct StateKey<T, R = Overwrite> {
    name: &'static str,
    holds: PhantomData<fn() -> (T, R)>,
}

impl<T, R: WriteMode<T>> StateKey<T, R> {
    /// A key. Use one constant for each, so that all nodes agree on its type and its reducer.
    pub const fn new(name: &'static str) -> Self {
        StateKey { name, holds: PhantomData }
    }

    /// Its declaration for [`Node::STATE`](crate::Node::STATE) of a node that is written by hand.
    pub const fn fact(&self) -> StateKeyFact {
        match R::ZERO {
            Some(zero) => StateKeyFact::with_zero(self.name, zero),
            None if R::OVERWRITES => StateKeyFact::overwrite(self.name),
            None => StateKeyFact::reduced(self.name, false),
        }
    }
}

impl<T, R> StateKey<T, R> {
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
