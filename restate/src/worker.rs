//! A process that drives runs, and executes nodes of pools.

use std::any::Any;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphweft::{BuildError, Engine, EngineBuilder, Workflow};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk_shared_core::{CoreVM, VM};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::calls::Elsewhere;
use crate::drive::{Purpose, Settings, drive};
use crate::error::WorkerError;
use crate::handlers;
use crate::identity::Identity;
use crate::invocation::{Invocation, Replay, Reply, Stop, options};
use crate::manifest::{CONTENT_TYPE, EXECUTE, EXPORT, manifest, workflow};
use crate::pool::Pools;

/// How long a server may take to close a stream that has ended.
const DRAIN: Duration = Duration::from_secs(60);

/// How large a value may be, in bytes: also one that is twice as long with its escapes fits into a message of a server.
const MAX_VALUE: usize = 15 << 20;

type Body = BoxBody<Bytes, Infallible>;

/// A process that drives runs of its workflows, as Restate gives them to it, and executes nodes of its pools.
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
    pools: Pools,
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
    pools: BTreeSet<String>,
    most: Option<NonZeroUsize>,
    drives_runs: bool,
    settings: Settings,
    streams: Option<u32>,
    #[cfg(feature = "request-identity")]
    keys: Vec<String>,
}

impl Worker {
    /// For a worker that knows nothing yet.
    pub fn builder() -> WorkerBuilder {
        WorkerBuilder {
            engine: Engine::builder().max_value_size(MAX_VALUE),
            workflows: BTreeSet::new(),
            pools: BTreeSet::new(),
            most: None,
            drives_runs: true,
            settings: Settings { resident: Duration::from_secs(1), retention: None, calls_pools: true },
            streams: None,
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
            ["discover"] => {
                let manifest = manifest(self.workflows.iter().copied(), self.pools.services());
                full(200, CONTENT_TYPE, manifest.to_string())
            }
            ["health"] => text(200, String::new()),
            ["invoke", service, handler] => {
                let target = if self.pools.has(service) {
                    Target::Pool
                } else if let Some(workflow) = workflow(service).filter(|workflow| self.workflows.contains(workflow)) {
                    Target::Run(workflow.to_owned())
                } else {
                    return text(404, format!("`{service}` is not registered in this worker"));
                };
                let handler = (*handler).to_owned();
                let replay = replay_of(&handler);
                let vm = match CoreVM::new(parts.headers, options(replay)) {
                    Ok(vm) => vm,
                    Err(error) => return text(415, error.to_string()),
                };
                let (out, bytes) = mpsc::unbounded_channel::<Bytes>();
                let response = streamed(&vm, bytes);
                let invoked = self.invoked((target, handler, replay), vm, body, out);
                tokio::spawn(stops.clone().run_until_cancelled_owned(invoked));
                response
            }
            _ => text(404, "there is no such path".to_owned()),
        }
    }

    async fn invoked(
        self: Arc<Self>,
        (target, handler, replay): (Target, String, Replay),
        vm: CoreVM,
        body: Incoming,
        out: mpsc::UnboundedSender<Bytes>,
    ) {
        let mut invocation = match Invocation::begin(vm, body, out, replay).await {
            Ok(invocation) => invocation,
            Err(stop) => return tracing::warn!(?target, handler, ?stop, "an invocation has not begun"),
        };
        let handled = match &target {
            Target::Run(workflow) => self.handle(workflow, &handler, &mut invocation).await,
            Target::Pool if handler == EXECUTE => self.pools.execute(&self.program, &mut invocation).await,
            Target::Pool => Ok(Err((404, format!("a pool has no handler `{handler}`")))),
        };
        let ended = match handled {
            Ok(reply) => invocation.end(reply),
            Err(Stop::Cancelled) => invocation.end(Err((409, "cancelled".to_owned()))),
            Err(stop) => Err(stop),
        };
        if let Err(Stop::Broken(message)) = ended {
            tracing::warn!(run = invocation.key, ?target, handler, message, "another attempt is to be made");
            invocation.fail(message);
        }
        // A server that does not end it has gone, or does not matter any more.
        drop(tokio::time::timeout(DRAIN, invocation.drain()).await);
    }

    async fn handle(&self, workflow: &str, handler: &str, invocation: &mut Invocation) -> Result<Reply, Stop> {
        if let Some(purpose) = drives(handler) {
            return drive(&self.program, workflow, purpose, self.settings, invocation).await;
        }
        match handler {
            "answer" | "signal" | "cancel" => handlers::message(invocation, handler).await,
            "status" => handlers::status(&self.program, invocation).await,
            "events" => handlers::events(&self.program, invocation).await,
            EXPORT => handlers::export(invocation).await,
            "forget" => handlers::forget(invocation).await,
            _ => Ok(Err((404, format!("a run has no handler `{handler}`")))),
        }
    }
}

/// What an invocation is of.
#[derive(Debug)]
enum Target {
    /// The run of this workflow with the key of the invocation.
    Run(String),
    Pool,
}

fn drives(handler: &str) -> Option<Purpose> {
    match handler {
        "run" => Some(Purpose::Run),
        "fork" => Some(Purpose::Fork),
        "retry" => Some(Purpose::Retry),
        _ => None,
    }
}

/// What is only read is read anew by each attempt: it may have changed while it was read.
fn replay_of(handler: &str) -> Replay {
    if drives(handler).is_some() || matches!(handler, "status" | "events" | EXPORT) {
        Replay::Nothing
    } else {
        Replay::Commands
    }
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
        self.most = nodes.try_into().ok();
        // Zero is refused by the engine.
        self.engine = self.engine.max_concurrency(self.most.map_or(0, NonZeroUsize::get));
        self
    }

    /// Executes nodes of this pool (`#[node(pool = "gpu")]`), for the runs of all workers: each attempt is a call of the service of the
    /// pool. May be called several times. As many are under way at once as [`max_concurrency`](Self::max_concurrency) says, or one for each core; others wait here.
    ///
    /// The workflows with these nodes have to be registered, and their resources have to be there.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft_restate::Worker;
    ///
    /// struct Model;
    ///
    /// #[node(pool = "gpu")]
    /// async fn embed(text: String, #[resource] _model: &Model) -> usize { text.len() }
    /// workflow! { pub index(Vec<String>) -> Vec<usize> { START => [embed] => END; } }
    ///
    /// # graphweft::block_on(async {
    /// // Drives runs, on machines without a graphics card:
    /// let drives = Worker::builder().register::<index>().build()?;
    /// // Behind another address:
    /// let executes = Worker::builder().register::<index>().resource(Model).pool("gpu").only_pools().build()?;
    /// # drop((drives, executes));
    /// # Ok::<(), graphweft_restate::WorkerError>(()) }).unwrap();
    /// ```
    pub fn pool(mut self, pool: impl Into<String>) -> Self {
        self.pools.insert(pool.into());
        self
    }

    /// Drives no runs: the workflows are registered for the nodes of its [pools](Self::pool).
    ///
    /// Restate knows one address for each workflow and each pool, that which was registered last. So workers that do different things
    /// are behind different addresses, and those behind one address do the same.
    pub fn only_pools(mut self) -> Self {
        self.drives_runs = false;
        self
    }

    /// All other settings of an engine: versions, mocks, what is around attempts. Its store is ignored. Nodes of pools are executed by the
    /// workers of their [pools](Self::pool); those of an own [executor](EngineBuilder::executor) by that, and a run stays in the memory
    /// of its worker while it has one of them; those of [`EngineBuilder::pool`] by the worker that drives the run.
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
    /// worker. The default is 64; in a worker that [drives no runs](Self::only_pools), as many as it executes at once. With 0,
    /// [`build`](Self::build) returns [`WorkerError::ZeroStreams`].
    pub fn streams(mut self, runs: u32) -> Self {
        self.streams = Some(runs);
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
    /// [`WorkerError`]: also if a node of a workflow that it drives needs a resource that there is not, but for the nodes of pools.
    pub fn build(self) -> Result<Worker, WorkerError> {
        #[cfg(feature = "request-identity")]
        let identity = Identity::of(&self.keys).map_err(|(key, message)| WorkerError::IdentityKey { key, message })?;
        #[cfg(not(feature = "request-identity"))]
        let identity = Identity::default();
        let WorkerBuilder { mut engine, mut workflows, pools, most, drives_runs, mut settings, streams, .. } = self;
        if streams == Some(0) {
            return Err(WorkerError::ZeroStreams);
        }
        settings.calls_pools = !engine.has_executor();
        if settings.calls_pools {
            engine = engine.executor(Elsewhere);
        }
        let program = engine.build()?;
        if drives_runs {
            program.check_resources().map_err(BuildError::from)?;
        }
        pools.iter().try_for_each(|pool| program.check_pool(pool))?;
        let pools = Pools::new(pools, most);
        let streams = streams.unwrap_or_else(|| if drives_runs { 64 } else { pools.most() });
        if !drives_runs {
            workflows.clear();
        }
        Ok(Worker { program, workflows, pools, settings, streams, identity })
    }
}
