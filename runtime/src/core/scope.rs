//! Scopes: graphs under way.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::NextRun;
use super::frame::Frame;
use super::freeze;
use super::path::ScopePath;
use super::state_map::Snapshot;
use super::task_id::TaskId;
use super::token::Arrived;
use crate::fault::Failure;

/// A graph under way.
#[derive(Serialize, Deserialize)]
pub(super) struct Scope<V> {
    /// Its place in the program.
    pub(super) layout: usize,
    #[serde(with = "freeze::shared")]
    pub(super) path: Arc<ScopePath>,
    /// The node that it is inside of, and which of that node's items it is.
    pub(super) parent: Option<(TaskId, usize)>,
    /// The nearest `[..]` around, whose items share their nodes' `max_parallel`.
    pub(super) each: Option<TaskId>,
    /// The first is the part outside loops; the others are turns, or free.
    pub(super) frames: Vec<Frame<V>>,
    pub(super) free_frames: Vec<usize>,
    /// Its nodes that are not done.
    pub(super) tasks: Vec<TaskId>,
    /// How many of its nodes may be under way at once.
    pub(super) places: Option<usize>,
    /// How many of its nodes have a place, of any kind.
    pub(super) taken: usize,
    pub(super) closing: Option<ScopeExit>,
    pub(super) output: Option<Arrived<V>>,
    /// Whether an attempt in it that may be made at most once was cut short: it is not to be repeated.
    pub(super) has_cut: bool,
    /// The state for the nodes that START fires, if the items of a `[..]` begin in turn; only while it fires them.
    pub(super) entry_state: Option<Snapshot>,
}

/// The allocations of a scope that is over, without its contents.
pub(super) struct Spare<V> {
    /// The one outside loops.
    pub(super) frames: Vec<Frame<V>>,
    pub(super) tasks: Vec<TaskId>,
}

impl<V> Default for Spare<V> {
    fn default() -> Self {
        Spare { frames: vec![Frame::new()], tasks: Vec::new() }
    }
}

/// The rest of a scope that is over.
pub(super) struct Removed<V> {
    pub(super) path: Arc<ScopePath>,
    pub(super) parent: Option<(TaskId, usize)>,
    pub(super) closing: Option<ScopeExit>,
    pub(super) output: Option<Arrived<V>>,
}

/// Why a scope ends before its graph has.
#[derive(Serialize, Deserialize)]
pub(super) enum ScopeExit {
    Failed(Failure),
    Cancelled,
    /// Another run follows; only that of the whole run.
    StartsOver(Box<NextRun>),
}

/// The node around a scope that opens.
pub(super) struct Parent {
    pub(super) task: TaskId,
    pub(super) item: usize,
    pub(super) each: Option<TaskId>,
    pub(super) entry_state: Option<Snapshot>,
}
