//! Spans of runs and of attempts, through `tracing`.
//!
//! A span is a piece of work: it ends when what it is about waits, and what follows is another span. So [`Work`] is what spans are
//! about, and a [`Piece`] is one span of it. A piece keeps the piece around it open, so that a parent never ends before its children:
//!
//! ```text
//!   Piece of the run <── Piece of a node <── Piece of a child
//!        ^                    ^
//!   the driver           the attempt, until it waits
//! ```
//!
//! Whatever works holds its piece. When it has ended, the piece around it stays open until what is around has noticed the end
//! ([`Work::end`]). When nothing holds a piece any more, its span ends.

mod context;
mod cover;
mod facts;
mod guarded;
mod span;
mod work;

pub use context::TraceContext;
pub(crate) use context::{TRACEPARENT, traceparent};
pub use cover::Cover;
pub(crate) use cover::Covers;
pub(crate) use facts::RunFacts;
pub(crate) use guarded::GuardedSpan;
#[cfg(feature = "metrics")]
pub(crate) use span::plain_name;
pub(crate) use span::start_span;
use tracing::Level;
use tracing::level_filters::LevelFilter;
pub(crate) use work::{SpanOutcome, Traced, Work};

use crate::catch::caught;

/// The target of all spans, by which a filter finds them.
pub(crate) const TARGET: &str = "graphweft::span";

/// Whether anything wants the spans.
#[inline]
pub(crate) fn is_wanted() -> bool {
    // One load, where there is no subscriber.
    LevelFilter::current() >= LevelFilter::INFO && is_target_wanted()
}

#[cold]
fn is_target_wanted() -> bool {
    caught(|| tracing::span_enabled!(target: TARGET, Level::INFO)).unwrap_or_default()
}
