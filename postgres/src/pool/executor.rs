//! The side of the engines that drive runs.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::store::StoreError;
use graphweft::{Executor, Fault, NodeResult, NodeTask, ProgressSender};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use super::listener::{DONE, LOOK, Listener, read_progress, read_task_done};
use super::tasks::{self, Found, MOST_BYTES, NewTask, Taken, What};
use crate::connections::Connections;

/// The least time from one statement that notes which results the runs have to the next.
const NOTES: Duration = Duration::from_millis(100);

/// Has attempts at nodes of pools executed by the [workers](crate::PostgresWorker) of a database, from
/// [`PostgresStore::executor`](crate::PostgresStore::executor).
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_postgres::PostgresStore;
///
/// #[node(pool = "gpu", retry(max_attempts = 3), timeout = "5m")]
/// async fn embed(text: String) -> Vec<f32> {
///     text.bytes().map(f32::from).collect()
/// }
/// workflow! { pub index(Vec<String>) -> Vec<Vec<f32>> { START => [embed] => END; } }
///
/// # graphweft::block_on(async {
/// let store = PostgresStore::connect("postgres://shop:secret@db.internal/shop").await?;
/// let engine = Engine::builder().executor(store.executor()).store(store).register::<index>().build()?;
/// engine.recover().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// A task is a row, and so is its result. The engine that resumes a run after a crash finds the rows of the one before.
#[derive(Clone)]
pub struct PostgresExecutor(Arc<Inner>);

struct Inner {
    connections: Connections,
    waiting: Mutex<Waiting>,
    /// There is a new task, one that has a result, or one to cancel.
    asked: Notify,
}

/// The run and the id of a task.
type Key = (String, String);

#[derive(Default)]
struct Waiting {
    tasks: HashMap<Key, Waiter>,
    /// Those that were heard to have a result.
    done: HashSet<Key>,
    /// Those that are no longer needed, and may be in the table.
    cancelled: HashSet<Key>,
    /// Those whose results the runs have, which is not in the table yet.
    taken: Vec<Taken>,
    /// Whether there are new ones among them. The others were tried already: their runs had not recorded the results.
    has_new_taken: bool,
    /// Whether a task looks after them.
    is_looked_after: bool,
}

struct Waiter {
    task: Arc<NodeTask>,
    /// Whether it was added to the table.
    is_added: bool,
    /// Whether it was looked for there since.
    is_looked_at: bool,
    /// With the number of records that its run had before.
    result: oneshot::Sender<Result<(NodeResult, i64), Fault>>,
    progress: ProgressSender,
    since: Instant,
}

impl PostgresExecutor {
    pub(crate) fn over(connections: &Connections) -> Self {
        let (connections, waiting) = (connections.clone(), Mutex::default());
        PostgresExecutor(Arc::new(Inner { connections, waiting, asked: Notify::new() }))
    }
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is something to look after.
    fn has_more(self: &Arc<Self>, runtime: &Handle) {
        let begins = !std::mem::replace(&mut self.waiting().is_looked_after, true);
        if begins {
            runtime.spawn(look_after(Looks { inner: Arc::downgrade(self), is_over: false }));
        }
        self.asked.notify_one();
    }

    /// Adds what is new, and passes the results on that there are: of all tasks, or of those that are new or were heard to have one.
    async fn look(&self, at_all: bool) -> Result<(), StoreError> {
        self.waiting().tasks.retain(|_, waiter| !waiter.result.is_closed());
        let added = self.add().await;
        self.pass_on(at_all).await.and(added)
    }

    /// Adds the tasks that are not in the table yet, the oldest first.
    async fn add(&self) -> Result<(), StoreError> {
        let new = |waiter: &Waiter| (!waiter.is_added).then(|| (waiter.since, Arc::clone(&waiter.task)));
        let mut new: Vec<(Instant, Arc<NodeTask>)> = self.waiting().tasks.values().filter_map(new).collect();
        new.sort_by_key(|(since, _)| *since);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for (_, task) in &new {
            let row = match NewTask::of(task) {
                Ok(row) => row,
                Err(why) => {
                    self.refuse(task, &why);
                    continue;
                }
            };
            if !rows.is_empty() && bytes + row.bytes() > MOST_BYTES {
                self.add_rows(&std::mem::take(&mut rows)).await?;
                bytes = 0;
            }
            bytes += row.bytes();
            rows.push(row);
        }
        self.add_rows(&rows).await
    }

    /// Adds these tasks. If the server does not take one of them, the others are added all the same.
    async fn add_rows(&self, rows: &[NewTask<'_>]) -> Result<(), StoreError> {
        let add = async |rows: &[NewTask<'_>]| {
            let is_wanted = |task: &NodeTask| self.waiting().tasks.contains_key(&key_of(task));
            let refused = self.connections.with(|client| tasks::add(client, rows, is_wanted)).await?;
            if refused.is_none() {
                let mut waiting = self.waiting();
                for row in rows {
                    if let Some(waiter) = waiting.tasks.get_mut(&key_of(row.task)) {
                        waiter.is_added = true;
                    }
                }
            }
            Ok(refused)
        };
        if rows.is_empty() || add(rows).await?.is_none() {
            return Ok(());
        }
        for row in rows {
            if let Some(why) = add(std::slice::from_ref(row)).await? {
                self.refuse(row.task, &why);
            }
        }
        Ok(())
    }

    fn refuse(&self, task: &NodeTask, why: &str) {
        let message = format!(
            "`{}` cannot be given to pool `{}`: {why}; pass the large part of its input by reference, or store it elsewhere",
            task.path, task.pool
        );
        if let Some(waiter) = self.waiting().tasks.remove(&key_of(task)) {
            drop(waiter.result.send(Err(Fault::Context { message })));
        }
    }

    /// The tasks whose rows are to be looked at.
    fn to_look_at(&self, at_all: bool) -> (Vec<String>, Vec<String>) {
        let mut waiting = self.waiting();
        let Waiting { tasks, done, .. } = &mut *waiting;
        let done = std::mem::take(done);
        let mut wanted = (Vec::new(), Vec::new());
        for (key, waiter) in tasks {
            let looks = at_all || !waiter.is_looked_at || done.contains(key);
            waiter.is_looked_at |= waiter.is_added;
            if looks {
                wanted.0.push(key.0.clone());
                wanted.1.push(key.1.clone());
            }
        }
        wanted
    }

    /// Passes the results on that there are. What has no row, or one that is cancelled, is added again: an engine that has lost the run
    /// had cancelled it.
    async fn pass_on(&self, at_all: bool) -> Result<(), StoreError> {
        let began = Instant::now();
        let (runs, ids) = self.to_look_at(at_all);
        if runs.is_empty() {
            return Ok(());
        }
        let of = (&*runs, &*ids);
        let found = self.connections.with(|client| async move { tasks::look(&client, of).await }).await?;
        for Found { run, task, what } in found {
            let key = (run, task);
            let result = match what {
                What::Result(text, records) => Ok((tasks::read_result(&text, (&key.0, &key.1)), records)),
                What::NoRun => Err(Fault::Context { message: NO_RUN.to_owned() }),
                What::NoTask => {
                    let mut waiting = self.waiting();
                    let Some(waiter) = waiting.tasks.get_mut(&key).filter(|waiter| waiter.is_added) else { continue };
                    // It may have begun.
                    if waiter.task.at_most_once {
                        Err(Fault::Interrupted)
                    } else {
                        (waiter.is_added, waiter.is_looked_at) = (false, false);
                        continue;
                    }
                }
            };
            let Some(waiter) = self.waiting().tasks.remove(&key) else { continue };
            // Its run may have left this process.
            drop(waiter.result.send(result));
        }
        if !at_all {
            return Ok(());
        }
        // Of these a later result is in the table, and has the run resumed: see `claim`.
        let has_waited = |waiter: &&Waiter| waiter.is_added && began.duration_since(waiter.since) >= LOOK;
        let waiting: Vec<ProgressSender> =
            self.waiting().tasks.values().filter(has_waited).map(|waiter| waiter.progress.clone()).collect();
        waiting.iter().for_each(ProgressSender::accepted);
        Ok(())
    }

    /// Notes which results their runs have.
    async fn note_taken(&self) -> Result<(), StoreError> {
        let taken = {
            let mut waiting = self.waiting();
            waiting.has_new_taken = false;
            std::mem::take(&mut waiting.taken)
        };
        if taken.is_empty() {
            return Ok(());
        }
        let of = &*taken;
        let noted = self.connections.with(|client| async move { tasks::taken(&client, of).await }).await;
        let is_left = |one: &Taken| match &noted {
            Ok(left) => left.iter().any(|(run, task)| *run == one.run && *task == one.task),
            Err(_) => true,
        };
        self.waiting().taken.extend(taken.iter().filter(|one| is_left(one)).cloned());
        noted.map(drop)
    }

    /// Cancels what is no longer needed. Behind the addition of new tasks: one of them may have been cancelled while it was added.
    async fn cancel(&self) -> Result<(), StoreError> {
        let cancelled = std::mem::take(&mut self.waiting().cancelled);
        if cancelled.is_empty() {
            return Ok(());
        }
        let (runs, ids): (Vec<String>, Vec<String>) = cancelled.iter().cloned().unzip();
        let of = (&*runs, &*ids);
        let done = self.connections.with(|client| async move { tasks::cancel(&client, of).await }).await;
        if done.is_err() {
            let mut waiting = self.waiting();
            let left = cancelled.into_iter().filter(|key| !waiting.tasks.contains_key(key)).collect::<Vec<_>>();
            waiting.cancelled.extend(left);
        }
        done
    }

    fn hear(&self, payload: &str) {
        if let Some(key) = read_task_done(payload) {
            let mut waiting = self.waiting();
            if waiting.tasks.contains_key(&key) {
                waiting.done.insert(key);
                self.asked.notify_one();
            }
            return;
        }
        let Some((run, task, data)) = read_progress(payload) else { return };
        let progress = self.waiting().tasks.get(&(run, task)).map(|waiter| waiter.progress.clone());
        if let Some(progress) = progress {
            progress.send(data);
        }
    }
}

const NO_RUN: &str = "its run is not in the database of its executor, so no worker would be asked; give the engine the store of its \
                      executor, as `.executor(store.executor()).store(store)`";

fn key_of(task: &NodeTask) -> Key {
    (task.run_id.clone(), task.id.clone())
}

/// Has another task look after what waits if this one ends otherwise than by itself: by a panic, or with its runtime.
struct Looks {
    inner: Weak<Inner>,
    is_over: bool,
}

impl Drop for Looks {
    fn drop(&mut self) {
        if !self.is_over
            && let Some(inner) = self.inner.upgrade()
        {
            inner.waiting().is_looked_after = false;
        }
    }
}

/// Ends with the executor, or when nothing waits any more.
async fn look_after(mut looks: Looks) {
    let inner = Weak::clone(&looks.inner);
    let Some(mut listener) = inner.upgrade().map(|strong| {
        let hears = Weak::clone(&inner);
        let hear = move |payload: &str| {
            if let Some(inner) = hears.upgrade() {
                inner.hear(payload);
            }
        };
        Listener::new(&strong.connections, &[DONE], hear)
    }) else {
        return;
    };
    // Before there is a task that could tell anything.
    listener.listens().await;
    let mut looked_after = Instant::now();
    // When all tasks were looked at last; `None` if they are to be now.
    let mut looked_at_all = None;
    let mut noted_at = Instant::now();
    // What is cancelled is so although the executor ends.
    let mut kept = None;
    loop {
        let Some(inner) = kept.take().or_else(|| inner.upgrade()) else { return };
        let at_all = looked_at_all.is_none_or(|at: Instant| at.elapsed() >= LOOK);
        if at_all {
            looked_at_all = Some(Instant::now());
        }
        let looked = inner.look(at_all).await;
        let looked = inner.cancel().await.and(looked);
        let looked = match noted_at.elapsed() >= NOTES {
            true => {
                let noted = inner.note_taken().await;
                noted_at = Instant::now();
                noted.and(looked)
            }
            false => looked,
        };
        if let Err(error) = looked {
            tracing::warn!(%error, "the tasks of pools cannot be looked at");
            looked_at_all = None;
            tokio::time::sleep(LOOK).await;
        }
        if looked_after.elapsed() >= LOOK {
            looked_after = Instant::now();
            let is_settled = listener.is_settled();
            let looked = inner.connections.with(|client| async move {
                if is_settled {
                    tasks::free_lost(&client).await?;
                }
                tasks::look_after(&client).await
            });
            if let Err(error) = looked.await {
                tracing::warn!(%error, "the tasks of pools cannot be looked after");
            }
        }
        let notes = {
            let mut waiting = inner.waiting();
            if waiting.tasks.is_empty() && waiting.taken.is_empty() && waiting.cancelled.is_empty() {
                (waiting.is_looked_after, looks.is_over) = (false, true);
                return;
            }
            waiting.has_new_taken
        };
        tokio::select! {
            () = listener.heard() => looked_at_all = None,
            () = inner.asked.notified() => {}
            () = tokio::time::sleep_until((noted_at + NOTES).into()), if notes => {}
        }
        let cancels = !inner.waiting().cancelled.is_empty();
        kept = cancels.then_some(inner);
    }
}

impl Executor for PostgresExecutor {
    fn execute(&self, task: NodeTask, progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>> {
        let (result, waits) = oneshot::channel();
        let (run, id) = (task.run_id.clone(), task.id.clone());
        let Ok(runtime) = Handle::try_current() else {
            let message = "the workers of a database are asked within a tokio runtime".to_owned();
            return async move { Err(Fault::Context { message }) }.boxed();
        };
        {
            let mut waiting = self.0.waiting();
            let task = Arc::new(task);
            // What is executed once is not added a second time: of a task that has no row it is not known whether it was executed.
            let is_added = task.was_sent && task.at_most_once;
            let waiter = Waiter { task, is_added, is_looked_at: false, result, progress, since: Instant::now() };
            waiting.cancelled.remove(&(run.clone(), id.clone()));
            waiting.tasks.insert((run.clone(), id.clone()), waiter);
        }
        self.0.has_more(&runtime);
        // The executor lives as long as something waits for it.
        let inner = Arc::clone(&self.0);
        async move {
            let waited = waits.await;
            let again = |_| Fault::Context { message: "the same task was asked for again".to_owned() };
            let (result, records) = waited.map_err(again)??;
            // From here on the run does not leave the memory before it has recorded the result.
            let mut waiting = inner.waiting();
            waiting.taken.push(Taken { run, task: id, records });
            waiting.has_new_taken = true;
            drop(waiting);
            // It may have been the last task.
            inner.has_more(&runtime);
            Ok(result)
        }
        .boxed()
    }

    fn keeps_tasks(&self) -> bool {
        true
    }

    fn cancel(&self, run_id: &str, id: &str) {
        let key = (run_id.to_owned(), id.to_owned());
        {
            let mut waiting = self.0.waiting();
            waiting.tasks.remove(&key);
            waiting.cancelled.insert(key);
        }
        // Without a runtime it is cancelled with the next ones, or when its run is over.
        if let Ok(runtime) = Handle::try_current() {
            self.0.has_more(&runtime);
        }
    }
}

impl fmt::Debug for PostgresExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresExecutor").field("connections", &self.0.connections).finish_non_exhaustive()
    }
}
