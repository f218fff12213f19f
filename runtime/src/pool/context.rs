//! The context of a node of a pool.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::executor::NodeReport;
use crate::state::State;
use crate::value::{self, drop_here};

/// One attempt at a node of a pool (`#[node(pool = "gpu")]`): what it has in the place of a [`Context`].
///
/// The attempt may be executed by another process than its run. That process has no record of the run, so there are no requests:
/// no `ask`, `wait`, `sleep`, `call`, `step`, `scope` and `start`. A node without a pool makes them, before this one or behind it.
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node(pool = "gpu")]
/// async fn embed(text: String, ctx: &PoolContext) -> Vec<f32> {
///     ctx.progress("loading the model");
///     let _key = ctx.idempotency_key();
///     text.bytes().map(f32::from).collect()
/// }
///
/// workflow! { pub index(String) -> Vec<f32> { START => embed; } }
///
/// // Without an executor the attempts are executed here.
/// assert_eq!(graphweft::block_on(index("a".to_owned())).unwrap(), [97.0]);
/// ```
///
/// Another node calls it by a workflow around it, `ctx.call::<index>(text)`: the pool is that of a place in a graph. A direct call, and
/// a request, do not compile:
///
/// ```compile_fail,E0277
/// use graphweft::prelude::*;
///
/// #[node(pool = "gpu")]
/// async fn embed(text: String, ctx: &PoolContext) -> bool {
///     ctx.ask("approve", "Is this text meant?").await
/// }
/// ```
///
/// ```compile_fail,E0080
/// use graphweft::prelude::*;
///
/// #[node(pool = "gpu")]
/// async fn embed(text: String) -> usize { text.len() }
///
/// #[node]
/// async fn count(text: String, ctx: &Context) -> usize { ctx.call::<embed>(text).await.unwrap_or(0) }
///
/// workflow! { pub counted(String) -> usize { START => count; } }
///
/// assert_eq!(graphweft::block_on(counted("a".to_owned())).unwrap(), 1);
/// ```
pub struct PoolContext(Context);

/// A node that one of a pool may call: there is none.
#[diagnostic::on_unimplemented(
    message = "a node with a `pool` cannot call `{Self}`: its run may be in another process",
    label = "called from a node with a `pool`",
    note = "a node without a `pool` calls it, before this one or behind it"
)]
pub trait CalledInPool {}

impl PoolContext {
    pub(crate) fn new(context: Context) -> Self {
        PoolContext(context)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.0
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.attempt()
    }

    /// The id of the run.
    pub fn run_id(&self) -> &str {
        self.0.run_id()
    }

    /// The path of this node in its run, as [`Context::path`].
    pub fn path(&self) -> String {
        self.0.path()
    }

    /// A key that is the same for every attempt at this node in this turn of this run, and different for everything else: pass it to
    /// services that deduplicate requests by key.
    pub fn idempotency_key(&self) -> String {
        self.0.idempotency_key()
    }

    /// Makes this the last attempt, as [`Context::no_retry`].
    pub fn no_retry(&self) {
        self.0.no_retry();
    }

    /// Resolves when this attempt is cancelled, as [`Context::cancelled`]. The grace period is that of the engine that executes it.
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Whether this attempt is cancelled, as [`Context::is_cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Sends progress to the subscribers of the run's events, in the process that drives the run. It is not recorded, and a part of it
    /// may be lost on its way. Data that cannot be written as JSON is skipped, with a warning in the log.
    pub fn progress(&self, data: impl Serialize) {
        let Some(reports) = self.elsewhere() else { return self.0.progress(data) };
        if let Some(data) = self.plain("progress", data) {
            reports.progress(data);
        }
    }

    /// Records a message as an event of the run, as [`Context::message`]. One of an attempt that is executed elsewhere is recorded
    /// with its end.
    pub fn message(&self, text: impl Into<String>) {
        let Some(reports) = self.elsewhere() else { return self.0.message(text) };
        let text = text.into();
        match text.len() > self.0.0.run.env.max_value_size.0 {
            true => {
                tracing::warn!(path = %self.path(), bytes = text.len(), "a message above `max_value_size` was skipped")
            }
            false => reports.push(NodeReport::Message { text }),
        }
    }

    /// Records data under a name as an event of the run, as [`Context::note`]. One of an attempt that is executed elsewhere is
    /// recorded with its end.
    pub fn note(&self, name: impl Into<String>, payload: impl Serialize) {
        let Some(reports) = self.elsewhere() else { return self.0.note(name, payload) };
        if let Some(payload) = self.plain("a note", payload) {
            reports.push(NodeReport::Note { name: name.into(), payload });
        }
    }

    /// The [state](crate::state) of the run as it was when the attempt began, to read from. The node writes by the
    /// [`StateWriter`](crate::StateWriter)s among its parameters.
    pub fn state(&self) -> State<'_> {
        self.0.state()
    }

    /// A resource of the engine that executes the attempt.
    pub fn resource<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.resource()
    }

    /// Not there: rustc would suggest the `call` of closures.
    #[doc(hidden)]
    pub fn call<N: CalledInPool>(&self, _input: impl Sized) -> std::future::Pending<Result<(), N>> {
        std::future::pending()
    }

    /// Where its reports go, if the run is driven elsewhere. Those of an attempt that is over go nowhere.
    fn elsewhere(&self) -> Option<Arc<Outlet>> {
        self.0.0.run.is_elsewhere.then(|| self.0.0.run.companion::<Outlet>())
    }

    fn plain(&self, what: &str, data: impl Serialize) -> Option<Value> {
        match value::to_plain(&data, self.0.0.run.env.max_value_size) {
            Ok(data) => Some(data),
            Err(error) => {
                drop_here(data, &error);
                tracing::warn!(path = %self.path(), %error, "{what} that is not JSON was skipped");
                None
            }
        }
    }
}

impl fmt::Debug for PoolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PoolContext");
        shown.field("path", &self.path()).field("attempt", &self.attempt()).finish_non_exhaustive()
    }
}

/// What an attempt whose run is driven elsewhere tells; the one of its run, which has no other attempt here.
#[derive(Default)]
pub(crate) struct Outlet(OnceLock<Reports>);

/// The reports of an attempt.
pub(crate) struct Reports {
    made: Mutex<Vec<NodeReport>>,
    progress: Box<dyn Fn(Value) + Send + Sync>,
}

impl Reports {
    pub(crate) fn new(progress: Box<dyn Fn(Value) + Send + Sync>) -> Self {
        Reports { made: Mutex::default(), progress }
    }
}

impl Outlet {
    pub(crate) fn set(&self, reports: Reports) {
        let _it_is_the_first = self.0.set(reports);
    }

    /// Takes the messages and notes so far.
    pub(crate) fn take(&self) -> Vec<NodeReport> {
        self.0.get().map_or_else(Vec::new, |reports| {
            std::mem::take(&mut *reports.made.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn push(&self, report: NodeReport) {
        if let Some(reports) = self.0.get() {
            reports.made.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        }
    }

    fn progress(&self, data: Value) {
        if let Some(reports) = self.0.get() {
            (reports.progress)(data);
        }
    }
}
