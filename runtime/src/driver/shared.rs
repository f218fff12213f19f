//! What a run shares with its nodes and its watchers.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

use crate::compile::Executable;
use crate::event::{Event, EventKind};
use crate::table::Definition;

/// Anything that may be shared between nodes.
pub(crate) type Thing = Box<dyn Any + Send + Sync>;

/// What all runs of an engine share.
pub(crate) struct Env {
    pub(crate) resources: HashMap<TypeId, Thing>,
    pub(crate) replacements: HashMap<TypeId, Thing>,
    /// How many attempts may be under way at once in all runs together; `None` is no limit.
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// How many there are; 0 where there is no limit.
    pub(crate) most: usize,
    pub(crate) cancel_grace: Duration,
    /// What workflows compile to where some of their nodes are replaced; by the address of a definition that the entry
    /// keeps alive.
    pub(crate) compiled: Mutex<HashMap<usize, Replaced>>,
}

type Replaced = (Arc<Definition>, Arc<Executable>);

impl Default for Env {
    fn default() -> Self {
        Env {
            resources: HashMap::new(),
            replacements: HashMap::new(),
            permits: None,
            most: 0,
            cancel_grace: Duration::from_secs(1),
            compiled: Mutex::default(),
        }
    }
}

impl Env {
    /// Where no engine was built: no resources, nothing replaced, no limits.
    pub(crate) fn plain() -> &'static Arc<Env> {
        static PLAIN: LazyLock<Arc<Env>> = LazyLock::new(Arc::default);
        &PLAIN
    }

    /// Lets at most this many attempts run at once; 0 is no limit.
    pub(crate) fn limit_concurrency(&mut self, most: usize) {
        self.most = most;
        self.permits = (most > 0).then(|| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))));
    }

    /// The most attempts that one run may have under way: more could not run anyway, and would only hold their inputs.
    pub(crate) fn max_concurrency(&self) -> usize {
        self.most
    }

    pub(crate) fn resource(&self, of: TypeId) -> Option<&Thing> {
        self.resources.get(&of)
    }

    pub(crate) fn replacement(&self, of: TypeId) -> Option<&Thing> {
        if self.replacements.is_empty() { None } else { self.replacements.get(&of) }
    }

    pub(crate) fn executable(&self, definition: &Arc<Definition>) -> Arc<Executable> {
        if self.replacements.is_empty() {
            return Executable::of(definition);
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, executable) = compiled.entry(Arc::as_ptr(definition) as usize).or_insert_with(|| {
            let is_replaced = |of| self.replacements.contains_key(&of);
            (Arc::clone(definition), Arc::new(Executable::build(definition, &is_replaced)))
        });
        Arc::clone(executable)
    }
}

/// What a run shares with its nodes.
pub(crate) struct Shared {
    /// Made when someone asks for it; a run in memory is often over before.
    id: OnceLock<String>,
    pub(crate) env: Arc<Env>,
    /// Where records go; `None` where nobody can ever read them.
    pub(crate) log: Option<Arc<Log>>,
}

impl Shared {
    pub(crate) fn in_memory(env: Arc<Env>) -> Self {
        Shared { id: OnceLock::new(), env, log: None }
    }

    pub(crate) fn recorded(env: Arc<Env>, log: Arc<Log>) -> Self {
        Shared { id: OnceLock::from(log.run_id.clone()), env, log: Some(log) }
    }

    pub(crate) fn id(&self) -> &str {
        self.id.get_or_init(new_run_id)
    }

    pub(crate) fn records(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.watchers.load(Ordering::Relaxed) > 0)
    }

    pub(crate) fn record(&self, path: impl FnOnce() -> String, kind: impl FnOnce() -> EventKind) {
        if let Some(log) = &self.log {
            log.record(path(), kind());
        }
    }
}

/// A new id: a UUID of version 7, so ids sort by time.
pub(crate) fn new_run_id() -> String {
    Uuid::now_v7().to_string()
}

/// The records of a run, and who watches them come in.
pub(crate) struct Log {
    pub(crate) run_id: String,
    inner: Mutex<Records>,
    watchers: AtomicUsize,
}

#[derive(Default)]
struct Records {
    events: Vec<Arc<Event>>,
    watchers: Vec<mpsc::UnboundedSender<Arc<Event>>>,
    ended: bool,
}

/// Records that were there, and those that come; ends with the run.
pub(crate) struct Watch {
    pub(crate) before: std::vec::IntoIter<Arc<Event>>,
    pub(crate) live: Option<mpsc::UnboundedReceiver<Arc<Event>>>,
}

impl Log {
    pub(crate) fn new(run_id: String) -> Self {
        Log { run_id, inner: Mutex::default(), watchers: AtomicUsize::new(0) }
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a record down. After the last one of the run there is none: what a node still says is dropped.
    pub(crate) fn record(&self, path: String, kind: EventKind) {
        let mut records = self.records();
        if records.ended {
            return;
        }
        let is_recorded = !matches!(kind, EventKind::Progress { .. });
        let next = records.events.len() as u64;
        let event = Arc::new(Event {
            version: Event::VERSION,
            run_id: self.run_id.clone(),
            seq: if is_recorded { next } else { next.saturating_sub(1) },
            time: SystemTime::now(),
            path,
            kind,
        });
        records.watchers.retain(|watcher| watcher.send(Arc::clone(&event)).is_ok());
        if event.is_terminal() {
            records.ended = true;
            records.watchers.clear();
        }
        if is_recorded {
            records.events.push(event);
        }
        self.watchers.store(records.watchers.len(), Ordering::Relaxed);
    }

    /// The records from number `from` on.
    pub(crate) fn watch(&self, from: u64) -> Watch {
        let mut records = self.records();
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(records.events.len());
        let before: Vec<Arc<Event>> = records.events[from..].to_vec();
        let before = before.into_iter();
        if records.ended {
            return Watch { before, live: None };
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        records.watchers.push(sender);
        self.watchers.store(records.watchers.len(), Ordering::Relaxed);
        Watch { before, live: Some(receiver) }
    }

    /// The last record, once the run has ended.
    pub(crate) fn ending(&self) -> Option<Arc<Event>> {
        let records = self.records();
        if records.ended { records.events.last().cloned() } else { None }
    }
}
