//! Runs without their records.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::append::HeaderChange;
use super::ids::{Owner, RunKey};
use super::record::Record;
use super::status::RunStatus;
use crate::event::{StartedBy, Tags};

/// A run to be added.
///
/// What the tests of a store begin with, without an engine:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::store::{Created, MemoryStore, NewRun, Store};
/// use graphweft::json;
///
/// # graphweft::block_on(async {
/// let mut run = NewRun::new("order-7", "pay", (1, json!({})).into(), SystemTime::now());
/// run.tags.insert("tenant".into(), "acme".into());
/// let Created::New(header) = MemoryStore::new().create(run).await? else { panic!("the store is empty") };
/// assert_eq!((&*header.id, &*header.tags["tenant"], header.records), ("order-7", "acme", 0));
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewRun {
    /// Its id, unique in the store.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its owner; `None` if it has none yet.
    pub owner: Option<Owner>,
    /// The graph that its records belong to, with its hash. Stored once for all runs.
    pub graph: Arc<(u64, Value)>,
    /// The run that it was forked from, and the number of the first record that was not copied.
    pub forked_from: Option<(String, u64)>,
    /// The run that it follows, if that has started over.
    pub previous: Option<String>,
    /// The node of another run that has started it.
    pub started_by: Option<StartedBy>,
    /// Labels to find it by.
    pub tags: Tags,
    /// When it is to begin, if not at once: then it is [`Sleeping`](RunStatus::Sleeping) until this time.
    pub wake_at: Option<SystemTime>,
    /// When.
    pub time: SystemTime,
    /// Its first records.
    pub records: Vec<Record>,
}

impl NewRun {
    /// A run without an owner, a tag, a record, or anything else that need not be.
    pub fn new(id: impl Into<String>, workflow: impl Into<String>, graph: Arc<(u64, Value)>, time: SystemTime) -> Self {
        NewRun {
            id: id.into(),
            workflow: workflow.into(),
            owner: None,
            graph,
            forked_from: None,
            previous: None,
            started_by: None,
            tags: Tags::new(),
            wake_at: None,
            time,
            records: Vec::new(),
        }
    }

    /// The header of the run, to which a store has given this number. All stores begin with it.
    pub fn header(&self, key: RunKey) -> RunHeader {
        RunHeader {
            key,
            id: self.id.clone(),
            workflow: self.workflow.clone(),
            status: if self.wake_at.is_some() { RunStatus::Sleeping } else { RunStatus::Running },
            created: self.time,
            updated: self.time,
            records: self.records.len() as u64,
            owner: self.owner,
            wake_at: self.wake_at,
            graph: self.graph.0,
            forked_from: self.forked_from.clone(),
            previous: self.previous.clone(),
            next: None,
            started_by: self.started_by.clone(),
            tags: self.tags.clone(),
        }
    }
}

/// The result of [`Store::create`](super::Store::create).
///
/// An id is unique: who creates a run a second time gets the first one.
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::store::{Created, MemoryStore, NewRun, Store};
/// use graphweft::json;
///
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let run = || NewRun::new("order-7", "pay", (1, json!({})).into(), SystemTime::now());
/// let Created::New(first) = store.create(run()).await? else { panic!("the store is empty") };
/// let Created::Existing(same) = store.create(run()).await? else { panic!("it has one") };
/// assert_eq!(first.key, same.key);
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Created {
    /// A new run.
    New(RunHeader),
    /// A run with this id exists.
    Existing(RunHeader),
    /// A run with this id was deleted, and the id is kept until this time.
    Deleted {
        /// When the id is free again.
        until: SystemTime,
    },
}

/// A run, without its records. A store that keeps it in columns of its own keeps its JSON as well, so that later versions may
/// add fields; times in it are exact to the millisecond. [`NewRun::header`] makes it.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{MemoryStore, RunQuery, Store};
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<publish>().build()?;
/// engine.start::<publish>(()).id("poem").await?.outcome().await?;
/// let header = &store.list(RunQuery::default()).await?[0];
/// assert_eq!((&*header.id, header.status), ("poem", RunStatus::Waiting));
/// assert!(header.owner.is_some()); // the engine here
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct RunHeader {
    /// The number of the run in the store.
    pub key: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its status.
    pub status: RunStatus,
    /// When it was started.
    #[serde(with = "crate::event::millis")]
    pub created: SystemTime,
    /// When its status changed last.
    #[serde(with = "crate::event::millis")]
    pub updated: SystemTime,
    /// How many records it has.
    pub records: u64,
    /// Its owner, if it has one.
    pub owner: Option<Owner>,
    /// When its next timer fires, if it waits for one.
    #[serde(default, with = "crate::event::optional_millis")]
    pub wake_at: Option<SystemTime>,
    /// The hash of the graph that its last records were made under.
    pub graph: u64,
    /// The run that it was forked from, and the number of the first record that was not copied.
    pub forked_from: Option<(String, u64)>,
    /// The run that it follows, which has started over.
    #[serde(default)]
    pub previous: Option<String>,
    /// The run that follows it, if it has started over.
    #[serde(default)]
    pub next: Option<String>,
    /// The node of another run that has started it.
    #[serde(default)]
    pub started_by: Option<StartedBy>,
    /// Labels to find it by.
    #[serde(default)]
    pub tags: Tags,
}

impl RunHeader {
    /// Changes the header after the records of an append. All stores do this.
    ///
    /// A run that is over has no owner and no open questions, and a time at which it wakes only while it is suspended.
    /// Its time of change is that of the append where the status becomes another.
    pub fn apply(&mut self, change: &HeaderChange, records: u64, time: SystemTime) {
        self.records += records;
        if let Some((status, wake_at)) = change.status {
            if self.status != status {
                self.updated = time;
            }
            self.status = status;
            self.wake_at = wake_at.filter(|_| status.is_suspended());
            self.owner = self.owner.filter(|_| !status.is_over());
        }
        if let Some(graph) = &change.graph {
            self.graph = graph.0;
        }
        if let Some(next) = &change.next {
            self.next = Some(next.clone());
        }
        if let Some(owner) = change.owner {
            self.owner = owner;
        }
        if change.nudge && self.status.is_suspended() {
            self.wake_at = Some(time);
        }
    }
}

/// The result of [`Store::start_over`](super::Store::start_over).
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::store::{Append, Created, MemoryStore, NewRun, StartedOver, Store};
/// use graphweft::json;
///
/// # graphweft::block_on(async {
/// let (store, now) = (MemoryStore::new(), SystemTime::now());
/// let run = |id: &str| NewRun::new(id, "chat", (1, json!({})).into(), now);
/// let Created::New(first) = store.create(run("chat")).await? else { panic!("the store is empty") };
/// store.create(run("chat~1")).await?; // of another one
///
/// let end = Append::new(first.key, 0, now, vec![]);
/// let begun = store.start_over(end, run("chat~1")).await?;
/// assert!(matches!(begun, StartedOver::Existing)); // and the first run has not ended
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StartedOver {
    /// Both are recorded; this is the new run.
    Done(Box<RunHeader>),
    /// Nothing is recorded: the journal is longer (or shorter) than the caller believes, as
    /// [`Appended::Conflict`](super::Appended::Conflict).
    Conflict,
    /// Nothing is recorded: a run with the id of the new one exists, as [`Created::Existing`].
    Existing,
    /// Nothing is recorded: a run with the id of the new one was deleted, as [`Created::Deleted`].
    Deleted {
        /// When the id is free again.
        until: SystemTime,
    },
    /// Nothing is recorded: the store cannot add a run to another one, now or later. The run fails with this.
    Refused {
        /// Why, and what to do.
        message: String,
    },
}
