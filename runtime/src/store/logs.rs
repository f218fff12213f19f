//! Logs beside the runs: what outlives a run, such as the conversation that many runs have with one person.

use std::time::SystemTime;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::error::StoreError;

/// Logs of JSON values, each with a name, that only grow, until their beginning is [replaced](Self::trim). A [`Store`](super::Store) that keeps them returns them by
/// [`logs`](super::Store::logs), so that they are in the same file as its runs.
///
/// An entry has a *position*. Positions grow within a log, have gaps, and are never given again, not even after the log was
/// deleted. So a position says how far a log was read, and the entries up to it are the same whenever they are read
/// again, or gone with the whole log or its beginning. An empty log ends at position 0.
///
/// Called from many tasks, and by several processes, at once. If a future is dropped, its operation may or may not have happened.
///
/// ```
/// use std::time::SystemTime;
///
/// use graphweft::json;
/// use graphweft::store::{LogAppended, LogStore, MemoryStore, NewLogEntry, Store};
///
/// # graphweft::block_on(async {
/// let logs = MemoryStore::new().logs().expect("it keeps logs");
/// let entry = NewLogEntry::new("chat/ada", "run-1", json!("Hello"), SystemTime::now());
/// let LogAppended::Added { position } = logs.append(entry.clone()).await? else { panic!("it is new") };
/// // A caller that does not know whether it has been added adds it again, by the same key.
/// assert_eq!(logs.append(entry).await?, LogAppended::Existing { position });
/// assert_eq!(logs.read("chat/ada", 0, position).await?.len(), 1);
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
pub trait LogStore: Send + Sync + 'static {
    /// Adds an entry to a log, which is there from its first entry on. The future resolves when the entry is as durable as
    /// the store makes it.
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>>;

    /// The entries of a log behind the position `after`, up to and including the position `until`, in order. None of a log that is not there.
    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>>;

    /// The names of all logs that begin with this, by bytes, sorted.
    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Replaces the beginning of a log by one entry, in one transaction: the entry at the position [`until`](LogTrim::until) gets another value, and
    /// those before it are removed, except for the [`kept`](LogTrim::keep) ones. Keys of removed entries are free again. Nothing changes if there is no entry at that
    /// position, since another one has trimmed the log or deleted it. Returns whether there was one.
    ///
    /// The end of the log stays what it is, and so do the positions, the keys and the times of the entries that are left.
    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Deletes a log with all its entries. Returns whether there was one. Its keys are free again.
    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>>;
}

/// An entry to be added to a log.
///
/// An entry with a key is added once, however often it is sent:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::prelude::*;
/// use graphweft::json;
/// use graphweft::store::{LogAppended, NewLogEntry};
///
/// # graphweft::block_on(async {
/// let logs = Engine::builder().build()?.logs()?;
/// let paid = || NewLogEntry::new("account/ada", "evt_77", json!({ "cents": 40 }), SystemTime::now());
/// let LogAppended::Added { position } = logs.append(paid()).await? else { panic!("it is new") };
/// assert_eq!(logs.append(paid()).await?, LogAppended::Existing { position });
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewLogEntry {
    /// The log.
    pub log: String,
    /// Says which entry it is: a log has each key once.
    pub key: String,
    /// What it says.
    pub value: Value,
    /// When.
    pub time: SystemTime,
    /// The position at which the log must end, if others may add to it meanwhile.
    pub behind: Option<u64>,
}

impl NewLogEntry {
    /// An entry for the end of a log, wherever that is.
    pub fn new(log: impl Into<String>, key: impl Into<String>, value: Value, time: SystemTime) -> Self {
        NewLogEntry { log: log.into(), key: key.into(), value, time, behind: None }
    }

    /// The same, only if the log ends at this position.
    pub fn behind(self, position: u64) -> Self {
        NewLogEntry { behind: Some(position), ..self }
    }
}

/// What is to become of the beginning of a log: [`LogStore::trim`].
///
/// A balance in the place of the payments that it comes from:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::prelude::*;
/// use graphweft::json;
/// use graphweft::store::{LogTrim, NewLogEntry};
///
/// # graphweft::block_on(async {
/// let logs = Engine::builder().build()?.logs()?;
/// for (key, cents) in [("evt_77", 40), ("evt_78", 2), ("evt_79", 5)] {
///     logs.append(NewLogEntry::new("account/ada", key, json!(cents), SystemTime::now())).await?;
/// }
/// let entries = logs.read("account/ada", 0, u64::MAX).await?;
/// assert!(logs.trim(LogTrim::new("account/ada", entries[1].position, json!(42))).await?);
/// let balance: Vec<_> = logs.read("account/ada", 0, u64::MAX).await?.into_iter().map(|entry| entry.value).collect();
/// assert_eq!(balance, [json!(42), json!(5)]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogTrim {
    /// The log.
    pub log: String,
    /// The position of the entry that sums up those before it.
    pub until: u64,
    /// What that entry says from here on.
    pub value: Value,
    /// The positions of entries before it that stay, with their keys.
    pub keep: Vec<u64>,
}

impl LogTrim {
    /// The entry at this position gets this value, and sums up all before it.
    pub fn new(log: impl Into<String>, until: u64, value: Value) -> Self {
        LogTrim { log: log.into(), until, value, keep: Vec::new() }
    }

    /// The same, and the entries at these positions stay.
    pub fn keep(self, positions: impl IntoIterator<Item = u64>) -> Self {
        LogTrim { keep: positions.into_iter().collect(), ..self }
    }
}

/// The result of [`LogStore::append`].
///
/// Optimistic locking: an entry that is only right behind what was read.
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::prelude::*;
/// use graphweft::json;
/// use graphweft::store::{LogAppended, NewLogEntry};
///
/// # graphweft::block_on(async {
/// let logs = Engine::builder().build()?.logs()?;
/// let seat = |who: &str| NewLogEntry::new("seat/12", who, json!(who), SystemTime::now()).behind(0);
/// assert!(matches!(logs.append(seat("ada")).await?, LogAppended::Added { .. }));
/// assert!(matches!(logs.append(seat("bob")).await?, LogAppended::Conflict { .. })); // it is taken
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogAppended {
    /// It was added.
    Added {
        /// Its position.
        position: u64,
    },
    /// The log has an entry with this key, whatever it says, and wherever it is. Nothing was added.
    Existing {
        /// The position of that entry.
        position: u64,
    },
    /// The log does not end [where it should](NewLogEntry::behind). Nothing was added.
    Conflict {
        /// Where it ends.
        end: u64,
    },
}

/// An entry of a log.
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::prelude::*;
/// use graphweft::json;
/// use graphweft::store::NewLogEntry;
///
/// # graphweft::block_on(async {
/// let logs = Engine::builder().build()?.logs()?;
/// for (key, cents) in [("evt_77", 40), ("evt_78", 2)] {
///     logs.append(NewLogEntry::new("account/ada", key, json!(cents), SystemTime::now())).await?;
/// }
/// let entries = logs.read("account/ada", 0, u64::MAX).await?;
/// let balance: i64 = entries.iter().filter_map(|entry| entry.value.as_i64()).sum();
/// assert_eq!(balance, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogEntry {
    /// Its position, from 1, with gaps.
    pub position: u64,
    /// Its key.
    pub key: String,
    /// What it says.
    pub value: Value,
    /// When it was added, by the clock of who has added it; exact to the millisecond.
    pub time: SystemTime,
}

impl LogEntry {
    /// The entry at this position.
    pub fn new(position: u64, key: impl Into<String>, value: Value, time: SystemTime) -> Self {
        LogEntry { position, key: key.into(), value, time }
    }
}
