//! A server of its own.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::patient::PatientListener;

/// How long open responses may take at the end.
const GRACE: Duration = Duration::from_millis(500);

/// A server that accepts connections once [`run`](Self::run) or [`until`](Self::until) is awaited. Made by
/// [`Inspector::bind`](crate::Inspector::bind).
#[must_use = "nothing is served before `run` or `until` is awaited"]
pub struct Serving {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    router: Router,
}

impl Serving {
    pub(crate) fn new(listener: TcpListener, address: SocketAddr, token: String, router: Router) -> Self {
        Serving { listener, address, token, router }
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        match self.address {
            address if address.ip().is_unspecified() => format!("http://localhost:{}/", address.port()),
            address => format!("http://{address}/"),
        }
    }

    /// What requests that change something send in the header `X-Graphweft-Token`. It is another one for each start, and the page
    /// has it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Serves until the process ends, or until the future is dropped.
    ///
    /// # Errors
    /// If connections cannot be accepted any more.
    pub async fn run(self) -> io::Result<()> {
        self.until(std::future::pending()).await
    }

    /// Serves until a future is ready. Streams that are open then are cut off.
    ///
    /// # Errors
    /// If connections cannot be accepted any more.
    pub async fn until(self, end: impl Future<Output = ()> + Send) -> io::Result<()> {
        let (close, closed) = oneshot::channel::<()>();
        let server =
            axum::serve(PatientListener(self.listener), self.router).with_graceful_shutdown(async { _ = closed.await });
        let mut server = std::pin::pin!(server.into_future());
        tokio::select! {
            served = &mut server => return served,
            () = end => drop(close),
        }
        // Streams of events do not end by themselves.
        tokio::time::timeout(GRACE, server).await.unwrap_or(Ok(()))
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("address", &self.address).finish_non_exhaustive()
    }
}
