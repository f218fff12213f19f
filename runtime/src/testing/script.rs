//! What a mock does in each of its attempts.

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::world::World;
use crate::context::Context;
use crate::fault::Fault;
use crate::node::{Node, Payload, name_of};

/// What a mock does: some attempts that do not succeed, then its outputs. See [`Lab::mock`](super::Lab::mock).
///
/// A value is a script that returns it. Attempts are counted by the number of the attempt ([`Context::attempt`]), so that every
/// execution of the node, in each turn of a loop and for each item of `[..]`, follows the script from its beginning, and so
/// that an attempt that a crash has interrupted does the same again.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, fails};
///
/// #[node(retry(max_attempts = 3))]
/// async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("a real receipt over {cents}")) }
///
/// workflow! { pub pay(u64) -> String { START => charge; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let lab = Lab::of::<pay>().mock::<charge>(fails(2).then("a receipt".to_owned()));
/// let run = lab.run(4000).await;
/// assert_eq!(run.output(), "a receipt");
/// run.took(["charge#3"]);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "nothing is mocked before `Lab::mock` has it"]
pub struct Script<T, E> {
    plan: Plan<E>,
    outputs: Outputs,
    gives: PhantomData<fn() -> T>,
}

enum Outputs {
    /// The same for every execution.
    Same(Json),
    /// One for each execution.
    Each(Vec<Json>),
    /// A value that cannot be recorded, and why.
    Unrecordable(String),
}

/// The attempts of a mock before the one that succeeds. [`then`](Self::then) makes a [`Script`] of it.
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, fails};
///
/// #[node(retry(max_attempts = 5), timeout = "10s")]
/// async fn fetch(url: String) -> Result<String, String> { Err(format!("{url} is far away")) }
///
/// workflow! { pub page(String) -> String { START => fetch; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let unlucky = fails(1).fails_with(1, || "busy".to_owned()).panics(1).hangs(1).waits(Duration::from_secs(9));
/// let run = Lab::of::<page>().mock::<fetch>(unlucky.then("<html>".to_owned())).run("a.example".into()).await;
/// run.took(["fetch#5"]);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a plan ends with the value that the mock gives: `.then(..)`"]
pub struct Plan<E> {
    attempts: Vec<(u32, Attempt<E>)>,
    waits: Duration,
}

enum Attempt<E> {
    Faults,
    Fails(Arc<dyn Fn() -> E + Send + Sync>),
    Panics,
    Hangs,
}

/// A mock whose first attempts, so many, fail with a [`Fault`] of the lab. It is retried as any error is, and takes the arm
/// `err` as a fault does: if the error of the node is `From<Fault>` or [`FromFault`](crate::FromFault). For an error of the node
/// itself, [`fails_with`]. An example is at [`Script`].
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, fails};
///
/// #[node(retry(max_attempts = 3, initial_delay = "20s"))]
/// async fn charge(cents: u32) -> Result<String, std::io::Error> { panic!("{cents} cents are not charged in a test") }
/// workflow! { pub pay(u32) -> String { START => charge; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// // In a `#[tokio::test(start_paused = true)]`, where delays take no time:
/// let patient = Lab::of::<pay>().mock::<charge>(fails(2).then("paid".to_owned()));
/// patient.run(40).await.took(["charge#3"]);
/// let broken = Lab::of::<pay>().mock::<charge>(fails(3).then("paid".to_owned()));
/// assert_eq!(broken.run(40).await.error().attempts, 3);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn fails<E>(attempts: u32) -> Plan<E> {
    Plan::none().fails(attempts)
}

/// A mock whose first attempts, so many, fail with this error.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, fails_with};
///
/// #[node]
/// async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("a real receipt over {cents}")) }
///
/// workflow! { pub pay(u64) -> String { START => charge; } }
///
/// # graphweft::block_on(async {
/// let lab = Lab::of::<pay>().mock::<charge>(fails_with(1, || std::io::Error::other("no money")).then(String::new()));
/// assert_eq!(lab.run(4000).await.error().cause.to_string(), "no money");
/// # });
/// ```
pub fn fails_with<E>(attempts: u32, error: impl Fn() -> E + Send + Sync + 'static) -> Plan<E> {
    Plan::none().fails_with(attempts, error)
}

/// A mock whose first attempts, so many, panic. An example is at [`Plan`].
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, panics};
///
/// #[node]
/// async fn charge(cents: u32) -> u32 { cents }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let run = Lab::of::<pay>().mock::<charge>(panics(1).then(40)).run(40).await;
/// assert!(matches!(run.error().cause.fault, Some(Fault::Panic { .. })));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn panics<E>(attempts: u32) -> Plan<E> {
    Plan::none().panics(attempts)
}

/// A mock whose first attempts, so many, never end: for nodes with a `timeout`. An example is at [`Plan`].
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, hangs};
///
/// #[node(timeout = "10s", retry(max_attempts = 2))]
/// async fn charge(cents: u32) -> Result<u32, Fault> { Ok(cents) }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let run = Lab::of::<pay>().mock::<charge>(hangs(1).then(40)).run(40).await;
/// run.took(["charge#2"]); // after its time limit
/// assert_eq!(*run.output(), 40);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn hangs<E>(attempts: u32) -> Plan<E> {
    Plan::none().hangs(attempts)
}

/// A mock that returns after this time, by tokio's clock. An example is at [`Plan`].
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, waits};
///
/// #[node]
/// async fn mirror(file: String) -> String { file }
/// #[node]
/// async fn origin(file: String) -> String { file }
///
/// workflow! {
///     pub download(String) -> String {
///         let fastest: graphweft::First<String> = graphweft::First::new();
///         START => (mirror, origin);
///         mirror | origin => fastest;
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let slow = waits(Duration::from_secs(60)).then("from the mirror".to_owned());
/// let lab = Lab::of::<download>().mock::<mirror>(slow).mock::<origin>("from the origin".to_owned());
/// assert_eq!(lab.run("a.txt".into()).await.output(), "from the origin");
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn waits<E>(time: Duration) -> Plan<E> {
    Plan::none().waits(time)
}

/// A mock that returns these values, one for each execution: for the turns of a loop, and the items of `[..]`. They are given in
/// the order in which the executions begin. One more is a fault that says so.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, sequence};
///
/// #[node]
/// async fn draft(text: String) -> String { text }
///
/// #[derive(Route)]
/// #[value]
/// enum Verdict { Redo(String), Good(String) }
///
/// #[node]
/// async fn review(text: String) -> Verdict { Verdict::Good(text) }
///
/// workflow! { pub publish(String) -> String { START => draft => review => <redo: draft, good: END>; } }
///
/// # graphweft::block_on(async {
/// let verdicts = sequence([Verdict::Redo("shorter".into()), Verdict::Good("a poem".into())]);
/// let run = Lab::of::<publish>().mock::<review>(verdicts).run("an epic".into()).await;
/// run.took(["draft", "review", "draft#2", "review#2"]);
/// # });
/// ```
pub fn sequence<T: Payload, E>(outputs: impl IntoIterator<Item = T>) -> Script<T, E> {
    Plan::none().then_each(outputs)
}

impl<E> Plan<E> {
    fn none() -> Self {
        Plan { attempts: Vec::new(), waits: Duration::ZERO }
    }

    fn add(mut self, attempts: u32, what: Attempt<E>) -> Self {
        self.attempts.push((attempts, what));
        self
    }

    /// Then so many attempts fail with a fault of the lab; see [`fails`].
    pub fn fails(self, attempts: u32) -> Self {
        self.add(attempts, Attempt::Faults)
    }

    /// Then so many attempts fail with this error; see [`fails_with`].
    pub fn fails_with(self, attempts: u32, error: impl Fn() -> E + Send + Sync + 'static) -> Self {
        self.add(attempts, Attempt::Fails(Arc::new(error)))
    }

    /// Then so many attempts panic.
    pub fn panics(self, attempts: u32) -> Self {
        self.add(attempts, Attempt::Panics)
    }

    /// Then so many attempts never end.
    pub fn hangs(self, attempts: u32) -> Self {
        self.add(attempts, Attempt::Hangs)
    }

    /// The attempt that succeeds takes this long, by tokio's clock.
    pub fn waits(self, time: Duration) -> Self {
        Plan { waits: time, ..self }
    }

    /// The next attempt returns this value.
    pub fn then<T: Payload>(self, output: T) -> Script<T, E> {
        let outputs = output.to_record().map_or_else(|error| Outputs::Unrecordable(error.to_string()), Outputs::Same);
        Script { plan: self, outputs, gives: PhantomData }
    }

    /// The next attempt returns one of these values; see [`sequence`].
    pub fn then_each<T: Payload>(self, outputs: impl IntoIterator<Item = T>) -> Script<T, E> {
        let written: Result<_, _> = outputs.into_iter().map(|output| output.to_record()).collect();
        let outputs = written.map_or_else(|error| Outputs::Unrecordable(error.to_string()), Outputs::Each);
        Script { plan: self, outputs, gives: PhantomData }
    }

    /// What the attempt of this number does; `None` if it succeeds.
    fn attempt(&self, number: u32) -> Option<&Attempt<E>> {
        let mut until: u32 = 0;
        self.attempts.iter().find_map(|(attempts, what)| {
            // As many as there can be: `fails(1).hangs(u32::MAX)` never succeeds.
            until = until.saturating_add(*attempts);
            (number <= until).then_some(what)
        })
    }
}

impl<T: Payload, E> From<T> for Script<T, E> {
    fn from(output: T) -> Self {
        Plan::none().then(output)
    }
}

impl<T: Payload, E: Send + 'static> Script<T, E> {
    /// Why a value of it cannot be recorded, if one cannot be.
    pub(super) fn problem(&self) -> Option<&str> {
        match &self.outputs {
            Outputs::Unrecordable(why) => Some(why),
            Outputs::Same(_) | Outputs::Each(_) => None,
        }
    }

    /// Plays the next attempt, as the body of a node.
    pub(super) fn run<N: Node<Output = T, Error = E>>(
        self: &Arc<Self>,
        world: &World,
        input: &N::Input,
        ctx: Context,
    ) -> impl Future<Output = Result<T, E>> + Send + use<N, T, E> {
        world.note_call::<N>(&ctx, input);
        let execution = match self.outputs {
            Outputs::Each(_) => world.number_of(&format!("mock {}", type_name::<N>()), &ctx.path()),
            Outputs::Same(_) | Outputs::Unrecordable(_) => 0,
        };
        let script = Arc::clone(self);
        async move { script.play::<N>(&ctx, execution).await }
    }

    /// Plays the attempt of this context, which belongs to the execution of this number, from 0.
    async fn play<N: Node<Output = T, Error = E>>(&self, ctx: &Context, execution: usize) -> Result<T, E> {
        let (node, number) = (name_of::<N>(), ctx.attempt());
        match self.plan.attempt(number) {
            Some(Attempt::Faults) => {
                let message = format!("the mock of `{node}` fails in attempt {number}, as its script says");
                return ctx.stop(Fault::Context { message }).await;
            }
            Some(Attempt::Fails(error)) => return Err(error()),
            Some(Attempt::Panics) => panic!("the mock of `{node}` panics in attempt {number}, as its script says"),
            Some(Attempt::Hangs) => std::future::pending::<()>().await,
            None => {}
        }
        if !self.plan.waits.is_zero() {
            tokio::time::sleep(self.plan.waits).await;
        }
        let output = match &self.outputs {
            Outputs::Same(output) => Some(output),
            Outputs::Each(outputs) => outputs.get(execution),
            Outputs::Unrecordable(_) => None,
        };
        let read = match output {
            Some(output) => T::from_record(output).map_err(|error| format!("cannot be read back: {error}")),
            None => Err(format!("has no value for execution {} of the node: add one to its sequence", execution + 1)),
        };
        match read {
            Ok(output) => Ok(output),
            Err(what) => ctx.stop(Fault::Context { message: format!("the mock of `{node}` {what}") }).await,
        }
    }
}

impl<T, E> fmt::Debug for Script<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Plan<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = self.attempts.iter().fold(0_u32, |sum, (attempts, _)| sum.saturating_add(*attempts));
        f.debug_struct("Plan").field("attempts", &attempts).field("waits", &self.waits).finish_non_exhaustive()
    }
}
