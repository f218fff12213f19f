//! What arrives at a node, as the type that it takes.

use std::any::Any;

use super::group::JoinFn;
use crate::fault::Fault;
use crate::table::{Arrived, BoxValue, Hand};

/// For each way into a node, how a join there is put together.
pub type JoinTable = Vec<Option<JoinFn>>;

/// What arrived, as the node's input.
pub(crate) fn take<T: 'static>(arrived: Arrived, joins: &JoinTable) -> Result<T, Fault> {
    match arrived {
        Arrived::One(token) => take_one(token.value, token.hand),
        Arrived::Join { way, places } => {
            let mut slot: Option<T> = None;
            if let Some(Some(join)) = joins.get(way) {
                join(places, &mut slot);
            }
            slot.ok_or_else(unfit::<T>)
        }
    }
}

/// The same of one token.
pub(crate) fn take_one<T: 'static>(value: BoxValue, hand: Hand) -> Result<T, Fault> {
    let mut slot: Option<T> = None;
    hand(value, &mut slot);
    slot.ok_or_else(unfit::<T>)
}

fn unfit<T>() -> Fault {
    Fault::Context { message: format!("what arrived does not have the type `{}`", std::any::type_name::<T>()) }
}

/// A value under a type of which only a check at run time knows that it is the same: the error of a nested workflow is a
/// `Failure`, and the error of the node that it is has no other name than `N::Error`.
pub(crate) fn cast<T: 'static, U: 'static>(value: T) -> Option<U> {
    let mut slot: Option<T> = Some(value);
    let any: &mut dyn Any = &mut slot;
    any.downcast_mut::<Option<U>>().and_then(Option::take)
}
