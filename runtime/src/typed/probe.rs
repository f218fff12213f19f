//! Properties of types, determined by the type and never by its tokens. An inherent constant wins over a trait's at a
//! concrete type; a const argument computed from it selects between two impls.

use std::any::Any;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::fault_forms::FromFaultAndInput;
use super::mention::Source;
use crate::context::StateWriter;
use crate::error_text::{chain, text};
use crate::fault::{Fault, FromFault, Never};
use crate::field::Unreadable;
use crate::node::{Collector, Payload, reread};
use crate::node_facts::{ErrorWords, WriteError};
use crate::route::{Literal, ResultLabel, Route};
use crate::table::Reread;
use crate::value::{MaxSize, Unrecordable, encode_part};

/// Probes properties of `T`.
pub struct Probe<T>(PhantomData<T>);

/// The default properties of a type.
pub trait Plain {
    /// Whether it is a `Result`.
    const FALLIBLE: bool = false;
    /// Whether, as the error of a node, it can occur.
    const OCCURS: bool = true;
    /// Whether it has labels.
    const ROUTES: bool = false;
    /// Whether it is an `Option`.
    const OPTIONAL: bool = false;
    /// Whether its labels are literals.
    const LITERAL: bool = false;
    /// Whether it is a reference.
    const LENDS: bool = false;
}

impl<T> Plain for Probe<T> {}

impl<T, E> Probe<Result<T, E>> {
    /// A `Result`, also behind an alias.
    pub const FALLIBLE: bool = true;
}

impl<T> Probe<Option<T>> {
    /// An `Option`, also behind an alias.
    pub const OPTIONAL: bool = true;
}

impl<T: ?Sized> Probe<&'static T> {
    /// A reference. That such a type is not read back from a record depends on its lifetime, of which rustc's message would
    /// speak.
    pub const LENDS: bool = true;
}

impl<T: Route> Probe<T> {
    /// It has labels.
    pub const ROUTES: bool = true;
}

impl Probe<Never> {
    /// The error of a node that cannot fail.
    pub const OCCURS: bool = false;
}

impl Probe<std::convert::Infallible> {
    /// The standard library's name for it.
    pub const OCCURS: bool = false;
}

/// Probes whether the labels of a type are literals.
pub struct LiteralProbe<T>(PhantomData<T>);

impl<T> Plain for LiteralProbe<T> {}

impl<T: Literal> LiteralProbe<T> {
    /// They are.
    pub const LITERAL: bool = true;
}

/// The default of conversions: there is none.
pub trait NoWay<T> {
    /// There is none.
    const FROM_FAULT: Option<fn(Fault) -> T> = None;
    /// There is none.
    const WITH_INPUT: Option<FromFaultAndInput<T>> = None;
    /// There is none.
    const CLONE: Option<fn(&T) -> T> = None;
    /// There is none.
    const ERROR_JSON: Option<ErrorJson<T>> = None;
    /// There is none.
    const WRITE: Option<WriteError<T>> = None;
    /// There is none.
    const OF_ERROR: Option<ErrorWords<T>> = None;
    /// There is none.
    const OF_DISPLAY: Option<ErrorWords<T>> = None;
    /// There is none.
    const OF_DEBUG: Option<ErrorWords<T>> = None;
}

impl<T> NoWay<T> for Probe<T> {}

/// Probes whether the error of a node with the input `In` can be made from a fault.
pub struct FaultProbe<T, In>(PhantomData<(T, In)>);

impl<T, In> NoWay<T> for FaultProbe<T, In> {}

impl<T: From<Fault>, In> FaultProbe<T, In> {
    /// A fault may take the arm of the error.
    pub const FROM_FAULT: Option<fn(Fault) -> T> = Some(T::from);
}

impl<T: FromFault<In>, In: Clone + 'static> FaultProbe<T, In> {
    /// A fault may take the arm of the error, with the input.
    pub const WITH_INPUT: Option<FromFaultAndInput<T>> =
        Some(|fault, mut input| Some(T::from_fault(fault, input.take()?)));
}

/// How an error that is routed is recorded and read back.
pub struct ErrorJson<E> {
    pub(crate) write: fn(&E, MaxSize) -> Result<serde_json::Value, Unrecordable>,
    pub(crate) read: fn(&serde_json::Value) -> Result<E, Unreadable>,
    pub(crate) reread: Reread,
}

impl<E> Clone for ErrorJson<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for ErrorJson<E> {}

/// Probes whether an error can be recorded. That a routed one must be is checked elsewhere, once.
pub struct ErrorProbe<T>(PhantomData<T>);

impl<T> NoWay<T> for ErrorProbe<T> {}

impl<T: Payload> ErrorProbe<T> {
    /// As any value.
    pub const ERROR_JSON: Option<ErrorJson<T>> =
        Some(ErrorJson { write: T::__to_json, read: T::__from_json, reread: reread::<T>() });
}

// Not for payloads only: `&'static str` is read back as another type, and a bound with a lifetime of its own would select
// this constant for it and then be an error.
impl<T: Serialize> ErrorProbe<T> {
    /// As any value.
    pub const WRITE: Option<WriteError<T>> = Some(encode_part);
}

/// Probes whether an input can be cloned.
pub struct CloneProbe<T>(PhantomData<T>);

impl<T> NoWay<T> for CloneProbe<T> {}

impl<T: Clone> CloneProbe<T> {
    /// Another attempt gets a clone.
    pub const CLONE: Option<fn(&T) -> T> = Some(T::clone);
}

/// Probes in which ways an error can become text. [`Words`] takes the best of them by method lookup, which needs a function
/// body: constants cost rustc less.
pub struct WordsProbe<E>(PhantomData<E>);

impl<E> NoWay<E> for WordsProbe<E> {}

impl<E: Error> WordsProbe<E> {
    /// Its text and those of its sources.
    pub const OF_ERROR: Option<ErrorWords<E>> = Some(|error| chain(error));
}

impl<E: Display + 'static> WordsProbe<E> {
    /// Text, in the alternate form in which error crates print their sources. Of a boxed error, which is none itself, its text and
    /// those of its sources.
    pub const OF_DISPLAY: Option<ErrorWords<E>> =
        Some(|error| match (error as &dyn Any).downcast_ref::<Box<dyn Error + Send + Sync>>() {
            Some(boxed) => chain(boxed.as_ref()),
            None => shown(error),
        });
}

impl<E: Debug> WordsProbe<E> {
    /// What debuggers see.
    pub const OF_DEBUG: Option<ErrorWords<E>> = Some(debugged);
}

fn shown<E: Display>(error: &E) -> Vec<String> {
    vec![text(format_args!("{error:#}"))]
}

fn debugged<E: Debug>(error: &E) -> Vec<String> {
    vec![text(format_args!("{error:?}"))]
}

/// The return value of a function, split into output and error if it is a `Result`.
pub trait Split<const FALLIBLE: bool> {
    /// The output of the node.
    type Output;
    /// The error of the node.
    type Error;
    /// One or the other.
    fn split(self) -> Result<Self::Output, Self::Error>;
}

impl<T, E> Split<true> for Result<T, E> {
    type Output = T;
    type Error = E;

    fn split(self) -> Result<T, E> {
        self
    }
}

impl<T> Split<false> for T {
    type Output = T;
    type Error = Never;

    fn split(self) -> Result<T, Never> {
        Ok(self)
    }
}

/// [`Split`] and its argument as one type, for an alias. Each time that a constant is written as an argument, rustc makes a body
/// for it.
pub struct Returned<T, const FALLIBLE: bool>(PhantomData<T>);

/// The output and the error of a node, by what its function [returns](Returned).
pub trait Sides {
    /// What the function returns.
    type Returned;
    /// The output of the node.
    type Output;
    /// The error of the node.
    type Error;
    /// One or the other.
    fn split(returned: Self::Returned) -> Result<Self::Output, Self::Error>;
}

impl<T: Split<FALLIBLE>, const FALLIBLE: bool> Sides for Returned<T, FALLIBLE> {
    type Returned = T;
    type Output = T::Output;
    type Error = T::Error;

    fn split(returned: T) -> Result<T::Output, T::Error> {
        returned.split()
    }
}

/// "A type travels through a workflow." `Same` is a type computed from the check of the target, or the unit type: if
/// that is an error already, rustc reports no second one here.
///
/// The expansion checks it by a constant of this trait and not by a bound, so that the error does not show the source
/// of the bound in the library. Everything that is computed from that constant is an error as well, which rustc does
/// not report again: a type that cannot travel is one error, however many edges carry it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel through a workflow",
    label = "put `#[value]` on `{Self}`: what travels is `Serialize + DeserializeOwned + JsonSchema + Send + 'static`",
    note = "graphweft's prelude brings `#[value]`; put a type of another crate into one of your own, or take from it what the \
            next node needs"
)]
pub trait Travels<Same> {
    /// It can.
    const TRAVELS: bool = true;
}

#[diagnostic::do_not_recommend]
impl<T: Payload, Same> Travels<Same> for T {}

/// "A node fails with an error that can be sent to another thread." A check as [`Travels`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a node, since it cannot be sent to another thread",
    label = "has to be `Send + 'static`: write `Box<dyn Error + Send + Sync>` for `Box<dyn Error>`, `Arc` for `Rc`",
    note = "a node may run in one thread and its error be read in another; every other error can become text within the node, \
            `.map_err(|error| error.to_string())`"
)]
pub trait IsError {
    /// It does.
    const IS_ERROR: bool = true;
}

#[diagnostic::do_not_recommend]
impl<E: Send + 'static> IsError for E {}

/// "A resource is shared by all threads." A check as [`Travels`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a resource, since threads cannot share it",
    label = "has to be `Send + Sync + 'static`: put what changes into a `Mutex` or an `RwLock`, and write `Arc` for `Rc`",
    note = "the engine lends a resource to all nodes, which may run at the same time in several threads"
)]
pub trait IsResource {
    /// It is.
    const IS_RESOURCE: bool = true;
}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> IsResource for T {}

/// "A value of the state can be recorded." A check as [`Travels`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value of the state, which is recorded",
    label = "put `#[value]` on `{Self}`: a value of the state is `Serialize + DeserializeOwned`"
)]
pub trait IsOfState {
    /// It is.
    const IS_OF_STATE: bool = true;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> IsOfState for T {}

/// "What writes a key is a writer." A check as [`Travels`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not write to the state",
    label = "write `StateWriter<T>` for a `StateKey<T>`; then `name.set(..)` writes the key",
    note = "the parameter has the types of its key: `#[writes(KEY)] name: StateWriter<String>` for a `StateKey<String>`, \
            `StateWriter<f64, Sum>` for a `StateKey<f64, Sum>`"
)]
pub trait IsWriter {
    /// It is.
    const IS_WRITER: bool = true;
}

#[diagnostic::do_not_recommend]
impl<T, R> IsWriter for StateWriter<T, R> {}

/// "The target of `a | b` is a collecting node."
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes one arrival after another, but it is not a collecting node",
    label = "mark it `#[node(collect)]` and let it return an `Option`, or join with `(a, b) => ..`",
    note = "a collecting node returns `Option<Out>`: `None` keeps waiting for the next arrival, the first `Some` completes it"
)]
pub trait Collects {
    /// It is.
    const COLLECTS: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N: Collector> Collects for N {}

/// A type, once something is known of it.
pub trait Checked<const CHECKED: bool> {
    /// The type.
    type Type;
}

impl<T, const CHECKED: bool> Checked<CHECKED> for T {
    type Type = T;
}

// The checks below are called in a constant of their own. If one of them fails, that constant is an error to rustc, and
// so is every type that has it for an argument: rustc reports the first error, and none that follows from it.

/// "A collecting function returns an `Option`."
#[diagnostic::on_unimplemented(
    message = "a collecting node returns an `Option`, but `{N}` gives `{Self}`",
    label = "write `Option<..>`: `None` keeps waiting for the next arrival, the first `Some` completes the node"
)]
pub trait ReturnsOption<N, const OPTIONAL: bool> {
    /// It does.
    const IS_OPTION: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N, T> ReturnsOption<N, true> for T {}

/// The type inside an `Option`, once it is known to be one.
pub trait Holds<const OPTIONAL: bool> {
    /// The type of the value of `Some`.
    type Held;
}

impl<T> Holds<true> for Option<T> {
    type Held = T;
}

/// The kind of a value's labels: they have names.
pub const NAMES: u8 = 0;
/// The kind of a value's labels: they are literals.
pub const LITERALS: u8 = 1;
/// The kind of a value's labels: there are none.
pub const NO_LABELS: u8 = 2;

/// The kind of a value's labels.
pub const fn labels_of(routes: bool, fails: bool, literal: bool) -> u8 {
    match (routes || fails, literal) {
        (true, _) => NAMES,
        (false, true) => LITERALS,
        (false, false) => NO_LABELS,
    }
}

/// "A label with a name is one of a value that has some." If it has no labels at all, [`HasLabels`] is the error.
#[diagnostic::on_unimplemented(
    message = "`{N}` gives `{Self}`, whose labels are literals and ranges",
    label = "no label of `{Self}`: write a literal, a range such as `0..=9`, or `_`",
    note = "to compare with a constant, let a node return a `bool` or an enum with `#[derive(Route)]`"
)]
pub trait HasNames<N, const LABELS: u8> {
    /// It is.
    const HAS_NAMES: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N, T> HasNames<N, NAMES> for T {}
#[diagnostic::do_not_recommend]
impl<N, T> HasNames<N, NO_LABELS> for T {}

/// "A route is chosen by the label of a value that has some."
#[diagnostic::on_unimplemented(
    message = "`{N}` gives `{Self}`, which has no labels to choose a route by",
    label = "no label of `{Self}`: return a `Result`, an `Option`, or an enum with `#[derive(Route)]`",
    note = "literals and ranges are the labels of `bool`, integers, `char` and `String`"
)]
pub trait HasLabels<N, const LABELS: u8> {
    /// It has.
    const HAS_LABELS: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N, T> HasLabels<N, NAMES> for T {}
#[diagnostic::do_not_recommend]
impl<N, T> HasLabels<N, LITERALS> for T {}

/// "A literal label is of the type that the node gives." Self is the type of the literal, `i32` for any whole number.
#[diagnostic::on_unimplemented(
    message = "`{N}` gives `{T}`, and this is a label of `{Self}`",
    label = "a label of `{Self}`, and `{N}` gives `{T}`",
    note = "literals and ranges are the labels of `bool`, integers, `char` and `String`; an enum with `#[derive(Route)]`, an \
            `Option` and a `Result` have labels with names"
)]
pub trait IsLabelOf<N, T> {
    /// It is.
    const IS_LABEL: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N, T: TakesLiteral<L>, L> IsLabelOf<N, T> for L {}

/// A type whose labels are literals of the type `L`.
pub trait TakesLiteral<L> {}

/// "A label below zero is one of a type that has such numbers."
#[diagnostic::on_unimplemented(
    message = "`{N}` gives `{Self}`, which is never below zero",
    label = "no label of `{Self}`: write a literal of its own, a range such as `0..=9`, or `_`"
)]
pub trait HasNegatives<N> {
    /// It has.
    const HAS_NEGATIVES: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N, T: TakesNegative> HasNegatives<N> for T {}

/// A type of numbers that may be below zero.
pub trait TakesNegative {}

macro_rules! takes_negative {
    ($($ty:ty)*) => {$(
        impl TakesNegative for $ty {}
    )*};
}

takes_negative! { i8 i16 i32 i64 i128 isize }

macro_rules! takes_literal {
    ($($label:ty: $($ty:ty)*;)*) => {$($(
        impl TakesLiteral<$label> for $ty {}
    )*)*};
}

takes_literal! {
    bool: bool;
    char: char;
    String: String;
    i32: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize;
}

/// The meaning of `ok` and `err`: labels of the `Result` that a node returns if it can fail, of its value otherwise.
pub struct By<const OCCURS: bool>;

/// The labels of a node whose map names `ok` or `err`.
pub trait ByName<N: Source> {
    /// The type that is matched.
    type Labels;
    /// The labels, as text.
    const LABELS: &'static [&'static str];
    /// The type that a plain edge or `_` carries.
    type Whole;
    /// Takes apart.
    fn split(result: Result<N::Output, N::Error>) -> Self::Labels;
    /// Puts together.
    fn whole(labels: Self::Labels) -> Self::Whole;
    /// The value that a plain edge carries.
    fn plain(result: Result<N::Output, N::Error>) -> Self::Whole;
}

impl<N: Source> ByName<N> for By<true> {
    type Labels = ResultLabel<N::Output, N::Error>;
    const LABELS: &'static [&'static str] = <Result<N::Output, N::Error> as Route>::LABELS;
    type Whole = Result<N::Output, N::Error>;

    fn split(result: Result<N::Output, N::Error>) -> Self::Labels {
        Route::split(result)
    }

    fn whole(labels: Self::Labels) -> Self::Whole {
        Route::whole(labels)
    }

    fn plain(result: Result<N::Output, N::Error>) -> Self::Whole {
        result
    }
}

/// The meaning of names that are neither `ok` nor `err`: labels of the value, if it has labels. If it has none but the
/// node can fail, the name is a misspelled `ok`.
pub struct Named<const ROUTES: bool>;

/// The labels of a node whose map names neither.
pub trait ByValue<N: Source> {
    /// The type that is matched.
    type Labels;
    /// The labels, as text.
    const LABELS: &'static [&'static str];
    /// Takes apart.
    fn split(value: N::Output) -> Self::Labels;
    /// Puts together.
    fn whole(labels: Self::Labels) -> N::Output;
}

impl<N: Source> ByValue<N> for Named<true>
where
    N::Output: Route,
{
    type Labels = <N::Output as Route>::Labels;
    const LABELS: &'static [&'static str] = <N::Output as Route>::LABELS;

    fn split(value: N::Output) -> Self::Labels {
        Route::split(value)
    }

    fn whole(labels: Self::Labels) -> N::Output {
        Route::whole(labels)
    }
}

impl<N: Source> ByValue<N> for Named<false> {
    type Labels = ResultLabel<N::Output, N::Error>;
    const LABELS: &'static [&'static str] = <Result<N::Output, N::Error> as Route>::LABELS;

    fn split(value: N::Output) -> Self::Labels {
        ResultLabel::ok(value)
    }

    fn whole(labels: Self::Labels) -> N::Output {
        match labels {
            ResultLabel::ok(value) => value,
            ResultLabel::err(_) => unreachable!("the error was taken out before"),
        }
    }
}

/// An error that cannot occur.
#[doc(hidden)]
pub trait Impossible {
    /// Anything follows from it.
    fn never<T>(self) -> T;
}

impl Impossible for Never {
    fn never<T>(self) -> T {
        match self {}
    }
}

impl Impossible for std::convert::Infallible {
    fn never<T>(self) -> T {
        match self {}
    }
}

impl<N: Source> ByName<N> for By<false>
where
    N::Output: Route,
    N::Error: Impossible,
{
    type Labels = <N::Output as Route>::Labels;
    const LABELS: &'static [&'static str] = <N::Output as Route>::LABELS;
    type Whole = N::Output;

    fn split(result: Result<N::Output, N::Error>) -> Self::Labels {
        Route::split(<Self as ByName<N>>::plain(result))
    }

    fn whole(labels: Self::Labels) -> N::Output {
        Route::whole(labels)
    }

    fn plain(result: Result<N::Output, N::Error>) -> N::Output {
        result.unwrap_or_else(Impossible::never)
    }
}

/// "A node that has `err` among its labels can fail."
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot fail, so it has no label `err`",
    label = "leave it out, or let `{Self}` return a `Result`"
)]
pub trait CanFail<const OCCURS: bool> {
    /// It can.
    const CAN_FAIL: bool = true;
}

#[diagnostic::do_not_recommend]
impl<N> CanFail<true> for N {}

/// The error of a node, once it is known that it can occur.
pub trait Fails<const OCCURS: bool> {
    /// The error itself.
    type Error;
    /// The error itself.
    fn failed(self) -> Self::Error;
}

impl<E> Fails<true> for E {
    type Error = E;

    fn failed(self) -> E {
        self
    }
}

/// An error as text, by the best impl that its type has. The macro calls `(&&&&&Words(&error)).words()`: method lookup
/// takes the impl that needs the fewest derefs (autoref specialization).
pub struct Words<'a, E>(pub &'a E);

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $impl:tt $target:ty = |$error:ident| $words:expr;)*) => {$(
        $(#[$doc])*
        pub trait $name {
            /// Outermost first.
            fn words(&self) -> Vec<String>;
        }

        words!(@impl $impl $name, $target, $error, $words);
    )*};
    (@impl [$($param:ident $(: $bound:path)?)?] $name:ident, $target:ty, $error:ident, $words:expr) => {
        impl$(<$param $(: $bound)?>)? $name for $target {
            fn words(&self) -> Vec<String> {
                let $error = &self.0;
                $words
            }
        }
    };
}

words! {
    /// `std::error::Error`: its text and those of its sources.
    FromError: [E: Error] &&&&Words<'_, E> = |error| chain(*error);
    /// A boxed error, which is none itself.
    FromBoxed: [] &&&Words<'_, Box<dyn Error + Send + Sync>> = |error| chain(error.as_ref());
    /// Text, in the alternate form in which error crates print their sources.
    FromDisplay: [E: Display] &&Words<'_, E> = |error| shown(error);
    /// What debuggers see.
    FromDebug: [E: Debug] &Words<'_, E> = |error| debugged(error);
    /// The rest.
    FromAnything: [E] Words<'_, E> = |_error| vec![format!("an error of type `{}`", std::any::type_name::<E>())];
}

pub use futures_util::future::lazy;

/// Gives the closure of `retry(when = ..)` the type of its argument.
pub fn when<E>(may_retry: impl Fn(&E) -> bool, error: &E) -> bool {
    may_retry(error)
}

/// `retry(after = ..)`: a type and no function with a bound, so that the error about another one shows no source of the
/// library.
pub type DelayAfter<E> = fn(&E) -> Option<Duration>;

/// Moves a blocking body to the pool for blocking work. A panic inside is resumed outside.
pub async fn blocking<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(body).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}
