//! A server of its own.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::patient::{PatientListener, PatientStream};

/// How long a client may take for the headers of a request.
const HEADERS: Duration = Duration::from_secs(10);

/// How long open responses may take at the end.
const GRACE: Duration = Duration::from_millis(500);

/// A server that accepts connections once [`run`](Self::run) or [`until`](Self::until) is awaited. Made by
/// [`Inspector::bind`](crate::Inspector::bind).
///
/// Beside the program that executes the runs, until it ends:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::Inspector;
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::builder().register::<doubled>().build()?;
/// let serving = Inspector::new(engine.clone()).bind(0).await?;
/// println!("the runs are at {}", serving.url());
/// assert!(serving.address().ip().is_loopback());
///
/// let work = async { engine.start::<doubled>(4).await?.result().await.map_err(Box::<dyn std::error::Error>::from) };
/// let (served, done) = tokio::join!(serving.until(std::future::ready(())), work);
/// assert_eq!((served?, done?), ((), 8));
/// # Ok(())
/// # }
/// ```
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
    /// See [`until`](Self::until).
    pub async fn run(self) -> io::Result<()> {
        self.until(std::future::pending()).await
    }

    /// Serves until a future is ready. Streams that are open then are cut off.
    ///
    /// A connection is closed if its client takes longer than 10 s for the headers of a request, the first one or the next, and
    /// if it reads nothing for 10 s of what waits for it. A body has to arrive within 20 s.
    ///
    /// # Errors
    /// None in this version. A connection that cannot be accepted, for example since the process has too many open files, is logged, and
    /// the server accepts again after a second; what is wrong with one connection ends only that one.
    pub async fn until(self, end: impl Future<Output = ()> + Send) -> io::Result<()> {
        let mut listener = PatientListener(self.listener);
        let (close, closed) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut end = pin!(end);
        loop {
            tokio::select! {
                (stream, _) = listener.accept() => {
                    connections.spawn(serve(stream, self.router.clone(), closed.clone()));
                }
                Some(_over) = connections.join_next() => {}
                () = &mut end => break,
            }
        }
        drop((listener, close));
        // Streams of events do not end by themselves.
        let rest = async { while connections.join_next().await.is_some() {} };
        let _some_were_open = tokio::time::timeout(GRACE, rest).await;
        Ok(())
    }
}

/// Serves a connection until its client closes it or takes too long, or, when the server closes, its response is sent.
async fn serve(stream: PatientStream, router: Router, mut closed: watch::Receiver<()>) {
    let service = TowerToHyperService::new(router);
    let mut server = http1::Builder::new();
    // It runs between two requests as well, so that connections which no one uses are closed.
    server.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    let served = tokio::select! {
        served = &mut connection => served,
        _ = closed.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection was closed");
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("address", &self.address).finish_non_exhaustive()
    }
}
