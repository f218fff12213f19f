//! The events of all runs as one stream.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::future::BoxFuture;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::events::LOOK;
use super::feed_cursor::{FeedCursor, FeedFrom};
use super::inner::Engine;
use super::runtime::{self, Unfit};
use crate::event::Event;
use crate::shared::Listener;
use crate::store::{FeedPage, FeedPlace, FeedQuery, FeedRecord, StoreError};

/// An event of the feed.
///
/// What a consumer writes down, in one transaction with what it has made of the event:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{FeedCursor, FeedEvent, FeedFrom};
///
/// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
/// # workflow! { pub pay(u64) -> String { START => charge; } }
/// #[derive(Default)]
/// struct Table { events: Vec<String>, cursor: Option<FeedCursor> }
///
/// impl Table {
///     fn add(&mut self, new: FeedEvent) {
///         self.events.push(format!("{} of {}: {}", new.event.run_id, new.workflow, new.event.kind.name()));
///         self.cursor = Some(new.cursor);
///     }
/// }
///
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().register::<pay>().build()?;
/// # engine.start::<pay>(40).id("order-7").await?.result().await?;
/// let mut table = Table::default();
/// let mut feed = engine.watch(FeedFrom::Beginning).await?;
/// table.add(feed.next().await.ok_or("the engine was shut down")??);
/// assert_eq!(table.events, ["order-7 of pay: run_started"]);
/// assert_eq!(table.cursor, Some(feed.cursor()));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedEvent {
    /// The place behind it: a feed from there on begins with the next event.
    pub cursor: FeedCursor,
    /// The name of the workflow.
    pub workflow: String,
    /// The event, with the id of its run, its number there, and its time.
    pub event: Event,
}

/// Why a feed has no event at a place.
///
/// It is the error of an item and not the end of the feed, so a consumer that passes over what is damaged reads what comes after it:
///
/// ```
/// use futures::StreamExt;
/// use graphweft::prelude::*;
/// use graphweft::{FeedError, FeedFrom};
///
/// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
/// # workflow! { pub pay(u64) -> String { START => charge; } }
/// fn report(error: FeedError) { eprintln!("{error}; it continues at {}", error.cursor) }
///
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().register::<pay>().build()?;
/// # engine.start::<pay>(40).id("order-7").await?.result().await?;
/// let feed = engine.watch(FeedFrom::Beginning).await?;
/// let mut readable = feed.filter_map(async |item| item.map_err(report).ok());
/// # let mut readable = std::pin::pin!(readable);
/// assert_eq!(readable.next().await.ok_or("the engine was shut down")?.event.run_id, "order-7");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the feed of the store cannot be read up to cursor {cursor}: {source}")]
#[non_exhaustive]
pub struct FeedError {
    /// Where the feed continues: behind a damaged record, or in the same place if the store could not be read.
    pub cursor: FeedCursor,
    /// Why.
    pub source: StoreError,
}

/// Why a feed does not begin.
///
/// A cursor of another store, such as of a backup that is older, is one for which there is nothing to continue from:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{FeedFrom, WatchError};
///
/// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
/// # workflow! { pub pay(u64) -> String { START => charge; } }
/// # graphweft::block_on(async {
/// # let written = Engine::builder().register::<pay>().build()?;
/// # let mut feed = written.watch(FeedFrom::Beginning).await?;
/// # written.start::<pay>(40).await?.result().await?;
/// # let cursor = feed.next().await.ok_or("it is open")??.cursor;
/// let restored = Engine::builder().register::<pay>().build()?; // with an empty store
/// let error = restored.watch(FeedFrom::After(cursor)).await.unwrap_err();
/// assert!(matches!(error, WatchError::UnknownCursor { .. })); // read all of it again
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cursor is behind the last record of the store.
    #[error(
        "cursor {cursor} is behind the last record of the store, at {end}: it belongs to another store, or this one was \
         restored from an older copy; begin with `FeedFrom::Beginning` or `FeedFrom::Now`"
    )]
    UnknownCursor {
        /// The cursor.
        cursor: FeedCursor,
        /// The end of the store.
        end: FeedCursor,
    },
    /// It was called outside of a tokio runtime.
    #[error("a feed needs a tokio runtime; call `watch` in one")]
    NoRuntime,
    /// The tokio runtime has no timers.
    #[error("a feed needs timers; build the tokio runtime with `enable_time()` or `enable_all()`")]
    NoTimers,
}

impl From<Unfit> for WatchError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::NoRuntime => WatchError::NoRuntime,
            Unfit::NoTimers => WatchError::NoTimers,
        }
    }
}

/// The recorded events of all runs of a store, in the order in which they were committed, made by [`Engine::watch`].
///
/// Every event comes once, those of a run in the order of their numbers. Events that are not recorded, such as
/// [`Progress`](crate::EventKind::Progress), are not in it; those of one run are in [`Run::events`](crate::Run::events).
/// Runs that are deleted before they are read are left out.
///
/// It reads a page when the last one is used up, so a slow reader takes no more memory than one page. It ends when the
/// engine is shut down, or when every clone of the [`Engine`] has been dropped, with what was recorded by then.
///
/// # Errors
/// An item is an error if the store cannot be read: the feed then looks again after a moment, and continues in the same
/// place. Records that are damaged, or of a newer version, are one error for each batch, and the feed continues behind
/// them.
///
/// A projection of all orders, in whatever process they run:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::FeedFrom;
///
/// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
/// # workflow! { pub pay(u64) -> String { START => charge; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<pay>().build()?;
/// let mut feed = engine.watch(FeedFrom::Now).await?.workflow("pay").tag("tenant", "acme");
/// engine.start::<pay>(10).id("other").await?.result().await?;
/// engine.start::<pay>(40).id("order-7").tag("tenant", "acme").await?.result().await?;
///
/// let mut paid = Vec::new();
/// while paid.is_empty() {
///     let next = feed.next().await.ok_or("the engine was shut down")??;
///     if let EventKind::RunCompleted { .. } = next.event.kind {
///         paid.push(next.event.run_id);
///     }
/// }
/// assert_eq!(paid, ["order-7"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is read before `next` is awaited"]
pub struct Feed {
    engine: Engine,
    listener: Arc<Listener>,
    /// Which records, behind the last page.
    query: FeedQuery,
    /// The place behind what was returned.
    cursor: FeedCursor,
    ready: VecDeque<FeedRecord>,
    state: State,
}

enum State {
    Read,
    Reading(BoxFuture<'static, Result<FeedPage, StoreError>>, Closing),
    Waiting(Pin<Box<Sleep>>, Pin<Box<WaitForCancellationFutureOwned>>),
    Ended,
}

/// Whether the engine was closed before a page was read: then the last page is the end.
type Closing = bool;

impl Engine {
    /// The recorded events of all runs in the store, in the order in which they were committed: those of this engine as
    /// soon as they are, and those of other processes within a tenth of a second. The engine need not execute anything.
    ///
    /// Store the cursor of the last event that was dealt with, and begin after it when the process has restarted:
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::{FeedCursor, FeedFrom};
    ///
    /// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<pay>().build()?;
    /// let mut feed = engine.watch(FeedFrom::Beginning).await?;
    /// for id in ["order-7", "order-8"] {
    ///     engine.start::<pay>(4000).id(id).await?.result().await?;
    /// }
    ///
    /// let mut last = String::new();
    /// loop {
    ///     let next = feed.next().await.expect("the engine is running")?;
    ///     println!("{} {} {}", next.event.run_id, next.event.seq, next.event.path);
    ///     last = next.cursor.to_string(); // .. to a file, or a table
    ///     if next.event.run_id == "order-7" && next.event.is_terminal() {
    ///         break;
    ///     }
    /// }
    ///
    /// let mut feed = engine.watch(FeedFrom::After(last.parse::<FeedCursor>()?)).await?.workflow("pay");
    /// assert_eq!(feed.next().await.expect("order 8 is next")?.event.run_id, "order-8");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WatchError`].
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn watch(&self, from: impl Into<FeedFrom>) -> Result<Feed, WatchError> {
        runtime::current()?;
        let listener = self.0.env.feeds.listen();
        self.catch_up();
        let end = self.0.store.feed_end().await?;
        let after = match from.into() {
            FeedFrom::Beginning => FeedPlace::BEGINNING,
            FeedFrom::Now => end,
            FeedFrom::After(FeedCursor(place)) if place <= end => place,
            FeedFrom::After(cursor) => return Err(WatchError::UnknownCursor { cursor, end: FeedCursor(end) }),
        };
        Ok(Feed {
            engine: self.not_held(),
            listener,
            query: FeedQuery { after, ..FeedQuery::default() },
            cursor: FeedCursor(after),
            ready: VecDeque::new(),
            state: State::Read,
        })
    }

    /// Has the runs of this engine append what they hold back: a store in memory gets records some time after they were
    /// made.
    fn catch_up(&self) {
        if self.0.store.is_volatile() {
            for key in self.0.runs.keys() {
                if let Some(live) = self.0.runs.by_key(key) {
                    live.journal.catch_up_now();
                }
            }
        }
    }
}

impl Feed {
    /// Only events of runs of this workflow; called more than once, of any of these.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.query.workflows.push(name.into());
        self.read_again()
    }

    /// Only events of runs with this label; called more than once, with all of them. Of two values of one label the last
    /// one counts.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.tags.insert(key.into(), value.into());
        self.read_again()
    }

    /// What was read by another filter, and not returned yet, is read again.
    fn read_again(mut self) -> Self {
        self.query.after = self.cursor.0;
        self.ready.clear();
        self.state = State::Read;
        self
    }

    /// The place behind the last event that was returned, and behind those that were not wanted. A feed from here on
    /// continues as this one would.
    pub fn cursor(&self) -> FeedCursor {
        self.cursor
    }

    /// The next event; `None` after the last one. Cancel safe: an event that was not returned is the next one.
    pub async fn next(&mut self) -> Option<Result<FeedEvent, FeedError>> {
        std::future::poll_fn(|waker| Pin::new(&mut *self).poll_next(waker)).await
    }

    fn read(&self) -> State {
        let (engine, query) = (self.engine.clone(), self.query.clone());
        let is_closed = engine.0.closing.is_cancelled();
        // What is committed from here on is news, whether the page has it or not.
        self.listener.clear();
        engine.catch_up();
        State::Reading(Box::pin(async move { engine.0.store.feed(query).await }), is_closed)
    }

    fn wait(&self) -> State {
        match runtime::sleep(LOOK) {
            Ok(sleep) => State::Waiting(Box::pin(sleep), Box::pin(self.engine.0.closing.clone().cancelled_owned())),
            Err(unfit) => {
                tracing::warn!(error = %WatchError::from(unfit), "the feed of a store is not followed");
                State::Ended
            }
        }
    }

    fn event(&mut self, record: FeedRecord) -> Result<FeedEvent, FeedError> {
        let FeedRecord { place, id, workflow, stored, .. } = record;
        self.cursor = FeedCursor(place);
        let cursor = self.cursor;
        let event = stored.map_err(|source| FeedError { cursor, source })?.into_event(id);
        Ok(FeedEvent { cursor, workflow, event })
    }
}

impl Stream for Feed {
    type Item = Result<FeedEvent, FeedError>;

    fn poll_next(mut self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Poll::Ready(Some(self.event(record)));
            }
            self.cursor = FeedCursor(self.query.after);
            match std::mem::replace(&mut self.state, State::Read) {
                State::Read => self.state = self.read(),
                State::Reading(mut reading, is_closed) => match reading.as_mut().poll(waker) {
                    Poll::Pending => {
                        self.state = State::Reading(reading, is_closed);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(page)) => {
                        let is_end = page.place == self.query.after;
                        self.query.after = page.place;
                        self.ready.extend(page.records);
                        self.state = match (is_end, is_closed) {
                            (true, true) => State::Ended,
                            (true, false) => self.wait(),
                            (false, _) => State::Read,
                        };
                    }
                    Poll::Ready(Err(source)) => {
                        self.state = if is_closed { State::Ended } else { self.wait() };
                        return Poll::Ready(Some(Err(FeedError { cursor: self.cursor, source })));
                    }
                },
                State::Waiting(mut sleep, mut closing) => {
                    let wakes = self.listener.take_news(waker.waker())
                        || sleep.as_mut().poll(waker).is_ready()
                        || closing.as_mut().poll(waker).is_ready();
                    if !wakes {
                        self.state = State::Waiting(sleep, closing);
                        return Poll::Pending;
                    }
                }
                State::Ended => {
                    self.state = State::Ended;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}
