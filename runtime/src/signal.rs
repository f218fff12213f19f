//! Signals: values that a run gets while it is under way.

use std::marker::PhantomData;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{EventKind, optional_millis, whole_millis};
use crate::field::at_field;
use crate::store::{Record, RunStatus, StoreError};

/// A signal that runs can get: a name, and the type of its payload. Use one constant for each, so that all senders and
/// all nodes agree on the type.
///
/// [`Engine::signal`](crate::Engine::signal) sends it to a run, and [`Context::wait`](crate::Context::wait) takes it.
///
/// ```
/// use graphweft::Signal;
///
/// const PAID: Signal<u64> = Signal::new("paid");
/// assert_eq!(PAID.name(), "paid");
/// ```
#[derive(Debug)]
pub struct Signal<T> {
    name: &'static str,
    holds: PhantomData<fn() -> T>,
}

impl<T> Signal<T> {
    /// A signal with this name, of 1 to 1,024 bytes.
    pub const fn new(name: &'static str) -> Self {
        Signal { name, holds: PhantomData }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Signal<T> {}

/// What has become of a signal that was sent. Either way the run has it, once.
///
/// Either is a success for the sender, who need not know:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::Signalled;
///
/// # const PAID: Signal<u64> = Signal::new("paid");
/// # #[node] async fn collect(ctx: &Context) -> u64 { ctx.wait(PAID).await + ctx.wait(PAID).await }
/// # workflow! { pub payment(()) -> u64 { START => collect; } }
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().build()?;
/// # let run = engine.start::<payment>(()).id("order-7").await?;
/// let mut counted = 0;
/// for event in ["evt_77", "evt_77", "evt_78"] {
///     if engine.signal("order-7", PAID, 60).id(event).await? == Signalled::New {
///         counted += 1;
///     }
/// }
/// assert_eq!((counted, run.result().await?), (2, 120));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signalled {
    /// It is recorded now.
    New,
    /// The run had got a signal with this name and [id](crate::Signalling::id) before, and has not rejected it, so this one does not
    /// count.
    Duplicate,
}

/// A signal was not sent. The run has not changed, except with [`Store`](Self::Store), where the signal may be recorded: one with an
/// [id](crate::Signalling::id) can be sent again.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::SignalError;
///
/// const PAID: Signal<u64> = Signal::new("paid");
/// # #[node] async fn ship(order: u32) -> u32 { order }
/// # workflow! { pub shop(u32) -> u32 { START => ship; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<shop>(7).id("order-7").await?.result().await?;
/// let late = engine.signal("order-7", PAID, 60).await.unwrap_err();
/// assert!(matches!(late, SignalError::RunOver { status: RunStatus::Completed, .. })); // pay it back
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// There is no such run, or it was deleted.
    #[error("there is no run `{run}`, or it was deleted")]
    UnknownRun {
        /// The id that was asked for.
        run: String,
    },
    /// The run has ended, so no node can wait for the signal. After a [retry](crate::Engine::retry) it can be sent.
    #[error("run `{run}` has ended ({status}), so `{signal}` cannot reach it; retry the run first")]
    RunOver {
        /// The run.
        run: String,
        /// How it has ended.
        status: RunStatus,
        /// The name of the signal.
        signal: String,
    },
    /// The name, the id or the sender is empty or too long.
    #[error("the {what} of a signal may have 1 to {MAX_TEXT} bytes, and this one has {length}")]
    InvalidLength {
        /// Which of them.
        what: &'static str,
        /// How many bytes it has.
        length: usize,
    },
    /// The payload cannot be written as JSON, or it is too large or too deep.
    #[error("the payload of signal `{signal}` cannot be recorded: {message}")]
    NotRecordable {
        /// The name of the signal.
        signal: String,
        /// Why.
        message: String,
    },
    /// The payload does not have the type that a node of the run waits for.
    #[error("invalid payload of signal `{signal}`: {}{message}", at_field(field))]
    Invalid {
        /// The name of the signal.
        signal: String,
        /// Where in the payload: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// A node of the run waits for the signal, and its workflow is not registered in this engine, so it does not know the type of the
    /// payload, which was sent as JSON. A program with the feature `json-schema` of graphweft checks such payloads against
    /// the recorded schema.
    #[error(
        "the type of the payload of signal `{signal}` is not known here: register `{workflow}`, the workflow of run `{run}`, or \
         switch on the feature `json-schema` of graphweft"
    )]
    NotRegistered {
        /// The run.
        run: String,
        /// Its workflow.
        workflow: String,
        /// The name of the signal.
        signal: String,
    },
    /// The signal cannot be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many bytes the name of a signal, its id and its sender may have.
pub(crate) const MAX_TEXT: usize = 1024;

/// Checks the length of a name, an id or a sender.
///
/// # Errors
/// If it is empty or too long.
pub(crate) fn check_length(what: &'static str, text: &str) -> Result<(), SignalError> {
    match text.len() {
        1..=MAX_TEXT => Ok(()),
        length => Err(SignalError::InvalidLength { what, length }),
    }
}

/// A signal that is to be recorded.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) name: String,
    pub(crate) payload: Value,
    /// Whether the payload is plain JSON.
    pub(crate) plain: bool,
    pub(crate) id: Option<String>,
    pub(crate) by: Option<String>,
}

impl Sent {
    /// The error of a payload that does not have the type that is waited for: where, and what is wrong.
    pub(crate) fn invalid(&self, (field, message): (String, String)) -> SignalError {
        SignalError::Invalid { signal: self.name.clone(), field, message }
    }

    /// Its record. The time is as it is read back, so that it compares alike after a restart.
    pub(crate) fn into_record(self, workflow: &str, now: SystemTime) -> Record {
        let Sent { name, payload, plain, id, by } = self;
        let kind = EventKind::SignalReceived { name, payload, at: whole_millis(now), id, by, plain };
        Record { path: workflow.to_owned(), kind }
    }
}

/// A signal that a node waits for.
///
/// What a run waits for, for a page that lets people send it:
///
/// ```
/// use graphweft::prelude::*;
///
/// const PAID: Signal<u64> = Signal::new("paid");
///
/// #[node]
/// async fn collect(ctx: &Context) -> u64 { ctx.wait(PAID).await }
/// workflow! { pub payment(()) -> u64 { START => collect; } }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<payment>(()).await?;
/// let Outcome::AwaitingSignals(awaited) = run.outcome().await? else { panic!("it waits") };
/// assert_eq!((&*awaited[0].name, &*awaited[0].path), ("paid", "payment/collect"));
/// run.signal_json(&awaited[0].name, 60.into()).await?;
/// assert_eq!(run.result().await?, 60);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AwaitedSignal {
    /// The name of the signal.
    pub name: String,
    /// The node that waits: `checkout/ship#2`.
    pub path: String,
    /// Until when it waits, [`within`](crate::Wait::within).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
    pub until: Option<SystemTime>,
    /// The JSON Schema of its payload, as far as the records of the run show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}
