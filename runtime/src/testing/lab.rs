//! A workflow with everything that a test gives it.

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::outside::{Answer, Sent};
use super::parts::{Effects, Mock, Registered, Resource, StartWith};
use super::repeatable::{Named, Nodes};
use super::script::Script;
use super::world::World;
use crate::context::Context;
use crate::engine::{Engine, EngineBuilder, MockWith, Start};
use crate::node::{Node, name_of};
use crate::workflow::Workflow;

/// A workflow in a test: with mocks for its nodes, answers to its questions, and resources.
///
/// Every run has an engine, a store in memory and a clock of its own. The clock follows tokio's: under
/// `#[tokio::test(start_paused = true)]` a delay of any length passes at once, and without that it takes its time. A run that takes
/// longer than the [`patience`](Self::patience) of the lab is stopped, and what it waited for is reported.
///
/// Methods of a lab panic, as `assert!` does, if what they expect is not so. Messages begin with the line of the test.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, fails};
///
/// #[node]
/// async fn validate(cents: u64) -> Result<u64, String> {
///     if cents > 0 { Ok(cents) } else { Err("nothing to pay".to_owned()) }
/// }
/// #[node(retry(max_attempts = 3))]
/// async fn charge(cents: u64) -> Result<String, std::io::Error> { Err(std::io::Error::other(format!("{cents} for real?"))) }
/// #[node]
/// async fn refuse(why: String) -> String { format!("refused: {why}") }
///
/// workflow! { pub pay(u64) -> String { START => validate => <ok: charge, err: refuse> => END; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let lab = Lab::of::<pay>().mock::<charge>(fails(2).then("a receipt".to_owned())).repeatable::<(validate, refuse)>();
///
/// let run = lab.run(4000).await;
/// run.took(["validate", "charge#3"]);
/// assert_eq!(run.output(), "a receipt");
/// assert_eq!(run.called::<charge>().inputs(), [4000, 4000, 4000]);
///
/// lab.crash_at_every_commit(4000).await;
/// lab.covers_every_arm([4000, 0]).await;
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "nothing runs before `run`, `crash_at_every_commit` or another method of the lab is awaited"]
pub struct Lab<W> {
    pub(super) mocks: Vec<Mock>,
    pub(super) resources: Vec<Resource>,
    pub(super) effects: Vec<Effects>,
    pub(super) registered: Vec<Registered>,
    pub(super) answers: Vec<Answer>,
    pub(super) signals: Vec<Sent>,
    pub(super) state: Vec<StartWith>,
    pub(super) repeatable: Vec<Named>,
    /// The names of children that may be repeated.
    pub(super) repeatable_children: Vec<String>,
    pub(super) patience: Duration,
    of: PhantomData<fn() -> W>,
}

impl<W> Lab<W> {
    fn new() -> Self {
        Lab {
            mocks: Vec::new(),
            resources: Vec::new(),
            effects: Vec::new(),
            registered: Vec::new(),
            answers: Vec::new(),
            signals: Vec::new(),
            state: Vec::new(),
            repeatable: Vec::new(),
            repeatable_children: Vec::new(),
            patience: Duration::from_secs(60),
            of: PhantomData,
        }
    }
}

impl Lab<()> {
    /// A lab for a workflow, without anything. There is an example at [`Lab`].
    pub fn of<W: Workflow>() -> Lab<W> {
        Lab::new()
    }
}

impl<W: Workflow> Lab<W> {
    /// Replaces a node by a script: a value, [`fails`](super::fails)`(2).then(value)`, a [`sequence`](super::sequence), and what
    /// else there is at [`Plan`](super::Plan). The options of the node (retries, time limit) still apply. A nested workflow can be
    /// mocked too. The types are those of the node. A second mock of a node replaces the first.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn charge(cents: u64) -> String { panic!("{cents} for real") }
    /// workflow! { pub pay(u64) -> String { START => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let run = Lab::of::<pay>().mock::<charge>("a receipt".to_owned()).run(4000).await;
    /// assert_eq!(run.output(), "a receipt");
    /// # });
    /// ```
    ///
    /// # Panics
    /// If a value of the script cannot be recorded.
    #[track_caller]
    pub fn mock<N: Node>(self, script: impl Into<Script<N::Output, N::Error>>) -> Self {
        let script: Script<N::Output, N::Error> = script.into();
        if let Some(problem) = script.problem() {
            panic!("the mock of `{}` has a value that cannot be recorded: {problem}", name_of::<N>());
        }
        let script = Arc::new(script);
        self.replace::<N, _, _>(move |world, input, ctx| script.run::<N>(world, &input, ctx))
    }

    /// Replaces a node by a function of its input.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("{cents} for real")) }
    /// workflow! { pub pay(u64) -> String { START => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let lab = Lab::of::<pay>().mock_fn::<charge>(|cents| match cents {
    ///     0..1000 => Ok(format!("a receipt over {cents}")),
    ///     _ => Err(std::io::Error::other("no money")),
    /// });
    /// assert_eq!(lab.run(400).await.output(), "a receipt over 400");
    /// assert_eq!(lab.run(4000).await.error().cause.to_string(), "no money");
    /// # });
    /// ```
    pub fn mock_fn<N: Node>(
        self,
        function: impl Fn(N::Input) -> Result<N::Output, N::Error> + Send + Sync + 'static,
    ) -> Self {
        self.replace::<N, _, _>(move |world, input, ctx| {
            world.note_call::<N>(&ctx, &input);
            std::future::ready(function(input))
        })
    }

    /// Replaces a node by an async closure of its input and its [`Context`](crate::Context), as
    /// [`EngineBuilder::mock`](crate::EngineBuilder::mock) does.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn charge(cents: u64) -> String { panic!("{cents} for real") }
    /// workflow! { pub pay(u64) -> String { START => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let lab = Lab::of::<pay>().mock_with::<charge>(|cents, ctx| async move { Ok(format!("{}: {cents}", ctx.path())) });
    /// assert_eq!(lab.run(4000).await.output(), "pay/charge: 4000");
    /// # });
    /// ```
    pub fn mock_with<N: Node>(self, body: impl MockWith<N>) -> Self {
        let replacement = body.into_replacement();
        self.replace::<N, _, _>(move |world, input, ctx| {
            world.note_call::<N>(&ctx, &input);
            replacement.run(input, ctx)
        })
    }

    fn replace<N, B, F>(mut self, body: B) -> Self
    where
        N: Node,
        B: Fn(&World, N::Input, Context) -> F + Send + Sync + 'static,
        F: Future<Output = Result<N::Output, N::Error>> + Send + 'static,
    {
        let (node, body) = (Named::of::<N>(), Arc::new(body));
        let install = move |builder: EngineBuilder, world: &Arc<World>| {
            let (body, world) = (Arc::clone(&body), Arc::clone(world));
            builder.mock::<N>(move |input, ctx| body(&world, input, ctx))
        };
        self.mocks.retain(|mock| mock.node.type_id != node.type_id);
        self.mocks.push(Mock { node, install: Box::new(install) });
        self
    }

    /// States that it is harmless to repeat these nodes, one or a tuple of up to eight:
    /// [`crash_at_every_commit`](Self::crash_at_every_commit) runs them as they are. There is an example at [`Lab`].
    pub fn repeatable<N: Nodes>(mut self) -> Self {
        N::add_to(&mut self.repeatable);
        self
    }

    /// The same for children by the name with which they are called, as by
    /// [`Context::call_as`](crate::Context::call_as): for a child whose type a test cannot name, such as the call of a model by an
    /// agent, which is `model`.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// struct Times(u32);
    ///
    /// impl Node for Times {
    ///     type Input = u32;
    ///     type Output = u32;
    ///     type Error = Never;
    ///
    ///     async fn run(&self, n: u32, _: &Context) -> Result<u32, Never> { Ok(self.0 * n) }
    /// }
    ///
    /// #[node]
    /// async fn plan(n: u32, ctx: &Context) -> u32 { ctx.call_as("twice", Times(2), n).await.unwrap_or_default() }
    /// workflow! { pub planned(u32) -> u32 { START => plan; } }
    ///
    /// # graphweft::block_on(async {
    /// Lab::of::<planned>().repeatable::<plan>().repeatable_child("twice").crash_at_every_commit(4).await;
    /// # });
    /// ```
    pub fn repeatable_child(mut self, name: impl Into<String>) -> Self {
        self.repeatable_children.push(name.into());
        self
    }

    /// How long a run may take, in real time. The default is a minute. A run that is longer under way is stopped, and the test fails
    /// with what it was doing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use graphweft::prelude::*;
    /// # use graphweft::testing::Lab;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { pub doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<doubled>().patience(Duration::from_secs(300)).run(4).await.output(), &8);
    /// # });
    /// ```
    pub fn patience(self, real_time: Duration) -> Self {
        Lab { patience: real_time, ..self }
    }

    pub(super) fn mocked(&self) -> Vec<Named> {
        self.mocks.iter().map(|mock| mock.node.clone()).collect()
    }

    /// What is outside of the processes of a new run.
    pub(super) fn world(&self) -> Arc<World> {
        let made = self.resources.iter().filter_map(|resource| Some((resource.type_id, resource.make.as_ref()?())));
        Arc::new(World::new(made.collect()))
    }

    /// The program of the workflow, with everything of the lab.
    pub(super) fn program(&self, world: &Arc<World>) -> EngineBuilder {
        let builder = self.registered.iter().fold(Engine::builder(), |builder, each| (each.register)(builder));
        self.equip(builder.register::<W>(), world)
    }

    /// The program before this one: it has another version of the workflow, and no other one.
    pub(super) fn program_before<V: Workflow>(&self, world: &Arc<World>) -> EngineBuilder {
        let others = self.registered.iter().filter(|each| !each.is_of::<V>() && !each.is_of::<W>());
        let builder = others.fold(Engine::builder(), |builder, each| (each.register)(builder));
        self.equip(builder.register::<V>(), world).with_unused_mocks()
    }

    fn equip(&self, builder: EngineBuilder, world: &Arc<World>) -> EngineBuilder {
        let builder = builder.of_lab();
        let builder = self.resources.iter().fold(builder, |builder, resource| (resource.give)(builder, world));
        self.mocks.iter().fold(builder, |builder, mock| (mock.install)(builder, world))
    }

    pub(super) fn start(&self, start: Start<Json>) -> Start<Json> {
        self.state.iter().fold(start, |start, with| with(start))
    }
}

/// Ends the test with a message that begins with a line of it: the panic itself is in an async function, which does not know its
/// caller.
pub(super) fn fail<W: Workflow>(here: &Location<'_>, problem: &str) -> ! {
    panic!("{here}: `{}`: {problem}", W::NAME)
}

impl<W> fmt::Debug for Lab<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mocked: Vec<&str> = self.mocks.iter().map(|mock| mock.node.name.as_str()).collect();
        f.debug_struct("Lab").field("workflow", &type_name::<W>()).field("mocks", &mocked).finish_non_exhaustive()
    }
}
