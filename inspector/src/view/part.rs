//! What is sent of a view: the whole, or what was added to it.

use std::collections::BTreeMap;

use graphweft::RunStatus;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::detail::Detail;

/// A view of a run, or what was added to it since a cursor. All lists of a view only grow, so a reader appends those of
/// each part to the ones that it has, and the moment after event `S` is what has `seq <= S`.
///
/// To be small, `times`, `moves`, `taken` and `began` are lists of integers without structure. **In each of these lists of
/// each part, a number of an event, and a time, is written as the difference to the one before in the same list; the first
/// one is written as it is.**
///
/// A reader in another process gets the whole once, and then what is new:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::{RunView, STATES, State};
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<doubled>(4).id("mine").await?.result().await?;
/// let mut view = RunView::new("doubled", None);
/// let first = view.part(None);
/// for event in engine.history("mine").await?.ok_or("it was started")? {
///     view.apply(&event);
/// }
/// let second = view.part(Some(&first.cursor));
/// assert!(first.whole && !second.whole);
/// assert_eq!(second.status, Some(RunStatus::Completed));
/// let of_double = &second.moves_by_thing()[&1];
/// assert_eq!(of_double.last().map(|(_, state, attempt)| (*state, *attempt)), Some((State::Completed, 1)));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ViewPart {
    /// Where the next part begins, for `?since=` and as the id of a server-sent event.
    pub cursor: String,
    /// Whether this is the whole view, and not what was added since a cursor: a reader drops what it has.
    pub whole: bool,
    /// The number of the last event in the view; -1 if there is none.
    pub seq: i64,
    /// The status of the run now.
    #[schema(value_type = crate::model::Status)]
    pub status: Option<RunStatus>,
    /// The times of the events in the order of their numbers, in milliseconds since 1970 (differences).
    pub times: Vec<i64>,
    /// The new things.
    pub things: Things,
    /// What has happened to the things, four numbers each: the thing, the event (difference), the state (an index of
    /// [`STATES`](crate::view::STATES), in this document the schema `StateName`, in its order) and the attempt, from 1; 0 for what
    /// has no attempts.
    pub moves: Vec<i64>,
    /// The edges of graphs that were taken, three numbers each: the scope in whose graph the edge is (a thing of the kind
    /// `workflow` or `item`, or 0 for the graph of the run), the event (difference), and the index of the edge in that graph.
    /// Left out for `[..]` around a single node. From a `retried` on, those of the events that it voids do not count.
    pub taken: Vec<i64>,
    /// For attempts of children and steps that began before their start was recorded, three numbers each: the thing, the
    /// event (difference), and by how many milliseconds before the time of that event it began.
    pub began: Vec<i64>,
    /// The changes of the status of the run, each with the number of the event.
    pub runs: Vec<RunMove>,
    /// What else has happened, in the order of the events: messages, errors, questions and so on, without the values.
    pub details: Vec<Detail>,
    /// The last progress of each thing. Of two for one thing the later one counts.
    pub progress: Vec<Progress>,
}

/// Things of a run, in columns of the same length: the first thing is made of the first entry of each column. The number of
/// a thing is its index in the columns of all parts together. Thing 0 is the run itself.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::RunView;
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().build()?;
/// # engine.start::<doubled>(4).id("mine").await?.result().await?;
/// # let mut view = RunView::new("doubled", None);
/// # for event in engine.history("mine").await?.ok_or("it was started")? { view.apply(&event) }
/// let things = view.part(None).things;
/// let tree: Vec<(&str, i64)> = things.path.iter().map(String::as_str).zip(things.within.iter().copied()).collect();
/// assert_eq!(tree, [("doubled", -1), ("doubled/double", 0)]); // the second is in the first
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Things {
    /// Its path, as in events: `checkout/review#2`. For an item: the path of its `[..]` with the index,
    /// `digest/[search => sum][3]`, which no event has.
    pub path: Vec<String>,
    /// Its kind: an index of [`KINDS`](crate::view::KINDS), in this document the schema `KindName`, in its order.
    pub kind: Vec<u8>,
    /// The thing that it is in: a workflow, an item, a child, or the node that has asked for it; -1 for the run. Where `[..]` is
    /// around a single node, the visits of that node are right in the `[..]`.
    pub within: Vec<i64>,
    /// The index of its node in the graph of the scope; -1 if it is not a node of a graph that is known.
    pub node: Vec<i64>,
    /// For what is right inside of a `[..]`: the index of the item, from 0; else -1.
    pub item: Vec<i64>,
    /// For what is in a loop: the number of the turn of the innermost one, from 1; else 0.
    pub turn: Vec<i64>,
}

/// A change of the status of the run.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::RunView;
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().build()?;
/// # engine.start::<doubled>(4).id("mine").await?.result().await?;
/// # let mut view = RunView::new("doubled", None);
/// # for event in engine.history("mine").await?.ok_or("it was started")? { view.apply(&event) }
/// let statuses: Vec<RunStatus> = view.part(None).runs.iter().map(|change| change.status).collect();
/// assert_eq!(statuses, [RunStatus::Running, RunStatus::Completed]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunMove {
    /// The number of the event.
    pub seq: u64,
    /// The status from there on.
    #[schema(value_type = crate::model::Status)]
    pub status: RunStatus,
}

/// What a node has sent by `ctx.progress(..)`. It is not recorded: a server that has started later does not know it.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::RunView;
///
/// #[node]
/// async fn download(ctx: &Context) -> u32 {
///     for percent in [50, 100] { ctx.progress(percent); }
///     7
/// }
/// workflow! { pub fetch(()) -> u32 { START => download; } }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<fetch>(()).await?;
/// let (mut events, mut view) = (run.events(), RunView::new("fetch", None));
/// while let Some(event) = events.next().await {
///     view.apply(&event);
/// }
/// let progress = view.part(None).progress;
/// assert!(progress.iter().all(|last| last.data == 100)); // the last one, if it was sent while the run was watched
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// The node.
    pub thing: u32,
    /// The number of the last event before it.
    pub seq: u64,
    /// Counts up over the run.
    pub number: u64,
    /// The data; null if it is larger than 2 kB.
    #[schema(value_type = Value)]
    pub data: serde_json::Value,
}

/// A list of integers in which every `width`-th number, from `column` on, is written as a difference.
pub(super) fn differences(list: &mut [i64], width: usize, column: usize) {
    let mut before = 0;
    for at in (column..list.len()).step_by(width) {
        let now = list[at];
        list[at] = now.wrapping_sub(before);
        before = now;
    }
}

impl ViewPart {
    /// The moves of each thing, by the number of the thing: the event, the state and the attempt. For readers in Rust.
    pub fn moves_by_thing(&self) -> BTreeMap<u32, Vec<(u64, super::State, u32)>> {
        let mut all: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        let mut seq = 0;
        for entry in self.moves.chunks_exact(4) {
            seq += entry[1];
            let state = super::STATES.get(usize::try_from(entry[2]).unwrap_or(usize::MAX));
            if let (Ok(thing), Some(state), Ok(attempt)) = (u32::try_from(entry[0]), state, u32::try_from(entry[3])) {
                all.entry(thing).or_default().push((seq.unsigned_abs(), *state, attempt));
            }
        }
        all
    }
}
