//! The events of a run as a stream.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::{BoxFuture, select};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::derived::Deriver;
use super::inner::Engine;
use super::runtime;
use crate::event::{Event, EventPosition};
use crate::run_error::RunError;
use crate::shared::Sent;
use crate::store::{RunKey, StoreError};

/// How many records are read at once.
const PAGE: usize = 256;

/// How often the records of a run of another process are read.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// The events of a run: past ones, then each as it is recorded. If the server of the store is away, or its file locked,
/// they continue when it is back. Ends after the last event of the run, and before that if the store cannot be read for
/// another reason, if the engine is gone (at [`Engine::shutdown`], or when every clone of the [`Engine`] has been dropped and it does
/// not execute the run any more), and if the run of another process is to be followed without the timers of tokio: [`error`](Self::error)
/// says which. Events recorded by then are returned first.
///
/// Events are buffered until they are read, so a stream that is never read grows with its run.
///
/// It is a [`Stream`](crate::Stream), so all its combinators work:
///
/// ```
/// use futures::StreamExt;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn download(url: String, ctx: &Context) -> usize {
///     for percent in [50, 100] {
///         ctx.progress(percent);
///     }
///     url.len()
/// }
/// workflow! { pub fetch(String) -> usize { START => download; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<fetch>("a.txt".into()).await?;
/// let paths: Vec<String> = run.events().map(|event| event.path).collect().await; // to the end of the run
/// assert_eq!(paths.last().map(String::as_str), Some("fetch"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Events {
    engine: Engine,
    run_id: String,
    key: RunKey,
    /// The number of the next record.
    next: u64,
    ready: VecDeque<Event>,
    /// Progress that was sent before this began to watch and is still kept, which belongs between the records.
    recent: VecDeque<Arc<Event>>,
    /// What was seen before.
    seen: Option<EventPosition>,
    /// Derives events from records; `None` while it is in use by a look.
    deriver: Option<Deriver>,
    from: From,
    /// Whether the last event was the end of the run. If the run was retried, more events follow.
    saw_end: bool,
    ended: bool,
    /// Why it has ended before the run.
    error: Option<RunError>,
}

enum From {
    /// Not known yet: look for the run in this process first.
    Unknown,
    Store {
        reading: BoxFuture<'static, Result<Page, StoreError>>,
        then: Then,
    },
    /// Everything before this record was read, with the events derived from it.
    Live(u64, UnboundedReceiver<Sent>),
    Sleep(Pin<Box<Sleep>>, Pin<Box<WaitForCancellationFutureOwned>>),
}

/// The result of a look into the store.
struct Page {
    events: Vec<Event>,
    /// How many records the stream has now seen.
    next: u64,
    /// Whether no records follow.
    is_over: bool,
    deriver: Option<Deriver>,
}

/// How to continue when the store has been read.
enum Then {
    /// Switch to the events of a run of this process, once the records up to this number are read, with the derived
    /// events.
    Live(u64, Option<UnboundedReceiver<Sent>>),
    /// Look again later.
    Look,
}

impl Events {
    pub(super) fn new(engine: &Engine, run_id: &str, key: RunKey, from: u64, seen: Option<EventPosition>) -> Self {
        let mut events = Events {
            engine: engine.not_held(),
            run_id: run_id.to_owned(),
            key,
            next: from,
            ready: VecDeque::new(),
            recent: VecDeque::new(),
            seen,
            deriver: None,
            from: From::Unknown,
            saw_end: false,
            ended: false,
            error: None,
        };
        // Events that are not recorded are received from now on, and not only from the first poll on.
        events.from = events.look();
        events
    }

    /// The next event; `None` after the last one. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|waker| Pin::new(&mut *self).poll_next(waker)).await
    }

    /// Why it has ended before the last event of the run: [`RunError::Store`] if the store cannot be read, [`RunError::ShutDown`] if the
    /// engine is gone, [`RunError::NoTimers`] or [`RunError::NoRuntime`] where the run of another process cannot be followed. `None` before
    /// that, and if the run has ended or was deleted.
    ///
    /// ```
    /// use graphweft::RunError;
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
    /// workflow! { publish() -> bool { START => review; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let mut events = engine.start::<publish>(()).await?.events();
    /// engine.shutdown().await;
    /// while events.next().await.is_some() {}
    /// assert_eq!(events.error(), Some(&RunError::ShutDown));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    fn end_before_run(&mut self, error: RunError) {
        (self.ended, self.error) = (true, Some(error));
    }

    fn look(&mut self) -> From {
        let then = match self.engine.0.runs.get(&self.run_id) {
            Some(live) => {
                let watch = live.journal.watch();
                let is_news = |event: &Arc<Event>| event.seq >= self.next;
                self.recent = watch.recent.into_iter().filter(is_news).collect();
                Then::Live(watch.from, watch.live)
            }
            None => Then::Look,
        };
        self.read(then)
    }

    fn read(&mut self, then: Then) -> From {
        let (engine, key, next, id) = (self.engine.clone(), self.key, self.next, self.run_id.clone());
        let known = self.deriver.take();
        // What the watcher receives is not read: the progress sent between those records would come behind them.
        let until = match &then {
            Then::Live(until, Some(_)) => *until,
            Then::Live(_, None) | Then::Look => u64::MAX,
        };
        let most = until.saturating_sub(next).min(PAGE as u64) as usize;
        let reading = async move {
            let mut known = known;
            let mut is_reported = false;
            loop {
                let is_closed = engine.0.closing.is_cancelled();
                let error = match read_page(&engine, &id, key, next, most, known.take()).await {
                    Err(error) if !is_closed && error.is_of_outage() => error,
                    read => return read,
                };
                // Without timers it cannot look again.
                let Ok(sleep) = runtime::sleep(LOOK) else { return Err(error) };
                if !std::mem::replace(&mut is_reported, true) {
                    tracing::warn!(run = id, %error, "the events of a run cannot be read at present, and are read again");
                }
                select(pin!(sleep), pin!(engine.0.closing.cancelled())).await;
            }
        };
        From::Store { reading: Box::pin(reading), then }
    }

    fn pop(&mut self) -> Option<Event> {
        loop {
            let event = self.ready.pop_front()?;
            self.saw_end = event.is_terminal() || (self.saw_end && (event.derived || !event.kind.is_recorded()));
            if !self.was_seen(&event) {
                return Some(event);
            }
        }
    }

    fn was_seen(&self, event: &Event) -> bool {
        // They may have been sent behind the progress of the same record.
        let of_last = |seen: EventPosition| event.derived && seen.seq() == event.seq;
        self.seen.is_some_and(|seen| event.position() <= seen && !of_last(seen))
    }

    /// Adds records that were read, and between them the progress that was sent there.
    fn add(&mut self, events: Vec<Event>) {
        for event in events {
            self.add_recent_before(event.seq);
            self.ready.push_back(event);
        }
    }

    /// Adds an event of a run that is watched from this record on.
    fn take(&mut self, from: u64, event: Event) {
        let is_news = match (event.derived, event.kind.is_recorded()) {
            // Events derived from a record that was read came with it.
            (true, _) => event.seq >= from,
            (false, true) => event.seq >= self.next,
            (false, false) => true,
        };
        if is_news {
            if event.kind.is_recorded() && !event.derived {
                self.next = event.seq + 1;
            }
            self.ready.push_back(event);
        }
    }

    fn add_recent_before(&mut self, seq: u64) {
        let before = self.recent.iter().take_while(|event| event.seq < seq).count();
        self.ready.extend(self.recent.drain(..before).map(Arc::unwrap_or_clone));
    }
}

/// The next records of a run, `most` of them, with the events derived from them. `known`: the deriver behind those before, if there is one.
async fn read_page(
    engine: &Engine,
    id: &str,
    key: RunKey,
    next: u64,
    most: usize,
    known: Option<Deriver>,
) -> Result<Page, StoreError> {
    let store = &engine.0.store;
    // A run that was deleted has no more events, and its id may be that of another one.
    let Some(header) = store.header(id).await?.filter(|header| header.key == key) else {
        return Ok(Page { events: Vec::new(), next, is_over: true, deriver: None });
    };
    // Derived events depend on all records before them.
    let mut deriver = match known {
        Some(deriver) if deriver.seen() == next => deriver,
        _ => {
            let mut deriver = Deriver::of(engine, &header).await;
            let mut seen = 0;
            while seen < next {
                let page = store.read(key, seen, PAGE.min((next - seen) as usize)).await?;
                let Some(last) = page.last() else { break };
                seen = last.seq + 1;
                deriver.events(engine, id, page).await;
            }
            deriver
        }
    };
    let records = if most > 0 { store.read(key, next, most).await? } else { Vec::new() };
    let after = records.last().map_or(next, |last| last.seq + 1);
    let is_over = records.is_empty() && header.status.is_over() && header.records <= next;
    let events = deriver.events(engine, id, records).await;
    Ok(Page { events, next: after, is_over, deriver: Some(deriver) })
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.pop() {
                return Poll::Ready(Some(event));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match std::mem::replace(&mut self.from, From::Unknown) {
                From::Unknown => self.from = self.look(),
                From::Sleep(mut sleep, mut closing) => {
                    // Records made until the engine closed are still read.
                    if sleep.as_mut().poll(waker).is_pending() && closing.as_mut().poll(waker).is_pending() {
                        self.from = From::Sleep(sleep, closing);
                        return Poll::Pending;
                    }
                }
                From::Store { mut reading, then } => match reading.as_mut().poll(waker) {
                    Poll::Pending => {
                        self.from = From::Store { reading, then };
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(error)) => {
                        tracing::warn!(run = self.run_id, %error, "the events of a run cannot be read");
                        let is_left = self.engine.0.closing.is_cancelled() && error.is_of_outage();
                        self.end_before_run(if is_left { RunError::ShutDown } else { RunError::Store(error) });
                    }
                    Poll::Ready(Ok(Page { events, next, is_over, deriver })) => {
                        let is_end = events.is_empty();
                        self.add(events);
                        (self.next, self.ended, self.deriver) = (next, is_over, deriver);
                        let closing = &self.engine.0.closing;
                        self.from = match then {
                            Then::Live(until, Some(live)) if self.next >= until => {
                                self.add_recent_before(u64::MAX);
                                From::Live(self.next, live)
                            }
                            _ if is_over => From::Unknown,
                            Then::Look | Then::Live(_, None) if is_end && closing.is_cancelled() => {
                                self.end_before_run(RunError::ShutDown);
                                From::Unknown
                            }
                            Then::Look | Then::Live(_, None) if is_end => {
                                let closing = Box::pin(closing.clone().cancelled_owned());
                                match runtime::sleep(LOOK) {
                                    Ok(sleep) => From::Sleep(Box::pin(sleep), closing),
                                    Err(unfit) => {
                                        let error = RunError::from(unfit);
                                        tracing::warn!(run = self.run_id, %error, "the events of a run are not followed");
                                        self.end_before_run(error);
                                        From::Unknown
                                    }
                                }
                            }
                            then => self.read(then),
                        };
                    }
                },
                From::Live(from, mut live) => match live.poll_recv(waker) {
                    Poll::Pending => {
                        self.from = From::Live(from, live);
                        return Poll::Pending;
                    }
                    Poll::Ready(Some(sent)) => {
                        self.from = From::Live(from, live);
                        let events = &mut *self;
                        sent.for_each(|event| events.take(from, event));
                    }
                    // The run has ended, or has left this process.
                    Poll::Ready(None) => self.ended = self.saw_end,
                },
            }
        }
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
