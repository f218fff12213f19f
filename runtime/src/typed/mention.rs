//! How a node is named inside an expansion: `charge {}`, or `of::<Batch>()` where the type has no such literal.

use std::convert::Infallible;
use std::future::pending;
use std::marker::PhantomData;

use crate::context::Context;
use crate::fault::{Failure, Never};
use crate::node::{Collecting, Node, Value};

/// An expression that stands for a node's type.
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

/// Where a workflow begins: what it gives is the workflow's input. It has no way in.
pub struct START {}

/// Where a workflow ends: what reaches it is the workflow's output. It has no way out.
pub struct END {}

/// START as a source: a node that gives the input.
pub struct StartOf<I>(PhantomData<fn() -> (I, Infallible)>);

/// A collecting node as a source: it gives what its first `Some` holds.
pub struct Collected<N>(PhantomData<fn() -> N>);

/// A node whose `err` is routed, as the source of a plain edge: it gives the whole `Result`.
pub struct Whole<N>(PhantomData<fn() -> N>);

/// `[first => .. => last]` as a node: takes a `Vec`, gives a `Vec`.
pub struct Each<First, Last>(PhantomData<fn() -> (First, Last)>);

/// The stand-ins are types only: no value of them is ever made, so none of them ever runs.
macro_rules! stands_in {
    ($(<$($param:ident : $bound:path),*> $ty:ty { $input:ty => $output:ty, $error:ty })*) => {$(
        impl<$($param: $bound),*> Node for $ty {
            type Input = $input;
            type Output = $output;
            type Error = $error;

            async fn run(&self, _: $input, _: &Context) -> Result<$output, $error> {
                pending().await
            }
        }
    )*};
}

stands_in! {
    <I: Value> StartOf<I> { () => I, Never }
    <N: Collecting> Collected<N> { N::Input => N::Collected, N::Error }
    <First: Node, Last: Node> Each<First, Last> { Vec<First::Input> => Vec<Last::Output>, Failure }
}

impl<N: Node> Node for Whole<N>
where
    N::Error: Value,
{
    type Input = N::Input;
    type Output = Result<N::Output, N::Error>;
    type Error = Never;

    async fn run(&self, _: N::Input, _: &Context) -> Result<Self::Output, Never> {
        pending().await
    }
}
