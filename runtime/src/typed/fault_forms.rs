//! How the error of a node is made of a fault.

use crate::box_value::BoxValue;
use crate::fault::Fault;

/// How a fault becomes an error.
pub struct FaultForms<E> {
    /// By itself.
    pub alone: Option<fn(Fault) -> E>,
    /// With the input of the attempt. It is preferred.
    pub with_input: Option<FromFaultAndInput<E>>,
}

/// Makes an error of a fault and a boxed input; `None` if the box holds something else.
pub type FromFaultAndInput<E> = fn(Fault, BoxValue) -> Option<E>;

impl<E> Clone for FaultForms<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for FaultForms<E> {}

impl<E> FaultForms<E> {
    pub(super) fn make(self, fault: Fault, input: Option<BoxValue>) -> Option<E> {
        match (self.with_input, input) {
            (Some(make), Some(input)) => make(fault, input),
            _ => self.alone.map(|make| make(fault)),
        }
    }
}
