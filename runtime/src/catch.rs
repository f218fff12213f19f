//! A panic in a user's code is a fault of their node.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fault::Fault;

/// Calls a user's code.
///
/// Unwind safe: state that a panic leaves half changed belongs to the call, and is dropped with it.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let message = message_of(panic.as_ref());
        // The panic's payload is a value of the user's too, and may panic when it is dropped.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(second);
        }
        Fault::Panic { message }
    })
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "with something that is no text".to_owned(),
    }
}
