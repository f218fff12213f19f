//! Events that do not fit the state of their run.

/// An event that cannot happen in the state that a run is in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{event}` is impossible while {found}")]
pub(crate) struct Impossible {
    pub(crate) event: &'static str,
    /// The state of the task, in words.
    pub(crate) found: String,
}

/// The result of applying an event.
pub(crate) type Applied<T = ()> = Result<T, Box<Impossible>>;
