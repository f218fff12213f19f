//! What is inspected, and how.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::routing::any;
use axum::{Router, middleware};
use graphweft::store::Store;
use graphweft::{BuildError, Engine};
use tokio::net::TcpListener;

use crate::guard;
use crate::hosts::Hosts;
use crate::serving::Serving;
use crate::state::{Inspected, Limits};
use crate::{api, page};

/// Options of an inspector: made by [`Inspector::new`] or [`Inspector::of_store`], and used by [`router`](Self::router) or
/// [`bind`](Self::bind).
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_inspector::Inspector;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::open("runs.db").await?;
/// let serving = Inspector::of_store(store)?.read_only().bind(8080).await?;
/// println!("{}", serving.url());
/// serving.until(async { _ = tokio::signal::ctrl_c().await }).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is served before `router` or `bind`"]
pub struct Inspector {
    engine: Engine,
    limits: Limits,
    read_only: bool,
    hosts: Vec<String>,
    #[cfg(feature = "mcp")]
    mcp: bool,
}

impl Inspector {
    /// Inspects the store of an engine. Runs of its registered workflows can be started, retried and forked.
    pub fn new(engine: Engine) -> Self {
        Inspector {
            engine,
            limits: Limits::default(),
            read_only: false,
            hosts: Vec::new(),
            #[cfg(feature = "mcp")]
            mcp: false,
        }
    }

    /// Inspects a store without the code of its workflows: runs can be read, answered, signalled, cancelled and deleted. What needs the
    /// code is refused with the problem `not_registered` or `unknown_workflow`.
    ///
    /// # Errors
    /// If an engine cannot be built here: in a tokio runtime without timers.
    pub fn of_store(store: impl Store) -> Result<Self, BuildError> {
        Ok(Inspector::new(Engine::builder().store(store).build()?))
    }

    /// Shows runs, and changes nothing: every other request is refused.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Serves the registered workflows as the tools of an MCP server as well: by streamable HTTP at `/mcp`. See [`mcp`](crate::mcp).
    ///
    /// What a server of its own checks of requests that change something, it checks of every request to `/mcp`: a client sends the token
    /// in the header `X-Graphweft-Token`. It is another one for each start, so a client with a fixed configuration uses
    /// [`McpServer::serve_stdio`](crate::McpServer::serve_stdio), or the [`router`](Self::router) in an app with authentication of
    /// its own. A read-only inspector refuses all of these requests.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft_inspector::Inspector;
    ///
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { pub doubled(u32) -> u32 { START => double; } }
    /// # fn require_login(router: axum::Router) -> axum::Router { router }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), graphweft::BuildError> {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// let app = axum::Router::new().nest("/runs", require_login(Inspector::new(engine).with_mcp().router()));
    /// # let _at: axum::Router = app; // `/runs/mcp`
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "mcp")]
    pub fn with_mcp(mut self) -> Self {
        self.mcp = true;
        self
    }

    /// How many bytes the body of a request may have; 1 MiB without it.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.limits.body = bytes;
        self
    }

    /// How many streams of events may be open at the same time; 256 without it.
    pub fn max_streams(mut self, streams: usize) -> Self {
        self.limits.streams = streams.min(tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// How many sessions of MCP there may be at the same time; 256 without it. A further client takes the place of the session that has
    /// been silent for the longest time, and whose client has to initialize again then. If each has an open stream, the further client
    /// is refused with the status 429 and the code `too_many_sessions`.
    #[cfg(feature = "mcp")]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.limits.sessions = sessions;
        self
    }

    /// A further name by which the server of [`bind`](Self::bind) may be asked for, without a port: `runs.example.org`.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// The routes, to be mounted in an app: the page, and the API below `/api`. See [`router`](crate::router()) for what the app has to
    /// do.
    pub fn router(self) -> Router {
        let inspected = Inspected::new(self.engine.clone(), self.limits, self.read_only, None, None);
        self.routes(inspected)
    }

    /// A server of its own for this machine: at `127.0.0.1`. With port 0 the system chooses one.
    ///
    /// # Errors
    /// If the port is taken, or may not be used.
    pub async fn bind(self, port: u16) -> io::Result<Serving> {
        self.bind_to((Ipv4Addr::LOCALHOST, port).into()).await
    }

    /// The same at another address. **Who reaches it sees all runs, and the page has the token to change them**: there is no login, and
    /// no encryption. Names of the machine have to be [allowed](Self::allow_host).
    ///
    /// # Errors
    /// If the address is not one of this machine, is taken or may not be used.
    pub async fn bind_to(self, address: SocketAddr) -> io::Result<Serving> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let mut names = self.hosts.clone();
        match address.ip() {
            IpAddr::V4(ip) => names.push(ip.to_string()),
            IpAddr::V6(ip) => names.push(format!("[{ip}]")),
        }
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        let hosts = Hosts { names, port: address.port() };
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let inspected =
            Inspected::new(self.engine.clone(), self.limits, self.read_only, Some(token.clone()), Some(hosts));
        Ok(Serving::new(listener, address, token, self.routes(inspected)))
    }

    fn routes(self, inspected: Inspected) -> Router {
        let routes =
            Router::new().nest("/api", api::routes()).route("/api/", any(api::no_such_route)).fallback(any(page::page));
        #[cfg(feature = "mcp")]
        let routes = if self.mcp { routes.merge(crate::mcp::routes(&inspected)) } else { routes };
        routes.layer(middleware::from_fn_with_state(inspected.clone(), guard::guard)).with_state(inspected)
    }
}
