//! The description of a simulated run: plain data that can be printed, read back and made smaller.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use graphweft_graph::{Graph, NodeIx, Plan, analyse};
use graphweft_judge::notation;
use serde::{Deserialize, Serialize};

/// Everything that determines a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Scenario {
    /// The seed from which routes, times and values are drawn, by the paths of the nodes.
    pub(super) chance: u64,
    pub(super) flow: Flow,
    /// Workflows that nodes run as children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) jobs: Vec<Flow>,
    /// Routes that are not left to chance: by path, the choice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) routes: BTreeMap<String, usize>,
    /// How many nodes may be under way; 0 is no limit.
    pub(super) max_concurrency: usize,
    /// Whether a run that waits leaves the memory at once.
    pub(super) unloads: bool,
    pub(super) store: Kept,
    /// How long a commit takes, in milliseconds.
    pub(super) commit_takes: u64,
    /// The faults of the store for each process, one after another.
    pub(super) faults: Vec<StoreFault>,
    /// When the run is to be cancelled, in milliseconds.
    pub(super) cancel_at: Option<u64>,
    /// After how many milliseconds the run has taken too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time_limit: Option<u64>,
    pub(super) answers: Answers,
    /// Whether a process that comes after another starts the run again under its id, in place of `recover`.
    pub(super) starts_again: bool,
    /// Whether a run that has failed or was cancelled is retried, once nothing fails any more.
    pub(super) retries: bool,
    /// Whether a process that does not know its workflow asks for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) requests_retry: bool,
    /// The nodes that the retry runs again besides the failed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) again: Vec<Again>,
    /// A fork of the run while that is under way or waits. Nothing fails in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) early: Option<EarlyFork>,
    /// Forks, each of the run before it, once that is over for good. Nothing fails in them any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) forks: Vec<ForkAt>,
}

/// A node or request that a retry runs again: its number among those of the history, modulo how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Again {
    /// A node that has begun, as if it never had.
    FromNode(u64),
    /// A node, a step or a child that is done.
    Rerun(u64),
}

/// Where a run is forked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ForkAt {
    /// Before the record of this number, modulo how many there are, and never before the first; `None` is at its end.
    pub(super) before: Option<u64>,
    /// Whether a process that does not know its workflow asks for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) requested: bool,
    /// How many forks are requested before it, each of the one before, and it of the last of them. They are cancelled.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) chain: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// When and where a run is forked that is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EarlyFork {
    /// When, in milliseconds.
    pub(super) at: u64,
    /// As in [`ForkAt`].
    pub(super) before: Option<u64>,
    /// As in [`ForkAt`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) requested: bool,
}

/// Where the run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kept {
    #[default]
    InMemory,
    OnDisk,
}

/// When people answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answers {
    /// As soon as they see a question, which they look for every few milliseconds.
    #[default]
    AtOnce,
    /// Once the run does nothing but wait.
    WhenItWaits,
}

/// At which of its commits the store fails a process, counted from 0, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoreFault {
    pub(super) at: u64,
    /// Whether the commit is carried out all the same, and only the result is lost.
    pub(super) carried_out: bool,
    pub(super) how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum How {
    /// The process dies with it.
    Dies,
    /// The store returns this error until it is mended, and the process lives on.
    Full,
    Io,
    /// The store returns this error once.
    Busy,
    /// The process is believed to be dead, and another takes its run over. It lives on, and its commit comes first or
    /// second.
    TakenOver {
        /// How many milliseconds no process takes over.
        #[serde(default)]
        after: u64,
        /// Whether that is a process from which a run was taken over before, if there is one.
        #[serde(default)]
        back: bool,
    },
}

/// A graph, and the special properties of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Flow {
    /// In the form of [`notation`].
    pub(super) graph: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) nodes: BTreeMap<String, Special>,
    /// How many of its nodes may be under way at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_parallel: Option<u32>,
}

/// The special properties of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Special {
    /// The graph inside.
    pub(super) inside: Option<Box<Inside>>,
    /// How many attempts it has; 0 is 1.
    pub(super) attempts: u32,
    /// How many of them fail, and how.
    pub(super) fails: u32,
    pub(super) failing: Failing,
    /// The choice that errors and faults take once no attempt is left.
    pub(super) err: Option<usize>,
    pub(super) at_most_once: bool,
    /// For a node with a graph inside: after how many milliseconds its attempt is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<u64>,
    /// For a node of `[..]`, and for the nodes inside.
    pub(super) max_parallel: Option<u32>,
    /// For a collecting node: how many arrivals it collects; 0 is 1.
    pub(super) wants: u64,
    /// An arm that leads round a loop, and how often it may be taken; after that the node takes the way to an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bound: Option<(usize, u32)>,
    /// Its requests, one after another.
    pub(super) does: Vec<Doing>,
    /// Whether it replaces a key of the state that others replace as well, so that it may have to be retried.
    pub(super) sets: bool,
    /// Whether it cleans up, which takes a while, when it is cancelled.
    pub(super) cleans_up: bool,
    /// Whether it starts over, in the place of its output, where the run follows no other one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) starts_over: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Inside {
    Nested(Flow),
    Each(Flow),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Failing {
    #[default]
    Error,
    Panic,
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Doing {
    /// A step, the first attempts at which fail.
    Step {
        fails: u32,
    },
    /// A child that has a step of its own.
    Child {
        fails: u32,
    },
    /// One of the scenario's jobs: a child that is a workflow.
    Job {
        which: usize,
    },
    Sleep {
        millis: u64,
    },
    Ask,
    /// A question, a timer and a child at once: the first of them decides what is asked next.
    Race {
        millis: u64,
    },
    /// A question that it drops and asks again by a timer of its own, which is not recorded.
    Remind {
        millis: u64,
    },
    /// Tasks of its own that ask, each when it gets to it, and maybe a question of the node beside them.
    Spawn {
        tasks: u64,
        asks: bool,
    },
    Say,
    /// Waits for a signal of its own.
    Wait,
    /// Waits so many times for a signal that all nodes wait for.
    Take {
        count: u64,
    },
    /// A wait for that signal and a timer at once: the first of them decides.
    Contest {
        millis: u64,
    },
}

/// A flow with its graph read and proven.
pub(super) struct Proven<'s> {
    pub(super) flow: &'s Flow,
    pub(super) graph: Graph<String>,
    pub(super) plan: Plan,
    /// For each node the choice by which it leads to an end soonest.
    pub(super) stops: Vec<usize>,
}

impl Proven<'_> {
    /// Whether an arm leads round a loop whose turns can be counted, and another one, which takes no error, to an end.
    pub(super) fn may_be_bounded(&self, node: NodeIx, arm: usize) -> bool {
        let data = &self.graph.nodes[node];
        let err = self.flow.special(&data.id).err;
        let counted = (arm < data.choices.len()).then(|| self.plan.turned(&self.graph, node, arm)).flatten();
        let has_one_head = |at: usize| self.plan.loops[at].heads.len() == 1;
        arm != self.stops[node] && err != Some(self.stops[node]) && counted.is_some_and(has_one_head)
    }
}

impl Flow {
    /// `None` where the analysis refuses it.
    pub(super) fn prove(&self) -> Option<Proven<'_>> {
        let graph = notation::read(&self.graph);
        let plan = analyse(&graph).ok()?;
        let stops = stops(&graph);
        Some(Proven { flow: self, graph, plan, stops })
    }

    /// Whether all of it, with the graphs inside, can be run. A node with a graph inside takes its first choice unless it
    /// fails, so that one has to lead to an end.
    pub(super) fn can_run(&self) -> bool {
        let Some(proven) = self.prove() else { return false };
        let is_sound = |node: usize| {
            let special = self.special(&proven.graph.nodes[node].id);
            let leads_to_an_end = special.inside.is_none() || proven.stops[node] == 0;
            leads_to_an_end && special.bound.is_none_or(|(arm, _)| proven.may_be_bounded(node, arm))
        };
        (0..proven.graph.nodes.len()).all(is_sound) && self.insides().all(|(_, inside)| inside.flow().can_run())
    }

    pub(super) fn insides(&self) -> impl Iterator<Item = (&str, &Inside)> {
        self.nodes.iter().filter_map(|(name, node)| Some((name.as_str(), node.inside.as_deref()?)))
    }

    /// Whether a node in it replaces a key of the state.
    pub(super) fn sets(&self) -> bool {
        self.nodes.values().any(|special| special.sets) || self.insides().any(|(_, inside)| inside.flow().sets())
    }

    /// Whether a node in it waits for signals.
    fn waits(&self) -> bool {
        let waits = |doing: &Doing| matches!(doing, Doing::Wait | Doing::Take { .. } | Doing::Contest { .. });
        self.nodes.values().any(|special| special.does.iter().any(waits))
            || self.insides().any(|(_, inside)| inside.flow().waits())
    }

    fn mend(&mut self) {
        for special in self.nodes.values_mut() {
            special.fails = 0;
            if let Some(inside) = &mut special.inside {
                inside.flow_mut().mend();
            }
        }
    }

    /// Whether a graph in it has a time limit.
    fn has_limits(&self) -> bool {
        let is_limited = |node: &Special| node.limit.is_some();
        self.nodes.values().any(is_limited) || self.insides().any(|(_, inside)| inside.flow().has_limits())
    }

    /// Whether its nodes run no other jobs than these.
    fn runs_jobs_of(&self, jobs: &Range<usize>) -> bool {
        let is_there = |doing: &Doing| !matches!(doing, Doing::Job { which } if !jobs.contains(which));
        self.nodes.values().all(|node| node.does.iter().all(is_there))
            && self.insides().all(|(_, inside)| inside.flow().runs_jobs_of(jobs))
    }

    pub(super) fn special(&self, node: &str) -> Special {
        self.nodes.get(node).cloned().unwrap_or_default()
    }

    /// The special properties of the node of this name, anywhere in the flow.
    pub(super) fn find(&self, node: &str) -> Option<&Special> {
        let here = self.nodes.get(node);
        here.or_else(|| self.insides().find_map(|(_, inside)| inside.flow().find(node)))
    }
}

impl Scenario {
    /// Whether all of it can be run.
    pub(super) fn can_run(&self) -> bool {
        let jobs = self.jobs.len();
        // A job runs only those behind it.
        let of_job = |(at, job): (usize, &Flow)| job.can_run() && job.runs_jobs_of(&(at + 1..jobs));
        self.flow.can_run() && self.flow.runs_jobs_of(&(0..jobs)) && self.jobs.iter().enumerate().all(of_job)
    }

    /// Whether a node waits for signals.
    pub(super) fn waits(&self) -> bool {
        self.flow.waits() || self.jobs.iter().any(Flow::waits)
    }

    /// Whether a graph has a time limit: then the result of the run depends on time.
    pub(super) fn has_limits(&self) -> bool {
        self.flow.has_limits() || self.jobs.iter().any(Flow::has_limits)
    }

    /// Whether processes take the run over from others that live.
    pub(super) fn has_takeovers(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.how, How::TakenOver { .. }))
    }

    /// Whether a process that does not know the workflow asks for retries or forks.
    pub(super) fn has_requests(&self) -> bool {
        let is_requested = self.early.is_some_and(|early| early.requested);
        self.requests_retry || is_requested || self.forks.iter().any(|fork| fork.requested)
    }

    /// As it is when nothing fails any more.
    pub(super) fn mended(&self) -> Scenario {
        let mut mended = self.clone();
        mended.flow.mend();
        mended.jobs.iter_mut().for_each(Flow::mend);
        mended
    }

    /// The special properties of the node of this name, at any place: names are unique.
    pub(super) fn find(&self, node: &str) -> Option<&Special> {
        self.flow.find(node).or_else(|| self.jobs.iter().find_map(|job| job.find(node)))
    }
}

impl Inside {
    pub(super) fn flow(&self) -> &Flow {
        match self {
            Inside::Nested(flow) | Inside::Each(flow) => flow,
        }
    }

    pub(super) fn flow_mut(&mut self) -> &mut Flow {
        match self {
            Inside::Nested(flow) | Inside::Each(flow) => flow,
        }
    }
}

impl Special {
    /// How long an attempt at the graph inside may take.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.limit.filter(|_| self.inside.is_some()).map(Duration::from_millis)
    }

    pub(super) fn max_attempts(&self) -> u32 {
        self.attempts.max(1)
    }
}

/// The choices that lead to an end from everywhere: each leads only to nodes that are nearer to one.
fn stops(graph: &Graph<String>) -> Vec<usize> {
    let mut stops: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    loop {
        let known = stops.clone();
        for (node, data) in graph.nodes.iter().enumerate().filter(|(node, _)| known[*node].is_none()) {
            let leads_to_stops =
                data.choices.iter().position(|choice| choice.edges.iter().all(|e| known[graph.edges[*e].to].is_some()));
            stops[node] = leads_to_stops;
        }
        if stops == known {
            return stops.into_iter().map(|choice| choice.expect("a proven graph can stop")).collect();
        }
    }
}
