//! The records of all runs in the order in which they were committed.

use super::{RunHeader, RunKey, StoreError, Stored, Tags};

/// A place in the order of all commits of a store: between two records.
///
/// A store gives places that only grow, and keeps them: a record has the same place as long as it exists, also after a
/// restart. Places of different stores cannot be compared.
///
/// ```
/// use graphweft::store::FeedPlace;
///
/// let place = FeedPlace { position: 7, record: 2 };
/// assert!(FeedPlace::BEGINNING < place && place < FeedPlace { position: 8, record: 0 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedPlace {
    /// The position of the batch that the next record is in. All batches at smaller positions are before this place.
    pub position: u64,
    /// How many records of that batch are before this place.
    pub record: u32,
}

impl FeedPlace {
    /// Before all records.
    pub const BEGINNING: FeedPlace = FeedPlace { position: 0, record: 0 };

    /// The place behind record number `record` of a batch with so many `records`: the next record of the batch, or the
    /// batch at the next position if it was the last one.
    ///
    /// ```
    /// # use graphweft::store::FeedPlace;
    /// assert_eq!(FeedPlace::behind(7, 0, 2), FeedPlace { position: 7, record: 1 });
    /// assert_eq!(FeedPlace::behind(7, 1, 2), FeedPlace { position: 8, record: 0 });
    /// ```
    pub fn behind(position: u64, record: u32, records: u64) -> FeedPlace {
        if u64::from(record) + 1 < records {
            FeedPlace { position, record: record + 1 }
        } else {
            FeedPlace { position: position + 1, record: 0 }
        }
    }
}

/// Which records to read from the feed of a store; the default is all, from the beginning.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{FeedQuery, MemoryStore, Store};
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<pay>().build()?;
/// engine.start::<pay>(40).id("order-7").tag("tenant", "acme").await?.result().await?;
/// # engine.shutdown().await;
///
/// let mut query = FeedQuery::default();
/// query.tags = [("tenant".to_owned(), "acme".to_owned())].into();
/// assert_eq!(store.feed(query.clone()).await?.records.len(), 4);
/// query.after = store.feed_end().await?;
/// assert!(store.feed(query).await?.records.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FeedQuery {
    /// Those behind this place.
    pub after: FeedPlace,
    /// Of runs of one of these workflows; empty: any.
    pub workflows: Vec<String>,
    /// Of runs with all of these labels.
    pub tags: Tags,
    /// At most this many; 0: as many as the store reads at once.
    pub limit: usize,
}

impl FeedQuery {
    /// Whether records of a run are wanted: one of this workflow, with these labels.
    pub fn wants(&self, workflow: &str, tags: &Tags) -> bool {
        (self.workflows.is_empty() || self.workflows.iter().any(|wanted| wanted == workflow))
            && self.tags.iter().all(|(tag, value)| tags.get(tag) == Some(value))
    }
}

/// A page of the feed.
///
/// All records of a store, page by page. The end is where a page does not get any further:
///
/// ```
/// use graphweft::store::{FeedQuery, MemoryStore, Store, StoreError};
///
/// async fn count(store: &impl Store) -> Result<usize, StoreError> {
///     let (mut query, mut records) = (FeedQuery::default(), 0);
///     loop {
///         let page = store.feed(query.clone()).await?;
///         if page.place == query.after {
///             return Ok(records);
///         }
///         records += page.records.len(); // may be none, though others follow
///         query.after = page.place;
///     }
/// }
///
/// assert_eq!(graphweft::block_on(count(&MemoryStore::new())).unwrap(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FeedPage {
    /// The records, in the order of their commits. There may be none though the page is not the last one: those that
    /// were looked at were not wanted, or belong to runs that have been deleted.
    pub records: Vec<FeedRecord>,
    /// Where the next page begins. It is the place that was asked for if nothing is behind it.
    pub place: FeedPlace,
}

/// A record in the feed.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{FeedQuery, FeedRecord, MemoryStore, Store};
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// fn line(record: &FeedRecord) -> String {
///     match &record.stored {
///         Ok(stored) => format!("{} {}: {}", record.id, stored.seq, stored.record.kind.name()),
///         Err(damage) => format!("{}: {damage}", record.id),
///     }
/// }
///
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<pay>().build()?;
/// engine.start::<pay>(40).id("order-7").await?.result().await?;
/// # engine.shutdown().await;
/// let page = store.feed(FeedQuery::default()).await?;
/// assert_eq!(line(&page.records[0]), "order-7 0: run_started");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedRecord {
    /// The place behind it.
    pub place: FeedPlace,
    /// The number of its run.
    pub run: RunKey,
    /// The id of its run.
    pub id: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The record. An error if it is damaged or cannot be decoded, and then in the place of all records of its batch
    /// that follow: one batch does not hide others.
    pub stored: Result<Stored, StoreError>,
}

impl FeedRecord {
    /// A record of the run with this header, and the place behind it.
    pub fn new(place: FeedPlace, header: &RunHeader, stored: Result<Stored, StoreError>) -> Self {
        let RunHeader { key, id, workflow, .. } = header;
        FeedRecord { place, run: *key, id: id.clone(), workflow: workflow.clone(), stored }
    }
}
