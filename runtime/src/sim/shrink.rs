//! Makes a scenario smaller while it still breaks something.

use graphweft_judge::{notation, shrink};

use super::scenario::{Again, Answers, Doing, EarlyFork, Flow, How, Kept, Scenario, Special};

/// How many scenarios are played at most.
const PATIENCE: usize = 1000;

/// A scenario from which little can be taken away.
pub(super) fn shrink(mut scenario: Scenario, breaks: impl Fn(&Scenario) -> bool) -> Scenario {
    let mut left = PATIENCE;
    loop {
        let smaller = smaller(&scenario).into_iter().find(|smaller| {
            left = left.saturating_sub(1);
            left > 0 && smaller.can_run() && breaks(smaller)
        });
        match smaller {
            Some(smaller) => scenario = smaller,
            None => return scenario,
        }
    }
}

fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut changed = scenario.clone();
        change(&mut changed);
        if changed != *scenario {
            all.push(changed);
        }
    };
    for at in 0..scenario.faults.len() {
        with(&|to| _ = to.faults.remove(at));
        with(&|to| to.faults[at].at /= 2);
        with(&|to| to.faults[at].at = to.faults[at].at.saturating_sub(1));
        with(&|to| to.faults[at].carried_out = false);
        if let How::TakenOver { after, back } = scenario.faults[at].how {
            with(&|to| to.faults[at].how = How::TakenOver { after: 0, back });
            with(&|to| to.faults[at].how = How::TakenOver { after: after / 2, back });
            with(&|to| to.faults[at].how = How::TakenOver { after, back: false });
        }
    }
    with(&|to| to.store = Kept::InMemory);
    with(&|to| to.cancel_at = None);
    with(&|to| to.time_limit = None);
    with(&|to| to.unloads = false);
    with(&|to| to.starts_again = false);
    with(&|to| to.retries = false);
    with(&|to| to.requests_retry = false);
    for at in 0..scenario.again.len() {
        with(&|to| _ = to.again.remove(at));
        with(&|to| match &mut to.again[at] {
            Again::FromNode(which) | Again::Rerun(which) => *which /= 2,
        });
        with(&|to| match &mut to.again[at] {
            Again::FromNode(which) | Again::Rerun(which) => *which = which.saturating_sub(1),
        });
    }
    with(&|to| to.early = None);
    with(&|to| to.early = to.early.map(|early| EarlyFork { at: early.at / 2, ..early }));
    with(&|to| to.early = to.early.map(|early| EarlyFork { before: None, ..early }));
    with(&|to| to.early = to.early.map(|early| EarlyFork { requested: false, ..early }));
    for at in 0..scenario.forks.len() {
        with(&|to| _ = to.forks.remove(at));
        with(&|to| (to.forks[at].requested, to.forks[at].chain) = (false, 0));
        with(&|to| to.forks[at].chain = to.forks[at].chain.saturating_sub(1));
        with(&|to| to.forks[at].before = None);
        with(&|to| to.forks[at].before = to.forks[at].before.map(|before| before / 2));
        with(&|to| to.forks[at].before = to.forks[at].before.map(|before| before.saturating_sub(1)));
    }
    with(&|to| to.commit_takes = 0);
    with(&|to| to.max_concurrency = 0);
    with(&|to| to.answers = Answers::AtOnce);
    for flow in smaller_flows(&scenario.flow) {
        with(&|to| to.flow = flow.clone());
    }
    for (at, job) in scenario.jobs.iter().enumerate() {
        with(&|to| _ = to.jobs.remove(at));
        for flow in smaller_flows(job) {
            with(&|to| to.jobs[at] = flow.clone());
        }
    }
    for chance in [0, 1, 2, 3] {
        with(&|to| to.chance = to.chance.min(chance));
    }
    all
}

fn smaller_flows(flow: &Flow) -> Vec<Flow> {
    let mut all = Vec::new();
    for graph in shrink::smaller(&notation::read(&flow.graph)) {
        let mut smaller = flow.clone();
        smaller.graph = notation::write(&graph);
        let graph = notation::read(&smaller.graph);
        smaller.nodes.retain(|name, special| {
            let Some(node) = graph.nodes.iter().find(|node| node.id == *name) else { return false };
            let choices = node.choices.len();
            special.err = special.err.filter(|err| *err < choices && choices > 1);
            special.inside.is_none() || choices == 1 || special.err == Some(1)
        });
        all.push(smaller);
    }
    for (name, special) in &flow.nodes {
        for special in smaller_specials(special) {
            let mut smaller = flow.clone();
            if special == Special::default() {
                smaller.nodes.remove(name);
            } else {
                smaller.nodes.insert(name.clone(), special);
            }
            all.push(smaller);
        }
    }
    all
}

fn smaller_specials(special: &Special) -> Vec<Special> {
    let mut all = vec![Special::default()];
    let mut with = |change: &dyn Fn(&mut Special)| {
        let mut changed = special.clone();
        change(&mut changed);
        if changed != *special {
            all.push(changed);
        }
    };
    with(&|to| to.cleans_up = false);
    with(&|to| to.starts_over = false);
    with(&|to| to.sets = false);
    with(&|to| to.at_most_once = false);
    with(&|to| to.max_parallel = None);
    with(&|to| to.limit = None);
    with(&|to| to.bound = None);
    with(&|to| to.bound = to.bound.map(|(arm, at_most)| (arm, at_most - u32::from(at_most > 1))));
    with(&|to| to.limit = to.limit.map(|limit| limit / 2));
    with(&|to| (to.attempts, to.fails) = (0, 0));
    with(&|to| to.attempts = to.attempts.saturating_sub(1));
    with(&|to| to.fails = to.fails.saturating_sub(1));
    with(&|to| to.failing = Default::default());
    with(&|to| to.wants = to.wants.saturating_sub(1));
    for at in 0..special.does.len() {
        with(&|to| _ = to.does.remove(at));
        if let Doing::Job { .. } = special.does[at] {
            with(&|to| to.does[at] = Doing::Job { which: 0 });
        }
    }
    for flow in special.inside.iter().flat_map(|inside| smaller_flows(inside.flow())) {
        with(&|to| {
            if let Some(inside) = &mut to.inside {
                *inside.flow_mut() = flow.clone();
            }
        });
    }
    all
}
