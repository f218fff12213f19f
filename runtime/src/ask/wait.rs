//! Signals: `ctx.wait(..)`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{fits, misfit};
use crate::context::Context;
use crate::core::after;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::lazy::Lazy;
use crate::node::Payload;
use crate::requests::Held;
use crate::shared::Misfit;
use crate::signal::{Signal, check_length};

/// A wait for a signal. Awaiting it returns the payload. It is a future, so it works with `join!` and `select!`.
#[must_use = "nothing is waited for before it is awaited"]
pub struct Wait<'c, T>(pub(super) Lazy<'c, Request<'c, T>, T>);

pub(super) struct Request<'c, T> {
    pub(super) context: &'c Context,
    signal: Signal<T>,
    /// The name of the signal, with the number of the wait or its key.
    pub(super) key: String,
    /// How long it waits.
    pub(super) within: Option<Duration>,
    /// Waits. `wait` knows that `T` is a payload; see `Ask`.
    start: fn(Self) -> BoxFuture<'c, T>,
}

impl Context {
    /// Waits for a signal, however long that takes, and returns its payload. [`Engine::signal`](crate::Engine::signal) or
    /// [`Run::signal`](crate::Run::signal) sends it, from any process. A signal that came before is kept for the first wait
    /// that asks for it, and each signal goes to one wait only: the oldest one of its name to the wait that has been open
    /// for the longest time. Other branches continue meanwhile; once none can make progress, the run is
    /// [`Waiting`](crate::RunStatus::Waiting), and may leave the memory.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::Signal;
    ///
    /// const PAID: Signal<u64> = Signal::new("paid");
    ///
    /// #[node]
    /// async fn collect(due: u64, ctx: &Context) -> u64 {
    ///     let mut paid = 0;
    ///     while paid < due {
    ///         paid += ctx.wait(PAID).await;
    ///     }
    ///     paid
    /// }
    ///
    /// workflow! {
    ///     pub payment(u64) -> u64 { START => collect; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<payment>(100).id("order-7").await?;
    /// engine.signal("order-7", PAID, 60).id("evt_77").await?;
    /// engine.signal("order-7", PAID, 60).id("evt_77").await?; // delivered twice by the sender, and counted once
    /// engine.signal("order-7", PAID, 50).id("evt_78").await?;
    /// assert_eq!(run.result().await?, 110);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Restarts
    /// In a live process the node continues where it waits. After a restart it starts again from the top, and the signals
    /// that it had got are returned to it immediately, each by the same wait as before. A later attempt of the node gets
    /// them as well. So do nodes that a [retry](crate::Engine::retry) runs again, and a graph that starts anew. If the
    /// future is dropped, or its node ends, before it has returned the signal, the next wait gets that: no signal is lost.
    ///
    /// The path of a wait is below its node, `wait:paid.1`, `wait:paid.2`, in the order of the calls for this signal, or by
    /// its [`key`](Wait::key), `wait:paid@fee`. Use keys if the order may be different when the node starts again, as it may in tasks that the
    /// node spawns.
    ///
    /// # Payloads of another type
    /// A payload that no `T` can be read from is refused where it is sent if the node waits by then: by its type in the process
    /// that executes the node, and by the recorded JSON Schema of it in a program that does not have the workflow.
    /// Otherwise, such as for one of [`Engine::signal_json`](crate::Engine::signal_json) that came before, it is dropped,
    /// [`EventKind::SignalRejected`] says why, and the node waits for the next one.
    ///
    /// In a run without an engine (`payment(100).await`) no signal can arrive, so the node fails with a
    /// [`Fault::Context`]; so does one whose signal has an empty name, or one of more than 1,024 bytes.
    ///
    /// Cancel safe: if the future is dropped, the wait is withdrawn.
    pub fn wait<T: Payload>(&self, signal: Signal<T>) -> Wait<'_, T> {
        let key = format!("{}.{}", signal.name(), self.0.requests().next_wait(signal.name()));
        Wait(Lazy::Described(Request {
            context: self,
            signal,
            key,
            within: None,
            start: |request| Box::pin(request.wait()),
        }))
    }
}

impl<T> Wait<'_, T> {
    /// Identifies the wait among those for this signal by a key, in place of the order of the calls. A second use of one
    /// key fails the node with a [`Fault::Context`].
    pub fn key(mut self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.0.describe(|request| request.key = format!("{}@{key}", request.signal.name()));
        self
    }
}

impl<T: Payload> Request<'_, T> {
    async fn wait(self) -> T {
        let context = self.context;
        match self.received().await {
            Ok(payload) => payload,
            Err(fault) => context.stop(fault).await,
        }
    }

    async fn received(self) -> Result<T, Fault> {
        let Request { context, signal, key, within, .. } = self;
        let (attempt, name) = (&context.0, signal.name());
        let fault = |message: String| Fault::Context { message };
        check_length("name", name)
            .map_err(|error| fault(format!("`{}` waits for a signal: {error}", attempt.path())))?;
        let path = attempt.path_of_wait("wait", &key)?;
        let Some(journal) = &attempt.run.journal else {
            return Err(fault(format!(
                "`{path}` waits for a signal, which needs an engine to send it to: start the run with \
                 `engine.start::<..>(..)`"
            )));
        };
        #[cfg(feature = "test-util")]
        let reserved = attempt.reserve_signal(name, within)?;
        let (mut held, item) = Held::ask(attempt, path, Some(fits::<T>())).await?;
        let (path, item) = (held.path().to_owned(), item.unwrap_or_default());
        let schema = T::__schema().to_value();
        let schema = (!journal.desk.has_signal_schema(name, &schema)).then_some(schema);
        let is_open = item.awaits && item.signal.is_none();
        let recorded = journal.desk.waits_until(&path);
        let until = match within {
            Some(within) if !item.awaits => Some(after(journal.clock.now(), within)),
            // The program may not limit it any more.
            within => recorded.filter(|_| within.is_some()),
        };
        if !item.awaits || (is_open && (schema.is_some() || until != recorded)) {
            let (name, inside) = (name.to_owned(), attempt.items_around());
            attempt.requests().push(&path, EventKind::SignalAwaited { name, until, inside, schema });
        }
        if is_open {
            // It is open since an earlier process, and what has come since then was not delivered.
            journal.deliver_signals();
        }
        loop {
            held.result().await;
            let Some((payload, plain)) = journal.desk.payload(&path) else {
                return Err(fault(format!(
                    "`{path}` has got a signal that is not there; this is a mistake in graphweft"
                )));
            };
            match read(&payload, plain) {
                Ok(payload) => {
                    match held.item().is_some_and(|item| item.is_taken) {
                        true => journal.show(|| path.clone(), EventKind::ResultReused),
                        false => attempt.requests().push(&path, EventKind::SignalTaken),
                    }
                    held.take();
                    #[cfg(feature = "test-util")]
                    reserved.into_iter().for_each(crate::attempt::ReservedSignal::take);
                    return Ok(payload);
                }
                Err((field, message)) => {
                    held.again(Some(fits::<T>()));
                    attempt.requests().push(&path, EventKind::SignalRejected { field, message });
                }
            }
        }
    }
}

fn read<T: Payload>(payload: &Value, plain: bool) -> Result<T, Misfit> {
    let read = if plain { T::__from_plain(payload) } else { T::__from_json(payload) };
    read.map_err(|error| misfit(&error))
}

impl<T> Future for Wait<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<T> {
        self.get_mut().0.poll(waker, |request| (request.start)(request))
    }
}

impl<T> fmt::Debug for Wait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Wait");
        if let Some(request) = self.0.description() {
            shown.field("key", &request.key);
        }
        shown.finish_non_exhaustive()
    }
}
