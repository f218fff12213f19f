//! Recorded values, decoded only if a node needs them: most recorded values of a run are already consumed, and never
//! read again.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::event_codec::{MOST_ITEMS, Values, unreadable};
use super::inputs::{InputState, ItemInput, RecordedInputs};
use super::run::Driver;
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::core::{Place, Run, TaskId, pairs, shared};
use crate::fault::Fault;
use crate::field::Unreadable;
use crate::halt::Halt;
use crate::table::{AnyScope, Arrived, Definition, Emitted, Executable, Misread, Token, Tokens};
use crate::value::Against;

/// A token from a record.
#[derive(Clone, Serialize, Deserialize)]
enum Recorded {
    /// The emission of START for the input of the run.
    Start {
        #[serde(with = "shared")]
        input: Arc<Value>,
        choice: usize,
        at: usize,
    },
    /// The output of a node, or the error that its arm `err` took.
    Given {
        place: Place,
        #[serde(with = "shared")]
        json: Arc<Value>,
        is_error: bool,
        choice: usize,
        at: usize,
    },
    /// The emission of START of a graph inside a node.
    Inside {
        #[serde(with = "shared")]
        inside: Arc<RecordedInputs>,
        item: usize,
        choice: usize,
        at: usize,
    },
}

/// Of a recorded value: the values of a run that is driven have no text.
impl Serialize for Token {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.value.get::<Recorded>() {
            Some(recorded) => recorded.serialize(to),
            None => Err(S::Error::custom("a value of a run that is driven")),
        }
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Token { value: BoxValue::new(Recorded::deserialize(from)?), hand: never })
    }
}

/// The emission of START of a run, from the record of its input.
fn begun(input: &Arc<Value>, choice: usize, edges: usize) -> Emitted {
    emission(choice, edges, |at| Recorded::Start { input: Arc::clone(input), choice, at })
}

/// The emission of START of a run as [`begun`], and which one: the input is read for that.
///
/// # Errors
/// If this program cannot read the input.
pub(super) fn begins(executable: &Executable, definition: &Definition, input: &Arc<Value>) -> Result<Emitted, Halt> {
    let read = (definition.door.read_input)(input).map_err(|error| Halt::Unreadable {
        path: definition.name.clone(),
        field: error.field,
        message: error.message,
    })?;
    let broken = |fault| Halt::broken(&definition.name, &fault);
    let started = caught(|| (definition.start)(read)).map_err(broken)?;
    let choice = started.choice;
    // The values of the user may panic when they are dropped.
    let _ = caught(|| drop(started));
    Ok(begun(input, choice, executable.program.layouts[0].edges_of(graphweft_graph::START, choice)))
}

/// What has arrived, once more; `None` if it was decoded.
pub(super) fn copy_of(arrived: &Arrived) -> Option<Arrived> {
    let copy = |token: &Token| {
        let recorded = token.value.get::<Recorded>()?.clone();
        Some(Token { value: BoxValue::new(recorded), hand: never })
    };
    Some(match arrived {
        Arrived::One(token) => Arrived::One(copy(token)?),
        Arrived::Join { way, places } => {
            let place = |place: &Option<Token>| match place {
                Some(token) => copy(token).map(Some),
                None => Some(None),
            };
            Arrived::Join { way: *way, places: places.iter().map(place).collect::<Option<_>>()? }
        }
    })
}

/// One token for each live edge of a choice, none of which is decoded yet.
fn emission(choice: usize, edges: usize, token: impl Fn(usize) -> Recorded) -> Emitted {
    let token = |at| Token { value: BoxValue::new(token(at)), hand: never };
    let tokens = match edges {
        0 => Tokens::None,
        1 => Tokens::One(token(0)),
        edges => Tokens::Many((0..edges).map(token).collect()),
    };
    Emitted { choice, tokens }
}

/// Never called: a record is decoded into a value before it is handed over.
fn never(_: &mut BoxValue, _: &mut dyn Any) {}

/// The emission of a node, from its record.
fn given(place: &Place, json: Value, is_error: bool, choice: usize) -> Emitted {
    let json = Arc::new(json);
    emission(choice, place.edges(choice), |at| Recorded::Given {
        place: place.clone(),
        json: Arc::clone(&json),
        is_error,
        choice,
        at,
    })
}

/// The emission of START of a graph inside a node for one item, from the record that the node was entered.
fn entered(inside: &Arc<RecordedInputs>, item: usize, choice: usize, edges: usize) -> Emitted {
    emission(choice, edges, |at| Recorded::Inside { inside: Arc::clone(inside), item, choice, at })
}

/// The values of a run from its records, none of which is decoded yet.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct RecordedValues {
    /// The inputs of nodes with a graph inside that are under way or may be retried.
    #[serde(with = "pairs")]
    pub(super) inputs: HashMap<TaskId, SharedInputs>,
    /// Whether values are read more than once.
    #[serde(skip)]
    pub(super) keep_all: bool,
}

/// Inputs that the tokens of their items share.
#[derive(Serialize, Deserialize)]
pub(super) struct SharedInputs(#[serde(with = "shared")] pub(super) Arc<RecordedInputs>);

impl RecordedValues {
    fn of(&mut self, run: &mut Run<Token>, task: TaskId, place: &Place) -> Result<&Arc<RecordedInputs>, Halt> {
        if let Some(arrived) = run.take_input(task) {
            let keep = self.keep_all || run.may_be_followed(task);
            let inputs = SharedInputs(Arc::new(RecordedInputs::new(place.clone(), keep, arrived)));
            self.inputs.insert(task, inputs);
        }
        self.inputs
            .get(&task)
            .map(|SharedInputs(inputs)| inputs)
            .ok_or_else(|| unreadable(place, Unreadable::whole("its inputs were not recorded")))
    }
}

/// The values of a run that is folded.
pub(super) struct ReplayedValues<'d> {
    pub(super) executable: &'d Executable,
    /// The driver can count the items of a damaged record. Where a run is folded without one they count as there, if
    /// they are not too many.
    pub(super) driver: Option<&'d Driver>,
    pub(super) values: &'d mut RecordedValues,
}

impl Values<Token> for ReplayedValues<'_> {
    fn emitted(&mut self, place: &Place, json: Value, is_error: bool, choice: usize) -> Emitted {
        given(place, json, is_error, choice)
    }

    fn are_items(&mut self, run: &mut Run<Token>, task: TaskId, place: &Place, items: usize) -> Result<bool, Halt> {
        let inside = Arc::clone(self.values.of(run, task, place)?);
        match self.driver {
            Some(driver) => Ok(driver.items_of(&inside)? == items),
            None => Ok(items < MOST_ITEMS),
        }
    }

    fn entered(
        &mut self,
        run: &mut Run<Token>,
        task: TaskId,
        place: &Place,
        choices: Vec<usize>,
    ) -> Result<Vec<Emitted>, Halt> {
        let inside = self.values.of(run, task, place)?;
        let program = &self.executable.program;
        let input = |(item, choice)| entered(inside, item, choice, place.edges_inside(program, choice));
        Ok(choices.into_iter().enumerate().map(input).collect())
    }
}

impl Driver {
    /// The arrived tokens, with recorded ones decoded into values.
    pub(super) fn read(&self, arrived: Arrived) -> Result<Arrived, Halt> {
        if !self.has_recorded_values {
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

    pub(super) fn read_token(&self, mut token: Token) -> Result<Token, Halt> {
        let Some(recorded) = token.value.take::<Recorded>() else { return Ok(token) };
        match recorded {
            Recorded::Start { input, choice, at } => self.read_start(&input, choice, at),
            Recorded::Given { place, json, is_error, choice, at } => {
                let emitted = self.restore(&place, &json, is_error, choice)?;
                nth(emitted, choice, at).ok_or_else(|| unreadable(&place, routed_otherwise()))
            }
            Recorded::Inside { inside, item, choice, at } => self.read_item(&inside, item, choice, at),
        }
    }

    fn read_start(&self, input: &Value, choice: usize, at: usize) -> Result<Token, Halt> {
        let path = || self.definition.name.clone();
        let unreadable = |field, message| Halt::Unreadable { path: path(), field, message };
        let input = (self.definition.door.read_input)(input).map_err(|error| unreadable(error.field, error.message))?;
        let emitted = caught(|| (self.definition.start)(input)).map_err(|fault| Halt::broken(&path(), &fault))?;
        nth(emitted, choice, at).ok_or_else(|| {
            let Unreadable { field, message } = routed_otherwise();
            unreadable(field, message)
        })
    }

    fn restore(&self, place: &Place, json: &Value, is_error: bool, choice: usize) -> Result<Emitted, Halt> {
        let entry = self.executable.entry(&self.definition, place);
        let restored = caught(|| {
            let entry = entry?;
            // The graph of a child workflow is not recorded: nothing shows whether its types have changed.
            if self.within.is_some()
                && !is_error
                && let Err(Misread::Loses(loss)) = entry.output.check(json, Against::Fields)
            {
                return Some(Err(Misread::Loses(loss).into()));
            }
            Some(match (&entry.scope, &entry.node) {
                (Some(scope), _) if place.is_scope() => restore_scope(scope.as_ref(), json, is_error, choice),
                (_, Some(node)) if is_error => node.restore_error(json, choice),
                (_, Some(node)) => node.restore(json, choice),
                (Some(scope), None) => restore_scope(scope.as_ref(), json, is_error, choice),
                (None, None) => return None,
            })
        });
        match restored {
            Ok(Some(restored)) => restored.map_err(|error| unreadable(place, error)),
            Ok(None) => Err(unreadable(place, Unreadable::whole("there is no such node"))),
            Err(fault) => Err(unreadable(place, Unreadable::whole(fault.to_string()))),
        }
    }

    fn read_item(&self, inside: &RecordedInputs, item: usize, choice: usize, at: usize) -> Result<Token, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        let scope = self.executable.scope(&self.definition, place).ok_or_else(gone)?;
        let mut state = inside.state.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.make(inside, scope.as_ref(), &mut state)?.get_mut(item).ok_or_else(gone)?;
        if let ItemInput::Input(input) = made {
            let start = &scope.definition().start;
            let fault = |fault: Fault| unreadable(place, Unreadable::whole(fault.to_string()));
            let emitted = if inside.keep {
                let copy = caught(|| scope.copy(input)).and_then(|copy| copy).map_err(fault)?;
                caught(|| start(copy)).map_err(fault)?
            } else {
                let ItemInput::Input(input) = std::mem::replace(made, ItemInput::Gone) else { return Err(gone()) };
                caught(|| start(input)).map_err(fault)?
            };
            if inside.keep {
                return nth(emitted, choice, at).ok_or_else(|| unreadable(place, routed_otherwise()));
            }
            if emitted.choice != choice {
                return Err(unreadable(place, routed_otherwise()));
            }
            *made = ItemInput::Emitted(into_tokens(emitted).into_iter().map(Some).collect());
        }
        let ItemInput::Emitted(tokens) = made else { return Err(gone()) };
        tokens.get_mut(at).and_then(Option::take).ok_or_else(gone)
    }

    /// How many items entered.
    fn items_of(&self, inside: &RecordedInputs) -> Result<usize, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        let scope = self.executable.scope(&self.definition, place).ok_or_else(gone)?;
        let mut state = inside.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.make(inside, scope.as_ref(), &mut state).map(|made| made.len())
    }

    /// Converts the arrived value into inputs, if that has not been done yet.
    fn make<'s>(
        &self,
        inside: &RecordedInputs,
        scope: &dyn AnyScope,
        state: &'s mut InputState,
    ) -> Result<&'s mut Vec<ItemInput>, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        if let InputState::Arrived(arrived) = state {
            let arrived = self.read(arrived.take().ok_or_else(gone)?)?;
            let inputs = caught(|| scope.enter(arrived))
                .and_then(|made| made)
                .map_err(|fault| unreadable(place, Unreadable::whole(fault.to_string())))?;
            *state = InputState::Converted(inputs.into_iter().map(ItemInput::Input).collect());
        }
        match state {
            InputState::Converted(made) => Ok(made),
            InputState::Arrived(_) => Err(gone()),
        }
    }

    /// The inputs themselves, for another attempt at the node.
    pub(super) fn inputs_of(&self, inside: &RecordedInputs) -> Result<Vec<BoxValue>, Halt> {
        let place = &inside.place;
        let gone = || unreadable(place, Unreadable::whole("the inputs inside are not those that were recorded"));
        let scope = self.executable.scope(&self.definition, place).ok_or_else(gone)?;
        let fault = |fault: Fault| unreadable(place, Unreadable::whole(fault.to_string()));
        let mut state = inside.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            InputState::Arrived(arrived) => {
                let arrived = self.read(arrived.take().ok_or_else(gone)?)?;
                let inputs = caught(|| scope.enter(arrived)).and_then(|made| made).map_err(fault)?;
                let copies = caught(|| inputs.iter().map(|input| scope.copy(input)).collect::<Result<Vec<_>, _>>());
                let copies = copies.and_then(|copies| copies).map_err(fault)?;
                *state = InputState::Converted(inputs.into_iter().map(ItemInput::Input).collect());
                Ok(copies)
            }
            InputState::Converted(made) => made
                .iter()
                .map(|made| match made {
                    ItemInput::Input(input) => caught(|| scope.copy(input)).and_then(|copy| copy).map_err(fault),
                    ItemInput::Emitted(_) | ItemInput::Gone => Err(gone()),
                })
                .collect(),
        }
    }
}

fn restore_scope(scope: &dyn AnyScope, json: &Value, is_error: bool, choice: usize) -> Result<Emitted, Unreadable> {
    if is_error { scope.restore_error(json, choice) } else { scope.restore(json, choice) }
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
    Unreadable::whole("the recorded value takes another arm now than when it was recorded")
}
