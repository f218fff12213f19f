//! Edges: an edge carries a value that its target takes (P2).

use std::any::Any;
use std::marker::PhantomData;

use super::mention::{Mention, Source};
use crate::box_value::BoxValue;
use crate::table::{Emitted, Hand, Moment, Token, Tokens};

/// The target takes the value, by `From`.
pub type Takes = u8;

/// The target has no parameters and ignores the value.
///
/// The two modes are integer types because the macro passes a literal for them: if both fit, which is so if a node
/// without parameters follows one that returns `()`, rustc's fallback for integers decides.
pub type Ignores = i32;

/// A mode for a value that no node returns.
///
/// With a single impl rustc would infer the type of an edge from it before it looks at the value, and a wrong type
/// would be a mismatch of arguments instead of an edge that does not fit. A second impl, for a type without values,
/// prevents that.
pub type Waits = i64;

/// A type that no node returns.
pub struct Nothing(std::convert::Infallible);

impl Nothing {
    pub(crate) fn never<T>(self) -> T {
        match self.0 {}
    }
}

/// "This node can follow `A`, which gives `Out`."
///
/// The expansion calls the functions of this trait by their whole path, `<ship as Follows<..>>::edge(0)`: then a call
/// that does not fit is an error about the trait alone, which does not show the source of a function with such a bound.
#[diagnostic::on_unimplemented(
    message = "node `{Self}` takes `{In}`, but `{A}` gives `{Out}`",
    label = "takes `{In}`, is given `{Out}`: implement `From<{Out}>` for `{In}`, or put a node between"
)]
pub trait Follows<A: ?Sized, Out, In, Mode> {
    /// Converts the value of the edge.
    fn hand(value: Out) -> In;

    /// `a => b`
    fn edge(_: Mode) -> Edge<Out>
    where
        Self: Sized,
        Out: 'static,
        In: 'static,
    {
        Edge::by(hand::<A, Self, Out, In, Mode>)
    }

    /// `<label: b>`
    fn token(given: Given<A, Out>, _: Mode) -> Token
    where
        Self: Sized,
        Out: Send + 'static,
        In: 'static,
    {
        Token { value: BoxValue::new(given.value), hand: hand::<A, Self, Out, In, Mode> }
    }

    /// `<label: b>`, for an arm that leads to nothing else.
    fn emit(moment: Moment<'_>, choice: usize, value: Out, _: Mode) -> Emitted
    where
        Self: Sized,
        Out: Send + 'static,
        In: 'static,
    {
        let token = Token { value: moment.boxed(value), hand: hand::<A, Self, Out, In, Mode> };
        Emitted { choice, tokens: Tokens::One(token) }
    }

    /// `a => [b]`: `All` is the `Vec` of what the node takes.
    fn edge_of_items<All>(_: ItemsOf<A, All, Out>, _: Mode) -> Edge<All>
    where
        Self: Sized,
        All: 'static,
        Out: 'static,
        In: Send + 'static,
    {
        Edge::by(hand_items::<A, Self, Out, In, Mode>)
    }

    /// `<label: [b]>`
    fn token_of_items<All>(given: GivenItems<A, All, Out>, _: Mode) -> Token
    where
        Self: Sized,
        All: Send + 'static,
        Out: 'static,
        In: Send + 'static,
    {
        Token { value: BoxValue::new(given.all.value), hand: hand_items::<A, Self, Out, In, Mode> }
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B, In> Follows<A, Nothing, In, Waits> for B {
    fn hand(value: Nothing) -> In {
        value.never()
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B, T, U: From<T>> Follows<A, T, U, Takes> for B {
    fn hand(value: T) -> U {
        U::from(value)
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B, T> Follows<A, T, (), Ignores> for B {
    fn hand(_: T) {}
}

/// "The workflow gives what reaches END": exact, so that `T` never passes for `Option<T>`.
#[diagnostic::on_unimplemented(
    message = "the workflow gives `{Declared}`, but `{A}` gives `{Out}`",
    label = "leads to END with `{Out}`: write `-> {Out}`, or put a node between that gives `{Declared}`"
)]
///
/// Self is END, by a parameter: for an impl for the type `END` alone, rustc's message would point to that impl.
pub trait Ends<A: ?Sized, Out, Declared, Mode> {
    /// Converts the value that reaches END.
    fn end(value: Out) -> Declared;

    /// `a => END`
    fn edge(_: Gives<Declared>, _: Leaves<A, Out>, _: Mode) -> Edge<Out>
    where
        Self: Sized,
        Out: 'static,
        Declared: 'static,
    {
        Edge::by(hand_end::<Self, A, Out, Declared, Mode>)
    }

    /// `<label: END>`
    fn token(_: Gives<Declared>, given: Given<A, Out>, _: Mode) -> Token
    where
        Self: Sized,
        Out: Send + 'static,
        Declared: 'static,
    {
        Token { value: BoxValue::new(given.value), hand: hand_end::<Self, A, Out, Declared, Mode> }
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B, Declared> Ends<A, Nothing, Declared, Waits> for B {
    fn end(value: Nothing) -> Declared {
        value.never()
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B, T> Ends<A, T, T, Takes> for B {
    fn end(value: T) -> T {
        value
    }
}

/// "`[..]` runs for every item of the output of the node before it." Self is the `[..]`, to which the error points, by a
/// parameter: see [`Ends`].
#[diagnostic::on_unimplemented(
    message = "`[..]` runs for every item of a `Vec`, but `{A}` gives `{Out}`",
    label = "is given `{Out}`, which is no `Vec`: let the node before give one, or leave the brackets out"
)]
pub trait Items<A: ?Sized, Out, T> {
    /// `a => [..]`: the type of an item.
    fn of_output() -> ItemsOf<A, Out, T> {
        ItemsOf(PhantomData, PhantomData)
    }

    /// `<label: [..]>`
    fn of_given(all: Given<A, Out>) -> GivenItems<A, Out, T> {
        GivenItems { all, item: PhantomData }
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, T, B> Items<A, Vec<T>, T> for B {}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B> Items<A, Nothing, Nothing> for B {}

/// The output of a node that is split into items.
pub struct ItemsOf<A: ?Sized, All, T>(PhantomData<fn() -> (All, T)>, PhantomData<fn() -> A>);

/// The value of one arm that is split into items.
pub struct GivenItems<A: ?Sized, All, T> {
    all: Given<A, All>,
    item: PhantomData<fn() -> T>,
}

/// "A value that goes to several nodes is copied for each of them."
#[diagnostic::on_unimplemented(
    message = "`{Self}` goes to several nodes and cannot be copied",
    label = "leads to several nodes: derive `Clone` for `{Self}` (`#[value]` does), or lead to one node"
)]
pub trait Copies {
    /// A copy for one more edge.
    fn copy(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Copies for T {
    fn copy(&self) -> T {
        self.clone()
    }
}

/// The output type of a workflow, which END is checked against, written or inferred.
pub struct Gives<O>(PhantomData<fn() -> O>);

impl<O> Clone for Gives<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for Gives<O> {}

/// The output of the workflow around.
pub fn gives<O>() -> Gives<O> {
    Gives(PhantomData)
}

/// A copy for an edge that is taken beside routes.
pub fn copied<T: Copies>(value: &T) -> T {
    value.copy()
}

/// A checked edge that carries a `T`.
pub struct Edge<T> {
    pub(crate) hand: Hand,
    carries: PhantomData<fn(T)>,
}

impl<T> Edge<T> {
    fn by(hand: Hand) -> Self {
        Edge { hand, carries: PhantomData }
    }
}

impl<T: Send + 'static> Edge<T> {
    /// A live token on this edge.
    pub fn token(&self, value: T) -> Token {
        Token { value: BoxValue::new(value), hand: self.hand }
    }
}

/// Fills the target's slot by a function of the types that both ends agreed on.
pub(crate) fn fill<T: 'static, U: 'static>(value: &mut BoxValue, slot: &mut dyn Any, take: impl FnOnce(T) -> U) {
    if let (Some(value), Some(slot)) = (value.take::<T>(), slot.downcast_mut::<Option<U>>()) {
        *slot = Some(take(value));
    }
}

fn hand<A, B, T, U, M>(value: &mut BoxValue, slot: &mut dyn Any)
where
    A: ?Sized,
    B: Follows<A, T, U, M>,
    T: 'static,
    U: 'static,
{
    fill::<T, U>(value, slot, B::hand);
}

fn hand_end<E, A, T, O, M>(value: &mut BoxValue, slot: &mut dyn Any)
where
    A: ?Sized,
    E: Ends<A, T, O, M>,
    T: 'static,
    O: 'static,
{
    fill::<T, O>(value, slot, E::end);
}

pub(crate) fn hand_nothing(_: &mut BoxValue, slot: &mut dyn Any) {
    if let Some(slot) = slot.downcast_mut::<Option<()>>() {
        *slot = Some(());
    }
}

fn hand_items<A, B, T, U, M>(value: &mut BoxValue, slot: &mut dyn Any)
where
    A: ?Sized,
    B: Follows<A, T, U, M>,
    T: 'static,
    U: Send + 'static,
{
    fill::<Vec<T>, Vec<BoxValue>>(value, slot, |items| {
        items.into_iter().map(|item| BoxValue::new(B::hand(item))).collect()
    });
}

/// "This node can follow `A` as a branch of a join whose branches exclude each other": the same as [`Follows`], with a
/// message for such a join.
#[diagnostic::on_unimplemented(
    message = "node `{Self}` takes `{In}`, but `{A}` gives `{Out}`, and no other branch of the join comes with it",
    label = "takes `{In}`, is given `{Out}`",
    note = "branches that exclude each other hand over the one value that comes, as `<..> => node` does: take that value, or \
            route so that both branches can run"
)]
pub trait FollowsAlone<A: ?Sized, Out, In, Mode> {
    /// Converts the value of the edge.
    fn hand_alone(value: Out) -> In;

    /// `(a, b) => c`, if never more than one of them arrives: the edge from `a`.
    fn edge_alone(_: Mode) -> Edge<Out>
    where
        Self: Sized,
        Out: 'static,
        In: 'static,
    {
        Edge::by(|value, slot| fill::<Out, In>(value, slot, Self::hand_alone))
    }
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B: Follows<A, T, U, M>, T, U, M> FollowsAlone<A, T, U, M> for B {
    fn hand_alone(value: T) -> U {
        B::hand(value)
    }
}

/// A node that returns a `T`, as the source of an edge to END. It comes behind the output type of the workflow, so that
/// both are known before they are compared, and the error of a wrong type points at the edge.
pub struct Leaves<A: ?Sized, T>(PhantomData<fn() -> T>, PhantomData<fn() -> A>);

/// `a => ..`
pub fn leaves<A: Mention>(_: A) -> Leaves<<A::Node as Source>::Shown, <A::Node as Source>::Output>
where
    A::Node: Source,
{
    Leaves(PhantomData, PhantomData)
}

/// An edge into a place of a join: the join itself takes the value, so the edge has nothing to convert.
pub fn place_edge<A: Source>() -> Edge<A::Output> {
    Edge::by(|_, _| {})
}

/// The value of one arm of a routed node.
pub struct Given<A: ?Sized, P> {
    value: P,
    by: PhantomData<fn() -> A>,
}

/// Fixes the payload of an arm before its target, so that the error of a wrong one points at the edge.
pub fn give<A: Mention, P>(_: A, value: P) -> Given<<A::Node as Source>::Shown, P>
where
    A::Node: Source,
{
    Given { value, by: PhantomData }
}

impl<A: ?Sized, P: Send + 'static> Given<A, P> {
    /// The same once more, for an arm that leads to several nodes.
    pub fn again(&self) -> Given<A, P>
    where
        P: Copies,
    {
        Given { value: self.value.copy(), by: PhantomData }
    }
}
