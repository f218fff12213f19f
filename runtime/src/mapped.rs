//! A future whose output a function makes into another, with a name: of a node whose function returns no `Result`, and of the run
//! of a workflow, whose output gets its type back.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

pin_project! {
    /// A future and what to make of its output. `futures` has one for any function, of which rustc asks for each node, through
    /// several layers, whether it is a future and can be sent.
    pub struct Mapped<F, T, R> {
        #[pin]
        future: F,
        make: fn(T) -> R,
    }
}

/// See [`Mapped`].
pub fn map<F: Future, R>(future: F, make: fn(F::Output) -> R) -> Mapped<F, F::Output, R> {
    Mapped { future, make }
}

impl<F: Future<Output = T>, T, R> Future for Mapped<F, T, R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        this.future.poll(waker).map(*this.make)
    }
}
