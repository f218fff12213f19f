//! Random scenarios.

use graphweft_graph::{END, Graph, START, Way};
use graphweft_judge::notation;
use graphweft_judge::random_graphs::{self, Random};

use super::scenario::{
    Again, Answers, Doing, EarlyFork, Failing, Flow, ForkAt, How, Inside, Kept, Proven, Scenario, Special, StoreFault,
};

/// The scenario of a seed; always the same.
pub(super) fn scenario(seed: u64) -> Scenario {
    let mut random = Random::new(seed);
    let drawing =
        Drawing { most: 12, collects: true, jobs: if random.in_percent(30) { JOBS } else { 0 }, jobs_before: 0 };
    let flow = flow(&mut random, "n", drawing, 2);
    let jobs = (0..drawing.jobs).map(|at| job(&mut random, at)).collect();
    let faults = random.below(4);
    let mut drawn = Scenario {
        chance: random.bits(),
        flow,
        jobs,
        routes: Default::default(),
        max_concurrency: if random.in_percent(60) { 0 } else { 1 + random.below(3) },
        unloads: random.in_percent(25),
        store: if random.in_percent(4) { Kept::OnDisk } else { Kept::InMemory },
        commit_takes: if random.in_percent(70) { 0 } else { 1 + random.below(4) as u64 },
        faults: (0..faults).map(|_| fault(&mut random)).collect(),
        time_limit: None,
        cancel_at: random.in_percent(8).then(|| random.below(150) as u64),
        answers: if random.in_percent(50) { Answers::AtOnce } else { Answers::WhenItWaits },
        starts_again: random.in_percent(30),
        retries: false,
        requests_retry: false,
        again: Vec::new(),
        early: None,
        forks: Vec::new(),
    };
    if random.in_percent(20) {
        replacing(&mut random, &mut drawn.flow, false);
        drawn.jobs.iter_mut().for_each(|job| replacing(&mut random, job, false));
    }
    if random.in_percent(8) {
        drawn.time_limit = Some(1 + random.below(300) as u64);
    }
    if random.in_percent(25) {
        limiting_graphs(&mut random, &mut drawn.flow);
        drawn.jobs.iter_mut().for_each(|job| limiting_graphs(&mut random, job));
    }
    if random.in_percent(15) {
        waiting(&mut random, &mut drawn.flow, 15);
        drawn.jobs.iter_mut().for_each(|job| waiting(&mut random, job, 15));
    }
    drawn
}

/// A scenario in which many nodes wait for signals.
pub(super) fn signalled(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(36));
    let seed = seed ^ 0x51;
    let mut drawn = match random.below(12) {
        0..2 => child_workflows(seed),
        2..4 => retried(seed),
        4 => retried_child_workflows(seed),
        5 => again(seed),
        6 => forked(seed),
        7 => reopened_items(seed),
        8 => limited(seed),
        9..11 => taken_over(seed),
        _ => scenario(seed),
    };
    waiting(&mut random, &mut drawn.flow, 60);
    drawn.jobs.iter_mut().for_each(|job| waiting(&mut random, job, 40));
    drawn
}

/// Has some of the nodes, in so many of a hundred cases, wait for signals.
fn waiting(random: &mut Random, flow: &mut Flow, percent: usize) {
    for node in notation::read(&flow.graph).nodes.iter().skip(START + 2) {
        let special = flow.nodes.entry(node.id.clone()).or_default();
        if let Some(inside) = &mut special.inside {
            waiting(random, inside.flow_mut(), percent);
        } else if special.failing != Failing::Timeout && !collects(&node.ways) && random.in_percent(percent) {
            let doing = match random.below(4) {
                0..2 => Doing::Wait,
                2 => Doing::Take { count: 1 + random.below(3) as u64 },
                _ => Doing::Contest { millis: random.below(60) as u64 },
            };
            let at = random.below(special.does.len() + 1);
            special.does.insert(at, doing);
        }
    }
    flow.nodes.retain(|_, special| *special != Special::default());
}

/// A scenario in which a node runs child workflows, and little else happens.
pub(super) fn child_workflows(seed: u64) -> Scenario {
    let mut random = Random::new(!seed);
    let jobs = (0..JOBS).map(|at| job(&mut random, at)).collect();
    let does = vec![Doing::Job { which: 0 }, doing(&mut random), Doing::Job { which: 1 }];
    let nodes = [("n2".to_owned(), Special { does, ..Special::default() })].into();
    let flow = Flow { graph: "START => n2; n2 => END".to_owned(), nodes, ..Flow::default() };
    Scenario { flow, jobs, cancel_at: None, max_concurrency: 0, ..scenario(seed) }
}

/// A scenario in which some nodes have no attempt that works before the run is retried.
pub(super) fn retried(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(32));
    let jobs = if random.in_percent(30) { JOBS } else { 0 };
    let mut flow = flow(&mut random, "n", Drawing { most: 12, collects: true, jobs, jobs_before: 0 }, 2);
    failing(&mut random, &mut flow);
    let cancel_at = random.in_percent(30).then(|| random.below(150) as u64);
    let mut jobs: Vec<Flow> = (0..jobs).map(|at| job(&mut random, at)).collect();
    for job in &mut jobs {
        failing(&mut random, job);
        soothe(job);
    }
    Scenario { flow, jobs, cancel_at, retries: true, ..scenario(seed) }
}

/// A scenario in which a node runs child workflows, and the run is retried if it fails or is cancelled.
pub(super) fn retried_child_workflows(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(40));
    let mut drawn = child_workflows(seed);
    for job in &mut drawn.jobs {
        failing(&mut random, job);
        soothe(job);
    }
    drawn.flow.graph = "START => n2; n2 => n3; n3 => END".to_owned();
    if random.in_percent(50) {
        drawn.flow.nodes.insert("n3".to_owned(), Special { fails: 1, ..Special::default() });
    }
    let cancel_at = random.in_percent(60).then(|| random.below(150) as u64);
    let again = if random.in_percent(40) { vec![runs_again(&mut random)] } else { Vec::new() };
    let forks = if random.in_percent(30) { vec![fork(&mut random)] } else { Vec::new() };
    Scenario { cancel_at, retries: true, again, forks, ..drawn }
}

/// A scenario whose run is retried with more than what has failed, if it fails or is cancelled.
pub(super) fn again(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(24));
    let count = 1 + random.below(2);
    let again = (0..count).map(|_| runs_again(&mut random)).collect();
    Scenario { again, ..retried(seed ^ 0xa0) }
}

/// A scenario whose run fails behind the items of a `[..]`, and is retried with much of what is in them. Most nodes have
/// limits on how many items are in them.
pub(super) fn reopened_items(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(48));
    let mut inside = flow(&mut random, "n2i", Drawing { most: 6, collects: true, jobs: 0, jobs_before: 0 }, 2);
    limiting(&mut random, &mut inside);
    let max_parallel = random.in_percent(60).then(|| 1 + random.below(3) as u32);
    let each = Special { inside: Some(Box::new(Inside::Each(inside))), max_parallel, ..Special::default() };
    let fails = Special { fails: 1, ..Special::default() };
    let nodes = [("n2".to_owned(), each), ("n3".to_owned(), fails)].into();
    let flow = Flow { graph: "START => n2; n2 => n3; n3 => END".to_owned(), nodes, ..Flow::default() };
    let cancel_at = random.in_percent(30).then(|| random.below(200) as u64);
    let again = (0..2 + random.below(7)).map(|_| runs_again(&mut random)).collect();
    Scenario { flow, jobs: Vec::new(), cancel_at, retries: true, again, ..scenario(seed) }
}

/// Graphs few nodes of which may be under way at once.
fn limiting_graphs(random: &mut Random, flow: &mut Flow) {
    flow.max_parallel = random.in_percent(60).then(|| 1 + random.below(2) as u32);
    for special in flow.nodes.values_mut() {
        if let Some(inside) = &mut special.inside {
            limiting_graphs(random, inside.flow_mut());
        }
    }
}

fn limiting(random: &mut Random, flow: &mut Flow) {
    for node in notation::read(&flow.graph).nodes.iter().skip(START + 2) {
        let special = flow.nodes.entry(node.id.clone()).or_default();
        special.max_parallel = random.in_percent(50).then(|| 1 + random.below(2) as u32);
        if let Some(inside) = &mut special.inside {
            limiting(random, inside.flow_mut());
        }
    }
    flow.nodes.retain(|_, special| *special != Special::default());
}

/// A scenario whose run is retried by request of a process that does not know its workflow.
pub(super) fn requested(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(28));
    let seed = seed ^ 0x44;
    let drawn = match random.below(10) {
        0..3 => retried(seed),
        3..5 => again(seed),
        5 => reopened_items(seed),
        6 => retried_child_workflows(seed),
        7 => signalled(seed),
        8 => forked(seed),
        _ => Scenario { faults: taken_over(seed).faults, ..retried(seed) },
    };
    Scenario { retries: true, requests_retry: true, ..drawn }
}

fn runs_again(random: &mut Random) -> Again {
    let which = random.below(1000) as u64;
    if random.in_percent(50) { Again::FromNode(which) } else { Again::Rerun(which) }
}

/// A scenario whose run is forked when it is over, and maybe its fork as well.
pub(super) fn forked(seed: u64) -> Scenario {
    let drawn = retried(seed ^ 0xf0);
    let mut random = Random::new(seed.rotate_left(16));
    let forks = (0..1 + random.below(4) / 3).map(|_| fork(&mut random)).collect();
    let retries = random.in_percent(40);
    let again = if random.in_percent(30) { vec![runs_again(&mut random)] } else { Vec::new() };
    Scenario { retries, again, forks, ..drawn }
}

fn fork(random: &mut Random) -> ForkAt {
    ForkAt { before: random.in_percent(60).then(|| random.below(1000) as u64), requested: false, chain: 0 }
}

fn failing(random: &mut Random, flow: &mut Flow) {
    for node in notation::read(&flow.graph).nodes.iter().skip(START + 2) {
        let special = flow.nodes.entry(node.id.clone()).or_default();
        match &mut special.inside {
            Some(inside) => failing(random, inside.flow_mut()),
            None if random.in_percent(25) => special.fails = special.max_attempts(),
            None => {}
        }
    }
    soothe_inside(flow);
    flow.nodes.retain(|_, special| *special != Special::default());
}

/// A scenario in which a run is forked that is not over.
pub(super) fn forked_early(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(56));
    let mut drawn = match random.below(10) {
        0..2 => child_workflows(seed ^ 0x22),
        2..5 => retried(seed ^ 0x22),
        5 => limited(seed ^ 0x22),
        6..8 => taken_over(seed ^ 0x22),
        _ => scenario(seed ^ 0x22),
    };
    let before = random.in_percent(30).then(|| random.below(1000) as u64);
    let mut at = random.below(100) as u64;
    // Few wait for long.
    if random.in_percent(30) {
        let sleeps = Special { does: vec![Doing::Sleep { millis: 300 }], ..Special::default() };
        let graph = notation::read(&drawn.flow.graph);
        let mut nodes = graph.nodes.iter().skip(START + 2);
        if let Some(node) = nodes.find(|node| !drawn.flow.nodes.contains_key(&node.id) && !collects(&node.ways)) {
            drawn.flow.nodes.insert(node.id.clone(), sleeps);
        }
        at += random.below(250) as u64;
    }
    // Its time would begin anew with the fork, and what has failed for good before that would not.
    Scenario { early: Some(EarlyFork { at, before, requested: false }), time_limit: None, ..drawn }
}

/// A scenario whose run is forked, over or not, by request of a process that does not know its workflow.
pub(super) fn requested_forks(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(12));
    let seed = seed ^ 0x66;
    let mut drawn = match random.below(12) {
        0..3 => forked(seed),
        3..6 => forked_early(seed),
        6..8 => Scenario { faults: taken_over(seed).faults, ..forked(seed) },
        8 => Scenario { faults: taken_over(seed).faults, ..forked_early(seed) },
        9 => signalled(seed),
        10 => retried_child_workflows(seed),
        _ => requested(seed),
    };
    if drawn.early.is_none() && drawn.forks.is_empty() {
        drawn.forks.push(fork(&mut random));
    }
    if !drawn.forks.is_empty() && random.in_percent(40) {
        drawn.forks.push(fork(&mut random));
    }
    for fork in &mut drawn.forks {
        fork.requested = random.in_percent(85);
        fork.chain = if fork.requested && random.in_percent(35) { 1 + random.below(3) as u64 } else { 0 };
    }
    drawn.early.iter_mut().for_each(|early| early.requested = true);
    drawn
}

/// A scenario in which some nodes start over.
pub(super) fn started_over(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(20));
    let mut drawn = match random.below(10) {
        0 => child_workflows(seed ^ 0x33),
        1..3 => retried(seed ^ 0x33),
        3 => limited(seed ^ 0x33),
        4..6 => taken_over(seed ^ 0x33),
        6..8 => signalled(seed ^ 0x33),
        _ => scenario(seed ^ 0x33),
    };
    starting_over(&mut random, &mut drawn.flow);
    // The run that is forked is the one that has started over, and so begins with that again.
    Scenario { early: None, forks: Vec::new(), ..drawn }
}

fn starting_over(random: &mut Random, flow: &mut Flow) {
    for node in notation::read(&flow.graph).nodes.iter().skip(START + 2) {
        let special = flow.nodes.entry(node.id.clone()).or_default();
        match &mut special.inside {
            Some(inside) => starting_over(random, inside.flow_mut()),
            None => special.starts_over = random.in_percent(35),
        }
    }
    flow.nodes.retain(|_, special| *special != Special::default());
}

/// A scenario in which graphs have time limits.
pub(super) fn limited(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(48));
    let mut drawn = match random.below(10) {
        0..2 => child_workflows(seed ^ 0x11),
        2..5 => retried(seed ^ 0x11),
        5 => forked(seed ^ 0x11),
        _ => scenario(seed ^ 0x11),
    };
    // Most have no graph inside.
    while !drawn.flow.nodes.values().any(|special| special.inside.is_some()) {
        drawn.flow =
            flow(&mut random, "n", Drawing { most: 8, collects: true, jobs: drawn.jobs.len(), jobs_before: 0 }, 2);
    }
    limit(&mut random, &mut drawn.flow, false);
    drawn.jobs.iter_mut().for_each(|job| limit(&mut random, job, false));
    drawn
}

fn has_loops(flow: &Flow) -> bool {
    flow.prove().is_some_and(|proven| !proven.plan.loops.is_empty())
}

/// Limits the time of graphs. Not in loops if the run continues after the timeout, there or further out: it might loop
/// for ever.
fn limit(random: &mut Random, flow: &mut Flow, may_go_round: bool) {
    let loops = has_loops(flow);
    for special in flow.nodes.values_mut() {
        let Some(inside) = &mut special.inside else { continue };
        let may_go_round = may_go_round || (loops && special.err.is_some());
        limit(random, inside.flow_mut(), may_go_round);
        let often = if special.err.is_some() { 90 } else { 60 };
        if random.in_percent(often) && !may_go_round {
            special.limit = Some(1 + random.below(60) as u64);
            special.attempts = if random.in_percent(40) { 2 } else { special.attempts };
        }
    }
}

fn collects(ways: &[Way]) -> bool {
    ways.iter().any(|way| matches!(way, Way::Any(_)))
}

/// Has some of the nodes replace a key of the state. Most of them may be retried when another was faster. Not in loops
/// if the run continues after that, there or further out: another may be faster in every turn.
fn replacing(random: &mut Random, flow: &mut Flow, may_go_round: bool) {
    let loops = has_loops(flow);
    for node in notation::read(&flow.graph).nodes.iter().skip(START + 2) {
        let special = flow.nodes.entry(node.id.clone()).or_default();
        let collects = collects(&node.ways);
        let may_go_round = may_go_round || (loops && special.err.is_some());
        if let Some(inside) = &mut special.inside {
            replacing(random, inside.flow_mut(), may_go_round);
            // The writes in there may come too late as well.
            if inside.flow().sets() && special.attempts == 0 && special.limit.is_none() && random.in_percent(60) {
                special.attempts = 4;
            }
        } else if !collects && random.in_percent(40) && !may_go_round {
            special.sets = true;
            if special.attempts == 0 && special.fails == 0 && random.in_percent(80) {
                special.attempts = 4;
            }
        }
    }
    flow.nodes.retain(|_, special| *special != Special::default());
}

/// A scenario in which processes take the run over from others that live.
pub(super) fn taken_over(seed: u64) -> Scenario {
    let mut random = Random::new(seed.rotate_left(8));
    let drawn = match random.below(10) {
        0 => child_workflows(seed),
        1 => forked(seed),
        2 => again(seed),
        3 => limited(seed),
        4..6 => retried(seed),
        _ => scenario(seed),
    };
    let faults = (0..1 + random.below(4)).map(|_| match random.in_percent(80) {
        true => takeover(&mut random),
        false => fault(&mut random),
    });
    Scenario { faults: faults.collect(), ..drawn }
}

fn takeover(random: &mut Random) -> StoreFault {
    let after = if random.in_percent(50) { 0 } else { random.below(60) as u64 };
    let how = How::TakenOver { after, back: random.in_percent(50) };
    let most = if random.in_percent(60) { 8 } else { 40 };
    StoreFault { at: random.below(most) as u64, carried_out: random.in_percent(50), how }
}

fn fault(random: &mut Random) -> StoreFault {
    let how = match random.below(10) {
        0..7 => How::Dies,
        7 => How::Full,
        8 => How::Io,
        _ => How::Busy,
    };
    StoreFault { at: random.below(30) as u64, carried_out: random.in_percent(50), how }
}

/// How many jobs a scenario has that has any.
const JOBS: usize = 2;

/// The parts of which a graph may be made.
#[derive(Clone, Copy)]
struct Drawing {
    /// At most so many nodes.
    most: usize,
    /// Whether nodes collect.
    collects: bool,
    /// How many jobs there are for its nodes to run.
    jobs: usize,
    /// How many of them, the first ones, it may not run: a job runs only those behind it.
    jobs_before: usize,
}

fn job(random: &mut Random, at: usize) -> Flow {
    let drawing = Drawing { most: 6, collects: true, jobs: JOBS, jobs_before: at + 1 };
    let mut job = flow(random, &format!("j{at}n"), drawing, 1);
    soothe(&mut job);
    job
}

/// Prevents final failures in a graph with a collecting node: whether the graph completes before a failure would depend
/// on time, and with it the output.
fn soothe(job: &mut Flow) {
    if has_collectors(job) {
        end_well(job);
    }
}

/// Does so in graphs after whose failure the graph around continues.
fn soothe_inside(flow: &mut Flow) {
    for special in flow.nodes.values_mut() {
        let err = special.err;
        match &mut special.inside {
            Some(inside) if err.is_some() => soothe(inside.flow_mut()),
            Some(inside) => soothe_inside(inside.flow_mut()),
            None => {}
        }
    }
}

fn has_collectors(flow: &Flow) -> bool {
    let collects_here = notation::read(&flow.graph).nodes.iter().any(|node| collects(&node.ways));
    collects_here || flow.insides().any(|(_, inside)| has_collectors(inside.flow()))
}

fn end_well(flow: &mut Flow) {
    for special in flow.nodes.values_mut() {
        if special.err.is_none() {
            special.fails = special.fails.min(special.max_attempts() - 1);
        }
        special.at_most_once = false;
        if let Some(inside) = &mut special.inside {
            end_well(inside.flow_mut());
        }
    }
}

/// A proven graph, with graphs of so many levels inside.
fn flow(random: &mut Random, prefix: &str, drawing: Drawing, levels: usize) -> Flow {
    let mut flow = Flow { graph: notation::write(&proven(random, prefix, drawing)), ..Flow::default() };
    let drawn = flow.clone();
    let Proven { graph, stops, .. } = drawn.prove().expect("it was proven");
    for (node, data) in graph.nodes.iter().enumerate().filter(|(node, _)| *node > START + 1) {
        let choices = data.choices.len();
        let special = if data.ways.iter().any(|way| matches!(way, Way::Any(_))) {
            collecting(random)
        } else if levels > 0 && random.in_percent(12) && (choices == 1 || (choices == 2 && stops[node] == 0)) {
            inside(random, &data.id, choices, drawing, levels)
        } else {
            leaf(random, choices, drawing)
        };
        if special != Special::default() {
            flow.nodes.insert(data.id.clone(), special);
        }
    }
    bounding(random, &mut flow);
    soothe_inside(&mut flow);
    flow
}

/// Bounds many of the arms that lead round a loop.
fn bounding(random: &mut Random, flow: &mut Flow) {
    let drawn = flow.clone();
    let proven = drawn.prove().expect("it was proven");
    for (node, data) in proven.graph.nodes.iter().enumerate().skip(START + 2) {
        let arms: Vec<usize> = (0..data.choices.len()).filter(|arm| proven.may_be_bounded(node, *arm)).collect();
        if !arms.is_empty() && random.in_percent(60) {
            let bound = (arms[random.below(arms.len())], 1 + random.below(2) as u32);
            flow.nodes.entry(data.id.clone()).or_default().bound = Some(bound);
        }
    }
}

fn proven(random: &mut Random, prefix: &str, drawing: Drawing) -> Graph<String> {
    loop {
        let mut graph = random_graphs::graph(random);
        // END collects nothing, since it has no body, and a collecting node has no other way in: the macro rejects
        // both.
        let collects_amiss = graph.nodes.iter().enumerate().any(|(node, data)| {
            let collects = data.ways.iter().any(|way| matches!(way, Way::Any(_)));
            collects && (!drawing.collects || node == END || data.ways.len() > 1)
        });
        if collects_amiss || graph.nodes.len() > drawing.most || graph.nodes.iter().any(|node| node.choices.len() > 9) {
            continue;
        }
        for (at, node) in graph.nodes.iter_mut().enumerate().skip(2) {
            node.id = format!("{prefix}{at}");
        }
        if graphweft_graph::analyse(&graph).is_ok() {
            return graph;
        }
    }
}

fn collecting(random: &mut Random) -> Special {
    let attempts = if random.in_percent(20) { 2 } else { 0 };
    Special { wants: random.below(3) as u64, attempts, fails: attempts / 2, ..Special::default() }
}

fn inside(random: &mut Random, name: &str, choices: usize, drawing: Drawing, levels: usize) -> Special {
    let drawing = Drawing { most: drawing.most.min(7), ..drawing };
    let flow = flow(random, &format!("{name}i"), drawing, levels - 1);
    let is_each = random.in_percent(50);
    let inside = if is_each { Inside::Each(flow) } else { Inside::Nested(flow) };
    Special {
        inside: Some(Box::new(inside)),
        err: (choices == 2).then_some(1),
        attempts: if random.in_percent(15) { 2 } else { 0 },
        max_parallel: random.in_percent(if is_each { 40 } else { 20 }).then(|| 1 + random.below(3) as u32),
        ..Special::default()
    }
}

fn leaf(random: &mut Random, choices: usize, drawing: Drawing) -> Special {
    let mut special = Special::default();
    match random.below(100) {
        0..18 => {
            special.attempts = 2 + random.below(2) as u32;
            special.fails = 1 + random.below(special.attempts as usize - 1) as u32;
        }
        18..26 if choices > 1 => {
            special.attempts = 1 + random.below(3) as u32;
            special.fails = special.attempts;
            special.err = Some(random.below(choices));
        }
        26..28 => {
            special.attempts = 1 + random.below(2) as u32;
            special.fails = special.attempts;
        }
        28..36 => {
            special.at_most_once = true;
            special.err = (choices > 1 && random.in_percent(70)).then(|| random.below(choices));
        }
        _ => {}
    }
    if special.fails > 0 {
        special.failing = match random.below(5) {
            0..3 => Failing::Error,
            3 => Failing::Panic,
            _ => Failing::Timeout,
        };
    }
    if random.in_percent(20) && special.failing != Failing::Timeout {
        special.does = (0..1 + random.below(3)).map(|_| doing(random)).collect();
        let jobs = drawing.jobs.saturating_sub(drawing.jobs_before);
        if jobs > 0 && random.in_percent(60) {
            special.does.push(Doing::Job { which: drawing.jobs_before + random.below(jobs) });
        }
    }
    special.cleans_up = random.in_percent(12);
    special.max_parallel = random.in_percent(15).then(|| 1 + random.below(2) as u32);
    special
}

fn doing(random: &mut Random) -> Doing {
    match random.below(10) {
        0..2 => Doing::Step { fails: random.below(3) as u32 },
        2 => Doing::Child { fails: random.below(2) as u32 },
        3 => Doing::Sleep { millis: random.below(400) as u64 },
        4..6 => Doing::Ask,
        6 => Doing::Race { millis: random.below(60) as u64 },
        7 => Doing::Remind { millis: 1 + random.below(40) as u64 },
        8 => Doing::Spawn { tasks: 1 + random.below(3) as u64, asks: random.in_percent(60) },
        _ => Doing::Say,
    }
}

#[test]
fn no_node_replaces_a_key_where_the_failure_of_that_leads_round_a_loop() {
    let each = |inside: &str| Inside::Each(Flow { graph: inside.to_owned(), ..Flow::default() });
    let inside = Some(Box::new(each("START => x; x => END")));
    let special = Special { err: Some(1), inside, ..Special::default() };
    let graph = "n2.0 => END; (n2.1) => n2; (START) => n2".to_owned();
    let drawn = Flow { graph, nodes: [("n2".to_owned(), special)].into(), ..Flow::default() };
    for seed in 0..20 {
        let mut flow = drawn.clone();
        replacing(&mut Random::new(seed), &mut flow, false);
        assert_eq!(flow, drawn, "seed {seed}");
    }
}
