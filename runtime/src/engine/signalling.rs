//! A signal, as a program sends it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};

use futures_util::FutureExt;
use serde_json::Value as Json;

use super::inner::Engine;
use super::run::Run;
use crate::lazy::Lazy;
use crate::node::Payload;
use crate::signal::{Sent, Signal, SignalError, Signalled};
use crate::value::{self, drop_refused};

/// A signal to a run. Awaiting it sends the signal; see [`Engine::signal`]. It is a future, so it works with `join!`.
///
/// A webhook passes the id of its event, so that one that is delivered twice counts once:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::Signalled;
///
/// const PAID: Signal<u64> = Signal::new("paid");
///
/// #[node]
/// async fn collect(ctx: &Context) -> u64 { ctx.wait(PAID).await }
/// workflow! { pub payment(()) -> u64 { START => collect; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<payment>(()).id("order-7").await?;
/// assert_eq!(run.signal(PAID, 60).id("evt_77").by("bank").await?, Signalled::New);
/// assert_eq!(run.result().await?, 60);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is sent before it is awaited"]
pub struct Signalling<'a>(Lazy<'a, Sending<'a>, Result<Signalled, SignalError>>);

struct Sending<'a> {
    engine: &'a Engine,
    run: &'a str,
    sent: Result<Sent, SignalError>,
}

impl Engine {
    /// Sends a signal to a run, in this process or in any other with the same store. `Ok` means that it is recorded, as
    /// durable as the store makes it: a node of the run that [waits](crate::Context::wait) for it gets it, now or once it
    /// does. The run may execute, wait, sleep, or not have begun, and its workflow need not be registered here. A run that
    /// waits for the signal outside of the memory is resumed.
    ///
    /// If the run has [started over](crate::Context::start_over), the signal goes to the last run that follows it.
    ///
    /// With an [`id`](Signalling::id), such as that of the event that a webhook reports, a signal that is sent again is not
    /// counted again: the result is [`Signalled::Duplicate`].
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::{Signal, Signalled};
    ///
    /// const PAID: Signal<u64> = Signal::new("paid");
    /// # #[node] async fn ship(order: u32, ctx: &Context) -> u64 { u64::from(order) + ctx.wait(PAID).await }
    /// # workflow! { pub checkout(u32) -> u64 { START => ship; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<checkout>(7).id("order-7").await?;
    /// assert_eq!(engine.signal("order-7", PAID, 2_500).id("evt_77").await?, Signalled::New);
    /// assert_eq!(engine.signal("order-7", PAID, 2_500).id("evt_77").await?, Signalled::Duplicate);
    /// assert_eq!(run.result().await?, 2_507);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// Cancel safe: if the future is dropped, the signal may or may not have been recorded. With an id it can be sent again.
    ///
    /// # Errors
    /// [`SignalError`], for a run that does not exist or has ended, for a payload that cannot be recorded, or that is not
    /// what a node of this process waits for, and if the store fails. After an error of the store the signal may have been
    /// recorded, unless it says otherwise; with an id it can be sent again.
    pub fn signal<'a, T: Payload>(&'a self, run: &'a str, signal: Signal<T>, payload: T) -> Signalling<'a> {
        let written = payload.__to_json(self.0.env.max_value_size);
        let written = written.map_err(|error| not_recordable(signal.name(), &error));
        if written.is_err() {
            drop_refused(payload);
        } else {
            drop(payload);
        }
        self.sending(run, signal.name().to_owned(), written, false)
    }

    /// The same for a payload as plain JSON and a signal by its name, as it comes from outside, such as by HTTP. Its type is
    /// known to the node that waits: if that is in this process, a payload of another type is refused. Otherwise the node
    /// drops it when it gets it ([`EventKind::SignalRejected`](crate::EventKind::SignalRejected)), and waits for the next
    /// one. Where the workflow of the run is not registered, a payload for which a node waits is checked against the schema that the
    /// wait has recorded, with the feature `json-schema`; without it, it is refused ([`SignalError::NotRegistered`]).
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::{Signal, json};
    /// # const PAID: Signal<u64> = Signal::new("paid");
    /// # #[node] async fn ship(order: u32, ctx: &Context) -> u64 { u64::from(order) + ctx.wait(PAID).await }
    /// # workflow! { pub checkout(u32) -> u64 { START => ship; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<checkout>(7).id("order-7").await?;
    /// # run.outcome().await?;
    /// assert!(engine.signal_json("order-7", "paid", json!("a lot")).await.is_err());
    /// engine.signal_json("order-7", "paid", json!(2_500)).id("evt_77").await?;
    /// assert_eq!(run.result().await?, 2_507);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn signal_json<'a>(&'a self, run: &'a str, signal: impl Into<String>, payload: Json) -> Signalling<'a> {
        let name = signal.into();
        let checked = value::check_json(payload, self.0.env.max_value_size);
        let checked = checked.map_err(|error| not_recordable(&name, &error));
        self.sending(run, name, checked, true)
    }

    fn sending<'a>(
        &'a self,
        run: &'a str,
        name: String,
        payload: Result<Json, SignalError>,
        plain: bool,
    ) -> Signalling<'a> {
        let sent = payload.map(|payload| Sent { name, payload, plain, id: None, by: None });
        Signalling(Lazy::Described(Sending { engine: self, run, sent }))
    }
}

impl<T> Run<T> {
    /// Sends a signal to the run; see [`Engine::signal`].
    ///
    /// # Errors
    /// See [`Engine::signal`].
    pub fn signal<S: Payload>(&self, signal: Signal<S>, payload: S) -> Signalling<'_> {
        self.engine().signal(self.id(), signal, payload)
    }

    /// Sends a signal by its name, with plain JSON; see [`Engine::signal_json`].
    ///
    /// # Errors
    /// See [`Engine::signal`].
    pub fn signal_json(&self, signal: impl Into<String>, payload: Json) -> Signalling<'_> {
        self.engine().signal_json(self.id(), signal, payload)
    }
}

fn not_recordable(signal: &str, error: &value::Unrecordable) -> SignalError {
    SignalError::NotRecordable { signal: signal.to_owned(), message: error.message().to_owned() }
}

impl Signalling<'_> {
    /// The id of the signal, of 1 to 1,024 bytes: another one of this name with the same id is not counted by the run, unless the node has
    /// rejected the first one ([`EventKind::SignalRejected`](crate::EventKind::SignalRejected)), which then does not count.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.change(|sent| sent.id = Some(id.into()));
        self
    }

    /// Who sends it, of 1 to 1,024 bytes, as [`EventKind::SignalReceived`](crate::EventKind::SignalReceived) then says. It is
    /// not checked.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.change(|sent| sent.by = Some(who.into()));
        self
    }

    fn change(&mut self, change: impl FnOnce(&mut Sent)) {
        self.0.describe(|sending| {
            if let Ok(sent) = &mut sending.sent {
                change(sent);
            }
        });
    }
}

impl Future for Signalling<'_> {
    type Output = Result<Signalled, SignalError>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        let send = |Sending { engine, run, sent }| async move { engine.send(run, sent?).await }.boxed();
        self.get_mut().0.poll(waker, send)
    }
}

impl fmt::Debug for Signalling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Signalling");
        if let Some(sending) = self.0.description() {
            shown.field("run", &sending.run);
            if let Ok(sent) = &sending.sent {
                shown.field("signal", &sent.name).field("id", &sent.id);
            }
        }
        shown.finish_non_exhaustive()
    }
}
