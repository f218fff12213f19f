//! Programs as users write them, held against what graphweft promises: what they share.

mod dying;
mod forwarding;
mod on_disk;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub use dying::{Dying, dies_at_commit};
use futures::StreamExt;
use graphweft::store::MemoryStore;
use graphweft::{AfterFailure, Engine, EngineBuilder, Event, EventKind, Failure, Json, Run, RunError, Workflow};
pub use on_disk::OnDisk;
use tokio::sync::{Notify, watch};

/// What nodes did, in the order in which they did it; given to an engine as a resource.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    /// Writes a line down.
    pub fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often a line was written.
    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|written| *written == line).count()
    }

    /// Writes a line when it is dropped: whoever holds it has ended or was stopped.
    pub fn when_dropped(&self, line: &str) -> WhenDropped {
        WhenDropped(self.clone(), line.to_owned())
    }
}

/// Made by [`Journal::when_dropped`].
#[derive(Debug)]
pub struct WhenDropped(Journal, String);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        self.0.note(std::mem::take(&mut self.1));
    }
}

/// Counts who is inside at once, and lets nobody out before so many were as are expected.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// How many are inside, and the most that ever were.
    counts: watch::Sender<(usize, usize)>,
    expected: usize,
}

impl Gauge {
    /// One that expects so many at once.
    pub fn expecting(expected: usize) -> Self {
        Gauge { counts: watch::Sender::new((0, 0)), expected }
    }

    /// One more is inside, and stays for a while.
    ///
    /// # Panics
    /// Where fewer than are expected come for a minute.
    pub async fn stay_inside(&self) {
        self.counts.send_modify(|(now, most)| {
            *now += 1;
            *most = *now.max(most);
        });
        let _leaves = Leaves(self);
        let mut counts = self.counts.subscribe();
        let all = counts.wait_for(|(_, most)| *most >= self.expected);
        let came = tokio::time::timeout(Duration::from_secs(60), all).await.is_ok();
        assert!(came, "only {} were inside at once, and not {}", self.highest(), self.expected);
        // One too many would come now.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }

    /// The most that were ever inside at once.
    pub fn highest(&self) -> usize {
        self.counts.borrow().1
    }
}

struct Leaves<'g>(&'g Gauge);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.counts.send_modify(|(now, _)| *now -= 1);
    }
}

/// An event by its JSON: outside of its crate none can be made by its fields.
///
/// # Panics
/// Where there is no such event.
pub fn event(json: Json) -> EventKind {
    serde_json::from_value(json).expect("an event")
}

/// How a run failed.
///
/// # Panics
/// Where it did not fail.
pub fn failure<T: std::fmt::Debug>(result: Result<T, RunError>) -> Failure {
    match result {
        Err(RunError::Failed(failure)) => failure,
        other => panic!("the run did not fail: {other:?}"),
    }
}

/// The records of a run, to its end.
pub async fn records<T>(run: &Run<T>) -> Vec<Event> {
    run.events().collect().await
}

/// Runs a workflow in an engine without anything, and gives its records.
///
/// # Panics
/// Where it does not start.
pub async fn records_of<W: Workflow>(input: W::Input) -> Vec<Event> {
    let engine = Engine::builder().build().expect("an engine without anything");
    let run = engine.start::<W>(input).await.expect("a workflow that needs nothing");
    records(&run).await
}

/// The paths at which something of that kind happened, in order.
pub fn paths(events: &[Event], is_meant: impl Fn(&EventKind) -> bool) -> Vec<String> {
    events.iter().filter(|event| is_meant(&event.kind)).map(|event| event.path.clone()).collect()
}

/// The paths of the attempts that began, in order.
pub fn started(events: &[Event]) -> Vec<String> {
    paths(events, |kind| matches!(kind, EventKind::NodeStarted { .. }))
}

/// What is left of one process for the next: its store and what its nodes did. Give it to each [`life`].
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// The runs.
    pub store: MemoryStore,
    /// What nodes did, in all lives.
    pub journal: Journal,
}

/// Where a process dies. Given to an engine as a resource.
#[derive(Clone, Debug, Default)]
pub struct Death {
    at: Option<&'static str>,
    came: Arc<Notify>,
}

impl Death {
    /// Whoever comes to this place goes no further.
    pub fn at(place: &'static str) -> Self {
        Death { at: Some(place), came: Arc::default() }
    }

    /// For nodes: comes to a place.
    pub async fn come(&self, place: &str) {
        if self.at == Some(place) {
            self.came.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Waits until somebody has come there.
    ///
    /// # Panics
    /// Where nobody comes.
    pub async fn came(&self) {
        // Long enough for a machine that is busy: it is only waited for where a test fails.
        tokio::time::timeout(Duration::from_secs(300), self.came.notified()).await.expect("a node comes there");
    }
}

impl Remains {
    /// An engine of one life, with [`Journal`] and [`Death`] among its resources.
    pub fn engine(&self, death: &Death) -> EngineBuilder {
        Engine::builder().store(self.store.clone()).resource(self.journal.clone()).resource(death.clone())
    }

    /// A process that starts a run and dies where somebody comes to a place.
    ///
    /// # Panics
    /// Where the run does not start, or nobody comes.
    pub fn dies_at<W: Workflow>(&self, input: W::Input, place: &'static str) {
        life(async {
            let death = Death::at(place);
            let engine = self.engine(&death).build().expect("an engine");
            let _run = engine.start::<W>(input).id("run").await.expect("a run");
            death.came().await;
        });
    }

    /// The process after that: goes on with the run, and gives how it ends and all of its records.
    ///
    /// # Panics
    /// Where the run does not go on.
    pub fn goes_on<W: Workflow>(&self) -> (Result<serde_json::Value, RunError>, Vec<Event>) {
        self.goes_on_with::<W>(|builder| builder)
    }

    /// The same, when so much time has passed.
    ///
    /// # Panics
    /// Where the run does not go on.
    pub fn goes_on_after<W: Workflow>(&self, time: Duration) -> (Result<serde_json::Value, RunError>, Vec<Event>) {
        self.goes_on_with::<W>(|engine| engine.clock(move || SystemTime::now() + time))
    }

    /// The same, with an engine that is different in something.
    ///
    /// # Panics
    /// Where the run does not go on.
    pub fn goes_on_with<W: Workflow>(
        &self,
        change: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> (Result<serde_json::Value, RunError>, Vec<Event>) {
        life(async {
            let engine = change(self.engine(&Death::default())).register::<W>().build().expect("an engine");
            engine.recover().await.expect("a store that can be read");
            let run = engine.get_run("run").await.expect("a store that can be read").expect("the run");
            let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("the run ends");
            let events = engine.history("run").await.expect("a store that can be read").expect("its records");
            (result, events)
        })
    }
}

/// One process: what is still under way when the future ends is cut short.
///
/// # Panics
/// Where there can be no runtime.
pub fn life<T>(all: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(all)
}

/// How much paused time has passed, to the second. Where something is due by the wall clock, the moments of real time count as well.
pub fn seconds_since(begun: tokio::time::Instant) -> u64 {
    (begun.elapsed() + Duration::from_millis(500)).as_secs()
}

/// How long after a failed attempt another one begins, to the second; `None` where none does.
pub fn retried_after(event: &Event) -> Option<Duration> {
    match &event.kind {
        EventKind::NodeFailed { then: AfterFailure::RetryAt { time }, .. } => {
            let delay = time.duration_since(event.time).unwrap_or_default();
            Some(Duration::from_secs(delay.as_secs_f64().round() as u64))
        }
        _ => None,
    }
}
