//! Inputs of nodes, retained for another attempt.

use std::sync::{Arc, Mutex, PoisonError};

use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::box_value::BoxValue;
use crate::core::Place;
use crate::table::{Arrived, Token};

/// The input of a node, retained for another attempt.
pub(super) enum RetainedInput {
    /// One, or one for each item.
    Values(Vec<BoxValue>),
    /// From before this process.
    Recorded(Arc<RecordedInputs>),
}

/// The recorded inputs of a node with a graph inside, before and after their conversion.
pub(super) struct RecordedInputs {
    pub(super) place: Place,
    /// Whether another attempt may want the same inputs.
    pub(super) keep: bool,
    pub(super) state: Mutex<InputState>,
}

pub(super) enum InputState {
    Arrived(Option<Arrived>),
    Converted(Vec<ItemInput>),
}

pub(super) enum ItemInput {
    Input(BoxValue),
    Emitted(Vec<Option<Token>>),
    Gone,
}

impl RecordedInputs {
    pub(super) fn new(place: Place, keep: bool, arrived: Arrived) -> Self {
        RecordedInputs { place, keep, state: Mutex::new(InputState::Arrived(Some(arrived))) }
    }
}

/// Before their conversion, which makes values that have no text.
impl Serialize for RecordedInputs {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            InputState::Arrived(arrived) => (&self.place, self.keep, arrived).serialize(to),
            InputState::Converted(_) => Err(S::Error::custom("the inputs of a node were converted")),
        }
    }
}

impl<'de> Deserialize<'de> for RecordedInputs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (place, keep, arrived) = Deserialize::deserialize(from)?;
        Ok(RecordedInputs { place, keep, state: Mutex::new(InputState::Arrived(arrived)) })
    }
}
