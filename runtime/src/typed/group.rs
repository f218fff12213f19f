//! Joins: a join sees `Option<T>` exactly for the branches that a route may skip (P7), and nothing is converted.

use std::any::Any;
use std::marker::PhantomData;

use super::edge::{Gives, Nothing};
use super::mention::Source;
use crate::table::Token;

/// Puts the values of a join's places into the slot of its node's input.
pub type JoinFn = fn(places: Vec<Option<Token>>, slot: &mut dyn Any);

/// A branch that has always run when the join fires.
pub struct Always<A>(PhantomData<fn() -> A>);

/// A branch that a route may skip.
pub struct MayBeSkipped<A>(PhantomData<fn() -> A>);

/// One place of a join.
pub trait Place {
    /// The node that feeds it.
    type Name;
    /// The type that the join gets from it.
    type Given: Send + 'static;
    /// Its value; `None` if a required value is missing.
    fn take(token: Option<Token>) -> Option<Self::Given>;
}

fn unpack<T: 'static>(token: Option<Token>) -> Option<T> {
    token?.value.take()
}

impl<A: Source> Place for Always<A> {
    type Name = A::Listed;
    type Given = A::Output;

    fn take(token: Option<Token>) -> Option<A::Output> {
        unpack(token)
    }
}

impl<A: Source> Place for MayBeSkipped<A> {
    type Name = A::Listed;
    type Given = Option<A::Output>;

    fn take(token: Option<Token>) -> Option<Option<A::Output>> {
        Some(unpack(token))
    }
}

/// The places of a join, as a tuple.
pub trait Places {
    /// The nodes, as a tuple, for messages.
    type Names;
    /// The type that the join gets.
    type Given: 'static;
    /// The values of the places.
    fn take(places: Vec<Option<Token>>) -> Option<Self::Given>;
}

macro_rules! places {
    ($($place:ident)*) => {
        impl<$($place: Place),*> Places for ($($place,)*) {
            type Names = ($($place::Name,)*);
            type Given = ($($place::Given,)*);

            fn take(places: Vec<Option<Token>>) -> Option<Self::Given> {
                let mut places = places.into_iter();
                Some(($($place::take(places.next()?)?,)*))
            }
        }
    };
}

places!(A);
places!(A B);
places!(A B C);
places!(A B C D);
places!(A B C D E);
places!(A B C D E F);
places!(A B C D E F G);
places!(A B C D E F G H);
places!(A B C D E F G H I);
places!(A B C D E F G H I J);
places!(A B C D E F G H I J K);
places!(A B C D E F G H I J K L);
places!(A B C D E F G H I J K L M);
places!(A B C D E F G H I J K L M N);
places!(A B C D E F G H I J K L M N O);
places!(A B C D E F G H I J K L M N O P);

/// The join takes exactly the values of its places.
pub struct TakesAll;

/// The join has no parameters.
pub struct IgnoresAll;

/// See [`Waits`](super::edge::Waits).
pub struct WaitsForAll;

/// "This node joins `Names`, which give `Given`."
#[diagnostic::on_unimplemented(
    message = "node `{Self}` takes `{In}`, but `{Names}` give `{Given}`",
    label = "takes `{In}`, is given `{Given}`: take exactly that, an `Option` for each branch that a route may skip"
)]
pub trait Joins<Names, Given, In, Mode> {
    /// Converts the values of the places.
    fn join(given: Given) -> In;

    /// `(a, b) => join`
    fn joined<P: Places<Names = Names, Given = Given>>() -> JoinFn
    where
        Self: Sized,
        In: 'static,
    {
        |places, slot| {
            if let (Some(given), Some(slot)) = (P::take(places), slot.downcast_mut::<Option<In>>()) {
                *slot = Some(Self::join(given));
            }
        }
    }
}

#[diagnostic::do_not_recommend]
impl<B, Names, In> Joins<Names, Nothing, In, WaitsForAll> for B {
    fn join(given: Nothing) -> In {
        given.never()
    }
}

#[diagnostic::do_not_recommend]
impl<B, Names, T> Joins<Names, T, T, TakesAll> for B {
    fn join(given: T) -> T {
        given
    }
}

#[diagnostic::do_not_recommend]
impl<B, Names, T> Joins<Names, T, (), IgnoresAll> for B {
    fn join(_: T) {}
}

/// "END joins `Names`, which give `Given`."
#[diagnostic::on_unimplemented(
    message = "the workflow gives `{Declared}`, but `{Names}` give `{Given}`",
    label = "leads to END with `{Given}`: write `-> {Given}`, an `Option` for each branch that a route may skip"
)]
pub trait EndsAll<Names, Given, Declared, Mode> {
    /// Converts the values of the places.
    fn end(given: Given) -> Declared;

    /// `(a, b) => END`
    fn ended<P: Places<Names = Names, Given = Given>>(_: Gives<Declared>, _: Together<P, Names, Given>) -> JoinFn
    where
        Self: Sized,
        Declared: 'static,
    {
        |places, slot| {
            if let (Some(given), Some(slot)) = (P::take(places), slot.downcast_mut::<Option<Declared>>()) {
                *slot = Some(Self::end(given));
            }
        }
    }
}

#[diagnostic::do_not_recommend]
impl<B, Names, Declared> EndsAll<Names, Nothing, Declared, WaitsForAll> for B {
    fn end(given: Nothing) -> Declared {
        given.never()
    }
}

#[diagnostic::do_not_recommend]
impl<B, Names, T> EndsAll<Names, T, T, TakesAll> for B {
    fn end(given: T) -> T {
        given
    }
}

/// "This feeds the same place as `First`." Self is the later one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` gives `{Out}`, but `{First}` leads to the same place of the join and gives `{Expected}`",
    label = "gives `{Out}`, and the place holds `{Expected}`",
    note = "a place of a join holds one type: give each a place of its own, or let both give the same type"
)]
pub trait SharesPlace<First, Out, Expected> {
    /// It may.
    const SHARES: () = ();
}

#[diagnostic::do_not_recommend]
impl<A, First, T> SharesPlace<First, T, T> for A {}

/// "This node takes nothing."
#[diagnostic::on_unimplemented(
    message = "node `{Self}` joins more than 16 branches and takes `{In}`",
    label = "joins more than 16 branches",
    note = "a join of values has at most 16 places: put a node between, or use `[..]` for work of one kind"
)]
pub trait JoinsMany<In> {
    /// `(a, b, ..) => join` with more places than a tuple has, for a join that takes nothing.
    const JOINED: JoinFn = nothing;
}

#[diagnostic::do_not_recommend]
impl<B> JoinsMany<()> for B {}

/// The places of a join at END, with their names and types: what they give is known behind what the workflow gives, which the
/// type of a call's second argument is.
pub struct Together<P, Names, Given>(PhantomData<fn() -> P>, PhantomData<fn() -> (Names, Given)>);

/// `(a, b)`
pub fn together<P: Places>() -> Together<P, P::Names, P::Given> {
    Together(PhantomData, PhantomData)
}

fn nothing(_: Vec<Option<Token>>, slot: &mut dyn Any) {
    if let Some(slot) = slot.downcast_mut::<Option<()>>() {
        *slot = Some(());
    }
}
