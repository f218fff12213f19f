//! Noticing that a client has closed its stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A stream that says when it has ended: calls that are under way are over then, and are not waited for.
pub(super) struct UntilEnd<R> {
    inner: R,
    ended: CancellationToken,
}

impl<R> UntilEnd<R> {
    pub(super) fn new(inner: R, ended: CancellationToken) -> Self {
        UntilEnd { inner, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for UntilEnd<R> {
    fn poll_read(mut self: Pin<&mut Self>, waker: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(waker, buffer);
        let is_over = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            self.ended.cancel();
        }
        read
    }
}
