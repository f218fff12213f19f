//! Spans that other crates have for parts of a node.

use std::sync::Arc;

use tracing::{Id, Span};

use super::work::Work;

/// A part of a node that another crate has a span for, until this is dropped.
#[doc(hidden)]
pub struct Cover(Option<(Arc<Work>, Arc<Work>)>);

impl Cover {
    /// One that has no span.
    pub(crate) fn none() -> Self {
        Cover(None)
    }

    /// `describe` makes its spans: a part of a node that waits has several.
    pub(crate) fn new(
        node: &Arc<Work>,
        path: String,
        describe: impl Fn(Option<Id>) -> Span + Send + Sync + 'static,
    ) -> Self {
        let cover = node.cover(path, Box::new(describe));
        cover.hold();
        Cover(Some((Arc::clone(node), cover)))
    }

    /// Changes its present span.
    pub fn with_span(&self, change: impl FnOnce(&Span)) {
        if let Cover(Some((_, cover))) = self {
            cover.piece().change(change);
        }
    }
}

impl Drop for Cover {
    fn drop(&mut self) {
        if let Some((node, cover)) = self.0.take() {
            node.remove_cover(&cover);
            cover.end(None);
        }
    }
}

/// What has spans of its own is around the children of a node below its path, until this is dropped.
pub(crate) struct Covers<'w> {
    node: &'w Arc<Work>,
    inside: Arc<Work>,
}

impl<'w> Covers<'w> {
    pub(crate) fn below(node: &'w Arc<Work>, path: String, inside: &Arc<Work>) -> Self {
        node.add_cover(path, inside);
        Covers { node, inside: Arc::clone(inside) }
    }
}

impl Drop for Covers<'_> {
    fn drop(&mut self) {
        self.node.remove_cover(&self.inside);
    }
}
