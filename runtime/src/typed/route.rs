//! Routed edges, where the label is a pattern and rustc checks the `match` (P1).

use crate::node::Payload;
use crate::route::Literal;

/// What the literals of a node's route map are compared with.
pub fn view<T: Literal>(value: &T) -> T::View<'_> {
    value.view()
}

/// "An error that is routed travels along an edge."
#[diagnostic::on_unimplemented(
    message = "`{A}` fails with `{Self}`, which is routed and cannot travel through a workflow",
    label = "carries `{Self}`, which is not a payload",
    note = "a routed error is `Serialize + DeserializeOwned + JsonSchema + Send + 'static`: put `#[value]` on it, or leave \
            `err` unrouted and let it fail the run"
)]
pub trait RoutedError<A> {}

#[diagnostic::do_not_recommend]
impl<A, E: Payload> RoutedError<A> for E {}

/// Holds the error of a node whose `err` is routed to be a value.
pub const fn routed_error<A, E: RoutedError<A>>() {}
