//! Connections that are closed when their client does not read.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};

/// How long a client may read nothing of what waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Accepts connections of this kind. What a response has not sent would otherwise be kept for as long as its client likes.
pub(crate) struct PatientListener(pub(crate) TcpListener);

impl Listener for PatientListener {
    type Io = PatientStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (PatientStream, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.0).await;
        (PatientStream { stream, gives_up: None }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection to which something can be written every so often, or it is over.
pub(crate) struct PatientStream {
    stream: TcpStream,
    /// While it takes nothing.
    gives_up: Option<Pin<Box<Sleep>>>,
}

impl PatientStream {
    fn wrote<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.gives_up = None;
            return written;
        }
        let gives_up = self.gives_up.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        ready!(gives_up.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
