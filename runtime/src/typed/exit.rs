//! How the output of a finished node is routed: along no edge, one, several, or by its label.

use std::sync::Arc;

use super::edge::{Copies, Edge, hand_nothing};
use super::fault_forms::FaultForms;
use super::mention::{Mention, Source};
use super::probe::ErrorJson;
use crate::box_value::BoxValue;
use crate::fault::Fault;
use crate::field::Unreadable;
use crate::table::{Emitted, Hand, Moment, Routed, Token, Tokens};
use crate::value::{Against, MaxSize, Unrecordable};

/// How the output `T` and the error `E` of a node are routed.
pub enum Exit<T, E> {
    /// It leads nowhere: a branch on the side.
    Terminal,
    /// It has one edge.
    One(Hand),
    /// It has several, all of which go live.
    Many(Arc<[Hand]>, fn(&T) -> T),
    /// The same, and beside it the implied edge by which a workflow without output reaches END.
    AndUnit(Box<Exit<T, E>>),
    /// It is routed by its output; an error fails it.
    Value(Arc<Route<T>>),
    /// It is routed by its output and its error.
    Whole(Arc<Route<Result<T, E>>>, ErrorForms<E>),
}

/// A function that matches on the label of a node's output.
type Route<T> = dyn Fn(T, Moment<'_>) -> Emitted + Send + Sync;

/// The conversions of an error that is routed.
pub struct ErrorForms<E> {
    /// How a fault becomes an error, if that is possible.
    pub from_fault: FaultForms<E>,
    /// How it is recorded and read back. An error that is no payload has none, and its workflow does not compile.
    pub json: Option<ErrorJson<E>>,
}

impl<E> Clone for ErrorForms<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for ErrorForms<E> {}

/// Why an error takes no arm.
pub(crate) enum Unrouted<E> {
    /// There is no arm for it.
    NoArm(E),
    /// It has to be recorded and has no JSON form.
    NotWritten(E, Unrecordable),
}

impl<T, E> Clone for Exit<T, E> {
    fn clone(&self) -> Self {
        match self {
            Exit::Terminal => Exit::Terminal,
            Exit::One(hand) => Exit::One(*hand),
            Exit::Many(hands, copy) => Exit::Many(hands.clone(), *copy),
            Exit::AndUnit(exit) => Exit::AndUnit(exit.clone()),
            Exit::Value(route) => Exit::Value(route.clone()),
            Exit::Whole(route, forms) => Exit::Whole(route.clone(), *forms),
        }
    }
}

impl<T: Send + 'static, E> Exit<T, E> {
    #[inline]
    pub(crate) fn value(&self, value: T, moment: Moment<'_>) -> Emitted {
        match self {
            Exit::Terminal => Emitted { choice: 0, tokens: Tokens::None },
            Exit::One(hand) => emit_one(0, Token { value: moment.boxed(value), hand: *hand }),
            Exit::Many(hands, copy) => to_many(hands, *copy, value),
            Exit::AndUnit(exit) => exit.and_unit(value, moment),
            Exit::Value(route) => route(value, moment),
            Exit::Whole(route, _) => route(Ok(value), moment),
        }
    }

    /// The same for a value in a box, which is reused if there is one edge. `None` if it has another type.
    pub(crate) fn boxed(&self, mut value: BoxValue, moment: Moment<'_>) -> Option<Emitted> {
        match self {
            Exit::One(hand) if value.is::<T>() => Some(emit_one(0, Token { value, hand: *hand })),
            _ => Some(self.value(value.take()?, moment)),
        }
    }

    fn and_unit(&self, value: T, moment: Moment<'_>) -> Emitted {
        let Emitted { choice, tokens } = self.value(value, moment);
        let unit = Token { value: BoxValue::new(()), hand: hand_nothing };
        let tokens = match tokens {
            Tokens::None => Tokens::One(unit),
            Tokens::One(token) => Tokens::Many(vec![token, unit]),
            Tokens::Many(tokens) => Tokens::Many(tokens.into_iter().chain([unit]).collect()),
        };
        Emitted { choice, tokens }
    }

    /// The tokens for the error's arm.
    pub(crate) fn error(&self, error: E, records: Option<MaxSize>, moment: Moment<'_>) -> Result<Routed, Unrouted<E>> {
        let Exit::Whole(route, forms) = self else { return Err(Unrouted::NoArm(error)) };
        let write = forms.json.map(|json| json.write).zip(records);
        match write.map(|(write, max)| write(&error, max)).transpose() {
            Ok(json) => Ok(Routed { emitted: route(Err(error), moment), error: json }),
            Err(problem) => Err(Unrouted::NotWritten(error, problem)),
        }
    }

    /// The tokens for the error's arm after a fault, with the input of the attempt if that is known.
    pub(crate) fn fault(
        &self,
        fault: &Fault,
        input: Option<BoxValue>,
        records: Option<MaxSize>,
        moment: Moment<'_>,
    ) -> Option<Routed> {
        let Exit::Whole(_, forms) = self else { return None };
        let error = forms.from_fault.make(fault.clone(), input)?;
        self.error(error, records, moment).ok()
    }

    /// Whether an error is made of a fault and the input of the attempt.
    pub(crate) fn wants_input(&self) -> bool {
        matches!(self, Exit::Whole(_, forms) if forms.from_fault.with_input.is_some())
    }

    /// Whether an error takes an arm.
    pub(crate) fn takes_errors(&self) -> bool {
        matches!(self, Exit::Whole(..))
    }

    /// The tokens for a recorded error, by the choice that was taken.
    pub(crate) fn recorded_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.returned_error(error, Moment::recorded(choice))
    }

    /// The tokens for an error in the form of its record.
    pub(crate) fn returned_error(&self, error: &serde_json::Value, moment: Moment<'_>) -> Result<Emitted, Unreadable> {
        match self {
            Exit::Whole(route, ErrorForms { json: Some(json), .. }) => {
                let read = (json.read)(error)?;
                match json.reread.check(error, Against::Fields) {
                    Ok(()) => Ok(route(Err(read), moment)),
                    Err(misread) => Err(misread.into()),
                }
            }
            _ => Err(Unreadable::whole("the error went along the arm `err`, which the node no longer has")),
        }
    }
}

fn to_many<T: Send + 'static>(hands: &[Hand], copy: fn(&T) -> T, value: T) -> Emitted {
    let mut tokens = Vec::with_capacity(hands.len());
    if let Some((last, others)) = hands.split_last() {
        tokens.extend(others.iter().map(|hand| Token { value: BoxValue::new(copy(&value)), hand: *hand }));
        tokens.push(Token { value: BoxValue::new(value), hand: *last });
    }
    Emitted { choice: 0, tokens: Tokens::Many(tokens) }
}

/// No edge at all.
pub fn exit_none<T, E>() -> Exit<T, E> {
    Exit::Terminal
}

/// One plain edge.
pub fn exit_one<T, E>(edge: Edge<T>) -> Exit<T, E> {
    Exit::One(edge.hand)
}

/// Several plain edges.
pub fn exit_many<A: Mention, T, E>(_: A, edges: impl IntoIterator<Item = Edge<T>>) -> Exit<T, E>
where
    A::Node: Source<Output = T>,
    <A::Node as Source>::Output: Copies,
{
    Exit::Many(edges.into_iter().map(|edge| edge.hand).collect(), |value| value.copy())
}

/// Routed by the output alone.
pub fn exit_value<T, E>(route: impl Fn(T, Moment<'_>) -> Emitted + Send + Sync + 'static) -> Exit<T, E> {
    Exit::Value(Arc::new(route))
}

/// Routed by the output and the error.
pub fn exit_whole<T, E>(
    route: impl Fn(Result<T, E>, Moment<'_>) -> Emitted + Send + Sync + 'static,
    from_fault: FaultForms<E>,
    json: Option<ErrorJson<E>>,
) -> Exit<T, E> {
    Exit::Whole(Arc::new(route), ErrorForms { from_fault, json })
}

/// START of a workflow without output: its edges, and the implied edge to END.
pub fn and_unit<T, E>(exit: Exit<T, E>) -> Exit<T, E> {
    Exit::AndUnit(Box::new(exit))
}

/// The last arm of a `match` whose other arms are known to be exhaustive.
pub fn unrouted() -> Emitted {
    unreachable!("the labels of a route map are exhaustive, or the workflow does not compile")
}

/// The result of a route function for a choice with one edge.
pub fn emit_one(choice: usize, token: Token) -> Emitted {
    Emitted { choice, tokens: Tokens::One(token) }
}

/// The result of a route function for a choice with several.
pub fn emit_many(choice: usize, tokens: Vec<Token>) -> Emitted {
    Emitted { choice, tokens: Tokens::Many(tokens) }
}
