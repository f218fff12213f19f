//! Converts the tokens that arrive at a node to its input type.

use std::any::Any;

use super::group::JoinFn;
use crate::box_value::BoxValue;
use crate::fault::Fault;
use crate::table::{Arrived, Hand};

/// For each way into a node, the function that assembles the input of a join there.
pub type JoinTable = Vec<Option<JoinFn>>;

/// The arrived tokens, as the node's input.
pub(crate) fn take<T: 'static>(arrived: Arrived, joins: &JoinTable) -> Result<T, Fault> {
    match arrived {
        Arrived::One(mut token) => take_one(&mut token.value, token.hand),
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
pub(crate) fn take_one<T: 'static>(value: &mut BoxValue, hand: Hand) -> Result<T, Fault> {
    let mut slot: Option<T> = None;
    hand(value, &mut slot);
    slot.ok_or_else(unfit::<T>)
}

fn unfit<T>() -> Fault {
    Fault::Context { message: format!("what arrived does not have the type `{}`", std::any::type_name::<T>()) }
}

/// Converts a value to the same type under another name, with a check at run time: the error of a nested workflow is a
/// `Failure`, and as the error of a node its only name is `N::Error`.
pub(crate) fn cast<T: 'static, U: 'static>(value: T) -> Option<U> {
    let mut slot: Option<T> = Some(value);
    let any: &mut dyn Any = &mut slot;
    any.downcast_mut::<Option<U>>().and_then(Option::take)
}
