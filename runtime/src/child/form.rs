//! The form in which the error of a child or a step is recorded and returned.

use std::error::Error;

use serde_json::Value as Json;

use super::error_text::ErrorText;
use crate::error_text::{chain, is_too_deep, text};
use crate::fault::{Cause, Fault};
use crate::node::{Payload, reread};
use crate::table::Misread;
use crate::value::{Against, MaxSize, Unrecordable, drop_refused};

/// The form in which the error of a child or a step is recorded and returned: [`AsPayload`] or [`AsText`].
///
/// A helper that returns a child before it is awaited names the form in its type:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{AsText, Child, ErrorText};
///
/// #[node]
/// async fn length(path: String) -> Result<usize, std::io::Error> { Ok(std::fs::read_to_string(path)?.len()) }
///
/// /// The same options wherever a length is needed.
/// fn length_of<'c>(ctx: &'c Context, path: &str) -> Child<'c, length, AsText> {
///     ctx.call::<length>(path.to_owned()).key(path).error_as_text()
/// }
///
/// #[node]
/// async fn measure(path: String, ctx: &Context) -> Result<usize, ChildError<ErrorText>> { length_of(ctx, &path).await }
///
/// let flow = workflow! { START => measure };
/// assert!(graphweft::block_on(flow.run("/no/such/file".to_owned())).is_err());
/// ```
pub trait ErrorForm: sealed::Sealed + 'static {
    /// What the caller gets for an error of type `E`.
    type Error<E: Send>: Send;
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::AsPayload {}
    impl Sealed for super::AsText {}
}

impl ErrorForm for AsPayload {
    type Error<E: Send> = E;
}

impl ErrorForm for AsText {
    type Error<E: Send> = ErrorText;
}

/// The error is recorded as JSON and returned as it is: it is a [`Payload`](crate::Payload).
///
/// The parent gets the value that the child has returned, also after a restart:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{AsPayload, Child};
///
/// #[value]
/// #[derive(Debug)]
/// struct Missing { pieces: u32 }
///
/// #[node]
/// async fn reserve(pieces: u32) -> Result<u32, Missing> { Err(Missing { pieces: pieces - 2 }) }
///
/// #[node]
/// async fn order(pieces: u32, ctx: &Context) -> String {
///     let child: Child<'_, reserve, AsPayload> = ctx.call::<reserve>(pieces);
///     match child.await {
///         Err(ChildError::Error(Missing { pieces })) => format!("{pieces} are missing"),
///         other => format!("{other:?}"),
///     }
/// }
///
/// workflow! { pub shop(u32) -> String { START => order; } }
///
/// assert_eq!(graphweft::block_on(shop(5)).unwrap(), "3 are missing");
/// ```
#[derive(Debug)]
pub struct AsPayload;

/// The error is recorded and returned as an [`ErrorText`]: its text and those of its sources.
///
/// For errors that serde cannot write:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{AsText, Child, ErrorText};
///
/// #[node]
/// async fn read(path: String) -> Result<String, std::io::Error> { std::fs::read_to_string(path) }
///
/// #[node]
/// async fn show(path: String, ctx: &Context) -> Result<String, ChildError<ErrorText>> {
///     let child: Child<'_, read, AsText> = ctx.call::<read>(path).error_as_text();
///     child.await
/// }
///
/// let flow = workflow! { START => show };
/// let error = graphweft::block_on(flow.run("/no/such/file".to_owned())).unwrap_err();
/// assert!(error.to_string().contains("No such file"));
/// ```
#[derive(Debug)]
pub struct AsText;

/// "The error of a child or a step is recorded."
///
/// The bound is on the futures and not on `call` and `step`, so that the message shows no source of the library, and
/// `error_as_text` can be called first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no payload, so it cannot be recorded and returned as it is",
    label = "write `.error_as_text()` before `.await`, for an error of type `ErrorText`; or put `#[value]` on `{Self}`",
    note = "the error of a child or a step is recorded, and returned again after a restart: as a payload, which is \
            `Serialize + DeserializeOwned + JsonSchema + Send + 'static`, or as its text"
)]
#[doc(hidden)]
pub trait ErrorPayload: Payload {}

#[diagnostic::do_not_recommend]
impl<E: Payload> ErrorPayload for E {}

/// "The output of a step is recorded."
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no payload, so it cannot be recorded as the output of a step",
    label = "put `#[value]` on `{Self}`, or take from it within the step what the node needs",
    note = "the output of a step is recorded, and returned again after a restart: it is \
            `Serialize + DeserializeOwned + JsonSchema + Send + 'static`"
)]
#[doc(hidden)]
pub trait OutputPayload: Payload {}

#[diagnostic::do_not_recommend]
impl<T: Payload> OutputPayload for T {}

/// "The error of a child or a step can be shown as text."
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded as text",
    label = "`{Self}` has to implement `std::error::Error + Send + Sync`",
    note = "an error that is recorded as text converts into a `Box<dyn Error + Send + Sync>`: every `Error + Send + Sync`, \
            `String`, and the error types of `anyhow` and `eyre`"
)]
#[doc(hidden)]
pub trait IntoErrorText: Into<Box<dyn Error + Send + Sync>> + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>> + Send + 'static> IntoErrorText for E {}

/// A form that errors of the type `E` have.
pub(super) trait FormOf<E: Send + 'static>: ErrorForm {
    /// The error as it is recorded and returned. `words`: its text and those of its sources, if it is a payload.
    ///
    /// # Errors
    /// If it has no JSON form. It is dropped then.
    fn written(
        error: E,
        words: impl FnOnce(&E, &Json) -> Vec<String>,
        max: MaxSize,
    ) -> Result<Written<Self::Error<E>>, Unrecordable>;

    /// The error that was recorded with this cause.
    ///
    /// # Errors
    /// Why there is none.
    fn read(cause: &Cause, recorded: Option<&Json>) -> Result<Self::Error<E>, Unread>;
}

/// Why a recorded failure is not an error of the requested form.
pub(super) enum Unread {
    /// It is a fault.
    Fault(Fault),
    /// The error was recorded as its text only.
    NotRecorded,
    Misread(Misread),
}

/// An error as it is recorded and returned.
pub(super) struct Written<E> {
    pub(super) error: E,
    pub(super) chain: Vec<String>,
    /// `None` if the texts are all that is recorded.
    pub(super) json: Option<Json>,
}

impl<E: Payload> FormOf<E> for AsPayload {
    fn written(
        error: E,
        words: impl FnOnce(&E, &Json) -> Vec<String>,
        max: MaxSize,
    ) -> Result<Written<E>, Unrecordable> {
        match error.__to_json(max) {
            Ok(json) => Ok(Written { chain: words(&error, &json), error, json: Some(json) }),
            Err(problem) => {
                drop_refused(error);
                Err(problem)
            }
        }
    }

    fn read(cause: &Cause, recorded: Option<&Json>) -> Result<E, Unread> {
        match (recorded, &cause.fault) {
            (Some(recorded), _) => {
                let read = E::__from_json(recorded);
                let error = read.map_err(|error| Unread::Misread(Misread::Unreadable(error)))?;
                reread::<E>().check(recorded, Against::Fields).map_err(Unread::Misread)?;
                Ok(error)
            }
            (None, Some(fault)) => Err(Unread::Fault(fault.clone())),
            (None, None) => Err(Unread::NotRecorded),
        }
    }
}

impl<E: IntoErrorText> FormOf<E> for AsText {
    fn written(
        error: E,
        _: impl FnOnce(&E, &Json) -> Vec<String>,
        _: MaxSize,
    ) -> Result<Written<ErrorText>, Unrecordable> {
        let error: Box<dyn Error + Send + Sync> = error.into();
        let chain = chain(error.as_ref());
        if is_too_deep(&chain) {
            drop_refused(error);
        }
        Ok(Written { error: ErrorText::of_chain(&chain), chain, json: None })
    }

    fn read(cause: &Cause, _: Option<&Json>) -> Result<ErrorText, Unread> {
        match &cause.fault {
            Some(fault) if cause.is_fault() => Err(Unread::Fault(fault.clone())),
            _ => Ok(ErrorText::of_chain(&cause.chain)),
        }
    }
}

/// The text of an error that is only known to be serializable.
pub(super) fn words_of_json(error: &Json) -> Vec<String> {
    vec![error.as_str().map_or_else(|| text(format_args!("{error}")), |error| text(format_args!("{error}")))]
}
