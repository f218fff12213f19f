//! A process that drives runs.

use std::any::Any;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphweft::{Engine, EngineBuilder, Workflow};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk_shared_core::{CoreVM, VM};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::drive::{Purpose, Settings, drive};
use crate::error::WorkerError;
use crate::handlers;
use crate::identity::Identity;
use crate::invocation::{Invocation, Replay, Reply, Stop, options};
use crate::manifest::{CONTENT_TYPE, manifest, workflow};

/// How long a server may take to close a stream that has ended.
const DRAIN: Duration = Duration::from_secs(60);

/// How large a value may be, in bytes: also one that is twice as long with its escapes fits into a message of a server.
const MAX_VALUE: usize = 15 << 20;

type Body = BoxBody<Bytes, Infallible>;

/// A process that drives runs of its workflows, as Restate gives them to it.
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_restate::Worker;
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:9080").await?;
/// Worker::builder().register::<pay>().max_concurrency(64).build()?.serve(listener).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Worker {
    program: Engine,
    workflows: BTreeSet<&'static str>,
    settings: Settings,
    streams: u32,
    identity: Identity,
}

/// The settings of a [`Worker`].
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft_restate::Worker;
///
/// struct Prices { vat: u32 }
///
/// #[node]
/// async fn price(cents: u32, #[resource] prices: &Prices) -> u32 { cents + cents * prices.vat / 100 }
/// workflow! { pub pay(u32) -> u32 { START => price; } }
///
/// # graphweft::block_on(async {
/// let worker = Worker::builder().register::<pay>().resource(Prices { vat: 19 }).resident(Duration::from_secs(5)).build()?;
/// # drop(worker);
/// # Ok::<(), graphweft_restate::WorkerError>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "no worker is made before `build`"]
pub struct WorkerBuilder {
    engine: EngineBuilder,
    workflows: BTreeSet<&'static str>,
    settings: Settings,
    streams: u32,
    #[cfg(feature = "request-identity")]
    keys: Vec<String>,
}

impl Worker {
    /// For a worker that knows nothing yet.
    pub fn builder() -> WorkerBuilder {
        WorkerBuilder {
            engine: Engine::builder().max_value_size(MAX_VALUE),
            workflows: BTreeSet::new(),
            settings: Settings { resident: Duration::from_secs(1), retention: None },
            streams: 64,
            #[cfg(feature = "request-identity")]
            keys: Vec::new(),
        }
    }

    /// Serves the servers of Restate that connect, until the future is dropped. Then the nodes that are under way stop, and the
    /// servers give their runs to other workers.
    ///
    /// Bind the listener to an address that only the servers reach, or take only what they have signed
    /// (`WorkerBuilder::identity_key`): who reaches a worker may have it run nodes. A server has to know of a new worker, or of a
    /// new program behind the same address: [`Admin::register`](crate::Admin::register).
    ///
    /// # Errors
    /// If the listener does not take connections any more. An error of one connection, and a lack of files for a moment,
    /// are none.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let (worker, stops) = (Arc::new(self), CancellationToken::new());
        let _stops = stops.clone().drop_guard();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let connection = Arc::clone(&worker).connection(stream, stops.clone());
                    tokio::spawn(stops.clone().run_until_cancelled_owned(connection));
                }
                Err(error) if is_of_the_listener(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, stops: CancellationToken) {
        // A record waits for an answer to a small packet.
        drop(stream.set_nodelay(true));
        let streams = self.streams;
        let service = hyper::service::service_fn(move |request| {
            let response = Arc::clone(&self).respond(request, &stops);
            async move { Ok::<_, Infallible>(response) }
        });
        let mut http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .initial_connection_window_size(64 << 20)
            .initial_stream_window_size(8 << 20)
            .max_concurrent_streams(streams)
            .keep_alive_interval(Duration::from_secs(20));
        if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(%error, "a connection of a server has ended");
        }
    }

    fn respond(self: Arc<Self>, request: hyper::Request<Incoming>, stops: &CancellationToken) -> hyper::Response<Body> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        if let Err(error) = self.identity.verify(&parts.headers, &path) {
            return text(401, format!("the request is not signed by a server that this worker knows: {error}"));
        }
        let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
        match steps.as_slice() {
            ["discover"] => full(200, CONTENT_TYPE, manifest(self.workflows.iter().copied()).to_string()),
            ["health"] => text(200, String::new()),
            ["invoke", service, handler] => {
                let Some(workflow) = workflow(service).filter(|workflow| self.workflows.contains(workflow)) else {
                    return text(404, format!("`{service}` is not registered in this worker"));
                };
                let (workflow, handler) = (workflow.to_owned(), (*handler).to_owned());
                let replay = replay_of(&handler);
                let vm = match CoreVM::new(parts.headers, options(replay)) {
                    Ok(vm) => vm,
                    Err(error) => return text(415, error.to_string()),
                };
                let (out, bytes) = mpsc::unbounded_channel::<Bytes>();
                let response = streamed(&vm, bytes);
                let invoked = self.invoked((workflow, handler, replay), vm, body, out);
                tokio::spawn(stops.clone().run_until_cancelled_owned(invoked));
                response
            }
            _ => text(404, "there is no such path".to_owned()),
        }
    }

    async fn invoked(
        self: Arc<Self>,
        (workflow, handler, replay): (String, String, Replay),
        vm: CoreVM,
        body: Incoming,
        out: mpsc::UnboundedSender<Bytes>,
    ) {
        let mut invocation = match Invocation::begin(vm, body, out, replay).await {
            Ok(invocation) => invocation,
            Err(stop) => return tracing::warn!(workflow, handler, ?stop, "an invocation has not begun"),
        };
        let handled = self.handle(&workflow, &handler, &mut invocation).await;
        let ended = match handled {
            Ok(reply) => invocation.end(reply),
            Err(Stop::Cancelled) => invocation.end(Err((409, "cancelled".to_owned()))),
            Err(Stop::Suspended) => Ok(()),
            Err(Stop::Broken(message)) => {
                tracing::warn!(run = invocation.key, workflow, handler, message, "another attempt is to be made");
                invocation.fail(message);
                Ok(())
            }
        };
        if ended.is_ok() {
            // A server that does not end it has gone, or does not matter any more.
            drop(tokio::time::timeout(DRAIN, invocation.drain()).await);
        }
    }

    async fn handle(&self, workflow: &str, handler: &str, invocation: &mut Invocation) -> Result<Reply, Stop> {
        if let Some(purpose) = drives(handler) {
            return drive(&self.program, workflow, purpose, self.settings, invocation).await;
        }
        match handler {
            "answer" | "signal" | "cancel" => handlers::message(invocation, handler).await,
            "status" => handlers::status(invocation).await,
            "events" => handlers::events(&self.program, invocation).await,
            "forget" => handlers::forget(invocation).await,
            _ => Ok(Err((404, format!("a run has no handler `{handler}`")))),
        }
    }
}

fn drives(handler: &str) -> Option<Purpose> {
    match handler {
        "run" => Some(Purpose::Run),
        "retry" => Some(Purpose::Retry),
        _ => None,
    }
}

/// What is only read is read anew by each attempt: it may have changed while it was read.
fn replay_of(handler: &str) -> Replay {
    if drives(handler).is_some() || matches!(handler, "status" | "events") { Replay::Nothing } else { Replay::Commands }
}

/// Whether no connection will come any more.
fn is_of_the_listener(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotConnected | ErrorKind::BrokenPipe)
}

fn full(status: u16, content: &str, text: String) -> hyper::Response<Body> {
    let builder = hyper::Response::builder().status(status).header("content-type", content);
    builder.body(Full::new(Bytes::from(text)).boxed()).unwrap_or_default()
}

fn text(status: u16, text: String) -> hyper::Response<Body> {
    full(status, "text/plain", text)
}

/// The response to an invocation: what it says while it is under way.
fn streamed(vm: &CoreVM, bytes: mpsc::UnboundedReceiver<Bytes>) -> hyper::Response<Body> {
    let head = vm.get_response_head();
    let version = concat!("graphweft/", env!("CARGO_PKG_VERSION"));
    let mut builder = hyper::Response::builder().status(head.status_code).header("x-restate-server", version);
    for header in head.headers {
        builder = builder.header(&*header.key, &*header.value);
    }
    let frames = futures::stream::unfold(bytes, |mut bytes| async move {
        let next = bytes.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(next)), bytes))
    });
    builder.body(StreamBody::new(frames).boxed()).unwrap_or_default()
}

impl WorkerBuilder {
    /// Runs of this workflow are driven here.
    pub fn register<W: Workflow>(mut self) -> Self {
        self.engine = self.engine.register::<W>();
        self.workflows.insert(W::NAME);
        self
    }

    /// What nodes take as `#[resource]`; see [`EngineBuilder::resource`].
    pub fn resource<T: Any + Send + Sync>(mut self, resource: T) -> Self {
        self.engine = self.engine.resource(resource);
        self
    }

    /// How many nodes may be under way in this process at once, of all runs together.
    pub fn max_concurrency(mut self, nodes: impl TryInto<NonZeroUsize>) -> Self {
        self.engine = self.engine.max_concurrency(nodes);
        self
    }

    /// All other settings of an engine: versions, mocks, what is around attempts. Its store is ignored. A run stays in the memory of its
    /// worker while an [executor](EngineBuilder::executor) has one of its nodes.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft_restate::Worker;
    /// # #[node] async fn charge(cents: u32) -> u32 { cents }
    /// # workflow! { pub pay(u32) -> u32 { START => charge; } }
    /// # graphweft::block_on(async {
    /// let worker = Worker::builder().register::<pay>().configure(|engine| engine.max_nesting(10)).build()?;
    /// # drop(worker);
    /// # Ok::<(), graphweft_restate::WorkerError>(()) }).unwrap();
    /// ```
    pub fn configure(mut self, configure: impl FnOnce(EngineBuilder) -> EngineBuilder) -> Self {
        self.engine = configure(self.engine);
        self
    }

    /// How long a run that waits stays in the memory of its worker, so that what comes soon finds it there. Then it is suspended,
    /// and takes nothing of any worker. The default is one second.
    pub fn resident(mut self, time: Duration) -> Self {
        self.settings.resident = time;
        self
    }

    /// How long a run that has ended is kept in Restate, with its records. The default is until it is
    /// [forgotten](crate::RunHandle::forget).
    pub fn retention(mut self, time: Duration) -> Self {
        self.settings.retention = Some(time);
        self
    }

    /// How many runs one connection carries. For more, a server makes another connection, which a balancer may give to another
    /// worker. The default is 64.
    pub fn streams(mut self, runs: u32) -> Self {
        self.streams = runs;
        self
    }

    /// Takes only requests that a server with this key has signed, `publickeyv1_..`: what a server logs at its start if
    /// `request-identity-private-key-pem-file` is set in its configuration. With several calls, one of several keys. Needs the feature `request-identity`.
    #[cfg(feature = "request-identity")]
    pub fn identity_key(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// Makes the worker.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn build(self) -> Result<Worker, WorkerError> {
        #[cfg(feature = "request-identity")]
        let identity = Identity::of(&self.keys).map_err(|(key, message)| WorkerError::IdentityKey { key, message })?;
        #[cfg(not(feature = "request-identity"))]
        let identity = Identity::default();
        let WorkerBuilder { engine, workflows, settings, streams, .. } = self;
        Ok(Worker { program: engine.build()?, workflows, settings, streams, identity })
    }
}
