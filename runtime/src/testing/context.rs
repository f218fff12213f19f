//! Contexts outside of a workflow.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Waker, Poll};

use futures_util::task::noop_waker;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::outside::{RUN, Sent};
use super::process::clock_of;
use super::script::Script;
use super::world::World;
use crate::attempt::WithoutWorkflow;
use crate::context::Context;
use crate::engine::{Engine, EngineBuilder, Outcome, Start};
use crate::fault::Never;
use crate::node::{Node, Payload, name_of};
use crate::signal::Signal;
use crate::state::StateKey;
use crate::value::{self, MaxSize};

impl Context {
    /// A context for a call of a node in a test, outside of a workflow. [`TestContext`] makes one with resources, state and answers.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn greet(name: String, ctx: &Context) -> String {
    ///     ctx.sleep(Duration::from_secs(3600)).await;
    ///     let polite = ctx.step("style", async || Ok::<_, Never>(true)).await.unwrap_or_default();
    ///     if polite { format!("Hello, {name}!") } else { name }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// // In a `#[tokio::test(start_paused = true)]`, where an hour passes at once:
    /// let ctx = Context::test();
    /// assert_eq!(greet("Ada".into(), &ctx).await, "Hello, Ada!");
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime with timers.
    #[track_caller]
    pub fn test() -> Context {
        TestContext::new().build()
    }
}

/// Makes a [`Context`] for a call of a node in a test, outside of a workflow.
///
/// Behind the context is a node of a run in memory, so steps, children, timers, notes and the state work as they do in a
/// workflow, under the clock of tokio. Two things are different. The node may write every key of the state, and reads back
/// what it has written. And where a workflow would end the attempt, which the test could not see, the test panics with the message
/// of that [`Fault`](crate::Fault): a missing answer, a key of the state that has no value, a request that is made twice,
/// [`Context::stop`].
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::TestContext;
///
/// const OWNER: StateKey<String> = StateKey::new("owner");
///
/// #[node]
/// async fn approve(cents: u32, ctx: &Context) -> String {
///     let owner = ctx.state().get(OWNER).ok().flatten().unwrap_or_default();
///     let limit = ctx.resource::<u32>().copied().unwrap_or_default();
///     let is_fine = cents <= limit || ctx.ask::<bool>("large", "Pay this back?").payload(cents).await;
///     format!("{owner}: {is_fine}")
/// }
///
/// # graphweft::block_on(async {
/// let ctx = TestContext::new().resource(10_000_u32).state(OWNER, "Ada".into()).answer("large", false).build();
/// assert_eq!(approve(5_000, &ctx).await, "Ada: true");
/// assert_eq!(approve(25_000, &ctx).await, "Ada: false");
/// # });
/// ```
#[must_use = "no context is made before `build`"]
pub struct TestContext {
    engine: EngineBuilder,
    world: Arc<World>,
    start: Vec<BeginWith>,
    answers: HashMap<String, Vec<Json>>,
    signals: Vec<Sent>,
}

/// Adds something to the start of the run behind it.
type BeginWith = Box<dyn FnOnce(Start<()>) -> Start<()>>;

impl TestContext {
    /// One without anything: [`Context::test`].
    #[expect(clippy::new_without_default, reason = "a default would be another way to write the same")]
    pub fn new() -> Self {
        let world = Arc::new(World::default());
        TestContext {
            engine: Engine::builder().clock(clock_of(&world)),
            world,
            start: Vec::new(),
            answers: HashMap::new(),
            signals: Vec::new(),
        }
    }

    /// Gives it a resource, for [`Context::resource`] and for children.
    pub fn resource<T: Send + Sync + 'static>(self, resource: T) -> Self {
        TestContext { engine: self.engine.resource(resource), ..self }
    }

    /// Sets a key of the state.
    pub fn state<S: Serialize + DeserializeOwned + Send + 'static, R: 'static>(
        mut self,
        key: StateKey<S, R>,
        value: S,
    ) -> Self {
        self.start.push(Box::new(move |start| start.state(key, value)));
        self
    }

    /// Answers questions with this name, or with this name and key, `large:4711`, which comes before a name. As in a
    /// [`Lab`](super::Lab::answer), of several answers to one name the first one is for the question that is asked first, and so on; the
    /// last one is for all further questions.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::testing::TestContext;
    ///
    /// #[node]
    /// async fn attempts(ctx: &Context) -> u32 {
    ///     let mut attempt = 1;
    ///     while !ctx.ask::<bool>("good", "Is it good now?").key(attempt).await {
    ///         attempt += 1;
    ///     }
    ///     attempt
    /// }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(attempts(&TestContext::new().answer("good", false).answer("good", true).build()).await, 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the answer is not JSON.
    #[track_caller]
    pub fn answer(mut self, name: impl Into<String>, answer: impl Serialize) -> Self {
        let name = name.into();
        match value::to_plain(&answer, MaxSize::DEFAULT) {
            Ok(answer) => self.answers.entry(name).or_default().push(answer),
            Err(error) => panic!("the answer to `{name}` cannot be written as JSON: {error}"),
        }
        self
    }

    /// Sends a signal, for one [`Context::wait`].
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::testing::TestContext;
    ///
    /// const PAID: Signal<u64> = Signal::new("paid");
    ///
    /// #[node]
    /// async fn ship(order: u64, ctx: &Context) -> u64 { order + ctx.wait(PAID).await }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(ship(7, &TestContext::new().signal(PAID, 4000).build()).await, 4007);
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

    /// Replaces a node that the body calls as a child; see [`Lab::mock`](super::Lab::mock).
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::testing::TestContext;
    ///
    /// #[node]
    /// async fn search(query: String) -> u32 { panic!("{query} for real") }
    /// #[node]
    /// async fn plan(query: String, ctx: &Context) -> u32 { ctx.call::<search>(query).await.unwrap_or_default() }
    ///
    /// # graphweft::block_on(async {
    /// assert_eq!(plan("ants".into(), &TestContext::new().mock::<search>(7).build()).await, 7);
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
        let (script, world) = (Arc::new(script), Arc::clone(&self.world));
        let engine = self.engine.mock::<N>(move |input, ctx| script.run::<N>(&world, &input, ctx));
        TestContext { engine, ..self }
    }

    /// Makes the context. What it spawns, a task that answers and one for what the node requests, ends with the tokio
    /// runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime with timers, and if a resource or a value of the state is given twice or cannot be recorded.
    #[track_caller]
    pub fn build(self) -> Context {
        let TestContext { engine, world: _, start, answers, signals } = self;
        let (sender, made) = channel();
        let engine = engine.resource(Handout(Mutex::new(sender))).build();
        let engine = engine.unwrap_or_else(|error| panic!("the context of the test cannot be made: {error}"));
        let start = start.into_iter().fold(engine.start::<test>(()).id(RUN), |start, with| with(start));
        // One poll leads to the body of the node. When this is dropped, the run gets a task of its own.
        let ended = {
            let mut driven = pin!(start.run_to_end());
            driven.as_mut().poll(&mut Waker::from_waker(&noop_waker()))
        };
        let Ok(context) = made.try_recv() else {
            let why = match ended {
                Poll::Ready(Err(error)) => error.to_string(),
                Poll::Ready(Ok(())) | Poll::Pending => {
                    "its node has not begun; this is a mistake in graphweft".to_owned()
                }
            };
            panic!("the context of the test cannot be made: {why}; make it in a `#[tokio::test]`");
        };
        let context: Context = context;
        context.__of_run::<WithoutWorkflow>().give(answers, signals.iter().map(|sent| sent.name));
        tokio::spawn(serve(engine, context.__of_run::<WithoutWorkflow>(), signals));
        context
    }
}

/// Answers the questions of the context, and sends its signals.
async fn serve(engine: Engine, without: Arc<WithoutWorkflow>, signals: Vec<Sent>) {
    for (number, sent) in signals.iter().enumerate() {
        if let Err(error) = sent.send(&engine, number).await {
            tracing::error!(%error, "a signal of a test's context was not sent");
        }
    }
    let run = match engine.get_run(RUN).await {
        Ok(Some(run)) => run,
        gone => return tracing::error!(?gone, "the run behind a test's context is gone: its questions get no answers"),
    };
    loop {
        // Before anything else: what is recorded from here on is not missed.
        let seen = engine.history(RUN).await.ok().flatten();
        let seen = seen.and_then(|events| events.last().map(|event| event.seq + 1)).unwrap_or_default();
        let questions = match run.outcome().await {
            Ok(Outcome::Waiting(questions)) => questions,
            // The time limit of a wait may pass, and then the node continues.
            Ok(Outcome::AwaitingSignals(_)) => Vec::new(),
            _ => return,
        };
        let mut has_answered = false;
        for question in questions {
            let (name, key) =
                question.name.split_once(':').map_or((&*question.name, None), |(name, key)| (name, Some(key)));
            let Some(answer) = without.answer(&question.id, name, key) else { continue };
            // One that was withdrawn meanwhile needs no answer. The others were checked before they were asked.
            has_answered |= engine.answer(RUN, &question.id, answer).await.is_ok();
        }
        if !has_answered {
            // Until the node has asked something else.
            let _ended = run.events_from(seen).next().await;
        }
    }
}

/// Where the node puts its context.
struct Handout(Mutex<Sender<Context>>);

/// Gives its context away, and waits for ever.
struct GivesItsContext;

impl Node for GivesItsContext {
    type Input = ();
    type Output = ();
    type Error = Never;

    async fn run(&self, (): (), context: &Context) -> Result<(), Never> {
        if let Some(Handout(sender)) = context.resource::<Handout>() {
            let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let _is_awaited = sender.send(context.clone());
        }
        pending().await
    }
}

crate::workflow! {
    test() {
        let node: GivesItsContext = GivesItsContext;
        START => node;
    }
}

impl fmt::Debug for TestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestContext").field("answers", &self.answers).finish_non_exhaustive()
    }
}
