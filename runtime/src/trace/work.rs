//! What spans are about, and the spans of it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tracing::{Id, Span};

use super::facts::RunFacts;
use super::guarded::{GuardedSpan, Inside};
use super::span::{attempt_span, run_span};
use crate::around::CallKind;

/// Makes a span below this one.
pub(super) type Describe = dyn Fn(Option<Id>) -> Span + Send + Sync;

enum What {
    Run {
        /// The span in which it was started, until it begins.
        start: Mutex<Option<GuardedSpan>>,
    },
    Attempt {
        kind: CallKind,
        path: String,
        number: u32,
    },
    /// What a crate above this one has a span for.
    Cover(Box<Describe>),
}

/// A run, an attempt, or a part of an attempt, which has one span for each piece of work.
pub(crate) struct Work {
    what: What,
    facts: Option<Arc<RunFacts>>,
    around: Option<Arc<Work>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The present piece, if anything holds it.
    open: Weak<Piece>,
    /// Held while this works.
    held: Option<Arc<Piece>>,
    /// Left by a child that has ended, until the body of this is polled with its result.
    left: Option<Arc<Piece>>,
    /// After the end of a node: the piece around it, until the driver has noticed the end.
    outer: Option<Arc<Piece>>,
    /// It has ended: it takes nothing from a child any more. The program may have it much longer, by a context.
    is_over: bool,
    /// The driver has noticed its end, or will not.
    is_noticed: bool,
    /// What children, by the prefixes of their paths, are in.
    covers: Vec<(String, Arc<Work>)>,
}

impl State {
    fn leave(&mut self, piece: &Arc<Piece>) -> Option<Arc<Piece>> {
        if self.is_over { None } else { self.left.replace(Arc::clone(piece)) }
    }

    fn leave_outer(&mut self, piece: &Arc<Piece>) -> Option<Arc<Piece>> {
        if self.is_noticed { None } else { self.outer.replace(Arc::clone(piece)) }
    }
}

/// A piece of work: its span is open as long as this is held.
pub(crate) struct Piece {
    // Before the one around it is dropped.
    span: GuardedSpan,
    /// If it has a span of its own, and not that of the piece around it.
    outcome: Option<OnceLock<SpanOutcome>>,
    around: Option<Arc<Piece>>,
}

/// How a piece of work has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpanOutcome {
    Completed,
    /// With the text of the error.
    Failed(String),
    Cancelled,
    StartedOver,
    /// It was dropped in the middle, and has no result.
    Dropped,
    /// The run is resumed in another process, or later.
    Stopped,
}

impl SpanOutcome {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            SpanOutcome::Completed => "completed",
            SpanOutcome::Failed(_) => "failed",
            SpanOutcome::Cancelled => "cancelled",
            SpanOutcome::StartedOver => "started_over",
            SpanOutcome::Dropped => "dropped",
            SpanOutcome::Stopped => "stopped",
        }
    }
}

impl Piece {
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.span.enter()
    }

    pub(super) fn change(&self, change: impl FnOnce(&Span)) {
        self.span.with(change);
    }

    fn ends(&self, outcome: SpanOutcome) {
        if let Some(own) = &self.outcome {
            // The first counts: what is dropped afterwards has ended already.
            let _ = own.set(outcome);
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let Some(outcome) = &self.outcome else { return };
        self.span.with(|span| {
            span.record("graphweft.outcome", outcome.get().map_or("waiting", SpanOutcome::name));
            if let Some(SpanOutcome::Failed(message)) = outcome.get() {
                span.record("otel.status_code", "ERROR");
                span.record("otel.status_description", &**message);
            }
        });
    }
}

impl Work {
    fn new(what: What, facts: Option<Arc<RunFacts>>, around: Option<Arc<Work>>) -> Arc<Self> {
        Arc::new(Work { what, facts, around, state: Mutex::default() })
    }

    /// A run. `start`: the span in which it was started, if that was here and now.
    pub(crate) fn run(facts: RunFacts, start: Option<GuardedSpan>) -> Arc<Self> {
        Work::new(What::Run { start: Mutex::new(start) }, Some(Arc::new(facts)), None)
    }

    /// An attempt in this.
    pub(crate) fn attempt(around: Option<&Arc<Work>>, kind: CallKind, path: String, number: u32) -> Arc<Self> {
        let around = around.map(|work| work.cover_of(&path));
        let facts = around.as_ref().and_then(|around| around.facts.clone());
        Work::new(What::Attempt { kind, path, number }, facts, around)
    }

    /// Something in this that another crate has a span for. It is around the children below this path.
    pub(super) fn cover(self: &Arc<Self>, path: String, describe: Box<Describe>) -> Arc<Self> {
        let cover = Work::new(What::Cover(describe), self.facts.clone(), Some(self.cover_of(&path)));
        self.add_cover(path, &cover);
        cover
    }

    /// Makes something be around the children below this path.
    pub(super) fn add_cover(&self, path: String, cover: &Arc<Work>) {
        self.state().covers.push((path, Arc::clone(cover)));
    }

    pub(super) fn remove_cover(&self, cover: &Arc<Work>) {
        let mut state = self.state();
        let at = state.covers.iter().rposition(|(_, known)| Arc::ptr_eq(known, cover));
        let removed = at.map(|at| state.covers.remove(at));
        drop(state);
        drop(removed);
    }

    /// What is around a child of this.
    fn cover_of(self: &Arc<Self>, path: &str) -> Arc<Self> {
        let state = self.state();
        let is_in =
            |around: &str| path.strip_prefix(around).is_some_and(|below| below.is_empty() || below.starts_with('/'));
        let covers = state.covers.iter().filter(|(around, _)| is_in(around));
        // The innermost, and of two at one path the later one.
        covers.max_by_key(|(around, _)| around.len()).map_or_else(|| Arc::clone(self), |(_, cover)| Arc::clone(cover))
    }

    /// Under this lock, and those of what is around, a subscriber makes a span and a `TraceContext` connects it. Neither may block. Spans
    /// are entered, recorded to and ended without it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present piece, or a new one.
    pub(crate) fn piece(&self) -> Arc<Piece> {
        let mut state = self.state();
        if let Some(open) = state.open.upgrade() {
            return open;
        }
        let around = self.around.as_ref().map(|around| around.piece());
        let piece = Arc::new(self.begin(around));
        state.open = Arc::downgrade(&piece);
        piece
    }

    fn begin(&self, around: Option<Arc<Piece>>) -> Piece {
        let parent = || around.as_ref().and_then(|around| around.span.id()).or_else(|| Span::current().id());
        let span = match &self.what {
            What::Run { start } => {
                let start = start.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.run_span(start)
            }
            What::Attempt { kind, path, number } => {
                GuardedSpan::of(|| attempt_span(parent(), *kind, self.facts.as_deref(), path, *number))
            }
            What::Cover(describe) => GuardedSpan::of(|| describe(parent())),
        };
        match (&around, span.is_disabled()) {
            // What is inside it belongs to the next span outwards that is wanted.
            (Some(outer), true) => Piece { span: outer.span.clone(), outcome: None, around },
            (_, is_disabled) => {
                let has_outcome = !is_disabled && !matches!(self.what, What::Cover(_));
                Piece { span, outcome: has_outcome.then(OnceLock::new), around }
            }
        }
    }

    fn run_span(&self, start: Option<GuardedSpan>) -> GuardedSpan {
        let Some(facts) = &self.facts else { return GuardedSpan::none() };
        let current = || Span::current().id();
        match start {
            // Not by `tracing`, where a span stays open as long as one inside it: after a crash, the start would be missing.
            Some(_) if facts.is_connected() => facts.begin(GuardedSpan::of(|| run_span(None, facts))),
            Some(start) => GuardedSpan::of(|| run_span(start.id().or_else(current), facts)),
            None => facts.resume(GuardedSpan::of(|| run_span(current(), facts))),
        }
    }

    /// It works: its span is open until it [pauses](Self::pause) or [ends](Self::end).
    pub(crate) fn hold(&self) -> Arc<Piece> {
        let piece = self.piece();
        let replaced = self.state().held.replace(Arc::clone(&piece));
        drop(replaced);
        piece
    }

    /// It waits, and so does all that is in it, or holds a piece by itself.
    pub(crate) fn pause(&self) {
        let (held, left, covers) = {
            let mut state = self.state();
            let covers: Vec<_> = state.covers.iter().map(|(_, cover)| Arc::clone(cover)).collect();
            (state.held.take(), state.left.take(), covers)
        };
        covers.iter().for_each(|cover| cover.pause());
        drop((held, left));
    }

    /// It waits for what has a piece of its own, and will notice the end of that.
    pub(crate) fn release(&self) {
        let held = self.state().held.take();
        drop(held);
    }

    /// Holds its present piece, if it is open.
    pub(crate) fn hold_open(&self) {
        let mut state = self.state();
        let open = state.open.upgrade();
        let replaced = std::mem::replace(&mut state.held, open);
        drop(state);
        drop(replaced);
    }

    /// Its end was noticed, or will not be.
    pub(crate) fn forget_outer(&self) {
        let outer = {
            let mut state = self.state();
            state.is_noticed = true;
            state.outer.take()
        };
        drop(outer);
    }

    /// It has ended like this. What is around it has a piece until it has noticed that.
    pub(crate) fn end(&self, outcome: Option<SpanOutcome>) {
        let (open, held, left) = {
            let mut state = self.state();
            state.is_over = true;
            (state.open.upgrade(), state.held.take(), state.left.take())
        };
        let Some(open) = open else { return };
        if let Some(outcome) = outcome {
            open.ends(outcome);
        }
        if let (Some(around), Some(piece)) = (&self.around, &open.around) {
            // A node may be polled by another task than the driver: the driver takes what this very node has left.
            let replaced = match self.what {
                What::Attempt { kind: CallKind::Node, .. } => self.state().leave_outer(piece),
                _ => around.state().leave(piece),
            };
            drop(replaced);
        }
        drop((open, held, left));
    }
}

/// The spans of an attempt that is polled.
pub(crate) struct Traced {
    work: Arc<Work>,
    /// Whether it has its span open while it works. The graph of a child has a driver for that.
    holds: bool,
    /// The piece around it, until it begins.
    around: Option<Arc<Piece>>,
}

impl Traced {
    pub(crate) fn new(work: Arc<Work>, holds: bool) -> Box<Self> {
        let around = work.around.as_ref().map(|around| around.piece());
        Box::new(Traced { work, holds, around })
    }

    /// Before it is polled. The span of what is polled now.
    pub(crate) fn poll(&mut self) -> Option<Arc<Piece>> {
        if !self.holds {
            return None;
        }
        let piece = self.work.hold();
        self.around = None;
        Some(piece)
    }

    /// After it was polled: the driver of a graph has begun, and holds a piece by itself while it works.
    pub(crate) fn was_polled(&mut self) {
        self.around = None;
    }

    /// The present piece, if it is open.
    pub(crate) fn open(&self) -> Option<Arc<Piece>> {
        self.work.state().open.upgrade()
    }

    pub(crate) fn pause(&mut self) {
        self.around = None;
        self.work.pause();
    }

    pub(crate) fn end(&mut self, outcome: SpanOutcome) {
        // It may have failed while it waited, as at its time limit.
        let _open = matches!(outcome, SpanOutcome::Failed(_)).then(|| self.work.piece());
        self.work.end(Some(outcome));
        self.around = None;
    }
}
