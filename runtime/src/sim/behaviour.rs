//! The behaviour of nodes, a function of path and attempt alone: so a disturbed run ends like an undisturbed one.

use graphweft_judge::random_graphs::Random;
use serde_json::{Value, json};

use super::load::{self, Carried};
use super::scenario::{Doing, Proven, Scenario, Special};
use crate::state_write::{StateOp, StateWrite};

/// The keys of the run's state: three that merge, and one that is replaced.
pub(super) const TOTAL: &str = "total";
pub(super) const SEEN: &str = "seen";
pub(super) const LAST: &str = "last";
pub(super) const CARRIED: &str = "carried";

/// The labels of choices, by number.
const LABELS: [&str; 10] = ["l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9"];

/// The turn from which on a loop takes the way to its end.
const FREE_TURNS: u64 = 3;

/// More turns than a loop of a scenario has: late failures depend on time, and add a few turns.
pub(super) const TURNS: u64 = 12;

/// FNV-1a (Fowler, Noll and Vo).
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The random numbers for a path.
pub(super) fn drawn(chance: u64, path: &str, what: &str) -> Random {
    Random::new(chance ^ hash(path).rotate_left(17) ^ hash(what))
}

/// The weight of a value. A text is an error, and which of several came first depends on time.
pub(super) fn weight(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Number(number) => number.as_u64().unwrap_or(2),
        Value::String(_) => 3,
        Value::Array(all) => all.iter().fold(5, |sum: u64, one| sum.wrapping_mul(31).wrapping_add(weight(one))),
        Value::Object(carried) if load::number(carried).is_some() => load::number(carried).unwrap_or_default(),
        Value::Object(labelled) => labelled.values().map(weight).fold(7, u64::wrapping_add),
        Value::Bool(_) => 11,
    }
}

/// The items that `[..]` makes of a value.
pub(super) fn items(value: &Value) -> Vec<Value> {
    let seed = weight(value);
    (0..seed % 5).map(|item| Carried::recorded(seed.wrapping_mul(37).wrapping_add(item) >> 8)).collect()
}

/// The choice of a routed START.
pub(super) fn start_by(value: &Value, choices: usize) -> usize {
    (weight(value) >> 3) as usize % choices
}

/// The labels of a node's choices; none if it has only one.
pub(super) fn labels(choices: usize, err: Option<usize>) -> Vec<String> {
    if choices == 1 {
        return Vec::new();
    }
    (0..choices).map(|at| label(at, err).to_owned()).collect()
}

pub(super) fn label(choice: usize, err: Option<usize>) -> &'static str {
    if err == Some(choice) { "err" } else { LABELS[choice] }
}

/// The output of a node, from its input and the results of its requests.
pub(super) fn gives(path: &str, input: &Value, of_doings: u64) -> u64 {
    // Numbers stay exact in JSON wherever it goes.
    (hash(path) ^ weight(input).rotate_left(9) ^ of_doings) >> 12
}

/// The result of all requests of a node; `of_job` gives that of each job by its path.
pub(super) fn of_doings(
    scenario: &Scenario,
    path: &str,
    does: &[Doing],
    mut of_job: impl FnMut(&str, usize) -> u64,
) -> u64 {
    let of = |(at, doing): (usize, &Doing)| match doing {
        Doing::Job { which } => of_job(&format!("{path}/job:{at}"), *which),
        doing => of_doing(scenario, path, at, *doing),
    };
    does.iter().enumerate().map(of).fold(0, and_then)
}

/// Combines the results of two requests in order.
pub(super) fn and_then(before: u64, gave: u64) -> u64 {
    before.rotate_left(5) ^ gave
}

/// The result of one request of a node.
fn of_doing(scenario: &Scenario, path: &str, at: usize, doing: Doing) -> u64 {
    match doing {
        Doing::Step { .. } => step_gives(scenario, &format!("{path}/step:{at}")),
        Doing::Child { .. } => child_gives(scenario, &format!("{path}/child:{at}")),
        Doing::Ask => answer(&format!("{path}/question:{at}")),
        Doing::Remind { .. } => answer(&format!("{path}/reminder:{at}")),
        Doing::Spawn { tasks, asks } => {
            let of_tasks = (0..tasks).map(|task| answer(&format!("{path}/task:{}", of_task(at, task))));
            let of_node = asks.then(|| answer(&format!("{path}/beside:{at}")));
            of_tasks.chain(of_node).fold(0, and_then)
        }
        Doing::Wait => answer(&own_signal(path, at)),
        Doing::Take { .. } | Doing::Contest { .. } => 0,
        Doing::Sleep { .. } | Doing::Race { .. } | Doing::Say | Doing::Job { .. } => 0,
    }
}

/// The key that distinguishes a task of a node from others.
pub(super) fn of_task(at: usize, task: u64) -> String {
    format!("{at}.{task}")
}

/// After how many milliseconds a task of a node asks.
pub(super) fn task_takes(scenario: &Scenario, path: &str, of_task: &str, process: u32) -> u64 {
    drawn(scenario.chance, path, &format!("task {of_task} {process}")).below(12) as u64
}

pub(super) fn step_gives(scenario: &Scenario, path: &str) -> u64 {
    drawn(scenario.chance, path, "gives").bits() >> 12
}

/// Which version of the program a process has, of four.
pub(super) fn version(scenario: &Scenario, process: u32) -> usize {
    drawn(scenario.chance, "", &format!("version {process}")).below(4)
}

/// The request of several at once with which a process begins.
pub(super) fn turns(scenario: &Scenario, path: &str, at: usize, process: u32) -> usize {
    drawn(scenario.chance, path, &format!("turns {at} {process}")).below(3)
}

/// The input of a job.
pub(super) fn job_gets(scenario: &Scenario, path: &str) -> Value {
    Carried::recorded(step_gives(scenario, path))
}

/// The input of the run.
pub(super) fn run_gets(scenario: &Scenario) -> Value {
    Carried::recorded(scenario.chance >> 12)
}

/// The weight of a job for the node that runs it, from its output, or of its failure.
pub(super) fn job_gives(output: Option<&Value>) -> u64 {
    output.map_or(1, |output| weight(output) >> 12)
}

fn child_gives(scenario: &Scenario, path: &str) -> u64 {
    step_gives(scenario, &format!("{path}/step")).wrapping_mul(3) >> 2
}

/// The answer to a question.
pub(super) fn answer(question: &str) -> u64 {
    hash(question) >> 12
}

/// The name of a signal that only one request waits for. The answer to it is its payload.
pub(super) fn own_signal(path: &str, at: usize) -> String {
    format!("{path}/{at}")
}

/// The name of the signal that many requests wait for.
pub(super) const SHARED_SIGNAL: &str = "shared";

/// Whether a signal is sent before its node waits for it, and whether one of another type comes first.
pub(super) fn is_sent_early(scenario: &Scenario, signal: &str) -> bool {
    drawn(scenario.chance, signal, "early").in_percent(40)
}

pub(super) fn comes_behind_another_type(scenario: &Scenario, signal: &str) -> bool {
    drawn(scenario.chance, signal, "another type").in_percent(30)
}

/// The writes of a node to the run's state, which it makes first.
pub(super) fn writes(special: &Special, path: &str) -> Vec<StateWrite> {
    let write = |key: &str, op| StateWrite { key: key.to_owned(), op };
    let mut writes =
        vec![write(TOTAL, StateOp::Add(adds(path).into())), write(SEEN, StateOp::Append(vec![json!(path)]))];
    if brings(path) {
        writes.push(write(CARRIED, StateOp::Append(vec![Carried::recorded(adds(path))])));
    }
    if special.sets {
        writes.push(write(LAST, StateOp::Set(json!(path))));
    }
    writes
}

/// The number that a node adds to the total.
pub(super) fn adds(path: &str) -> u64 {
    collects(path) >> 20
}

/// Whether a node writes its number with its load into the state: only some do, since each reads all of it.
pub(super) fn brings(path: &str) -> bool {
    hash(path).is_multiple_of(4)
}

/// The output of a collecting node, which does not depend on its arrivals.
pub(super) fn collects(path: &str) -> u64 {
    hash(path) >> 12
}

/// The choices of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routing {
    pub(super) choices: usize,
    pub(super) err: Option<usize>,
    /// The one that leads to an end.
    stop: usize,
}

impl Routing {
    pub(super) fn of(proven: &Proven<'_>, node: usize) -> Routing {
        let data = &proven.graph.nodes[node];
        Routing { choices: data.choices.len(), err: proven.flow.special(&data.id).err, stop: proven.stops[node] }
    }

    /// Whether its choice is random.
    pub(super) fn is_free(self, path: &str) -> bool {
        self.free().len() > 1 && !is_late(path)
    }

    /// The choices that an output may take.
    pub(super) fn free(self) -> Vec<usize> {
        (0..self.choices).filter(|choice| Some(*choice) != self.err).collect()
    }

    /// The choice of an output.
    pub(super) fn choose(self, scenario: &Scenario, path: &str) -> usize {
        if is_late(path) {
            return self.stop;
        }
        let free = self.free();
        match scenario.routes.get(path) {
            Some(choice) => *choice,
            None => free[drawn(scenario.chance, path, "route").below(free.len())],
        }
    }
}

/// Whether the loops around a path have had their free turns. Then nothing fails any more, and each node takes the way
/// to an end.
fn is_late(path: &str) -> bool {
    latest_turn(path) >= FREE_TURNS
}

/// The highest of the turns of the loops around a path.
pub(super) fn latest_turn(path: &str) -> u64 {
    let turns = path.split('/').flat_map(|name| name.split('#').skip(1));
    let turns = turns.filter_map(|turns| turns.split(['[', '/']).next());
    turns.flat_map(|turns| turns.split('.')).filter_map(|turn| turn.parse().ok()).max().unwrap_or(1)
}

/// How many attempts at a path fail.
pub(super) fn fails(special: &Special, path: &str) -> u32 {
    if is_late(path) { 0 } else { special.fails }
}

/// How many arrivals a collecting node wants.
pub(super) fn wants(special: &Special, path: &str) -> u64 {
    if is_late(path) { 1 } else { special.wants.max(1) }
}

/// Whether people answer a question at a process from which the run was taken over.
pub(super) fn is_answered_at(scenario: &Scenario, question: &str, process: u32) -> bool {
    drawn(scenario.chance, question, &format!("answered at {process}")).in_percent(30)
}

/// How long an attempt takes, in milliseconds; often nothing at all, so that much happens at once.
pub(super) fn takes(scenario: &Scenario, path: &str, attempt: u32, begun: u32) -> u64 {
    let mut random = drawn(scenario.chance, path, &format!("takes {attempt} {begun}"));
    match random.below(4) {
        0 => 0,
        1 => 1 + random.below(3) as u64,
        _ => random.below(40) as u64,
    }
}
