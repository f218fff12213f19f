//! Edges: an edge carries a value that its target takes (P2).

use std::any::Any;
use std::marker::PhantomData;

use super::mention::{END, Each, Mention, Source, Target};
use crate::node::Node;
use crate::table::{BoxValue, Hand, Token};

/// The target takes the value, by `From`.
pub type Takes = u8;

/// The target has no parameters and ignores the value.
///
/// The two modes are integer types because the macro passes a literal for them: where both fit, which is where a node
/// without parameters follows one that gives `()`, rustc's fallback for integers settles it.
pub type Ignores = i32;

/// "This node can follow `A`, which gives `Out`."
#[diagnostic::on_unimplemented(
    message = "node `{Self}` takes `{In}`, but `{A}` gives `{Out}`",
    label = "takes `{In}`, is given `{Out}`: implement `From<{Out}>` for `{In}`, or put a node between"
)]
pub trait Follows<A: ?Sized, Out, In, Mode> {
    /// Takes what the edge carries.
    fn hand(value: Out) -> In;
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
pub trait Ends<A: ?Sized, Out, Declared> {
    /// Takes what reaches END.
    fn end(value: Out) -> Declared;
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, T> Ends<A, T, T> for END {
    fn end(value: T) -> T {
        value
    }
}

/// "`[..]` runs for every item of what the node before it gives." Self is the `[..]`, which is to blame.
#[diagnostic::on_unimplemented(
    message = "`[..]` runs for every item of a `Vec`, but `{A}` gives `{Out}`",
    label = "is given `{Out}`, which is no `Vec`: let the node before give one, or leave the brackets out"
)]
pub trait Items<A: ?Sized, Out> {
    /// One of them.
    type Item;

    /// All of them, in order.
    fn items(all: Out) -> Vec<Self::Item>;
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, T, F, L> Items<A, Vec<T>> for Each<F, L> {
    type Item = T;

    fn items(all: Vec<T>) -> Vec<T> {
        all
    }
}

/// What stands inside `[..]`.
pub trait Inside {
    /// Where it begins.
    type First: Target;
}

impl<F: Target, L> Inside for Each<F, L> {
    type First = F;
}

/// "What goes to several nodes is copied for each of them."
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

/// What a workflow gives: the type that END is held to, written or inferred.
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
        Token { value: Box::new(value), hand: self.hand }
    }
}

/// Fills the target's slot by a function of the types that both ends agreed on.
pub(crate) fn fill<T: 'static, U: 'static>(value: BoxValue, slot: &mut dyn Any, take: impl FnOnce(T) -> U) {
    if let (Ok(value), Some(slot)) = (value.downcast::<T>(), slot.downcast_mut::<Option<U>>()) {
        *slot = Some(take(*value));
    }
}

fn hand<A, B, T, U, M>(value: BoxValue, slot: &mut dyn Any)
where
    A: ?Sized,
    B: Follows<A, T, U, M>,
    T: 'static,
    U: 'static,
{
    fill::<T, U>(value, slot, B::hand);
}

fn hand_end<E, A, T, O>(value: BoxValue, slot: &mut dyn Any)
where
    A: ?Sized,
    E: Ends<A, T, O>,
    T: 'static,
    O: 'static,
{
    fill::<T, O>(value, slot, E::end);
}

pub(crate) fn hand_nothing(_: BoxValue, slot: &mut dyn Any) {
    if let Some(slot) = slot.downcast_mut::<Option<()>>() {
        *slot = Some(());
    }
}

fn hand_items<A, E, V, M>(value: BoxValue, slot: &mut dyn Any)
where
    A: ?Sized,
    V: 'static,
    E: Inside + Items<A, V>,
    E::First: Follows<A, E::Item, <E::First as Target>::Input, M>,
{
    fill::<V, Vec<BoxValue>>(value, slot, |items| {
        E::items(items).into_iter().map(|item| Box::new(E::First::hand(item)) as BoxValue).collect()
    });
}

/// `a => b`
pub fn edge<A: Mention, B: Mention, M>(_: A, _: B, _: M) -> Edge<<A::Node as Source>::Output>
where
    A::Node: Source,
    B::Node: Node,
    B::Node: Follows<<A::Node as Source>::Shown, <A::Node as Source>::Output, <B::Node as Node>::Input, M>,
{
    Edge::by(hand::<<A::Node as Source>::Shown, B::Node, <A::Node as Source>::Output, <B::Node as Node>::Input, M>)
}

/// "This node can follow `A` as a branch of a join whose branches exclude each other": the same as [`Follows`], in the
/// words that such a join needs.
#[diagnostic::on_unimplemented(
    message = "node `{Self}` takes `{In}`, but `{A}` gives `{Out}`, and no other branch of the join comes with it",
    label = "takes `{In}`, is given `{Out}`",
    note = "branches that exclude each other hand over the one value that comes, as `<..> => node` does: take that value, or \
            route so that both branches can run"
)]
pub trait FollowsAlone<A: ?Sized, Out, In, Mode> {
    /// Takes what the edge carries.
    fn hand_alone(value: Out) -> In;
}

#[diagnostic::do_not_recommend]
impl<A: ?Sized, B: Follows<A, T, U, M>, T, U, M> FollowsAlone<A, T, U, M> for B {
    fn hand_alone(value: T) -> U {
        B::hand(value)
    }
}

/// `(a, b) => c`, of which never more than one comes: the edge from `a`.
pub fn edge_alone<A: Mention, B: Mention, M>(_: A, _: B, _: M) -> Edge<<A::Node as Source>::Output>
where
    A::Node: Source,
    B::Node: Node,
    B::Node: FollowsAlone<<A::Node as Source>::Shown, <A::Node as Source>::Output, <B::Node as Node>::Input, M>,
{
    Edge::by(|value, slot| {
        fill::<<A::Node as Source>::Output, <B::Node as Node>::Input>(
            value,
            slot,
            <B::Node as FollowsAlone<<A::Node as Source>::Shown, _, _, M>>::hand_alone,
        );
    })
}

/// What a node gives, before it is taken apart.
pub struct ItemsOf<A: ?Sized, T>(PhantomData<fn() -> T>, PhantomData<fn() -> A>);

/// `a => [..]`: what `a` gives is known before it is held to be a `Vec`.
pub fn items_of<A: Mention>(_: A) -> ItemsOf<<A::Node as Source>::Shown, <A::Node as Source>::Output>
where
    A::Node: Source,
{
    ItemsOf(PhantomData, PhantomData)
}

impl<A: ?Sized, T: 'static> ItemsOf<A, T> {
    /// `a => [first => .. => last]`
    pub fn each<B: Mention, M>(self, _: B, _: M) -> Edge<T>
    where
        B::Node: Inside + Items<A, T>,
        <B::Node as Inside>::First:
            Follows<A, <B::Node as Items<A, T>>::Item, <<B::Node as Inside>::First as Target>::Input, M>,
    {
        Edge::by(hand_items::<A, B::Node, T, M>)
    }
}

/// Something that leads to END, and what the workflow gives: both are known before they are compared, so that a wrong
/// type is blamed on the edge.
pub struct Leaving<T, O> {
    what: T,
    gives: PhantomData<fn() -> O>,
}

impl<T, O> Leaving<T, O> {
    pub(crate) fn of(what: T, _: Gives<O>) -> Self {
        Leaving { what, gives: PhantomData }
    }
}

/// A node that gives a `T`, as the source of an edge to END.
pub struct Leaves<A: ?Sized, T>(PhantomData<fn() -> T>, PhantomData<fn() -> A>);

/// The same for the source itself.
pub type LeavesOf<S> = Leaves<<S as Source>::Shown, <S as Source>::Output>;

/// `a => ..`, in a workflow that gives `O`.
pub fn leaves<A: Mention, O>(_: A, gives: Gives<O>) -> Leaving<LeavesOf<A::Node>, O>
where
    A::Node: Source,
{
    Leaving::of(Leaves(PhantomData, PhantomData), gives)
}

impl<A: ?Sized, T: 'static, O: 'static> Leaving<Leaves<A, T>, O> {
    /// `.. => END`
    pub fn ends<E: Ends<A, T, O>>(self, _: E) -> Edge<T> {
        Edge::by(hand_end::<E, A, T, O>)
    }
}

impl<A: ?Sized, P: Send + 'static, O: 'static> Leaving<Given<A, P>, O> {
    /// `<label: END>`
    pub fn ends<E: Ends<A, P, O>>(self, _: E) -> Token {
        Token { value: Box::new(self.what.value), hand: hand_end::<E, A, P, O> }
    }
}

/// An edge into a place of a join: the join itself takes the value, so the edge has nothing to convert.
pub fn place_edge<A: Mention>(_: A) -> Edge<<A::Node as Source>::Output>
where
    A::Node: Source,
{
    Edge::by(|_, _| {})
}

/// What a routed node gives on one of its arms.
pub struct Given<A: ?Sized, P> {
    value: P,
    by: PhantomData<fn() -> A>,
}

/// Names the payload of an arm before its target is, so that a wrong one is blamed on the edge.
pub fn give<A: Mention, P>(_: A, value: P) -> Given<<A::Node as Source>::Shown, P>
where
    A::Node: Source,
{
    Given { value, by: PhantomData }
}

impl<A: ?Sized, P: Send + 'static> Given<A, P> {
    /// `<label: b>`
    pub fn to<B: Mention, M>(self, _: B, _: M) -> Token
    where
        B::Node: Node,
        B::Node: Follows<A, P, <B::Node as Node>::Input, M>,
    {
        Token { value: Box::new(self.value), hand: hand::<A, B::Node, P, <B::Node as Node>::Input, M> }
    }

    /// `<label: [first => .. => last]>`
    pub fn to_each<B: Mention, M>(self, _: B, _: M) -> Token
    where
        B::Node: Inside + Items<A, P>,
        <B::Node as Inside>::First:
            Follows<A, <B::Node as Items<A, P>>::Item, <<B::Node as Inside>::First as Target>::Input, M>,
    {
        Token { value: Box::new(self.value), hand: hand_items::<A, B::Node, P, M> }
    }

    /// `<label: ..>`, in a workflow that gives `O`.
    pub fn leaving<O>(self, gives: Gives<O>) -> Leaving<Given<A, P>, O> {
        Leaving::of(self, gives)
    }

    /// The same once more, for an arm that leads to several nodes.
    pub fn again(&self) -> Given<A, P>
    where
        P: Copies,
    {
        Given { value: self.value.copy(), by: PhantomData }
    }
}
