//! The runs on Restate as a store, for programs that look at them.
//!
//! The state of the objects is read by SQL into a store in memory, once, and then what has changed since. What such a program records, an
//! answer for example, is sent to the run as a client sends it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use graphweft::store::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, MemoryStore,
    NewRun, Owner, QuestionQuery, Record, ReserveTask, RunHeader, RunKey, RunOverview, RunQuery, RunStatus,
    StartedOver, Store, StoreError, Stored,
};
use graphweft::{EventKind, Json};
use serde_json::json;
use tokio::sync::{Mutex, watch};
use uuid::Uuid;

use self::names::{Names, whole};
use self::reading::{State, Wanted, size_of_value};
use crate::admin::Admin;
use crate::client::path_of;
use crate::error::ClientError;
use crate::handlers::{ForkOf, OfEnd, StatusOf};
use crate::http_client::{DoneBy, Request, Servers};
use crate::manifest::workflow;
use crate::message::Message;
use crate::object;

mod names;
mod reading;

/// How often it is looked what has changed.
const LOOK: Duration = Duration::from_secs(1);

/// The runs on Restate as a store, for programs that look at them: the inspector, or an engine that lists and answers runs and has none of
/// their code. [`Worker`](crate::Worker)s drive them; an engine over this drives nothing.
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_restate::RestateStore;
///
/// # graphweft::block_on(async {
/// let store = RestateStore::connect(&["127.0.0.1:9070"], &["127.0.0.1:8080"]).await?;
/// let engine = Engine::builder().store(store).build()?;
/// for run in engine.list_runs(RunFilter::default().status(RunStatus::Waiting).limit(20)).await? {
///     println!("{} {}", run.id, run.workflow);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// It holds all runs in memory: it reads them when it connects, and each second what has changed since, which the server finds by
/// reading the keys of all objects. So it is for some ten thousand runs; have ended ones [forgotten](crate::WorkerBuilder::retention).
///
/// Answers, signals, cancels, forks and deletions are sent to the runs. A retry needs [`RunHandle::retry`](crate::RunHandle::retry), and
/// is refused here, as is a start. Places in its [feed](Store::feed) hold for this store and not for another one.
///
/// # Ids
/// A run has its id beside the others of its workflow, and two workflows may have runs of the same id. Each run is found by `workflow/id`, in all
/// programs and for good. It is called by its id alone, and found by that too, unless the id has a `/`, or this store has seen runs of several workflows with it:
/// then it is called `workflow/id`, and the id alone is refused with an error that has the names of all, also when but one of them is left. Programs that
/// keep ids keep `workflow/id`.
#[derive(Clone)]
pub struct RestateStore(Arc<Inner>);

struct Inner {
    admin: Admin,
    ingress: Servers,
    runs: MemoryStore,
    objects: Mutex<Objects>,
    names: StdMutex<Names>,
    changes: watch::Sender<()>,
}

/// The service and the key of an object.
type Address = (String, String);

#[derive(Default)]
struct Objects {
    known: HashMap<Address, Known>,
    addresses: HashMap<RunKey, Address>,
    /// Those that could not be read, and as what they were seen then.
    unread: HashMap<Address, Seen>,
}

/// The last batch of an object, and its header.
type Seen = (String, Option<String>);

/// What of an object was read.
struct Known {
    key: RunKey,
    /// The id of the run here.
    id: String,
    /// When it was created, which distinguishes it from others that have its id before and after.
    created: SystemTime,
    records: u64,
    /// As what it was seen then.
    seen: Seen,
}

impl Known {
    /// Whether the object has another run by now: this one was forgotten, and its id started anew. `header`: that of the object.
    fn is_replaced(&self, header: Option<&str>) -> bool {
        match header {
            // If it cannot be read, nothing of the object can.
            Some(header) => serde_json::from_str(header).is_ok_and(|header: RunHeader| header.created != self.created),
            // It comes behind the first batch, and is removed with all else.
            None => self.seen.1.is_some(),
        }
    }
}

impl RestateStore {
    /// With the addresses of the administration and of the ingress of servers, as [`Admin::connect`] and
    /// [`Client::connect`](crate::Client::connect) take them. Reads all runs, in the present tokio runtime, which looks after the store until it is dropped.
    ///
    /// # Errors
    /// If no server answers, or a run cannot be read.
    pub async fn connect<A: AsRef<str>, I: AsRef<str>>(admin: &[A], ingress: &[I]) -> Result<Self, StoreError> {
        let inner = Arc::new(Inner {
            admin: Admin::connect(admin),
            ingress: Servers::at(ingress),
            runs: MemoryStore::new().max_resident_finished(usize::MAX),
            objects: Mutex::default(),
            names: StdMutex::default(),
            changes: watch::Sender::new(()),
        });
        inner.look().await?.into_values().next().map_or(Ok(()), Err)?;
        tokio::spawn(look_after(Arc::downgrade(&inner)));
        Ok(RestateStore(inner))
    }
}

async fn look_after(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(inner) = inner.upgrade() else { return };
        if let Err(error) = inner.look().await {
            tracing::warn!(%error, "the runs on Restate cannot be looked at");
        }
    }
}

fn failed(error: &ClientError) -> StoreError {
    match error {
        ClientError::Unreachable { addresses, message } => {
            StoreError::Unreachable { server: format!("Restate at {}", addresses.join(", ")), message: message.clone() }
        }
        error => StoreError::Other { message: error.to_string() },
    }
}

fn refused<T: Send + 'static>(what: &str) -> BoxFuture<'static, Result<T, StoreError>> {
    ready(Err(of_a_client(what))).boxed()
}

fn of_a_client(what: &str) -> StoreError {
    StoreError::Other { message: format!("{what} is done by a client of Restate, and not by a store of its runs") }
}

fn unreadable(run: &str, message: impl fmt::Display) -> StoreError {
    StoreError::Other {
        message: format!("run `{run}` cannot be read: {message}; it may be of a newer version of graphweft"),
    }
}

impl Inner {
    /// Reads what has changed. Gives the runs that cannot be read, and why; the others are shown all the same.
    async fn look(&self) -> Result<HashMap<Address, StoreError>, StoreError> {
        let mut objects = self.objects.lock().await;
        let sql = format!(
            "select service_name, service_key, max(case when key like '{}%' then key end) as last, \
             max(case when key = '{}' then value_utf8 end) as header, sum({}) as bytes \
             from state where service_name like 'graphweft.%' group by service_name, service_key \
             order by header, service_name, service_key",
            object::RECORDS,
            object::HEADER,
            size_of_value()
        );
        let rows = self.admin.query(&sql).await.map_err(|error| failed(&error))?;
        let (mut found, mut seen_now, mut shared) = (HashSet::new(), Vec::new(), HashSet::new());
        for row in rows {
            let text = |column: &str| row[column].as_str().map(str::to_owned);
            let (Some(service), Some(id), Some(last)) = (text("service_name"), text("service_key"), text("last"))
            else {
                continue;
            };
            let Some(workflow) = workflow(&service) else { continue };
            if self.names().saw(workflow, &id) {
                shared.insert(id.clone());
            }
            let (address, seen) = ((service, id), (last, text("header")));
            found.insert(address.clone());
            seen_now.push((address, seen, row["bytes"].as_u64().unwrap_or_default()));
        }
        let (mut has_changed, mut unread) = (false, HashMap::new());
        // What was called by an id that is of several workflows now is read anew, by its other name.
        let called: Vec<Address> = objects.known.keys().filter(|(_, id)| shared.contains(id)).cloned().collect();
        for address in called {
            self.remove(&mut objects, &address).await?;
            has_changed = true;
        }
        let is_new = |(address, seen, _): &(Address, Seen, u64)| {
            objects.known.get(address).is_none_or(|known| known.seen != *seen)
        };
        let changed: Vec<_> = seen_now.into_iter().filter(is_new).collect();
        for (address, seen, _) in &changed {
            if objects.known.get(address).is_some_and(|known| known.is_replaced(seen.1.as_deref())) {
                self.remove(&mut objects, address).await?;
                has_changed = true;
            }
        }
        let from = |address| objects.known.get(address).map_or(0, |known: &Known| known.records);
        let wanted = changed.iter().map(|(address, seen, bytes)| Wanted::new(address, seen, from(address), *bytes));
        let mut wanted = wanted.collect::<Vec<_>>().into_iter().peekable();
        while wanted.peek().is_some() {
            let some = Wanted::some_of(&mut wanted);
            let mut states = self.states(&some).await;
            for wanted in &some {
                let Wanted { address, seen, .. } = *wanted;
                let was_unread = objects.unread.get(address) == Some(seen);
                match self.read_object(&mut objects, wanted, states.remove(address)).await {
                    Ok(()) => {
                        objects.unread.remove(address);
                        has_changed = true;
                    }
                    Err(error) => {
                        if !was_unread {
                            tracing::warn!(%error, "a run on Restate is not shown as it is");
                            objects.unread.insert(address.clone(), seen.clone());
                            has_changed = true;
                        }
                        unread.insert(address.clone(), error);
                    }
                }
            }
        }
        objects.unread.retain(|address, _| found.contains(address));
        let gone: Vec<Address> = objects.known.keys().filter(|known| !found.contains(*known)).cloned().collect();
        for address in gone {
            has_changed = true;
            self.remove(&mut objects, &address).await?;
        }
        drop(objects);
        if has_changed {
            self.changes.send_replace(());
        }
        Ok(unread)
    }

    /// Reads what has changed; an error if this run cannot be read, whatever is with others.
    async fn look_for(&self, address: &Address) -> Result<(), StoreError> {
        self.look().await?.remove(address).map_or(Ok(()), Err)
    }

    /// A run was forgotten, perhaps before its end was seen.
    async fn remove(&self, objects: &mut Objects, address: &Address) -> Result<(), StoreError> {
        let Some(known) = objects.known.remove(address) else { return Ok(()) };
        objects.addresses.remove(&known.key);
        self.names().is_gone(&address.1);
        let now = SystemTime::now();
        if self.runs.header(&known.id).await?.is_some_and(|header| !header.status.is_over()) {
            // Only one that is over can be removed here as well.
            let mut end = Append::new(known.key, known.records, now, vec![]);
            end.header.status = Some((RunStatus::Cancelled, None));
            end.header.owner = Some(None);
            self.runs.append(end).await?;
        }
        self.runs.delete(Delete::new(vec![known.key], now)).await.map(drop)
    }

    /// Reads the batches of an object that are new. `state`: the values of them, if they were read with those of others.
    async fn read_object(
        &self,
        objects: &mut Objects,
        wanted: &Wanted<'_>,
        state: Option<State>,
    ) -> Result<(), StoreError> {
        let address = wanted.address;
        let (service, id) = address;
        let Some(workflow) = workflow(service) else { return Ok(()) };
        let (graphs, batches) = self.batches(wanted, state).await?;
        let graphs: Vec<Arc<(u64, Json)>> = graphs.into_iter().map(Arc::new).collect();
        for (at, batch) in batches {
            let (time, records, summary) = batch.into_parts();
            let known = objects.known.get_mut(address);
            let count = records.len() as u64;
            match known {
                None if at == 0 => {
                    let summary = summary.ok_or_else(|| unreadable(id, "its first batch has no header"))?;
                    let graph = graphs.iter().find(|graph| graph.0 == summary.header.graph);
                    let graph = graph.ok_or_else(|| unreadable(id, "its graph is not there"))?;
                    let own = self.names().name_of(workflow, id);
                    let mut new = NewRun::new(own, workflow, Arc::clone(graph), summary.header.created);
                    new.forked_from.clone_from(&summary.header.forked_from);
                    if let Some((from, _)) = &mut new.forked_from {
                        *from = self.names().name_of(workflow, from);
                    }
                    new.records = records;
                    let Created::New(header) = self.runs.create(new).await? else {
                        return Err(unreadable(id, "another run has its name here"));
                    };
                    let key = header.key;
                    objects.addresses.insert(key, address.clone());
                    let (id, created, seen) = (header.id, header.created, (String::new(), None));
                    let known = Known { key, id, created, records: count, seen };
                    objects.known.insert(address.clone(), known);
                }
                Some(known) if known.records == at => {
                    let mut append = Append::new(known.key, at, time, records);
                    if let Some(summary) = summary {
                        append.header.status = Some((summary.header.status, summary.header.wake_at));
                        append.header.owner = Some(summary.header.owner);
                        append.header.child_graphs.clone_from(&graphs);
                        append.header.questions.is_all = true;
                        append.header.questions.open = summary.questions;
                    }
                    if self.runs.append(append).await? != Appended::Done {
                        return Err(unreadable(id, "its records do not follow one another"));
                    }
                    known.records += count;
                }
                _ => return Err(unreadable(id, format!("it begins with record {at}"))),
            }
        }
        if let Some(known) = objects.known.get_mut(address) {
            known.seen = wanted.seen.clone();
        }
        Ok(())
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The header of a run, by its name here, or by that which it always has.
    async fn header(&self, name: &str) -> Result<Option<RunHeader>, StoreError> {
        self.names().check(name).map_err(|message| StoreError::Other { message })?;
        match (self.runs.header(name).await?, name.split_once('/')) {
            (None, Some((workflow, id))) => self.header_of(workflow, id).await,
            (header, _) => Ok(header),
        }
    }

    async fn header_of(&self, workflow: &str, id: &str) -> Result<Option<RunHeader>, StoreError> {
        if let Some(header) = self.runs.header(&whole(workflow, id)).await? {
            return Ok(Some(header));
        }
        // The same name may be that of another run.
        Ok(self.runs.header(id).await?.filter(|header| header.workflow == workflow && !id.contains('/')))
    }

    /// Where a run is.
    async fn address(&self, run: RunKey) -> Option<Address> {
        self.objects.lock().await.addresses.get(&run).cloned()
    }

    /// Where a run is that has ended, and its header. The handler would wait for the end of another one.
    async fn ended(&self, run: RunKey) -> Result<Option<(Address, RunHeader)>, StoreError> {
        let Some(address) = self.address(run).await else { return Ok(None) };
        self.look_for(&address).await?;
        let objects = self.objects.lock().await;
        let Some(known) = objects.known.get(&address).filter(|known| known.key == run) else { return Ok(None) };
        let header = self.runs.header(&known.id).await?.filter(|header| header.status.is_over());
        Ok(header.map(|header| (address, header)))
    }

    /// Has a handler of a run called, once.
    async fn call(&self, (service, id): &Address, handler: &str, body: &Json) -> Result<Json, ClientError> {
        let (path, key) = (path_of(service, id, handler), Uuid::now_v7().to_string());
        let body = Some(Bytes::from(body.to_string()));
        self.ingress.post(Request { path: &path, body, idempotency_key: Some(key), done_by: DoneBy::Run }).await
    }

    async fn send(&self, append: Append) -> Result<Appended, StoreError> {
        let Some(address) = self.address(append.run).await else { return Ok(Appended::Conflict) };
        let Some((handler, body)) = message_of(append.records.iter()) else {
            return Err(of_a_client(&format!("this change of run `{}`", address.1)));
        };
        match self.call(&address, handler, &body).await {
            Ok(_) => {}
            // It has ended, or something else has come first.
            Err(ClientError::NotFound { .. } | ClientError::Refused { status: 404 | 409, .. }) => {
                self.look_for(&address).await?;
                return Ok(Appended::Conflict);
            }
            Err(error) => return Err(failed(&error)),
        }
        self.look_for(&address).await?;
        Ok(Appended::Done)
    }
}

/// What a client sends for what is to be recorded: the handler, and its input.
fn message_of<'r>(records: impl Iterator<Item = &'r Record>) -> Option<(&'static str, Json)> {
    let mut message = None;
    for record in records {
        message = match record.kind.clone() {
            EventKind::Answered { answer, by, comment, .. } => {
                Some(("answer", Message::Answer { question: record.path.clone(), answer, by, comment }))
            }
            EventKind::SignalReceived { name, payload, id, by, .. } => {
                Some(("signal", Message::Signal { name, payload, id, by }))
            }
            EventKind::CancelRequested => Some(("cancel", Message::Cancel)),
            // What follows from those, and is recorded by who drives the run.
            EventKind::RunResumed { .. } | EventKind::RunCancelled => message,
            _ => return None,
        };
    }
    let (handler, message) = message?;
    let mut body = json!(message);
    body.as_object_mut()?.remove("type");
    Some((handler, body))
}

impl Store for RestateStore {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        self.0.runs.join(workflows)
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        self.0.runs.leave(owner)
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        let Some((from, before)) = run.forked_from.clone() else { return refused("a start") };
        async move {
            let Some(old) = self.0.header(&from).await? else { return refused("a fork of an unknown run").await };
            let Some((service, key)) = self.0.address(old.key).await else { return refused("a fork").await };
            let of = json!(ForkOf { from: key, before: Some(before) });
            let address = (service, run.id.clone());
            let path = path_of(&address.0, &address.1, "fork/send");
            let request = Request {
                path: &path,
                body: Some(Bytes::from(of.to_string())),
                idempotency_key: Some("fork".to_owned()),
                done_by: DoneBy::Server,
            };
            if let Some(header) = self.0.header_of(&old.workflow, &run.id).await? {
                if header.status.is_over() {
                    return Ok(Created::Existing(header));
                }
                // One that is this fork, and has not ended, continues if its invocation was killed.
                let asks = json!(StatusOf { input: Some(of), ..StatusOf::default() });
                let status = self.0.call(&address, "status", &asks).await.map_err(|error| failed(&error))?;
                if status["is_same_input"] != true {
                    return Ok(Created::Existing(header));
                }
            }
            self.0.ingress.post(request).await.map_err(|error| failed(&error))?;
            let mut obstacle = None;
            for _ in 0..20 {
                self.0.look_for(&address).await?;
                if let Some(header) = self.0.header_of(&old.workflow, &run.id).await? {
                    return Ok(Created::New(header));
                }
                let status = self.0.call(&address, "status", &json!({})).await.map_err(|error| failed(&error))?;
                if let Some(why) = status["refused"]["message"].as_str() {
                    return Err(StoreError::Other { message: why.to_owned() });
                }
                obstacle = status["obstacle"].as_str().map(str::to_owned);
                tokio::time::sleep(LOOK / 2).await;
            }
            let then = obstacle.unwrap_or_else(|| "it begins when one is free".to_owned());
            let message = format!("no worker has begun with fork `{}` for 10 s: {then}", run.id);
            Err(StoreError::Other { message })
        }
        .boxed()
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let inner = Arc::clone(&self.0);
        async move { inner.send(batch).await }.boxed()
    }

    fn start_over(&self, _: Append, _: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        refused("starting over")
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.0.runs.read(run, from, limit)
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let id = id.to_owned();
        async move { self.0.header(&id).await }.boxed()
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.0.runs.list(query)
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.0.runs.count(query)
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        self.0.runs.overview(query)
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        self.0.runs.open_questions(query)
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        async move {
            let mut deleted = Vec::new();
            for run in delete.runs {
                let Some((address, header)) = self.0.ended(run).await? else { continue };
                let created = Some(object::to_millis(header.created));
                let end = OfEnd { records: Some(header.records), created };
                match self.0.call(&address, "forget", &json!(end)).await {
                    Ok(_) => deleted.push(run),
                    // It has not ended, or it is gone.
                    Err(ClientError::NotFound { .. } | ClientError::Refused { .. }) => {}
                    Err(error) => return Err(failed(&error)),
                }
            }
            self.0.look().await?;
            Ok(deleted)
        }
        .boxed()
    }

    fn reserve_task(&self, _: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(Ok(false)).boxed()
    }

    fn claim(&self, _: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        // Restate gives runs to workers.
        ready(Ok(Claimed::default())).boxed()
    }

    fn is_alive(&self, _: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        // Restate looks after them.
        ready(Ok(true)).boxed()
    }

    fn is_served(&self, _: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(Ok(true)).boxed()
    }

    fn changed(&self) -> Option<BoxFuture<'static, ()>> {
        let mut changes = self.0.changes.subscribe();
        Some(async move { drop(changes.changed().await) }.boxed())
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.0.runs.feed(query)
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        self.0.runs.feed_end()
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Json>, StoreError>> {
        self.0.runs.graph(hash)
    }
}

impl fmt::Debug for RestateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestateStore")
            .field("admin", &self.0.admin)
            .field("ingress", &self.0.ingress)
            .finish_non_exhaustive()
    }
}
