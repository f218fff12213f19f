//! How a node is named inside an expansion: `charge {}`, or `of::<Batch>()` if the type has no such literal.

use std::marker::PhantomData;

use schemars::Schema;

use crate::box_value::BoxValue;
use crate::fault::{Failure, Fault, Never};
use crate::field::Unreadable;
use crate::node::{Collector, Node, Payload};
use crate::node_info::NodeInfo;
use crate::value::{MaxSize, Unrecordable, check_json};

/// An expression that names a node's type.
pub trait Mention {
    /// That type.
    type Node;
}

#[diagnostic::do_not_recommend]
impl<N: Node> Mention for N {
    type Node = N;
}

/// A node by its type alone.
pub struct Of<N>(PhantomData<fn() -> N>);

impl<N> Mention for Of<N> {
    type Node = N;
}

/// Mentions a node by its type.
pub fn of<N>() -> Of<N> {
    Of(PhantomData)
}

/// The type itself: in an expansion, tokens to which an error about the type can point.
pub type Is<T> = T;

/// The start of a workflow: its output is the workflow's input. It has no way in.
///
/// It may stand in a join, for a node that needs the input as well:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn price(item: String) -> usize { item.len() * 10 }
/// #[node]
/// async fn bill((item, cents): (String, usize)) -> String { format!("{item}: {cents} cents") }
///
/// workflow! {
///     pub shop(String) -> String {
///         START => price;
///         (START, price) => bill;
///     }
/// }
///
/// assert_eq!(graphweft::block_on(shop("lamp".into())).unwrap(), "lamp: 40 cents");
/// ```
#[derive(Debug)]
pub struct START {}

/// The end of a workflow: the value that reaches it is the workflow's output. It has no way out.
///
/// The value of an arm is the output, where the other one has more to do:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[derive(Route)]
/// #[value]
/// enum Verdict { Done(u32), Halve(u32) }
///
/// #[node]
/// async fn look(n: u32) -> Verdict { if n < 10 { Verdict::Done(n) } else { Verdict::Halve(n / 2) } }
///
/// workflow! { pub small(u32) -> u32 { START => look => <done: END, halve: look>; } }
///
/// assert_eq!(graphweft::block_on(small(42)).unwrap(), 5);
/// ```
#[derive(Debug)]
pub struct END {}

/// A node at which an edge can begin.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node",
    label = "not a node",
    note = "a node is an async function marked `#[node]`, a workflow, or a type that implements `Node`"
)]
pub trait Source {
    /// Its name in messages.
    type Shown: ?Sized;
    /// Its name in messages in a list with others.
    type Listed: 'static;
    /// Its output.
    type Output: Send + 'static;
    /// Its error.
    type Error: Send + 'static;
    /// Its output, as JSON.
    fn json(output: &Self::Output, max: MaxSize) -> Result<serde_json::Value, Unrecordable>;
    /// Its output, from JSON.
    fn from_json(output: &serde_json::Value) -> Result<Self::Output, Unreadable>;
    /// The JSON Schema of its output.
    fn schema() -> Schema;
}

impl<N: Node> Source for N {
    type Shown = N;
    type Listed = N;
    type Output = N::Output;
    type Error = N::Error;

    fn json(output: &N::Output, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        output.__to_json(max)
    }

    fn from_json(output: &serde_json::Value) -> Result<Self::Output, Unreadable> {
        Self::Output::__from_json(output)
    }

    fn schema() -> Schema {
        N::Output::__schema()
    }
}

/// A node with which `[..]` can begin.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node",
    label = "not a node",
    note = "a node is an async function marked `#[node]`, a workflow, or a type that implements `Node`"
)]
pub trait Target {
    /// Its input.
    type Input: Send + 'static;
    /// A copy of that, for another attempt.
    fn copy(input: &Self::Input) -> Result<Self::Input, Fault>;
    /// An input as JSON, in the form of a record.
    fn show(input: &Self::Input, max: MaxSize) -> Result<serde_json::Value, Unrecordable>;
    /// The JSON Schema of its input.
    fn schema() -> Schema;
}

#[diagnostic::do_not_recommend]
impl<N: Node> Target for N {
    type Input = N::Input;

    fn copy(input: &N::Input) -> Result<N::Input, Fault> {
        if let Some(copy) = N::FACTS.copy {
            return Ok(copy(input));
        }
        let json = input.__to_json(MaxSize::NONE).map_err(|error| not_kept::<N::Input>(&error))?;
        N::Input::__from_json(&json).map_err(|error| not_kept::<N::Input>(&error))
    }

    fn show(input: &N::Input, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        input.__to_json(max)
    }

    fn schema() -> Schema {
        N::Input::__schema()
    }
}

/// An input as JSON, in the form of a record.
pub(super) fn show<T: Target>(input: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Fault> {
    let wanted = || Fault::Context {
        message: format!("an input does not have the type `{}`", std::any::type_name::<T::Input>()),
    };
    let input = input.get::<T::Input>().ok_or_else(wanted)?;
    T::show(input, max).map_err(|error| Fault::Context { message: format!("the input is not JSON: {error}") })
}

fn not_kept<T>(error: &dyn std::error::Error) -> Fault {
    Fault::Context {
        message: format!(
            "the input cannot be copied for another attempt: `{}` is not `Clone`, and cannot be read back from JSON: {error}",
            std::any::type_name::<T>()
        ),
    }
}

/// START as a source: its output is the input of the workflow.
pub struct StartOf<I>(PhantomData<fn() -> I>);

/// A collecting node as a source: its output is the value of its first `Some`.
pub struct Collected<N>(PhantomData<fn() -> N>);

/// A node whose `err` is routed, as the source of a plain edge: its output is the whole `Result`.
pub struct Whole<N>(PhantomData<fn() -> N>);

/// `[first => .. => last]`: takes a `Vec`, gives a `Vec`.
pub struct Each<First, Last>(PhantomData<fn() -> (First, Last)>);

impl<I: Payload> Source for StartOf<I> {
    type Shown = START;
    type Listed = START;
    type Output = I;
    type Error = Never;

    fn json(output: &I, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        output.__to_json(max)
    }

    fn from_json(output: &serde_json::Value) -> Result<Self::Output, Unreadable> {
        Self::Output::__from_json(output)
    }

    fn schema() -> Schema {
        I::__schema()
    }
}

impl<N: Collector> Source for Collected<N> {
    type Shown = N;
    type Listed = N;
    type Output = N::Collected;
    type Error = N::Error;

    fn json(output: &Self::Output, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        output.__to_json(max)
    }

    fn from_json(output: &serde_json::Value) -> Result<Self::Output, Unreadable> {
        Self::Output::__from_json(output)
    }

    fn schema() -> Schema {
        <Self::Output as Payload>::__schema()
    }
}

impl<N: Source> Source for Whole<N>
where
    Result<N::Output, N::Error>: Payload,
{
    type Shown = N::Shown;
    type Listed = N::Listed;
    type Output = Result<N::Output, N::Error>;
    type Error = Never;

    fn json(output: &Self::Output, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        output.__to_json(max)
    }

    fn from_json(output: &serde_json::Value) -> Result<Self::Output, Unreadable> {
        Self::Output::__from_json(output)
    }

    fn schema() -> Schema {
        <Self::Output as Payload>::__schema()
    }
}

impl<First, Last: Source> Source for Each<First, Last> {
    type Shown = [Last::Listed];
    type Listed = &'static [Last::Listed];
    type Output = Vec<Last::Output>;
    type Error = Failure;

    fn json(output: &Vec<Last::Output>, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        let item = |(at, item)| Last::json(item, max).map_err(|error| error.of_item(at));
        check_json(output.iter().enumerate().map(item).collect::<Result<_, _>>()?, max)
    }

    fn from_json(output: &serde_json::Value) -> Result<Vec<Last::Output>, Unreadable> {
        let Some(items) = output.as_array() else {
            return Err(Unreadable::whole("the output of `[..]` must be a list"));
        };
        let read = |(at, item)| Last::from_json(item).map_err(|error| error.of_item(at));
        items.iter().enumerate().map(read).collect()
    }

    fn schema() -> Schema {
        array_of(Last::schema())
    }
}

impl<First: Target, Last> Target for Each<First, Last> {
    type Input = Vec<First::Input>;

    fn copy(input: &Vec<First::Input>) -> Result<Vec<First::Input>, Fault> {
        input.iter().map(First::copy).collect()
    }

    fn show(input: &Vec<First::Input>, max: MaxSize) -> Result<serde_json::Value, Unrecordable> {
        let item = |(at, item)| First::show(item, max).map_err(|error| error.of_item(at));
        check_json(input.iter().enumerate().map(item).collect::<Result<_, _>>()?, max)
    }

    fn schema() -> Schema {
        array_of(First::schema())
    }
}

fn array_of(items: Schema) -> Schema {
    schemars::json_schema!({ "type": "array", "items": items })
}

/// A node that is named by `uses(..)`.
pub fn info_of<N: Node + Default>(_: N) -> NodeInfo {
    NodeInfo::of::<N>()
}
