//! Values that are on record, and become values again only where a node needs them: most of what a run has recorded is
//! behind it, and is never read again.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::catch::caught;
use super::run::Driver;
use crate::core::{Arrived, Emitted, Place, Tokens};
use crate::engine::Halt;
use crate::table::{AnyScope, BoxValue, Token, Unreadable};

/// A token from a record.
enum Recorded {
    /// What a node gave, or the error that went on by its arm `err`.
    Given { place: Place, json: Arc<Value>, is_error: bool, choice: usize, at: usize },
    /// What START of a graph inside a node emitted.
    Inside { inside: Arc<Inside>, item: usize, choice: usize, at: usize },
}

/// What entered a node with a graph inside, before and after it was converted.
pub(super) struct Inside {
    place: Place,
    /// Whether another attempt may want the same inputs.
    keep: bool,
    state: Mutex<Entering>,
}

enum Entering {
    Arrived(Option<Arrived>),
    Made(Vec<Made>),
}

enum Made {
    Input(BoxValue),
    Emitted(Vec<Option<Token>>),
    Gone,
}

impl Inside {
    pub(super) fn new(place: Place, keep: bool, arrived: Arrived) -> Self {
        Inside { place, keep, state: Mutex::new(Entering::Arrived(Some(arrived))) }
    }
}

/// One token for each live edge of a choice, none of which is read yet.
fn emission(choice: usize, edges: usize, token: impl Fn(usize) -> Recorded) -> Emitted {
    let token = |at| Token { value: Box::new(token(at)) as BoxValue, hand: never };
    let tokens = match edges {
        0 => Tokens::None,
        1 => Tokens::One(token(0)),
        edges => Tokens::Many((0..edges).map(token).collect()),
    };
    Emitted { choice, tokens }
}

/// A record is made a value before it is handed over.
fn never(_: BoxValue, _: &mut dyn Any) {}

/// What a node emitted, from its record.
pub(super) fn given(place: &Place, json: Value, is_error: bool, choice: usize) -> Emitted {
    let json = Arc::new(json);
    emission(choice, place.edges(choice), |at| Recorded::Given {
        place: place.clone(),
        json: Arc::clone(&json),
        is_error,
        choice,
        at,
    })
}

/// What START of a graph inside emitted for an item, from the record that it was entered.
pub(super) fn entered(inside: &Arc<Inside>, item: usize, choice: usize, edges: usize) -> Emitted {
    emission(choice, edges, |at| Recorded::Inside { inside: Arc::clone(inside), item, choice, at })
}

impl Driver {
    /// What has arrived, with all that is only on record made into values.
    pub(super) fn read(&self, arrived: Arrived) -> Result<Arrived, Halt> {
        if !self.replayed {
            return Ok(arrived);
        }
        match arrived {
            Arrived::One(token) => Ok(Arrived::One(self.read_token(token)?)),
            Arrived::Join { way, places } => {
                let places = places.into_iter().map(|place| place.map(|token| self.read_token(token)).transpose());
                Ok(Arrived::Join { way, places: places.collect::<Result<_, _>>()? })
            }
        }
    }

    fn read_token(&self, token: Token) -> Result<Token, Halt> {
        let Token { value, hand } = token;
        let recorded = match value.downcast::<Recorded>() {
            Ok(recorded) => *recorded,
            Err(value) => return Ok(Token { value, hand }),
        };
        match recorded {
            Recorded::Given { place, json, is_error, choice, at } => {
                let emitted = self.restore(&place, &json, is_error)?;
                nth(emitted, choice, at).ok_or_else(|| unreadable(&place, routed_otherwise()))
            }
            Recorded::Inside { inside, item, choice, at } => self.read_inside(&inside, item, choice, at),
        }
    }

    fn restore(&self, place: &Place, json: &Value, is_error: bool) -> Result<Emitted, Halt> {
        let entry = self.executable.entry(&self.definition, place);
        let restored = caught(|| {
            let entry = entry?;
            Some(match (&entry.scope, &entry.node) {
                (Some(scope), _) if place.is_scope() => restore_scope(scope.as_ref(), json, is_error),
                (_, Some(node)) if is_error => node.restore_error(json),
                (_, Some(node)) => node.restore(json),
                (Some(scope), None) => restore_scope(scope.as_ref(), json, is_error),
                (None, None) => return None,
            })
        });
        match restored {
            Ok(Some(restored)) => restored.map_err(|error| unreadable(place, error)),
            Ok(None) => Err(unreadable(place, Unreadable::whole("there is no such node"))),
            Err(fault) => Err(unreadable(place, Unreadable::whole(fault.to_string()))),
        }
    }

    fn read_inside(&self, inside: &Inside, item: usize, choice: usize, at: usize) -> Result<Token, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        let scope = self.executable.scope(&self.definition, place).ok_or_else(gone)?;
        let mut state = inside.state.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.make(inside, scope.as_ref(), &mut state)?.get_mut(item).ok_or_else(gone)?;
        if let Made::Input(input) = made {
            let start = &scope.definition().start;
            let fault = |fault: crate::Fault| unreadable(place, Unreadable::whole(fault.to_string()));
            let emitted = if inside.keep {
                let copy = caught(|| scope.copy(input)).and_then(|copy| copy).map_err(fault)?;
                caught(|| start(copy)).map_err(fault)?
            } else {
                let Made::Input(input) = std::mem::replace(made, Made::Gone) else { return Err(gone()) };
                caught(|| start(input)).map_err(fault)?
            };
            if inside.keep {
                return nth(emitted, choice, at).ok_or_else(|| unreadable(place, routed_otherwise()));
            }
            if emitted.choice != choice {
                return Err(unreadable(place, routed_otherwise()));
            }
            *made = Made::Emitted(into_tokens(emitted).into_iter().map(Some).collect());
        }
        let Made::Emitted(tokens) = made else { return Err(gone()) };
        tokens.get_mut(at).and_then(Option::take).ok_or_else(gone)
    }

    /// How many items entered.
    pub(super) fn items_of(&self, inside: &Inside) -> Result<usize, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        let scope = self.executable.scope(&self.definition, place).ok_or_else(gone)?;
        let mut state = inside.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.make(inside, scope.as_ref(), &mut state).map(|made| made.len())
    }

    /// Makes inputs of what has arrived, where nobody has.
    fn make<'s>(
        &self,
        inside: &Inside,
        scope: &dyn AnyScope,
        state: &'s mut Entering,
    ) -> Result<&'s mut Vec<Made>, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        if let Entering::Arrived(arrived) = state {
            let arrived = self.read(arrived.take().ok_or_else(gone)?)?;
            let inputs = caught(|| scope.enter(arrived))
                .and_then(|made| made)
                .map_err(|fault| unreadable(place, Unreadable::whole(fault.to_string())))?;
            *state = Entering::Made(inputs.into_iter().map(Made::Input).collect());
        }
        match state {
            Entering::Made(made) => Ok(made),
            Entering::Arrived(_) => Err(gone()),
        }
    }

    /// The inputs themselves, for another attempt at the node.
    pub(super) fn inputs_of(&self, inside: &Inside) -> Result<Vec<BoxValue>, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        let scope = self.executable.scope(&self.definition, place).ok_or_else(gone)?;
        let fault = |fault: crate::Fault| unreadable(place, Unreadable::whole(fault.to_string()));
        let mut state = inside.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            Entering::Arrived(arrived) => {
                let arrived = self.read(arrived.take().ok_or_else(gone)?)?;
                let inputs = caught(|| scope.enter(arrived)).and_then(|made| made).map_err(fault)?;
                let copies = caught(|| inputs.iter().map(|input| scope.copy(input)).collect::<Result<Vec<_>, _>>());
                let copies = copies.and_then(|copies| copies).map_err(fault)?;
                *state = Entering::Made(inputs.into_iter().map(Made::Input).collect());
                Ok(copies)
            }
            Entering::Made(made) => made
                .iter()
                .map(|made| match made {
                    Made::Input(input) => caught(|| scope.copy(input)).and_then(|copy| copy).map_err(fault),
                    Made::Emitted(_) | Made::Gone => Err(gone()),
                })
                .collect(),
        }
    }
}

fn restore_scope(scope: &dyn AnyScope, json: &Value, is_error: bool) -> Result<Emitted, Unreadable> {
    if is_error { scope.restore_error(json) } else { scope.restore(json) }
}

fn into_tokens(emitted: Emitted) -> Vec<Token> {
    match emitted.tokens {
        Tokens::None => Vec::new(),
        Tokens::One(token) => vec![token],
        Tokens::Many(tokens) => tokens,
    }
}

fn nth(emitted: Emitted, choice: usize, at: usize) -> Option<Token> {
    if emitted.choice != choice { None } else { into_tokens(emitted).into_iter().nth(at) }
}

fn routed_otherwise() -> Unreadable {
    Unreadable::whole("the recorded value takes another arm now than the one that is on record")
}

pub(super) fn unreadable(place: &Place, error: Unreadable) -> Halt {
    Halt::Unreadable { path: place.to_string(), field: error.field, message: error.message }
}
