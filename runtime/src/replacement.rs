//! Closures that replace nodes.

use std::any::TypeId;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::context::Context;
use crate::node::Node;

type Body<N> = dyn Fn(<N as Node>::Input, Context) -> BoxFuture<'static, Result<<N as Node>::Output, <N as Node>::Error>>
    + Send
    + Sync;

/// A closure that runs in the place of a node.
#[doc(hidden)]
pub struct Replacement<N: Node>(pub(crate) Arc<Body<N>>);

impl<N: Node> Replacement<N> {
    /// The replacement of `N`, if the engine has one.
    pub fn of(context: &Context) -> Option<Replacement<N>> {
        context.0.run.env.replacement(TypeId::of::<N>())?.downcast_ref::<Replacement<N>>().cloned()
    }

    /// Runs it.
    pub fn run(&self, input: N::Input, context: Context) -> BoxFuture<'static, Result<N::Output, N::Error>> {
        (self.0)(input, context)
    }
}

impl<N: Node> Clone for Replacement<N> {
    fn clone(&self) -> Self {
        Replacement(Arc::clone(&self.0))
    }
}
