//! Views of runs, folded once for all who watch.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use graphweft::store::{RunKey, StoreError};
use graphweft::{Engine, Event, EventKind, Events, Graphs, RecordedNames, Run};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::problem::Problem;
use crate::view::{EventNumbers, Mark, RunView};

/// How many views are kept that no one looks at.
const IDLE: usize = 8;

/// How long a view is followed that no one looks at.
const KEEP: Duration = Duration::from_secs(30);

/// How often watchers get something at most.
const PAUSE: Duration = Duration::from_millis(100);

/// How many events are folded before others have the lock.
const BATCH: usize = 512;

/// The views of runs that are looked at.
pub(crate) struct Hub {
    engine: Engine,
    follows: Mutex<HashMap<String, Arc<Follow>>>,
}

/// The view of a run, which a task keeps up to date.
pub(crate) struct Follow {
    key: RunKey,
    inner: Mutex<Inner>,
    /// The number of the next event.
    applied: watch::Sender<u64>,
    phase: watch::Sender<Phase>,
}

/// What has become of the task that follows a run. Sent anew when there is something for watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Following,
    /// There are no further events: the run is over, or they cannot be read here any more.
    Ended,
    /// No one has looked.
    Left,
}

/// Where the events at a path are.
pub(crate) struct EventsAt {
    pub(crate) ranges: Vec<Range<u64>>,
    /// The numbers that retries have voided.
    pub(crate) voids: Vec<Range<u64>>,
    /// The paths of the view have the current names.
    pub(crate) names: Arc<RecordedNames>,
}

/// Where the events of a conversation are.
pub(crate) struct ConversationEvents {
    pub(crate) ranges: Vec<Range<u64>>,
    pub(crate) paths: HashSet<String>,
    /// Those that the paths have.
    pub(crate) names: Arc<RecordedNames>,
    /// The numbers that retries have voided.
    pub(crate) voids: Vec<Range<u64>>,
}

struct Inner {
    view: RunView,
    /// Of nodes that were renamed while the run was under way.
    names: Arc<RecordedNames>,
    /// For the values of a thing, which are read when they are asked for.
    numbers: EventNumbers,
    used: Instant,
    /// Up to where watchers get the view: all of them to the same place, so that what they get is made once.
    mark: Mark,
    /// The last part that was made, and between which cursors.
    last: Option<(Option<String>, String, Arc<str>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(crate) fn new(engine: Engine) -> Self {
        Hub { engine, follows: Mutex::default() }
    }

    /// The view of a run, with everything that is recorded now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) async fn follow(&self, run: &Run<Value>) -> Result<Arc<Follow>, Problem> {
        let info = run.info().await?;
        let kept = lock(&self.follows).get(run.id()).cloned();
        // Another run may have its id by now, and one that had ended may have been retried.
        let is_current = |follow: &Arc<Follow>| match *follow.phase.borrow() {
            Phase::Following => follow.key == info.key,
            Phase::Ended => follow.key == info.key && *follow.applied.borrow() == info.records,
            Phase::Left => false,
        };
        let follow = match kept.filter(is_current) {
            Some(follow) => follow,
            None => self.begin(run, info.key).await?,
        };
        lock(&follow.inner).used = Instant::now();
        let (mut applied, mut phase) = (follow.applied.subscribe(), follow.phase.subscribe());
        let is_there = applied.wait_for(|next| *next >= info.records);
        let is_over = phase.wait_for(|phase| *phase != Phase::Following);
        tokio::select! {
            _ = is_there => {}
            _ = is_over => {}
        }
        Ok(follow)
    }

    async fn begin(&self, run: &Run<Value>, key: RunKey) -> Result<Arc<Follow>, Problem> {
        let graphs = self.engine.run_graph(run.id()).await?;
        let inner = Mutex::new(Inner::new(run.workflow(), graphs.as_ref(), RecordedNames::default()));
        let (applied, phase) = (watch::Sender::new(0), watch::Sender::new(Phase::Following));
        let follow = Arc::new(Follow { key, inner, applied, phase });
        {
            let mut follows = lock(&self.follows);
            // Another request may have been faster.
            let other = follows.get(run.id());
            if let Some(other) = other.filter(|other| other.key == key && *other.phase.borrow() == Phase::Following) {
                return Ok(Arc::clone(other));
            }
            follows.insert(run.id().to_owned(), Arc::clone(&follow));
            forget(&mut follows);
        }
        let (followed, events) = (Arc::clone(&follow), run.events());
        let source =
            Source { engine: self.engine.clone(), run: run.id().to_owned(), workflow: run.workflow().to_owned() };
        tokio::spawn(async move {
            let phase = followed.keep_up(&source, events).await;
            followed.publish(phase);
        });
        Ok(follow)
    }
}

/// Drops the views that no one has looked at for the longest time.
fn forget(follows: &mut HashMap<String, Arc<Follow>>) {
    let unwatched = follows.iter().filter(|(_, follow)| follow.phase.receiver_count() == 0);
    let mut unused: Vec<(Instant, String)> =
        unwatched.map(|(id, follow)| (lock(&follow.inner).used, id.clone())).collect();
    unused.sort();
    let surplus = unused.len().saturating_sub(IDLE);
    for (_, id) in unused.into_iter().take(surplus) {
        follows.remove(&id);
    }
}

impl Follow {
    /// Folds events as they come.
    async fn keep_up(&self, source: &Source, mut events: Events) -> Phase {
        // When watchers may get something again, and whether there is something for them.
        let (mut due, mut is_news) = (Instant::now(), false);
        // Changes of the graph before this event are in the view.
        let mut adapted = 0;
        loop {
            let until = if is_news { due } else { Instant::now() + KEEP };
            match timeout_at(until, events.next()).await {
                Ok(Some(first)) => {
                    let mut batch = vec![first];
                    while batch.len() < BATCH
                        && let Some(Some(more)) = events.next().now_or_never()
                    {
                        batch.push(more);
                    }
                    let changed = batch.iter().position(|event| event.seq >= adapted && is_change(event));
                    let mut batch = batch.as_slice();
                    if let Some(at) = changed {
                        let seq = batch[at].seq;
                        match source.begin_anew(seq).await {
                            // The view of a run that was deleted meanwhile stays as it is.
                            Ok(None) => adapted = seq + 1,
                            Ok(Some((inner, last))) => {
                                *lock(&self.inner) = inner;
                                (batch, adapted) = (&batch[at..], last + 1);
                            }
                            // The nodes are shown under the names that they had.
                            Err(error) => {
                                tracing::warn!(%error, run = source.run, "the names of renamed nodes are not known");
                                adapted = seq + 1;
                            }
                        }
                    }
                    let missing = missing_graphs(&lock(&self.inner).view, batch);
                    let graphs = source.graphs(missing).await;
                    let mut inner = lock(&self.inner);
                    inner.apply_all(&graphs, batch);
                    self.applied.send_replace(inner.view.next());
                    is_news = true;
                }
                Ok(None) => return Phase::Ended,
                Err(_) if self.is_idle() => return Phase::Left,
                Err(_) => {}
            }
            if is_news && due <= Instant::now() {
                self.publish(Phase::Following);
                (due, is_news) = (Instant::now() + PAUSE, false);
            }
            // Where everything is there at once, this gives others their turn.
            tokio::task::yield_now().await;
        }
    }

    /// Watchers get the view up to here.
    fn publish(&self, phase: Phase) {
        let mut inner = lock(&self.inner);
        inner.mark = inner.view.mark();
        drop(inner);
        self.phase.send_replace(phase);
    }

    /// Wakes when there is something for watchers.
    pub(crate) fn phases(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Whether the run is over, by its events.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.inner).view.status().is_some_and(graphweft::RunStatus::is_over)
    }

    /// Everything that was added since a cursor, as JSON.
    pub(crate) fn part(&self, since: Option<&str>) -> Arc<str> {
        let mut inner = lock(&self.inner);
        let now = inner.view.mark();
        inner.between(since, &now).1
    }

    /// What watchers get since a cursor, as JSON, with the cursor behind it; `None` if there is nothing.
    pub(crate) fn news(&self, since: Option<&str>) -> Option<(String, Arc<str>)> {
        let mut inner = lock(&self.inner);
        let mark = inner.mark.clone();
        let is_news = since.is_none_or(|since| inner.view.has_news(since, &mark));
        is_news.then(|| inner.between(since, &mark))
    }

    /// Where the events at a path are, and the numbers that retries up to a moment have voided.
    pub(crate) fn events_at(&self, path: &str, at: u64) -> EventsAt {
        let inner = lock(&self.inner);
        let names = Arc::clone(&inner.names);
        EventsAt { ranges: inner.numbers.at(&inner.view, path), voids: inner.view.voided(at), names }
    }

    /// The same for a conversation, with the paths of which it has the events.
    pub(crate) fn events_of_conversation(&self, path: &str, at: u64) -> ConversationEvents {
        let inner = lock(&self.inner);
        let (ranges, paths) = inner.numbers.of_conversation(&inner.view, path);
        let paths = paths.into_iter().map(str::to_owned).collect();
        ConversationEvents { ranges, paths, names: Arc::clone(&inner.names), voids: inner.view.voided(at) }
    }

    fn is_idle(&self) -> bool {
        self.phase.receiver_count() == 0 && lock(&self.inner).used.elapsed() > KEEP
    }
}

/// Where the events and the graphs of a view come from.
struct Source {
    engine: Engine,
    run: String,
    workflow: String,
}

impl Source {
    /// A view of a run whose graph has changed, with the events before a number. It only grows, and its nodes have the names and the
    /// numbers of the last graph from their first events on. Returns the number of the last change with it; `None` if there is no such run
    /// any more.
    async fn begin_anew(&self, before: u64) -> Result<Option<(Inner, u64)>, StoreError> {
        let Some(events) = self.engine.history(&self.run).await? else { return Ok(None) };
        let names = self.engine.recorded_names(&events).await?;
        let (mut last, mut graphs) = (before, None);
        if let Some((seq, graph)) = events.iter().rev().find_map(changed_to) {
            (last, graphs) = (seq.max(before), self.engine.stored_graph(graph).await?);
        }
        let mut inner = Inner::new(&self.workflow, graphs.as_ref(), names);
        let events: Vec<Event> = events.into_iter().take_while(|event| event.seq < before).collect();
        let graphs = self.graphs(missing_graphs(&inner.view, &events)).await;
        inner.apply_all(&graphs, &events);
        inner.mark = inner.view.mark();
        Ok(Some((inner, last)))
    }

    /// Graphs of child workflows, by their hashes. One that cannot be read is not drawn.
    async fn graphs(&self, hashes: HashSet<u64>) -> HashMap<u64, Graphs> {
        let mut found = HashMap::new();
        for hash in hashes {
            match self.engine.stored_graph(hash).await {
                Ok(graphs) => found.extend(graphs.map(|graphs| (hash, graphs))),
                Err(error) => tracing::warn!(%error, "the graph of a child workflow is not drawn"),
            }
        }
        found
    }
}

/// The graphs of the child workflows that begin with these events.
fn missing_graphs(view: &RunView, events: &[Event]) -> HashSet<u64> {
    events.iter().filter_map(|event| view.missing_graph(event)).collect()
}

/// The number of a change of the graph, and the graph from there on.
fn changed_to(event: &Event) -> Option<(u64, u64)> {
    match event.kind {
        EventKind::GraphChanged { to, .. } => Some((event.seq, to)),
        _ => None,
    }
}

fn is_change(event: &Event) -> bool {
    changed_to(event).is_some()
}

impl Inner {
    fn new(workflow: &str, graphs: Option<&Graphs>, names: RecordedNames) -> Self {
        let view = RunView::new(workflow, graphs);
        let (mark, numbers, used) = (view.mark(), EventNumbers::default(), Instant::now());
        Inner { view, names: Arc::new(names), numbers, used, mark, last: None }
    }

    fn apply_all(&mut self, graphs: &HashMap<u64, Graphs>, events: &[Event]) {
        for (hash, graphs) in graphs {
            self.view.add_graph(*hash, graphs);
        }
        for event in events {
            if self.names.is_empty() {
                self.apply(event);
            } else {
                let mut event = event.clone();
                self.names.rename(&mut event);
                self.apply(&event);
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        self.view.apply(event);
        self.numbers.add(&self.view, event);
    }

    fn between(&mut self, since: Option<&str>, until: &Mark) -> (String, Arc<str>) {
        self.used = Instant::now();
        let cursor = self.view.cursor_at(until);
        if let Some((from, to, json)) = &self.last
            && (from.as_deref(), to) == (since, &cursor)
        {
            return (cursor, Arc::clone(json));
        }
        let json: Arc<str> = serde_json::to_string(&self.view.part_until(since, until)).unwrap_or_default().into();
        self.last = Some((since.map(str::to_owned), cursor.clone(), Arc::clone(&json)));
        (cursor, json)
    }
}
