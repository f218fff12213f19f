//! What a route map can choose by: the labels of a value.

/// A type whose values carry a label each: an enum, `Result`, `Option`.
///
/// `#[derive(Route)]` implements it. The label of a variant is its name in snake_case, and what goes along the edge is
/// what the variant holds: nothing is `()`, one field is that field, several are a tuple.
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
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no labels to choose a route by",
    label = "the node before this gives `{Self}`",
    note = "labels come from `Result`, `Option`, an enum with `#[derive(Route)]`, and the literals of bool, integers and \
            strings"
)]
pub trait Route: Sized {
    /// The twin enum: one variant for each label, each with one field.
    type Labels;

    /// The labels, in order.
    const LABELS: &'static [&'static str];

    /// The value as its label and what that carries.
    fn split(self) -> Self::Labels;

    /// The value again.
    fn whole(labels: Self::Labels) -> Self;
}

/// The labels of a `Result`.
#[allow(non_camel_case_types, reason = "variants are spelled as labels are")]
#[derive(Debug)]
pub enum Ending<T, E> {
    /// What `Ok` holds.
    ok(T),
    /// What `Err` holds.
    err(E),
}

impl<T, E> Route for Result<T, E> {
    type Labels = Ending<T, E>;
    const LABELS: &'static [&'static str] = &["ok", "err"];

    fn split(self) -> Ending<T, E> {
        match self {
            Ok(value) => Ending::ok(value),
            Err(error) => Ending::err(error),
        }
    }

    fn whole(labels: Ending<T, E>) -> Self {
        match labels {
            Ending::ok(value) => Ok(value),
            Ending::err(error) => Err(error),
        }
    }
}

/// The labels of an `Option`.
#[allow(non_camel_case_types, reason = "variants are spelled as labels are")]
#[derive(Debug)]
pub enum Maybe<T> {
    /// What `Some` holds.
    some(T),
    /// `None`.
    none(()),
}

impl<T> Route for Option<T> {
    type Labels = Maybe<T>;
    const LABELS: &'static [&'static str] = &["some", "none"];

    fn split(self) -> Maybe<T> {
        match self {
            Some(value) => Maybe::some(value),
            None => Maybe::none(()),
        }
    }

    fn whole(labels: Maybe<T>) -> Self {
        match labels {
            Maybe::some(value) => Some(value),
            Maybe::none(()) => None,
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
    /// What the literals are patterns of.
    type View<'a>
    where
        Self: 'a;

    /// The value as literals see it.
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
