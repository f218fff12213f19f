//! Views of runs, folded once for all who watch.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use graphweft::store::RunKey;
use graphweft::{Engine, Event, Events, Graphs, Run};
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

/// Where the events of a conversation are.
pub(crate) struct ConversationEvents {
    pub(crate) ranges: Vec<Range<u64>>,
    pub(crate) paths: HashSet<String>,
    /// The numbers that retries have voided.
    pub(crate) voids: Vec<Range<u64>>,
}

struct Inner {
    view: RunView,
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
        let view = RunView::new(run.workflow(), graphs.as_ref());
        let (mark, numbers, used) = (view.mark(), EventNumbers::default(), Instant::now());
        let inner = Mutex::new(Inner { view, numbers, used, mark, last: None });
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
        let (followed, events, engine) = (Arc::clone(&follow), run.events(), self.engine.clone());
        tokio::spawn(async move {
            let phase = followed.keep_up(&engine, events).await;
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
    async fn keep_up(&self, engine: &Engine, mut events: Events) -> Phase {
        // When watchers may get something again, and whether there is something for them.
        let (mut due, mut is_news) = (Instant::now(), false);
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
                    let graphs = self.missing_graphs(engine, &batch).await;
                    let mut inner = lock(&self.inner);
                    for (hash, graphs) in &graphs {
                        inner.view.add_graph(*hash, graphs);
                    }
                    for event in &batch {
                        inner.apply(event);
                    }
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

    /// The graphs of the child workflows that begin with these events. One that cannot be read is not drawn.
    async fn missing_graphs(&self, engine: &Engine, events: &[Event]) -> HashMap<u64, Graphs> {
        let hashes: HashSet<u64> = {
            let inner = lock(&self.inner);
            events.iter().filter_map(|event| inner.view.missing_graph(event)).collect()
        };
        let mut found = HashMap::new();
        for hash in hashes {
            match engine.stored_graph(hash).await {
                Ok(graphs) => found.extend(graphs.map(|graphs| (hash, graphs))),
                Err(error) => tracing::warn!(%error, "the graph of a child workflow is not drawn"),
            }
        }
        found
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
    pub(crate) fn events_at(&self, path: &str, at: u64) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let inner = lock(&self.inner);
        (inner.numbers.at(&inner.view, path), inner.view.voided(at))
    }

    /// The same for a conversation, with the paths of which it has the events.
    pub(crate) fn events_of_conversation(&self, path: &str, at: u64) -> ConversationEvents {
        let inner = lock(&self.inner);
        let (ranges, paths) = inner.numbers.of_conversation(&inner.view, path);
        let paths = paths.into_iter().map(str::to_owned).collect();
        ConversationEvents { ranges, paths, voids: inner.view.voided(at) }
    }

    fn is_idle(&self) -> bool {
        self.phase.receiver_count() == 0 && lock(&self.inner).used.elapsed() > KEEP
    }
}

impl Inner {
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
