//! Routed edges, where the label is a pattern and rustc checks the `match` (P1).

use crate::node::Payload;
use crate::route::Literal;

/// [`Literal`], once it is known that the literals of the map are labels of the type.
pub trait LiteralOnce<const KNOWN: bool> {
    /// The type of the literals.
    type View<'a>
    where
        Self: 'a;

    /// The value as that type.
    fn view_once(&self) -> Self::View<'_>;
}

impl<T: Literal> LiteralOnce<true> for T {
    type View<'a>
        = T::View<'a>
    where
        Self: 'a;

    fn view_once(&self) -> T::View<'_> {
        self.view()
    }
}

/// The value with which the literals of a node's route map are compared.
pub fn view<T: LiteralOnce<KNOWN>, const KNOWN: bool>(value: &T) -> T::View<'_> {
    value.view_once()
}

/// "An error that is routed travels along an edge."
#[diagnostic::on_unimplemented(
    message = "`{A}` fails with `{Self}`, which is routed and cannot travel through a workflow",
    label = "carries `{Self}`, which is not a payload",
    note = "a routed error is `Serialize + DeserializeOwned + JsonSchema + Send + 'static`: put `#[value]` on it, write \
            `String` for `&str`, or leave `err` unrouted and let it fail the run"
)]
pub trait RoutedError<A, const LENDS: bool> {
    /// It can.
    const TRAVELS: bool = true;
}

#[diagnostic::do_not_recommend]
impl<A, E: Payload> RoutedError<A, false> for E {}
