//! The labels of a value, by which a route map chooses.

/// A type whose values have labels: an enum, `Result`, `Option`.
///
/// `#[derive(Route)]` implements it. The label of a variant is its name in snake_case, and the edge carries the fields
/// of the variant: none as `()`, one as it is, several as a tuple.
///
/// ```
/// use graphweft::prelude::*;
///
/// #[value]
/// #[derive(Route)]
/// enum Verdict {
///     Good(String),
///     Redo { text: String, why: String },
///     Drop,
/// }
/// // in a workflow: review => <good: publish, redo: draft, drop: forget>
/// assert_eq!(Verdict::LABELS, ["good", "redo", "drop"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no labels to choose a route by",
    label = "the node before this gives `{Self}`",
    note = "labels come from `Result`, `Option`, an enum with `#[derive(Route)]`, and the literals of bool, integers and \
            strings"
)]
pub trait Route: Sized {
    /// An enum with one variant for each label, each with one field.
    type Labels;

    /// The labels, in order.
    const LABELS: &'static [&'static str];

    /// The doc comments of the variants, in the same order; empty where there are none.
    const DOCS: &'static [&'static str] = &[];

    /// The value as its label and payload.
    fn split(self) -> Self::Labels;

    /// The value again.
    fn whole(labels: Self::Labels) -> Self;
}

/// An enum of which each variant has a `T`, or nothing: what chooses one of its labels for a `T`.
///
/// `#[derive(Route)]` implements it for every enum that is one.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::RouteOf;
///
/// #[value]
/// #[derive(Route)]
/// enum Desk {
///     Refund(String),
///     Bug(String),
///     Spam,
/// }
///
/// fn choose<T, R: RouteOf<T>>(label: &str, value: T) -> Option<R> {
///     R::at(R::LABELS.iter().position(|known| *known == label)?, value)
/// }
///
/// let Some(Desk::Bug(mail)) = choose("bug", "It hangs.".to_owned()) else { panic!() };
/// assert_eq!(mail, "It hangs.");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no choice of routes for `{T}`",
    label = "each variant of `{Self}` has to hold a `{T}`, or nothing",
    note = "an enum gets it by `#[derive(Route)]`: `enum Desk {{ Refund(Mail), Bug(Mail), Spam }}` is one for `Mail`"
)]
pub trait RouteOf<T>: Route {
    /// The variant with that number, with the value if it holds one; `None` if there is no such variant.
    fn at(label: usize, value: T) -> Option<Self>;
}

/// The payload of a variant, which has to be the value that is routed.
#[diagnostic::on_unimplemented(
    message = "a variant holds `{Self}`, and what is routed is `{T}`",
    label = "each variant of this has to hold a `{T}`, or nothing",
    note = "the value goes through unchanged: let the variant hold a `{T}`, and make a `{Self}` of it in the node behind"
)]
pub trait PayloadOf<T> {
    /// The value, as what it is.
    fn of(value: T) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T> PayloadOf<T> for T {
    fn of(value: T) -> T {
        value
    }
}

/// The labels of a `Result`.
#[allow(non_camel_case_types, reason = "variants are spelled as labels are")]
#[derive(Debug)]
pub enum ResultLabel<T, E> {
    /// The value of `Ok`.
    ok(T),
    /// The value of `Err`.
    err(E),
}

impl<T, E> Route for Result<T, E> {
    type Labels = ResultLabel<T, E>;
    const LABELS: &'static [&'static str] = &["ok", "err"];

    fn split(self) -> ResultLabel<T, E> {
        match self {
            Ok(value) => ResultLabel::ok(value),
            Err(error) => ResultLabel::err(error),
        }
    }

    fn whole(labels: ResultLabel<T, E>) -> Self {
        match labels {
            ResultLabel::ok(value) => Ok(value),
            ResultLabel::err(error) => Err(error),
        }
    }
}

/// The labels of an `Option`.
#[allow(non_camel_case_types, reason = "variants are spelled as labels are")]
#[derive(Debug)]
pub enum OptionLabel<T> {
    /// The value of `Some`.
    some(T),
    /// `None`.
    none(()),
}

impl<T> Route for Option<T> {
    type Labels = OptionLabel<T>;
    const LABELS: &'static [&'static str] = &["some", "none"];

    fn split(self) -> OptionLabel<T> {
        match self {
            Some(value) => OptionLabel::some(value),
            None => OptionLabel::none(()),
        }
    }

    fn whole(labels: OptionLabel<T>) -> Self {
        match labels {
            OptionLabel::some(value) => Some(value),
            OptionLabel::none(()) => None,
        }
    }
}

/// A type that a route map can choose by literals and ranges: `<true: b, false: c>`, `<0..=9: b, _: c>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared with a literal label",
    label = "the node before this gives `{Self}`",
    note = "literal labels are for `bool`, integers, `char` and `String`; an enum is routed by its variants"
)]
pub trait Literal {
    /// The type of the literals.
    type View<'a>
    where
        Self: 'a;

    /// The value as that type.
    fn view(&self) -> Self::View<'_>;
}

impl Literal for String {
    type View<'a> = &'a str;

    fn view(&self) -> &str {
        self
    }
}

macro_rules! literal {
    ($($ty:ty)*) => {$(
        impl Literal for $ty {
            type View<'a> = $ty;

            fn view(&self) -> $ty {
                *self
            }
        }
    )*};
}

literal!(bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
