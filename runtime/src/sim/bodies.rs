//! The workflow of a scenario, with bodies that follow the scenario.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::select_all;
use graphweft_graph::{START, Way};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use super::behaviour::{self, Routing};
use super::jobs::Job;
use super::ledger::{Ledger, UnderWay};
use super::load::{self, Carried};
use super::originals;
use super::scenario::{Doing, Failing, Flow, Inside, Scenario, Special};
use super::workflows::Workflows;
use crate::clock::Clock;
use crate::context::Context;
use crate::core::NextRun;
use crate::json_graphs::{Made, Net, Step, made_of};
use crate::node::{Node, Payload};
use crate::options::RetryPolicy;
use crate::signal::Signal;
use crate::state::{Append, StateKey, StateKeyFact, Sum};
use crate::table::{Definition, Limits, ScopeKind};
use crate::value::MaxSize;

/// How long an attempt may take that is not to end by itself; all others take much less.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// How often a node may be polled at one moment; none is a hundred times.
const RESTLESS: u32 = 10_000;

const TOTAL: StateKey<u64, Sum> = StateKey::new(behaviour::TOTAL);
const SEEN: StateKey<Vec<String>, Append> = StateKey::new(behaviour::SEEN);
const LAST: StateKey<String> = StateKey::new(behaviour::LAST);
const CARRIED: StateKey<Vec<Carried>, Append> = StateKey::new(behaviour::CARRIED);
const ARRIVED: StateKey<u64, Sum> = StateKey::new("arrived");

/// The keys that every node may write.
const WRITTEN: &[StateKeyFact] = &[TOTAL.fact(), SEEN.fact(), LAST.fact(), CARRIED.fact()];

/// The shared data of all bodies.
#[derive(Clone)]
pub(super) struct World {
    pub(super) ledger: Ledger,
    pub(super) clock: Clock,
}

pub(super) fn definition(flow: &Flow) -> Arc<Definition> {
    made(flow, None).build()
}

/// The workflow of the run.
pub(super) fn root_definition(scenario: &Scenario) -> Arc<Definition> {
    made(&scenario.flow, scenario.time_limit).build()
}

pub(super) fn workflows(scenario: &Scenario) -> Workflows {
    Workflows { run: root_definition(scenario), jobs: scenario.jobs.iter().map(definition).collect() }
}

fn made(flow: &Flow, time_limit: Option<u64>) -> Made {
    let proven = flow.prove().expect("a proven graph");
    let nodes = 0..proven.graph.nodes.len();
    let err = |node: usize| flow.special(&proven.graph.nodes[node].id).err;
    let labels =
        nodes.clone().map(|node| behaviour::labels(proven.graph.nodes[node].choices.len(), err(node))).collect();
    let net = Net { graph: proven.graph.clone(), plan: proven.plan.clone(), labels };
    let limits = Limits { timeout: time_limit.map(Duration::from_millis), max_parallel: flow.max_parallel };
    let mut made = made_of(net).starts_by(behaviour::start_by).limits(limits).may_write(WRITTEN);
    for node in nodes.filter(|node| *node > START + 1) {
        let data = &proven.graph.nodes[node];
        let special = flow.special(&data.id);
        made = made.options(&data.id, |options| {
            options.retry = RetryPolicy::with_max_attempts(special.max_attempts())
                .initial_delay(Duration::from_millis(20))
                .backoff_factor(1.5)
                .jitter(0.0);
            options.timeout = (special.failing == Failing::Timeout && special.fails > 0).then_some(LIMIT);
            options.timeout = special.limit.map(Duration::from_millis).or(options.timeout);
            options.at_most_once = special.at_most_once;
            options.max_parallel = special.max_parallel;
        });
        if let Some(err) = special.err {
            made = made.faults_by(&data.id, behaviour::label(err, Some(err)));
        }
        if let Some((arm, at_most)) = special.bound {
            made = made.bounded(&data.id, arm, at_most, proven.stops[node]);
        }
        let collects = data.ways.iter().any(|way| matches!(way, Way::Any(_)));
        made = match special.inside.as_deref() {
            Some(Inside::Nested(inside)) => made.inside(&data.id, ScopeKind::Nested, self::made(inside, None)),
            Some(Inside::Each(inside)) => {
                let inside = self::made(inside, None);
                made.inside(&data.id, ScopeKind::Each, inside).items(&data.id, behaviour::items)
            }
            None => {
                let body = Body { special, routing: Routing::of(&proven, node), collects };
                made.node(&data.id, move |input, context| {
                    let world = context.resource::<World>().expect("every process has one");
                    let ledger = world.ledger.of_run(context.run_id());
                    let world = World { ledger, clock: world.clock.clone() };
                    body.clone().run(world, input, context)
                })
            }
        };
    }
    made
}

/// The body of one node.
#[derive(Clone)]
struct Body {
    special: Special,
    routing: Routing,
    collects: bool,
}

impl Body {
    /// Gives up when it is polled again and again and no time passes: otherwise the run would never be over.
    async fn run(self, world: World, input: Value, context: Context) -> Step {
        let (mut last, mut polls) = (world.clock.now(), 0);
        let (path, of, clock) = (context.path(), world.ledger.clone(), world.clock.clone());
        let mut body = pin!(self.lives(world, input, context));
        poll_fn(|waker| {
            let now = clock.now();
            polls = if now == last { polls + 1 } else { 0 };
            last = now;
            if polls > RESTLESS {
                of.breaks(format!("`{path}` is polled for ever, and no time passes"));
                resume_unwind(Box::new("polled for ever"));
            }
            body.as_mut().poll(waker)
        })
        .await
    }

    async fn lives(self, world: World, input: Value, context: Context) -> Step {
        let path = context.path();
        let begun = world.ledger.begin(&path, context.attempt(), &context.0.state, world.clock.now());
        if self.special.cleans_up {
            let stopped = context.cancelled();
            tokio::select! {
                biased;
                step = self.goes(&world, &path, &input, &context, &begun) => return step,
                () = stopped => {}
            }
            // It cleans up for a while; its result comes too late.
            tokio::time::sleep(Duration::from_millis(30)).await;
            return Step::Fail("it was cancelled");
        }
        self.goes(&world, &path, &input, &context, &begun).await
    }

    async fn goes(&self, world: &World, path: &str, input: &Value, context: &Context, begun: &UnderWay) -> Step {
        let scenario = world.ledger.scenario();
        looks(world, path, input, context);
        let takes = behaviour::takes(scenario, path, context.attempt(), begun.before);
        if takes > 0 {
            tokio::time::sleep(Duration::from_millis(takes)).await;
        }
        if context.attempt() <= behaviour::fails(&self.special, path) && !world.ledger.is_mended() {
            return self.fails().await;
        }
        context.state_writer(TOTAL).merge(behaviour::adds(path));
        context.state_writer(SEEN).push(path.to_owned());
        if behaviour::brings(path) {
            context.state_writer(CARRIED).push(Carried::of(behaviour::adds(path)));
        }
        if self.special.sets {
            context.state_writer(LAST).set(path.to_owned());
        }
        let mut sum = 0u64;
        for (at, doing) in self.special.does.iter().enumerate() {
            let waits = !matches!(doing, Doing::Step { .. } | Doing::Say);
            if waits {
                world.ledger.waits(path);
            }
            sum = behaviour::and_then(sum, does(world, path, context, at, *doing).await);
            if waits {
                world.ledger.goes_on(path);
            }
        }
        if self.special.starts_over && !originals::is_next(context.run_id()) && !world.ledger.is_mended() {
            let input = behaviour::run_gets(scenario).__to_json(MaxSize::DEFAULT).expect("a value");
            context.end_with(Box::new(NextRun { input, state: Map::new() }));
            return std::future::pending().await;
        }
        let choice = self.routing.choose(scenario, path);
        let output = if self.collects {
            let arrived = context.collector_state().get(ARRIVED).ok().flatten().unwrap_or_default();
            context.collector_state().merge(ARRIVED, 1);
            if arrived + 1 < behaviour::wants(&self.special, path) {
                return Step::Wait;
            }
            behaviour::collects(path)
        } else {
            behaviour::gives(path, input, sum)
        };
        match self.routing.choices {
            1 => Step::Give(Carried::recorded(output)),
            _ => {
                let label = behaviour::label(choice, self.special.err);
                Step::Take(label, serde_json::json!({ label: Carried::recorded(output) }))
            }
        }
    }

    async fn fails(&self) -> Step {
        match (self.special.failing, self.special.err) {
            (Failing::Error, None) => Step::Fail("on purpose"),
            (Failing::Error, Some(err)) => Step::FailBy("on purpose", behaviour::label(err, Some(err))),
            // Without the hook, which would fill the output of the test.
            (Failing::Panic, _) => resume_unwind(Box::new("on purpose")),
            (Failing::Timeout, _) => std::future::pending().await,
        }
    }
}

/// Checks that the input of a node, and the state that it sees, are intact to the bit.
fn looks(world: &World, path: &str, input: &Value, context: &Context) {
    if let Some(damage) = load::damage(input) {
        world.ledger.breaks(format!("`{path}` gets {input}: {damage}"));
    }
    match context.state().get(CARRIED) {
        Ok(seen) if seen.iter().flatten().all(Carried::is_whole) => {}
        Ok(seen) => world.ledger.breaks(format!("`{path}` sees {seen:?} in the state")),
        Err(fault) => world.ledger.breaks(format!("`{path}` cannot read the state: {fault}")),
    }
}

/// The number of an input, which must be intact.
fn whole(world: &World, path: &str, carried: &Carried) -> u64 {
    if !carried.is_whole() {
        world.ledger.breaks(format!("`{path}` is given {carried:?}, and not {:?}", Carried::of(carried.number)));
    }
    carried.number
}

/// Makes one request of a node.
async fn does(world: &World, path: &str, context: &Context, at: usize, doing: Doing) -> u64 {
    let scenario = world.ledger.scenario();
    match doing {
        Doing::Step { fails } => {
            let step = format!("{path}/step:{at}");
            let body = || async {
                let failed = world.ledger.begin_step(&step, path);
                tokio::time::sleep(Duration::from_millis(3)).await;
                match failed < fails {
                    true => Err("on purpose".to_owned()),
                    false => Ok(Carried::of(behaviour::step_gives(scenario, &step))),
                }
            };
            // It does not know its attempt and uses the records, which may be behind.
            let retries =
                RetryPolicy::with_max_attempts(fails + 10).initial_delay(Duration::from_millis(10)).jitter(0.0);
            let gave = context.step("step", body).key(at).retry(retries).await;
            gave.map_or(0, |gave| whole(world, &step, &gave))
        }
        Doing::Child { fails } => {
            let child = Child { world: world.clone(), of: path.to_owned(), fails };
            let retries =
                RetryPolicy::with_max_attempts(fails + 1).initial_delay(Duration::from_millis(10)).jitter(0.0);
            let gave = context.call_as("child", child, Carried::of(at as u64)).key(at).retry(retries).await;
            gave.map_or(0, |gave| whole(world, &format!("{path}/child:{at}"), &gave))
        }
        Doing::Job { which } => {
            let input = behaviour::job_gets(scenario, &format!("{path}/job:{at}"));
            let gave = match which {
                0 => context.call_as("job", Job::<0>, input).key(at).await,
                1 => context.call_as("job", Job::<1>, input).key(at).await,
                _ => unreachable!("there are two jobs"),
            };
            if let Some(damage) = gave.as_ref().ok().and_then(load::damage) {
                world.ledger.breaks(format!("`{path}` is given by its job {at}: {damage}"));
            }
            behaviour::job_gives(gave.ok().as_ref())
        }
        Doing::Sleep { millis } => {
            context.sleep(Duration::from_millis(millis)).key(at).await;
            0
        }
        Doing::Ask => ask(world, context, "question", at).await,
        Doing::Race { millis } => {
            let child = Child { world: world.clone(), of: path.to_owned(), fails: 0 };
            let question = ask(world, context, "raced", at).map(|_| "question").boxed();
            let timer = context.sleep(Duration::from_millis(millis)).key(format!("race{at}")).map(|()| "timer").boxed();
            let child = context.call_as("racer", child, Carried::of(at as u64)).key(at).map(|_| "child").boxed();
            // As a `select!`, which polls them in another order each time, but by the scenario.
            let mut racers = [question, timer, child];
            racers.rotate_left(behaviour::turns(scenario, path, at, world.ledger.process()));
            let first = select_all(racers).await.0;
            world.ledger.decides(path, at, first);
            0
        }
        Doing::Remind { millis } => {
            // Longer and longer: an answer takes some commits.
            for round in 0.. {
                let question = ask(world, context, "reminder", at);
                let limit = Duration::from_millis(millis << round);
                if let Ok(answer) = tokio::time::timeout(limit, question).await {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            unreachable!("somebody answers")
        }
        Doing::Spawn { tasks, asks } => {
            let spawned: Vec<_> =
                (0..tasks).map(|task| spawn(world, path, context, &behaviour::of_task(at, task))).collect();
            let question = async {
                match asks {
                    true => Some(ask(world, context, "beside", at).await),
                    false => None,
                }
            };
            // It reads the results of its tasks once it has its own answer: until then only that answer wakes it.
            let answer = question.await;
            let mut sum = 0;
            for task in spawned {
                sum = behaviour::and_then(sum, task.await.unwrap_or(0));
            }
            answer.map_or(sum, |answer| behaviour::and_then(sum, answer))
        }
        Doing::Wait => context.wait(signal(&behaviour::own_signal(path, at))).await,
        Doing::Take { count } => {
            for _ in 0..count {
                takes(world, path, context.wait(signal(behaviour::SHARED_SIGNAL)).await);
            }
            0
        }
        Doing::Contest { millis } => {
            let wait = context.wait(signal(behaviour::SHARED_SIGNAL));
            let wait = wait.map(|number| takes(world, path, number)).map(|()| "signal").boxed();
            let timer = context.sleep(Duration::from_millis(millis)).key(format!("contest{at}"));
            let mut contestants = [wait, timer.map(|()| "timer").boxed()];
            contestants.rotate_left(behaviour::turns(scenario, path, at, world.ledger.process()) % 2);
            let first = select_all(contestants).await.0;
            world.ledger.decides(path, at, first);
            0
        }
        Doing::Say => {
            context.message("on the way");
            context.progress(at);
            0
        }
    }
}

/// A node takes a signal that many wait for: their payloads are not 0.
fn takes(world: &World, path: &str, number: u64) {
    if number == 0 {
        world.ledger.breaks(format!("`{path}` gets a signal without its payload"));
    }
}

/// The signal of this name.
fn signal(name: &str) -> Signal<u64> {
    thread_local! {
        static NAMES: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    }
    let name = NAMES.with_borrow_mut(|names| {
        let known = names.get(name).copied();
        known.unwrap_or_else(|| {
            let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(name);
            name
        })
    });
    Signal::new(name)
}

/// An answer by another name: its schema is another.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Amount(u64);

/// Asks as the version of the program does that this process has: with its text and its type.
async fn ask(world: &World, context: &Context, name: &str, key: impl ToString) -> u64 {
    let version = behaviour::version(world.ledger.scenario(), world.ledger.process());
    let prompt = format!("How much, in version {}?", version / 2);
    if version.is_multiple_of(2) {
        context.ask::<u64>(name, prompt).key(key).await
    } else {
        context.ask::<Amount>(name, prompt).key(key).await.0
    }
}

/// A task of a node that asks something.
fn spawn(world: &World, path: &str, context: &Context, task: &str) -> JoinHandle<u64> {
    let takes = behaviour::task_takes(world.ledger.scenario(), path, task, world.ledger.process());
    let (world, context, key) = (world.clone(), context.clone(), task.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(takes)).await;
        ask(&world, &context, "task", key).await
    })
}

/// A child with a step of its own.
struct Child {
    world: World,
    of: String,
    fails: u32,
}

impl Node for Child {
    type Input = Carried;
    type Output = Carried;
    type Error = String;

    async fn run(&self, input: Carried, context: &Context) -> Result<Carried, String> {
        let path = context.path();
        whole(&self.world, &path, &input);
        self.world.ledger.begin_step(&path, &self.of);
        if context.attempt() <= self.fails {
            return Err("on purpose".to_owned());
        }
        let (step, scenario) = (format!("{path}/step"), self.world.ledger.scenario());
        let body = || async {
            self.world.ledger.begin_step(&step, &self.of);
            Ok::<Carried, String>(Carried::of(behaviour::step_gives(scenario, &step)))
        };
        let gave = context.step("step", body).await.map_err(|error| error.to_string())?;
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(Carried::of(whole(&self.world, &step, &gave).wrapping_mul(3) >> 2))
    }
}
