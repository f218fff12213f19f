//! Values whose types are erased.

use std::any::Any;
use std::fmt;

/// A value whose type only those know who put it in and take it out. The box outlives the value: the next value of the
/// same type may have its memory.
pub struct BoxValue(
    /// An `Option` of the value.
    Box<dyn Any + Send>,
);

/// What is in a box that never had a value.
struct Empty;

impl BoxValue {
    /// A new box.
    #[inline]
    pub fn new<T: Any + Send>(value: T) -> Self {
        BoxValue(Box::new(Some(value)))
    }

    /// One without a value, which takes no memory.
    pub(crate) fn empty() -> Self {
        BoxValue(Box::new(Empty))
    }

    /// Puts another value in. Where there is one, it is dropped; where it has another type, the memory is another.
    #[inline]
    pub(crate) fn put<T: Any + Send>(&mut self, value: T) {
        match self.0.downcast_mut::<Option<T>>() {
            Some(place) => *place = Some(value),
            None => *self = BoxValue::new(value),
        }
    }

    /// Takes the value out; `None` if it has another type, or was taken before.
    #[inline]
    pub fn take<T: 'static>(&mut self) -> Option<T> {
        self.0.downcast_mut::<Option<T>>()?.take()
    }

    /// The value; `None` as above.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.downcast_ref::<Option<T>>()?.as_ref()
    }

    /// Whether it is of this type. Its value may have been taken.
    pub(crate) fn is<T: 'static>(&self) -> bool {
        self.0.is::<Option<T>>()
    }
}

impl fmt::Debug for BoxValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxValue(..)")
    }
}
