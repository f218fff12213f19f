//! Spans of agents and their tools, which end while a person is waited for.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graphweft::{ChildError, Context, Json};
use serde::Serialize;
use tracing::field::Empty;
use tracing::{Id, Span};

use crate::names::node_name;

/// Makes a span below this one.
type Describe = dyn Fn(Option<Id>) -> Span + Send + Sync;

/// The work of an agent, or a call of a tool, which a span covers. The span ends while everything in it waits for people, since that
/// can take days, and another one begins when the work continues: the same as after a restart.
pub(crate) struct Stretch {
    describe: Box<Describe>,
    outer: Option<Arc<Stretch>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` if it has not begun, or everything waits.
    span: Option<Span>,
    /// The span around the outermost stretch.
    around: Option<Id>,
    /// How many stretches in this one work.
    working: isize,
    /// How many stretches in this one wait, and open questions.
    waiting: isize,
    /// Whether it waits itself.
    waits: bool,
}

/// The stretches of a run, by the paths of their nodes. Children are not polled by their caller, so it is by its path that a child
/// finds the stretch that it belongs to.
#[derive(Default)]
pub(crate) struct Stretches(Mutex<HashMap<String, Arc<Stretch>>>);

impl Stretches {
    fn by_path(&self) -> MutexGuard<'_, HashMap<String, Arc<Stretch>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The innermost stretch at this path or around it.
    fn around(&self, path: &str) -> Option<Arc<Stretch>> {
        let by_path = self.by_path();
        let ends = path.rmatch_indices('/').map(|(at, _)| at);
        std::iter::once(path.len()).chain(ends).find_map(|end| by_path.get(&path[..end]).cloned())
    }
}

/// A stretch that children find, until it is dropped.
struct Registered<'s> {
    all: &'s Stretches,
    path: &'s str,
    stretch: &'s Arc<Stretch>,
    replaced: Option<Arc<Stretch>>,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut by_path = self.all.by_path();
        // Another attempt may have taken the place.
        if by_path.get(self.path).is_some_and(|stretch| Arc::ptr_eq(stretch, self.stretch)) {
            match self.replaced.take() {
                // An agent that is a tool has the path of the call.
                Some(outer) => by_path.insert(self.path.to_owned(), outer),
                None => by_path.remove(self.path),
            };
        }
    }
}

impl Stretch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its span, which begins if there is none.
    pub(crate) fn span(&self) -> Span {
        let around = match &self.outer {
            Some(outer) => outer.span().id(),
            None => self.state().around.clone(),
        };
        self.state().span.get_or_insert_with(|| (self.describe)(around)).clone()
    }

    /// Counts one that is in this: it begins to work, or to wait, or ends.
    fn count(&self, working: isize, waiting: isize) {
        let mut state = self.state();
        state.working += working;
        state.waiting += waiting;
        let waits = state.working == 0 && state.waiting > 0;
        let has_changed = waits != state.waits;
        state.waits = waits;
        let ended = if waits { state.span.take() } else { None };
        drop(state);
        drop(ended);
        if let Some(outer) = self.outer.as_ref().filter(|_| has_changed) {
            let change = if waits { 1 } else { -1 };
            outer.count(-change, change);
        }
    }
}

/// One that is counted in a stretch, until it is dropped.
pub(crate) struct Counted {
    within: Option<Arc<Stretch>>,
    working: isize,
    waiting: isize,
}

impl Counted {
    fn new(within: Option<Arc<Stretch>>, working: isize, waiting: isize) -> Self {
        if let Some(within) = &within {
            within.count(working, waiting);
        }
        Counted { within, working, waiting }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(within) = &self.within {
            within.count(-self.working, -self.waiting);
        }
    }
}

/// From here on the node waits, until this is dropped.
pub(crate) fn wait(ctx: &Context) -> Counted {
    Counted::new(ctx.__of_run::<Stretches>().around(&ctx.path()), 0, 1)
}

/// Awaits a person, in a tool.
pub(crate) async fn waiting<F: Future>(ctx: &Context, question: F) -> F::Output {
    let _waits = wait(ctx);
    question.await
}

/// A span below that of the agent that a node belongs to.
pub(crate) fn below_agent(ctx: &Context, make: impl FnOnce() -> Span) -> Span {
    match ctx.__of_run::<Stretches>().around(&ctx.path()) {
        Some(stretch) => stretch.span().in_scope(make),
        None => make(),
    }
}

/// Polls a future within a span.
pub(crate) async fn within<F: Future>(span: &Span, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|waker| span.in_scope(|| future.as_mut().poll(waker))).await
}

async fn covered<T, E>(
    ctx: &Context,
    path: String,
    describe: impl Fn(Option<Id>) -> Span + Send + Sync + 'static,
    kind: fn(&E) -> String,
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let all = ctx.__of_run::<Stretches>();
    let outer = all.around(&path);
    let state = Mutex::new(State { around: Span::current().id(), ..State::default() });
    let stretch = Arc::new(Stretch { describe: Box::new(describe), outer, state });
    let replaced = all.by_path().insert(path.clone(), Arc::clone(&stretch));
    let _registered = Registered { all: &all, path: &path, stretch: &stretch, replaced };
    stretch.span();
    let _counted = Counted::new(stretch.outer.clone(), 1, 0);
    let ended = future.await;
    if let Err(error) = &ended {
        stretch.span().record("error.type", kind(error));
    }
    ended
}

/// What an error is called in `error.type`, which has few values: as in JSON.
pub(crate) fn kind(error: &impl Serialize) -> String {
    match serde_json::to_value(error) {
        Ok(Json::String(name)) => name,
        Ok(Json::Object(error)) => error.into_iter().next().map(|(name, _)| name).unwrap_or_default(),
        _ => "error".to_owned(),
    }
}

/// Runs an agent, which is the node of the context, within a span.
pub(crate) async fn invoke_agent<T, E: Serialize>(
    ctx: &Context,
    model: &str,
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let (path, model) = (ctx.path(), model.to_owned());
    let describe = {
        let path = path.clone();
        let name = node_name(&path).to_owned();
        move |around| {
            tracing::info_span!(
                parent: around,
                "invoke_agent",
                otel.name = format!("invoke_agent {name}"),
                otel.kind = "internal",
                gen_ai.operation.name = "invoke_agent",
                gen_ai.agent.name = name,
                gen_ai.agent.id = path,
                gen_ai.request.model = model,
                error.type = Empty,
            )
        }
    };
    covered(ctx, path, describe, kind, future).await
}

/// Calls a tool, which is this child of the node of the context, within a span: unless its result is recorded, and nothing runs.
pub(crate) async fn execute_tool<T, E>(
    ctx: &Context,
    name: &str,
    child: &str,
    future: impl Future<Output = Result<T, ChildError<E>>>,
) -> Result<T, ChildError<E>> {
    if ctx.__has_result(child) {
        return future.await;
    }
    let path = format!("{}/{child}", ctx.path());
    let (name, id) = (name.to_owned(), path.clone());
    let describe = move |around| {
        tracing::info_span!(
            parent: around,
            "execute_tool",
            otel.name = format!("execute_tool {name}"),
            otel.kind = "internal",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = name,
            gen_ai.tool.type = "function",
            gen_ai.tool.call.id = id,
            error.type = Empty,
        )
    };
    let kind = |error: &ChildError<E>| match error {
        ChildError::Fault(fault) => kind(fault),
        _ => "tool_error".to_owned(),
    };
    covered(ctx, path, describe, kind, future).await
}
