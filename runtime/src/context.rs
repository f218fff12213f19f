//! What a node can ask of the run that it is part of.

use std::any::{Any, TypeId};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::attempt::Attempt;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::node::Node;
use crate::state::{Part, State};

/// One attempt at a node, seen from inside: who it is, whom it can talk to, what it shares with others.
///
/// Cheap to clone; a clone may be moved into tasks of the node's own.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Attempt>);

impl Context {
    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.number
    }

    /// The id of the run.
    pub fn run_id(&self) -> &str {
        self.0.run.id()
    }

    /// Where this node stands: `checkout/charge`; `checkout/draft#2` in the second turn of its loop (the first is
    /// unmarked), `#2.3` where loops nest; `checkout/delivery/pack` inside the workflow that runs as node `delivery`;
    /// `digest/search[3]` for the item of index 3 in `[search]`.
    pub fn path(&self) -> String {
        self.0.place.to_string()
    }

    /// A text that is the same for every attempt at this node in this turn of this run, and for nothing else: what to
    /// give to services that do a thing once for each key.
    pub fn idempotency_key(&self) -> String {
        format!("{}:{}", self.run_id(), self.0.place)
    }

    /// Resolves when this attempt is cancelled: the run was, a sibling failed, nothing needs the node's output any more.
    ///
    /// A node that has asked before is then given the engine's grace period (`EngineBuilder::cancel_grace`, one second
    /// by default) to clean up and return; what it returns is dropped. A node that has never asked is dropped at its
    /// `.await` at once, and so is one whose time limit is up. Cancel safe.
    pub async fn cancelled(&self) {
        self.0.token().cancelled().await;
    }

    /// Whether this attempt is cancelled. Asking counts as listening, as with [`cancelled`](Self::cancelled).
    pub fn is_cancelled(&self) -> bool {
        self.0.token().is_cancelled()
    }

    /// Sends progress to whoever watches the run now. It is not recorded, and costs next to nothing where nobody
    /// watches. A payload that cannot be written as JSON is left out, with a warning in the log.
    pub fn emit(&self, progress: impl Serialize) {
        if !self.0.run.is_watched() {
            return;
        }
        match serde_json::to_value(progress) {
            Ok(data) => self.show(EventKind::Progress { data }),
            Err(error) => tracing::warn!(path = %self.0.place, %error, "progress that is not JSON was left out"),
        }
    }

    /// Records a message for whoever watches the run, now or later.
    pub fn say(&self, text: impl Into<String>) {
        if self.0.run.records() {
            self.0.run.record(|| self.path(), || EventKind::Said { text: text.into() });
            self.0.run.pulse.say();
        }
    }

    fn show(&self, kind: EventKind) {
        if let Some(journal) = &self.0.run.journal {
            journal.show(|| self.path(), kind);
        }
    }

    /// The state that the nodes of this run share.
    pub fn state(&self) -> State<'_> {
        State { before: &self.0.state, draft: &self.0.draft, part: Part::Shared }
    }

    /// What a collecting node keeps for itself from one arrival to the next; nobody else sees it. For other nodes it is
    /// always empty when an attempt begins.
    pub fn local(&self) -> State<'_> {
        State { before: self.0.local.as_deref().unwrap_or(no_values()), draft: &self.0.draft, part: Part::Local }
    }

    /// Something that the engine was given at start-up.
    pub fn resource<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.run.env.resource(TypeId::of::<T>())?.downcast_ref()
    }

    /// Whether the run wants each output as JSON.
    #[doc(hidden)]
    pub fn records(&self) -> bool {
        self.0.run.records()
    }

    /// Ends the attempt with a fault: never resolves, and the node is not polled again.
    #[doc(hidden)]
    pub fn stop<T>(&self, fault: Fault) -> impl Future<Output = T> + Send + use<T> {
        let attempt = Arc::clone(&self.0);
        async move {
            attempt.draft().fault.get_or_insert(fault);
            drop(attempt);
            std::future::pending().await
        }
    }

    /// What [`stop`](Self::stop) was called with.
    #[doc(hidden)]
    pub fn __take_fault(&self) -> Option<Fault> {
        self.0.draft().fault.take()
    }

    /// What runs in the place of `N`, where the engine was told to replace it.
    #[doc(hidden)]
    pub fn replacement<N: Node>(&self) -> Option<Replacement<N>> {
        self.0.run.env.replacement(TypeId::of::<N>())?.downcast_ref::<Replacement<N>>().cloned()
    }
}

fn no_values() -> &'static Map<String, Value> {
    static NONE: OnceLock<Map<String, Value>> = OnceLock::new();
    NONE.get_or_init(Map::new)
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("path", &self.path()).field("attempt", &self.0.number).finish_non_exhaustive()
    }
}

type Body<N> = dyn Fn(<N as Node>::Input, Context) -> BoxFuture<'static, Result<<N as Node>::Output, <N as Node>::Error>>
    + Send
    + Sync;

/// A closure that runs in the place of a node.
#[doc(hidden)]
pub struct Replacement<N: Node>(pub(crate) Arc<Body<N>>);

impl<N: Node> Replacement<N> {
    /// Runs it.
    pub fn run(&self, input: N::Input, context: Context) -> BoxFuture<'static, Result<N::Output, N::Error>> {
        (self.0)(input, context)
    }
}

impl<N: Node> Clone for Replacement<N> {
    fn clone(&self) -> Self {
        Replacement(Arc::clone(&self.0))
    }
}
