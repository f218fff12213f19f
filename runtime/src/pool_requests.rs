//! The requests of a [`Context`](crate::Context), which a node of a pool does not make: the compiler says why, where it would name a
//! method that is not there.

use std::time::Duration;

use crate::ask::{Ask, Wait};
use crate::child::{Sleep, StartOver, StartRun, Step, StepContext};
use crate::node::Payload;
use crate::pool::PoolContext;
use crate::scope::{OpenScope, Scope};
use crate::signal::Signal;
use crate::workflow::Workflow;

/// What makes requests. The context of a node of a pool does not.
#[diagnostic::on_unimplemented(
    message = "a node with a `pool` makes no requests: its run may be in another process",
    label = "not in a node with a `pool`",
    note = "a node without a `pool` makes them, before this one or behind it"
)]
pub trait MakesRequests {}

impl PoolContext {
    #[doc(hidden)]
    pub fn ask<'c, T: Payload>(&'c self, name: impl Into<String>, prompt: impl Into<String>) -> Ask<'c, T>
    where
        &'c Self: MakesRequests,
    {
        self.context().ask(name, prompt)
    }

    #[doc(hidden)]
    pub fn wait<'c, T: Payload>(&'c self, signal: Signal<T>) -> Wait<'c, T>
    where
        &'c Self: MakesRequests,
    {
        self.context().wait(signal)
    }

    #[doc(hidden)]
    pub fn sleep<'c>(&'c self, duration: Duration) -> Sleep<'c>
    where
        &'c Self: MakesRequests,
    {
        self.context().sleep(duration)
    }

    #[doc(hidden)]
    pub fn step<'c, F, R, T, E>(&'c self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        F: FnMut() -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        E: Send,
        &'c Self: MakesRequests,
    {
        self.context().step(name, body)
    }

    #[doc(hidden)]
    pub fn step_with<'c, F, R, T, E>(&'c self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        F: FnMut(StepContext<'c>) -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        E: Send,
        &'c Self: MakesRequests,
    {
        self.context().step_with(name, body)
    }

    #[doc(hidden)]
    pub fn start<'c, W: Workflow>(&'c self, input: W::Input) -> StartRun<'c, W>
    where
        &'c Self: MakesRequests,
    {
        self.context().start(input)
    }

    #[doc(hidden)]
    pub fn start_over<'c, W: Workflow>(&'c self, input: W::Input) -> StartOver<'c, W>
    where
        &'c Self: MakesRequests,
    {
        self.context().start_over(input)
    }

    #[doc(hidden)]
    pub fn scope<'c, S: Scope>(&'c self, scope: S) -> OpenScope<'c, S>
    where
        &'c Self: MakesRequests,
    {
        self.context().scope(scope)
    }
}
