//! The expected result of a run: a plain interpreter of the meaning of graphs, as `analysis` of `graphweft-graph` gives
//! it. It puts tokens with tags on edges, one after another, along the routes of the scenario, and shares nothing with
//! the core: its loops and joins are those that the judge has found.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use graphweft_graph::{END, EdgeIx, NodeIx, START, Way};
use graphweft_judge::judge::{Verdict, judge};
use serde_json::{Value, json};

use super::behaviour::{self, Routing};
use super::load::Carried;
use super::scenario::{Flow, Inside, Proven, Scenario};
use super::story::Story;
use super::wiring;

/// The number of the turn in each loop around, the outermost first.
type Tag = Vec<u64>;

/// Plays a scenario in which these nodes have failed for a reason that depends on time: they were interrupted and may
/// not be repeated, another was faster than their last attempt, or the time of the graph inside was up.
pub(super) fn tell(scenario: &Scenario, given_up: &BTreeSet<String>) -> Story {
    let mut story = Story::default();
    let within = Within { before: "w".to_owned(), behind: String::new(), may_be_stopped: false };
    let played = Play::of(scenario, given_up, &scenario.flow, within, &mut story, true);
    story.output = played.output;
    story.fails = played.fails;
    story
}

/// The place of a graph in the run.
#[derive(Clone)]
struct Within {
    before: String,
    behind: String,
    may_be_stopped: bool,
}

impl Within {
    fn path(&self, name: &str, tag: &[u64]) -> String {
        format!("{}/{name}{}{}", self.before, self.behind, turns(tag))
    }
}

fn turns(tag: &[u64]) -> String {
    if tag.iter().all(|turn| *turn == 1) {
        return String::new();
    }
    let turns: Vec<String> = tag.iter().map(u64::to_string).collect();
    format!("#{}", turns.join("."))
}

/// One graph under way.
struct Play<'a> {
    scenario: &'a Scenario,
    given_up: &'a BTreeSet<String>,
    proven: Proven<'a>,
    verdict: Verdict,
    within: Within,
    story: &'a mut Story,
    is_outermost: bool,
    /// The token on each edge, under the tag at its end.
    tokens: BTreeMap<(EdgeIx, Tag), Option<Value>>,
    on_their_way: VecDeque<(EdgeIx, Tag, Option<Value>)>,
    over: BTreeSet<(NodeIx, Tag)>,
    /// Edges that a turn has not taken, and that a later one may take.
    not_taken: BTreeMap<(usize, Tag), Vec<EdgeIx>>,
    last_turns: BTreeSet<(usize, Tag)>,
    /// Nodes that lead to a collecting node and nowhere else.
    only_collected: BTreeSet<NodeIx>,
    ended: Ended,
}

#[derive(Default)]
struct Ended {
    output: Option<Value>,
    fails: BTreeSet<String>,
}

impl<'a> Play<'a> {
    fn of(
        scenario: &'a Scenario,
        given_up: &'a BTreeSet<String>,
        flow: &'a Flow,
        within: Within,
        story: &'a mut Story,
        is_outermost: bool,
    ) -> Ended {
        let input = behaviour::run_gets(scenario);
        Play::with(scenario, given_up, flow, within, story, is_outermost, &input)
    }

    fn with(
        scenario: &'a Scenario,
        given_up: &'a BTreeSet<String>,
        flow: &'a Flow,
        within: Within,
        story: &'a mut Story,
        is_outermost: bool,
        input: &Value,
    ) -> Ended {
        let proven = flow.prove().expect("a proven graph");
        let verdict = judge(&proven.graph);
        let verdict = verdict.unwrap_or_else(|why| panic!("the analysis accepts {}, but {why}", flow.graph));
        let only_collected = wiring::only_collected(&proven.graph);
        let mut play = Play {
            scenario,
            given_up,
            proven,
            verdict,
            within,
            story,
            is_outermost,
            tokens: BTreeMap::new(),
            on_their_way: VecDeque::new(),
            over: BTreeSet::new(),
            not_taken: BTreeMap::new(),
            last_turns: BTreeSet::new(),
            only_collected,
            ended: Ended::default(),
        };
        for node in 0..play.proven.graph.nodes.len() {
            if play.may_be_stopped(node) {
                play.story.may_be_in_vain.insert(play.proven.graph.nodes[node].id.clone());
            }
        }
        let choices = play.proven.graph.nodes[START].choices.len();
        let choice = if choices > 1 { behaviour::start_by(input, choices) } else { 0 };
        play.emit(START, &[], Some((choice, input.clone())));
        while let Some((edge, tag, value)) = play.on_their_way.pop_front() {
            play.arrive(edge, tag, value);
        }
        play.ended
    }

    fn chain(&self, node: NodeIx) -> &[usize] {
        &self.verdict.chain[node]
    }

    fn edges_into(&self, node: NodeIx) -> Vec<EdgeIx> {
        self.edges(|at| self.proven.graph.edges[at].to == node)
    }

    fn edges(&self, which: impl Fn(EdgeIx) -> bool) -> Vec<EdgeIx> {
        (0..self.proven.graph.edges.len()).filter(|edge| which(*edge)).collect()
    }

    fn kept(&self, edge: EdgeIx) -> usize {
        wiring::kept(&self.proven.graph, &self.verdict, edge)
    }

    /// Puts a token on each out-edge: live ones on those of the choice, dead ones on the others.
    fn emit(&mut self, node: NodeIx, tag: &[u64], taken: Option<(usize, Value)>) {
        for edge in self.edges(|at| self.proven.graph.edges[at].from == node) {
            let taken = taken.as_ref();
            let live = taken.filter(|(choice, _)| self.proven.graph.nodes[node].choices[*choice].edges.contains(&edge));
            match live {
                Some((_, value)) => self.send(edge, tag, Some(value.clone())),
                None => self.leave(edge, tag.to_vec()),
            }
        }
    }

    fn send(&mut self, edge: EdgeIx, tag: &[u64], value: Option<Value>) {
        let mut tag = tag[..self.kept(edge)].to_vec();
        if self.verdict.back[edge].is_some() {
            *tag.last_mut().expect("a turn") += 1;
        }
        self.on_their_way.push_back((edge, tag, value));
    }

    /// A dead token leaves each loop on its way only with that loop's last turn.
    fn leave(&mut self, edge: EdgeIx, mut tag: Tag) {
        let kept = self.kept(edge);
        while tag.len() > kept {
            let of = self.chain(self.proven.graph.edges[edge].from)[tag.len() - 1];
            if !self.last_turns.contains(&(of, tag.clone())) {
                self.not_taken.entry((of, tag)).or_default().push(edge);
                return;
            }
            tag.pop();
        }
        self.send(edge, &tag, None);
    }

    fn arrive(&mut self, edge: EdgeIx, tag: Tag, value: Option<Value>) {
        let node = self.proven.graph.edges[edge].to;
        let is_twice = self.tokens.insert((edge, tag.clone()), value).is_some();
        assert!(!is_twice, "two tokens on edge {edge} under {tag:?}");
        let of = self.chain(node).last().copied();
        match (of, self.verdict.back[edge]) {
            (Some(of), None) if self.chain(node).len() > tag.len() => {
                let first: Tag = tag.iter().copied().chain([1]).collect();
                self.look(node, first);
                let heads = &self.verdict.loops[of].heads;
                let entries = self
                    .edges(|at| heads.contains(&self.proven.graph.edges[at].to) && self.verdict.back[at] != Some(of));
                if self.are_dead(&entries, &tag) {
                    self.skip_loop(of, &tag);
                }
            }
            (_, Some(of)) => {
                self.look(node, tag.clone());
                let back = self.edges(|at| self.verdict.back[at] == Some(of));
                if self.are_dead(&back, &tag) {
                    let mut last = tag;
                    *last.last_mut().expect("a turn") -= 1;
                    self.last_turn(of, last);
                }
            }
            _ => self.look(node, tag),
        }
    }

    fn are_dead(&self, edges: &[EdgeIx], tag: &Tag) -> bool {
        edges.iter().all(|edge| self.tokens.get(&(*edge, tag.clone())) == Some(&None))
    }

    fn last_turn(&mut self, of: usize, tag: Tag) {
        self.last_turns.insert((of, tag.clone()));
        for edge in self.not_taken.remove(&(of, tag.clone())).unwrap_or_default() {
            self.leave(edge, tag.clone());
        }
    }

    fn skip_loop(&mut self, of: usize, outer: &Tag) {
        for node in 0..self.proven.graph.nodes.len() {
            if self.chain(node).contains(&of) {
                self.skip(node, outer);
            }
        }
        let leaves = self.edges(|edge| {
            self.chain(self.proven.graph.edges[edge].from).contains(&of) && self.kept(edge) <= outer.len()
        });
        for edge in leaves {
            self.leave(edge, outer.clone());
        }
    }

    fn skip(&mut self, node: NodeIx, tag: &Tag) {
        let path = self.within.path(&self.proven.graph.nodes[node].id, tag);
        if self.may_be_stopped(node) {
            self.story.may_be_stopped.insert(path.clone());
        }
        self.story.skips.insert(path);
    }

    fn may_be_stopped(&self, node: NodeIx) -> bool {
        self.within.may_be_stopped || self.only_collected.contains(&node)
    }

    /// Whether something fires a node now, or nothing can any more.
    fn look(&mut self, node: NodeIx, tag: Tag) {
        if self.over.contains(&(node, tag.clone())) {
            return;
        }
        let of = self.chain(node).last().copied().filter(|of| self.verdict.loops[*of].heads.contains(&node));
        let into: Vec<(EdgeIx, Tag)> = match (of, tag.last()) {
            (Some(of), Some(1)) => {
                let entries = self.edges_into(node).into_iter().filter(|edge| self.verdict.back[*edge] != Some(of));
                entries.map(|edge| (edge, tag[..tag.len() - 1].to_vec())).collect()
            }
            (Some(of), _) => {
                let back = self.edges_into(node).into_iter().filter(|edge| self.verdict.back[*edge] == Some(of));
                back.map(|edge| (edge, tag.clone())).collect()
            }
            (None, _) => self.edges_into(node).into_iter().map(|edge| (edge, tag.clone())).collect(),
        };
        let on = |edge: EdgeIx| into.iter().find(|(at, _)| *at == edge).map(|token| self.tokens.get(token));
        let mut fires = None;
        for (at, way) in self.proven.graph.nodes[node].ways.iter().enumerate() {
            match way {
                Way::Plain(edge) => {
                    if let Some(Some(Some(value))) = on(*edge) {
                        fires = Some((at, 0, value.clone()));
                    }
                }
                Way::All(places) => {
                    let tokens: Option<Vec<Vec<&Value>>> = places
                        .iter()
                        .map(|place| {
                            let tokens: Option<Vec<&Option<Value>>> =
                                place.iter().map(|edge| on(*edge).flatten()).collect();
                            Some(tokens?.into_iter().flatten().collect())
                        })
                        .collect();
                    let Some(tokens) = tokens else { continue };
                    let live: Vec<Option<&Value>> = tokens.iter().map(|place| place.first().copied()).collect();
                    if live.iter().any(Option::is_some) {
                        let bits =
                            |bits, (at, place): (usize, &Option<&Value>)| bits | u64::from(place.is_some()) << at;
                        let places = live.iter().enumerate().fold(0, bits);
                        fires = Some((at, places, self.joined(node, at, &live)));
                    }
                }
                Way::Any(edges) => {
                    let arrived = edges.iter().filter(|edge| matches!(on(**edge), Some(Some(Some(_))))).count() as u64;
                    let is_all = edges.iter().all(|edge| on(*edge).flatten().is_some());
                    let name = &self.proven.graph.nodes[node].id;
                    let path = self.within.path(name, &tag);
                    let special = self.proven.flow.special(name);
                    // One that fails for good does so with its first arrival.
                    let is_in_vain = behaviour::fails(&special, &path) >= special.max_attempts();
                    let wants = if is_in_vain { 1 } else { behaviour::wants(&special, &path) };
                    if arrived >= wants {
                        fires = Some((at, 0, Value::Null));
                    } else if is_all && arrived > 0 {
                        self.over.insert((node, tag.clone()));
                        return self.fail(path, node);
                    }
                }
            }
        }
        if let Some((way, places, value)) = fires {
            if self.is_outermost {
                self.story.fired.insert((node, way, places));
            }
            if let Some(of) = of {
                let heads = self.verdict.loops[of].heads.clone();
                for other in heads.into_iter().filter(|other| *other != node) {
                    self.over.insert((other, tag.clone()));
                    self.emit(other, &tag, None);
                }
            }
            self.over.insert((node, tag.clone()));
            return self.run(node, tag, value);
        }
        let is_settled = into.iter().all(|token| self.tokens.contains_key(token));
        if is_settled && of.is_none() {
            self.over.insert((node, tag.clone()));
            if node != END {
                self.skip(node, &tag);
            }
            self.emit(node, &tag, None);
        }
    }

    /// The output of a group: a value for each place, or the only one if there is never more than one.
    fn joined(&self, node: NodeIx, way: usize, live: &[Option<&Value>]) -> Value {
        let seen = &self.verdict.fired[node][way];
        if seen.iter().all(|places| places.count_ones() <= 1) {
            return live.iter().flatten().next().copied().cloned().unwrap_or_default();
        }
        live.iter().map(|place| place.cloned().unwrap_or_default()).collect()
    }

    fn run(&mut self, node: NodeIx, tag: Tag, value: Value) {
        if node == END {
            assert!(self.ended.output.is_none(), "two outputs");
            self.ended.output = Some(value);
            return;
        }
        let name = self.proven.graph.nodes[node].id.clone();
        let path = self.within.path(&name, &tag);
        let special = self.proven.flow.special(&name);
        let routing = Routing::of(&self.proven, node);
        if self.may_be_stopped(node) {
            self.story.may_be_stopped.insert(path.clone());
        }
        let error = |text: &str| special.err.map(|err| (err, json!(text)));
        let gives = if let Some(inside) = special.inside.as_deref() {
            match self.enter(&path, &name, node, &tag, inside, &value) {
                // How much of it happened before its time was up is open.
                _ if self.given_up.contains(&path) => error("its time was up"),
                Ok(output) => Some((0, output)),
                Err(fails) => {
                    let routed = error("the graph inside has failed");
                    if routed.is_none() {
                        self.ended.fails.extend(fails);
                        return;
                    }
                    routed
                }
            }
        } else if self.given_up.contains(&path) {
            // It may have done any of it before.
            let scenario = self.scenario;
            let of_job = |path: &str, which| self.runs_job(path, which, true);
            behaviour::of_doings(scenario, &path, &special.does, of_job);
            error("it was cut short")
        } else if behaviour::fails(&special, &path) >= special.max_attempts() {
            error("it has failed")
        } else {
            let collects = self.proven.graph.nodes[node].ways.iter().any(|way| matches!(way, Way::Any(_)));
            let choice = routing.choose(self.scenario, &path);
            if routing.is_free(&path) {
                self.story.routes.push((path.clone(), routing, choice));
            }
            let output = match collects {
                true => behaviour::collects(&path),
                false => {
                    let may_be_stopped = self.may_be_stopped(node);
                    let scenario = self.scenario;
                    let of_job = |path: &str, which| self.runs_job(path, which, may_be_stopped);
                    behaviour::gives(&path, &value, behaviour::of_doings(scenario, &path, &special.does, of_job))
                }
            };
            let is_routed = routing.choices > 1;
            let label = behaviour::label(choice, special.err);
            let output = Carried::recorded(output);
            Some((choice, if is_routed { json!({ label: output }) } else { output }))
        };
        let Some((choice, output)) = gives else { return self.fail(path, node) };
        let choice = if self.is_spent(node, choice, &tag) { self.proven.stops[node] } else { choice };
        let label = (routing.choices > 1).then(|| behaviour::label(choice, special.err).to_owned());
        let is_twice = self.story.completes.insert(path.clone(), label).is_some();
        assert!(!is_twice, "`{path}` completes twice");
        self.emit(node, &tag, Some((choice, output)));
    }

    /// Whether an arm has been taken as often as it may be: in each turn before this one.
    fn is_spent(&self, node: NodeIx, choice: usize, tag: &[u64]) -> bool {
        let bound = self.proven.flow.special(&self.proven.graph.nodes[node].id).bound;
        let Some((_, at_most)) = bound.filter(|(arm, _)| *arm == choice) else { return false };
        let counted = wiring::counted(&self.proven.graph, &self.verdict, node, choice);
        counted.is_some_and(|level| tag[level] > u64::from(at_most))
    }

    fn fail(&mut self, path: String, node: NodeIx) {
        if self.may_be_stopped(node) {
            self.story.may_be_stopped.insert(path.clone());
        }
        self.ended.fails.insert(path);
    }

    /// Plays a workflow that a node runs as a child. Returns its weight for that node.
    fn runs_job(&mut self, path: &str, which: usize, may_be_stopped: bool) -> u64 {
        let within = Within { before: path.to_owned(), behind: String::new(), may_be_stopped };
        let (scenario, mut told) = (self.scenario, Story::default());
        let input = behaviour::job_gets(scenario, path);
        let job = &scenario.jobs[which];
        let ended = Play::with(scenario, self.given_up, job, within, &mut told, false, &input);
        let has_failed = !ended.fails.is_empty();
        self.story.takes(told, has_failed);
        behaviour::job_gives(ended.output.as_ref().filter(|_| !has_failed))
    }

    /// Plays the graph inside a node: its output, or the failure in it.
    fn enter(
        &mut self,
        path: &str,
        name: &str,
        node: NodeIx,
        tag: &[u64],
        inside: &Inside,
        value: &Value,
    ) -> Result<Value, BTreeSet<String>> {
        let may_be_stopped = self.may_be_stopped(node);
        let (inputs, is_each) = match inside {
            Inside::Nested(_) => (vec![value.clone()], false),
            Inside::Each(_) => (behaviour::items(value), true),
        };
        debug_assert!(path.contains(name));
        let (mut outputs, mut fails) = (Vec::new(), BTreeSet::new());
        let mut told = Story::default();
        for (item, input) in inputs.iter().enumerate() {
            let within = match is_each {
                false => Within { before: path.to_owned(), behind: String::new(), may_be_stopped },
                true => {
                    let behind = format!("{}{}[{item}]", self.within.behind, turns(tag));
                    Within { before: self.within.before.clone(), behind, may_be_stopped }
                }
            };
            let (scenario, given_up) = (self.scenario, self.given_up);
            let ended = Play::with(scenario, given_up, inside.flow(), within, &mut told, false, input);
            fails.extend(ended.fails);
            outputs.extend(ended.output);
        }
        self.story.takes(told, !fails.is_empty() || self.given_up.contains(path));
        match fails.is_empty() {
            false => Err(fails),
            true if is_each => Ok(outputs.into_iter().collect()),
            true => Ok(outputs.into_iter().next().expect("one output")),
        }
    }
}
