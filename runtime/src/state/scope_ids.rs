//! The keys by which a run says whose it is.

use super::key::StateKey;
#[cfg(doc)]
use super::scope::{App, Session, User};

/// The session of a run, for state of a [`Session`]: `engine.start::<chat>(text).state(SESSION, "monday".to_owned())`.
pub const SESSION: StateKey<String> = StateKey::new("session");

/// The user of a run, for state of a [`User`]: `engine.start::<chat>(text).state(USER, "ada".to_owned())`.
pub const USER: StateKey<String> = StateKey::new("user");

/// The application that a run belongs to, for state of an [`App`]. Without it, it is the name of the run's workflow.
pub const APP: StateKey<String> = StateKey::new("app");
