//! How long the value of a key lives: the third parameter of a [`StateKey`](super::StateKey).

/// One run. It is what a [`StateKey`](super::StateKey) has if nothing is written, and the one of which the compiler proves something.
#[derive(Clone, Copy, Debug)]
pub enum PerRun {}

/// All runs of one session: those that have the same [`SESSION`](crate::scope::SESSION).
#[derive(Clone, Copy, Debug)]
pub struct Session;

/// All runs for one user: those that have the same [`USER`](crate::scope::USER).
#[derive(Clone, Copy, Debug)]
pub struct User;

/// All runs of one application: those that have the same [`APP`](crate::scope::APP), or are of the same workflow.
#[derive(Clone, Copy, Debug)]
pub struct App;
