//! See and steer the runs of [graphweft] from outside: an HTTP API, and a page that is part of the program.
//!
//! In an app, behind its login:
//!
//! ```
//! use axum::Router;
//! use graphweft::prelude::*;
//!
//! # #[node] async fn double(n: u32) -> u32 { 2 * n }
//! # workflow! { pub doubled(u32) -> u32 { START => double; } }
//! # fn require_login(router: Router) -> Router { router }
//! let engine = Engine::builder().register::<doubled>().build()?;
//! let inspector = require_login(graphweft_inspector::router(engine.clone()));
//! let app: Router = Router::new().nest("/runs", inspector);
//! # Ok::<(), graphweft::BuildError>(())
//! ```
//!
//! As a server of its own, for this machine only: [`Inspector::bind`]. Over a store without the code of its workflows:
//! [`router_of_store`] and [`Inspector::of_store`].
//!
//! - [`api`]: the routes, as an OpenAPI document. `GET api/openapi.json` has it, too.
//! - [`view`]: what has become of everything in a run, moment by moment. The page, the command line and tests share it.
//! - [`Problem`]: how a request is refused.
//! - `mcp`, with the feature of this name: workflows as the tools of an MCP server.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod api;
mod extract;
mod guard;
mod hosts;
mod hub;
mod inspector;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
#[doc(hidden)]
pub mod page;
mod patient;
mod problem;
mod serving;
mod state;
pub mod view;

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

use axum::Router;
use graphweft::store::Store;
use graphweft::{BuildError, Engine};

pub use inspector::Inspector;
#[cfg(feature = "mcp")]
pub use mcp::McpServer;
pub use problem::Problem;
pub use serving::Serving;

/// The page and the API, to be mounted in an app. The same as `Inspector::new(engine).router()`; [`Inspector`] has options.
///
/// # What the app has to do
/// The routes have no login, and no token: who reaches them sees the inputs, outputs, questions and errors of all runs, and can
/// start, answer, signal, cancel, retry, fork and delete. So the app
/// - authenticates every request to them, those for streams (`live`, `events`, `changes`) as well; a browser's `EventSource` sends cookies,
///   but no header of its own;
/// - decides who may change something: all of that is `POST` and `DELETE`. [`Inspector::read_only`] refuses it;
/// - checks the `Host` of requests, if it listens on an address of a private network or on `localhost`, against DNS rebinding;
/// - keeps cookies `SameSite=Lax` or `Strict`. As a second line, requests that change something are refused here if the browser says that
///   they come from another site (`Sec-Fetch-Site`, `Origin`) or if they have no `Content-Type: application/json`, which forms of other
///   sites cannot send;
/// - sends no CORS headers for them;
/// - limits the connections of a client, the time that its headers take, and the time for which it may read nothing. The size of bodies
///   and the number of open streams are limited here, and what waits for a slow reader: 32 events.
///
/// A proxy in between must not buffer responses, and passes `Host` on.
///
/// Below a path of an app, behind its login:
///
/// ```
/// use axum::Router;
/// use graphweft::prelude::*;
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # fn require_login(router: Router) -> Router { router }
/// let engine = Engine::builder().register::<doubled>().build()?;
/// let runs = require_login(graphweft_inspector::router(engine));
/// assert!(runs.has_routes());
/// let app: Router = Router::new().nest("/runs", runs);
/// # drop(app);
/// # Ok::<(), graphweft::BuildError>(())
/// ```
pub fn router(engine: Engine) -> Router {
    Inspector::new(engine).router()
}

/// The same for a store without the code of its workflows; see [`Inspector::of_store`].
///
/// ```
/// use axum::Router;
/// use graphweft::store::SqliteStore;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// // An office that looks at the runs of several programs:
/// let store = SqliteStore::open(&path).await?;
/// let app: Router = Router::new().nest("/shop", graphweft_inspector::router_of_store(store)?);
/// assert!(app.has_routes());
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If an engine cannot be built here: in a tokio runtime without timers.
pub fn router_of_store(store: impl Store) -> Result<Router, BuildError> {
    Ok(Inspector::of_store(store)?.router())
}
