//! What a lab gives to the runs: answers, signals, resources, state.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::lab::Lab;
use super::outside::{Answer, Sent};
use super::parts::{Effects, Registered, Resource};
use super::world::World;
use crate::asked::Question;
use crate::engine::EngineBuilder;
use crate::node::{Node, Payload};
use crate::signal::Signal;
use crate::state::StateKey;
use crate::value::{self, MaxSize};
use crate::workflow::Workflow;

impl<W: Workflow> Lab<W> {
    /// Answers the question with this name, or with this id, which comes before a name. Of several answers to one name the first one is for the question that
    /// is asked first (in the first turn of a loop, say), and so on; the last one is for all further questions.
    ///
    /// A question without an answer stays open, and the run ends there for the test: see
    /// [`LabRun::outcome`](super::LabRun::outcome). If the node waits [`within`](crate::Ask::within) a time, the time passes.
    /// Questions of runs that a node [starts](crate::Context::start) get no answer: mock the nodes that ask them.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn approve(cents: u32, ctx: &Context) -> bool { ctx.ask("large", "Pay this back?").payload(cents).await }
    /// workflow! { pub refund(u32) -> bool { START => approve; } }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<refund>().answer("large", true).run(25_000).await.output(), &true);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the answer is not JSON.
    #[track_caller]
    pub fn answer(self, name: impl Into<String>, answer: impl Serialize) -> Self {
        let name = name.into();
        match value::to_plain(&answer, MaxSize::DEFAULT) {
            Ok(answer) => self.answer_with(name, move |_| answer.clone()),
            Err(error) => panic!("the answer to `{name}` cannot be written as JSON: {error}"),
        }
    }

    /// Answers the question with this name by what it asks.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn approve(cents: u32, ctx: &Context) -> bool { ctx.ask("large", "Pay this back?").payload(cents).await }
    /// workflow! { pub refund(u32) -> bool { START => approve; } }
    ///
    /// # graphweft::block_on(async {
    /// let lab = Lab::of::<refund>()
    ///     .answer_with("large", |question| (question.payload.as_u64() < Some(30_000)).into());
    /// assert_eq!(lab.run(25_000).await.output(), &true);
    /// assert_eq!(lab.run(35_000).await.output(), &false);
    /// # });
    /// ```
    pub fn answer_with(
        mut self,
        name: impl Into<String>,
        answer: impl Fn(&Question) -> Json + Send + Sync + 'static,
    ) -> Self {
        self.answers.push(Answer { name: name.into(), give: Box::new(move |question| Some(answer(question))) });
        self
    }

    /// Gives the question with this name no answer, in its turn among the answers to that name: the time that it waits
    /// [`within`](crate::Ask::within) passes, say, and the next one is answered.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use std::time::Duration;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn approve(cents: u32, ctx: &Context) -> bool {
    ///     let in_an_hour = ctx.ask("large", "Pay this back?").payload(cents).within(Duration::from_secs(3600));
    ///     match in_an_hour.await {
    ///         Ok(is_approved) => is_approved,
    ///         Err(_elapsed) => ctx.ask("large", "Pay this back, at last?").key("again").await,
    ///     }
    /// }
    /// workflow! { pub refund(u32) -> bool { START => approve; } }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let lab = Lab::of::<refund>().leave_open("large").answer("large", true);
    /// assert_eq!(lab.run(25_000).await.output(), &true);
    /// lab.repeatable::<approve>().crash_at_every_commit(25_000).await;
    /// # }
    /// ```
    pub fn leave_open(mut self, name: impl Into<String>) -> Self {
        self.answers.push(Answer { name: name.into(), give: Box::new(|_| None) });
        self
    }

    /// Sends a signal when a node waits for it: of several with one name, the first one for the first wait, and so on.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// const PAID: Signal<u64> = Signal::new("paid");
    ///
    /// #[node]
    /// async fn ship(order: u64, ctx: &Context) -> u64 { order + ctx.wait(PAID).await }
    /// workflow! { pub checkout(u64) -> u64 { START => ship; } }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<checkout>().signal(PAID, 4000).run(7).await.output(), &4007);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the payload cannot be recorded.
    #[track_caller]
    pub fn signal<T: Payload>(mut self, signal: Signal<T>, payload: T) -> Self {
        match Sent::of(signal, &payload) {
            Ok(sent) => self.signals.push(sent),
            Err(error) => panic!("the payload of signal `{}` cannot be recorded: {error}", signal.name()),
        }
        self
    }

    /// Gives all processes of all runs clones of a resource. What the clones share, such as an `Arc`, is shared by all runs of the
    /// lab, and survives crashes.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[derive(Clone)]
    /// struct Rates { euro: u32 }
    ///
    /// #[node]
    /// async fn convert(cents: u32, #[resource] rates: &Rates) -> u32 { cents * rates.euro }
    /// workflow! { pub price(u32) -> u32 { START => convert; } }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<price>().resource(Rates { euro: 2 }).run(4).await.output(), &8);
    /// # });
    /// ```
    pub fn resource<T: Any + Clone + Send + Sync>(self, resource: T) -> Self {
        self.share(move || resource.clone(), false)
    }

    /// Makes a resource for each run. All processes of the run get clones of it: what the clones share is outside of them, as a
    /// database is, and survives a crash. [`effects_on`](Self::effects_on) has an example.
    pub fn resource_with<T: Any + Clone + Send + Sync>(self, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        self.share(make, true)
    }

    fn share<T: Any + Clone + Send + Sync>(
        self,
        make: impl Fn() -> T + Send + Sync + 'static,
        is_of_run: bool,
    ) -> Self {
        let type_id = TypeId::of::<T>();
        let give = move |builder: EngineBuilder, world: &Arc<World>| match world.resource::<T>() {
            Some(resource) => builder.resource(resource.clone()),
            None => builder,
        };
        let make = Box::new(move || Box::new(make()) as Box<dyn Any + Send + Sync>);
        self.with_resource(Resource { type_id, make: Some(make), is_of_run, give: Box::new(give) })
    }

    /// Makes a resource for each process: it is lost in a crash, as a cache in memory is.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU32, Ordering};
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[derive(Default)]
    /// struct Cache { hits: AtomicU32 }
    ///
    /// #[node]
    /// async fn look_up(key: u32, #[resource] cache: &Cache) -> u32 { key + cache.hits.load(Ordering::Relaxed) }
    /// workflow! { pub find(u32) -> u32 { START => look_up; } }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<find>().fresh_resource(Cache::default).run(4).await.output(), &4);
    /// # });
    /// ```
    pub fn fresh_resource<T: Any + Send + Sync>(self, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let give = move |builder: EngineBuilder, _: &Arc<World>| builder.resource(make());
        self.with_resource(Resource { type_id: TypeId::of::<T>(), make: None, is_of_run: false, give: Box::new(give) })
    }

    fn with_resource(mut self, resource: Resource) -> Self {
        self.resources.retain(|other| other.type_id != resource.type_id);
        self.resources.push(resource);
        self
    }

    /// Has [`crash_at_every_commit`](Self::crash_at_every_commit) compare what the nodes have done to a resource: the effects, as
    /// `{:?}` shows them, must be those of a run without a crash. For nodes that are not mocked, and whose resource is a double.
    ///
    /// The resource must be one of [`resource_with`](Self::resource_with), so that every run has its own.
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use std::sync::{Arc, Mutex};
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[derive(Clone, Default)]
    /// struct Bank(Arc<Mutex<BTreeMap<String, u64>>>);
    ///
    /// /// A second charge under one key is not counted.
    /// #[node]
    /// async fn charge(cents: u64, ctx: &Context, #[resource] bank: &Bank) -> u64 {
    ///     bank.0.lock().unwrap().insert(ctx.idempotency_key(), cents);
    ///     cents
    /// }
    /// workflow! { pub pay(u64) -> u64 { START => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let lab = Lab::of::<pay>().repeatable::<charge>().resource_with(Bank::default);
    /// lab.effects_on::<Bank, _>(|bank| bank.0.lock().unwrap().clone()).crash_at_every_commit(4000).await;
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the lab has no such resource.
    #[track_caller]
    pub fn effects_on<T: Any + Send + Sync, E: fmt::Debug>(
        mut self,
        effects: impl Fn(&T) -> E + Send + Sync + 'static,
    ) -> Self {
        let type_name = type_name::<T>();
        let has = |resource: &Resource| resource.type_id == TypeId::of::<T>() && resource.is_of_run;
        assert!(
            self.resources.iter().any(has),
            "the effects on `{type_name}` cannot be compared: give it by `.resource_with(|| ..)` before, so that every run \
             has its own"
        );
        let of = move |world: &World| world.resource::<T>().map(|resource| format!("{:#?}", effects(resource)));
        self.effects.push(Effects { type_id: TypeId::of::<T>(), type_name, of: Box::new(of) });
        self
    }

    /// Registers a workflow that nodes start by [`Context::start`](crate::Context::start).
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::testing::Lab;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { pub doubled(u32) -> u32 { START => double; } }
    /// # workflow! { pub other(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<doubled>().register::<other>().run(4).await.output(), &8);
    /// # });
    /// ```
    pub fn register<O: Workflow>(mut self) -> Self {
        self.registered.push(Registered { definition: Some(O::definition()), register: EngineBuilder::register::<O> });
        self
    }

    /// Registers an earlier version of the workflow, as [`EngineBuilder::register_earlier`] does: runs that were begun under it
    /// continue under it. [`upgrade_at_every_commit`](Self::upgrade_at_every_commit) has an example.
    pub fn register_earlier<O: Workflow>(mut self) -> Self {
        let register = EngineBuilder::register_earlier::<O>;
        self.registered.push(Registered { definition: Some(O::definition()), register });
        self
    }

    /// Registers a node that other nodes call by [`Context::call`](crate::Context::call), and that `uses(..)` does not name: then it
    /// can be mocked.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn search(query: String) -> u32 { query.len() as u32 }
    /// #[node]
    /// async fn plan(query: String, ctx: &Context) -> u32 { ctx.call::<search>(query).await.unwrap_or_default() }
    /// workflow! { pub research(String) -> u32 { START => plan; } }
    ///
    /// # graphweft::block_on(async {
    /// let run = Lab::of::<research>().register_node::<search>().mock::<search>(7).run("ants".into()).await;
    /// assert_eq!(run.output(), &7);
    /// assert_eq!(run.called::<search>().count(), 1);
    /// # });
    /// ```
    pub fn register_node<N: Node + Default>(mut self) -> Self {
        self.registered.push(Registered { definition: None, register: EngineBuilder::register_node::<N> });
        self
    }

    /// Sets the initial value of a key of the state; see [`Start::state`](crate::Start::state).
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// const OWNER: StateKey<String> = StateKey::new("owner");
    ///
    /// #[node]
    /// async fn who(#[state(OWNER)] owner: String) -> String { owner }
    /// workflow! {
    ///     #[given(OWNER)]
    ///     owned() -> String { START => who; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(Lab::of::<owned>().state(OWNER, "Ada".into()).run(()).await.output(), "Ada");
    /// # });
    /// ```
    pub fn state<S, R>(mut self, key: StateKey<S, R>, value: S) -> Self
    where
        S: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
        R: 'static,
    {
        self.state.push(Box::new(move |start| start.state(key, value.clone())));
        self
    }
}
