//! The fast path leads where `apply` does: random proven graphs, each run by a core that is asked for the fast path at
//! every step, and by one that never is.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use graphweft_graph::START;
use serde_json::Map;

use super::proven::{Random, searched};
use crate::core::Totals;
use crate::core::{
    Admission, Arrived, Chance, Conclusion, Emitted, Entered, Event, ItemPace, Layout, Lent, LentOf, NodeKind,
    NodeSpec, Place, Program, Report, Run, ScopeKind, TaskId, Tokens, Wanted, Writes,
};
use crate::json_graphs::{Net, try_net};
use crate::options::NodeOptions;

/// A core, and what is under way in it by its path.
struct Player {
    run: Run<u32>,
    running: BTreeMap<String, (TaskId, Place)>,
    /// What fired what is under way.
    arrived: BTreeMap<String, Option<Arrived<u32>>>,
    end: Option<String>,
    /// Whether the core is asked for the fast path.
    is_fast: bool,
    /// How often it went there, by which way.
    steps: u64,
    waits: u64,
    items: u64,
    branches: u64,
    /// Nodes that were done before the core heard of them, with what they gave, for the other core.
    done: Vec<(String, u32)>,
    /// Whether nodes are lent, and what becomes of which: it draws.
    lends: Option<Random>,
}

/// What becomes of nodes that were lent.
#[derive(Default)]
struct Shared {
    done: Vec<(usize, u32)>,
    begun: Vec<Lent<u32>>,
    pending: VecDeque<Lent<u32>>,
}

/// Branches that meet, which random graphs seldom have: once, in a loop, some of them longer, with one that is a join itself.
const FAN_OUTS: [&str; 4] = [
    "START>a; a>b; a>c; a>d; (b,c,d)>e; e>END",
    "START>a; a>b; a>c; (b,c)>d; d>again:a; d>done:END",
    "START>a; START>b; a>c; b>d; (c,d)>END",
    "START>a; START>b; START>c; (a,b)>d; (d,c)>END",
];

/// How many items a node with a graph inside has.
const ITEMS: usize = 3;

fn emitted(edges: usize, choice: usize, value: u32) -> Emitted<u32> {
    let tokens = match edges {
        0 => Tokens::None,
        1 => Tokens::One(value),
        edges => Tokens::Many(vec![value; edges]),
    };
    Emitted { choice, tokens }
}

impl Player {
    fn new(program: &Arc<Program>, is_fast: bool, lends: Option<Random>) -> Self {
        let run = Run::new(Arc::clone(program), 0, false, Map::new(), None);
        let mut player = Player {
            run,
            running: BTreeMap::new(),
            arrived: BTreeMap::new(),
            end: None,
            is_fast,
            steps: 0,
            waits: 0,
            items: 0,
            branches: 0,
            done: Vec::new(),
            lends,
        };
        player.report(Report::Begin { emitted: emitted(program.layouts[0].edges_of(START, 0), 0, 0), limit: None });
        player
    }

    fn report(&mut self, report: Report<u32>) {
        let event = self.run.decide(report, || Chance { now: std::time::SystemTime::UNIX_EPOCH, random: 0.0 });
        let Some(event) = event else { return };
        self.run.apply(event).expect("what is decided is possible");
        self.carry_out();
    }

    fn carry_out(&mut self) {
        loop {
            while let Some(task) = self.run.next_changed() {
                match self.run.wanted(task) {
                    Wanted::Attempt => self.attempts(task),
                    Wanted::Stop => self.stops(task),
                    Wanted::Conclude => self.concludes(task),
                    _ => {}
                }
            }
            if self.does_branches() {
                continue;
            }
            match self.run.admit(0) {
                Some(Admission::Event(Event::ItemStarted { task, .. })) if self.does_items_of(task) => {}
                Some(Admission::Event(Event::ItemStarted { task, .. })) if self.is_fast => {
                    let only = self.run.start_item_in_place(task).expect("its graph has one node");
                    self.items += 1;
                    self.attempts(only);
                }
                Some(Admission::Event(event)) => self.run.apply(event).expect("what is admitted is possible"),
                Some(Admission::Enter(task)) => {
                    self.run.take_input(task);
                    let inputs = (0..ITEMS).map(|item| emitted(1, 0, item as u32)).collect();
                    let entered = Entered { inputs, pace: ItemPace::InTurn, limit: None };
                    self.report(Report::Entered { task, entered: Some(Box::new(entered)) });
                }
                None => break,
            }
        }
        if let Some(end) = self.run.take_end() {
            self.end = Some(format!("{end:?}"));
        }
    }

    /// Does some items of a node before the core hears of them: others are under way then, or have not begun.
    fn does_items_of(&mut self, node: TaskId) -> bool {
        let Some((lent, given)) = self.lends.as_ref().and_then(|_| self.run.lend_items(node)) else { return false };
        let Shared { done, begun, pending } = self.shared_out(given);
        let place = |item: usize| {
            let scope = Arc::new(lent.place.scope.with_item(item));
            Place { scope, ..lent.place.clone() }
        };
        for Lent { at, value, .. } in begun {
            let task = self.run.begin_lent_item(node, at).expect("it was lent");
            self.runs(task, place(at), Some(Arrived::One(value)));
        }
        self.done.extend(done.iter().map(|(item, given)| (place(*item).to_string(), *given)));
        self.items += done.len() as u64;
        self.run.return_items(node, done, pending).expect("all of them are returned");
        true
    }

    /// Does some of the branches that are to begin, in the same way.
    fn does_branches(&mut self) -> bool {
        let Some((lent, given)) = self.lends.as_ref().and_then(|_| self.run.lend_branches()) else { return false };
        let LentOf::Branches(tasks) = lent.of else { panic!("branches were asked for") };
        let place = |node: u32| Place { node, ..lent.place.clone() };
        let nodes: Vec<u32> = given.iter().map(|lent| lent.node).collect();
        let Shared { done, begun, pending } = self.shared_out(given);
        for Lent { at, node, value } in begun {
            self.runs(tasks[at], place(node), Some(Arrived::One(value)));
        }
        for Lent { at, value, .. } in pending {
            self.run.return_branch(tasks[at], value).expect("it was lent");
        }
        for (at, given) in done {
            let place = place(nodes[at]);
            self.done.push((place.to_string(), given));
            let emitted = emitted(place.edges(0), 0, given);
            self.branches += 1;
            let Err(emitted) = self.run.complete_in_place(tasks[at], emitted) else { continue };
            let report = Report::Succeeded { task: tasks[at], emitted, writes: Writes::default() };
            let event = self.run.decide(report, || panic!("nothing is drawn")).expect("it is under way");
            self.run.apply(event).expect("what is decided is possible");
        }
        true
    }

    /// Which of the lent nodes are done, which are under way, and which have not begun.
    fn shared_out(&mut self, given: VecDeque<Lent<u32>>) -> Shared {
        let random = self.lends.as_mut().expect("it lends");
        // What has not begun comes behind what has.
        let first_pending = random.below(2 * ITEMS);
        let mut shared = Shared::default();
        for lent in given {
            match random.below(3) {
                _ if lent.at >= first_pending => shared.pending.push_back(lent),
                0 => shared.begun.push(lent),
                _ => shared.done.push((lent.at, lent.value + 1)),
            }
        }
        shared
    }

    fn attempts(&mut self, task: TaskId) {
        let (place, arrived) = (self.run.place_of(task).expect("a task"), self.run.take_input(task));
        self.runs(task, place, arrived);
    }

    /// Its path may be that of an item that begins later.
    fn stops(&mut self, task: TaskId) {
        self.running.retain(|_, (running, _)| *running != task);
        self.arrived.retain(|path, _| self.running.contains_key(path));
        self.report(Report::Stopped { task });
    }

    fn concludes(&mut self, task: TaskId) {
        let place = self.run.place_of(task).expect("a task");
        let Some(Conclusion::Leave(ends)) = self.run.take_conclusion(task) else { panic!("nothing fails") };
        assert_eq!(ends.len(), ITEMS);
        self.report(Report::Succeeded {
            task,
            emitted: emitted(place.edges(0), 0, ends.len() as u32),
            writes: Writes::default(),
        });
    }

    fn runs(&mut self, task: TaskId, place: Place, arrived: Option<Arrived<u32>>) {
        self.arrived.insert(place.to_string(), arrived);
        self.running.insert(place.to_string(), (task, place));
    }

    /// Ends a node.
    fn end(&mut self, path: &str, emitted: Emitted<u32>) {
        let Some((task, place)) = self.running.remove(path) else { return };
        self.arrived.remove(path);
        let Err(emitted) = self.end_in_place(task, place, emitted) else { return };
        self.report(Report::Succeeded { task, emitted, writes: Writes::default() });
    }

    /// Ends the nodes that the other core has done.
    fn catches_up(&mut self, done: &mut Vec<(String, u32)>) {
        for (path, given) in done.drain(..) {
            assert!(self.running.contains_key(&path), "{path} is not under way");
            self.end(&path, emitted(1, 0, given));
        }
    }

    fn end_in_place(&mut self, task: TaskId, place: Place, emitted: Emitted<u32>) -> Result<(), Emitted<u32>> {
        if !self.is_fast {
            return Err(emitted);
        }
        let mut walk = self.run.walk(task);
        if let Emitted { choice, tokens: Tokens::One(value) } = emitted
            && let Some(walk) = &mut walk
            && let Some(next) = walk.step(choice)
        {
            let turns = if next.begins_turn { place.turns.with_innermost(walk.turn()) } else { place.turns.clone() };
            walk.take_newer();
            self.runs(task, Place { node: next.node, turns, ..place }, Some(Arrived::One(value)));
            self.steps += 1;
            return Ok(());
        }
        self.run.complete_in_place(task, emitted)?.expect("it can happen");
        self.waits += u64::from(place.scope.around.is_none());
        self.carry_out();
        Ok(())
    }
}

fn laid_out(index: usize, net: &Net, kind: impl FnMut() -> NodeKind) -> Layout {
    let kinds = std::iter::repeat_with(kind);
    let specs = net.graph.nodes[2..].iter().zip(kinds).map(|(node, kind)| NodeSpec {
        name: node.id.clone(),
        kind,
        options: NodeOptions::default(),
        keeps_input: false,
    });
    Layout::new(index, "w", &net.graph, &net.plan, specs.collect())
}

#[test]
fn what_is_applied_in_place_leads_where_its_events_do() {
    let (mut random, graphs) = searched(20_000);
    let (mut ended, mut steps, mut waits, mut items, mut branches) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let one_node = try_net("START > x; x > END").expect("it is proven");
    for _ in 0..graphs {
        let text = match random.below(100 * FAN_OUTS.len()) {
            drawn if drawn < FAN_OUTS.len() => FAN_OUTS[drawn].to_owned(),
            _ => random.graph(),
        };
        let Ok(net) = try_net(&text) else { continue };
        let inside = NodeKind::Scope(ScopeKind::Each, 1);
        let outer = laid_out(0, &net, || if random.below(8) == 0 { inside } else { NodeKind::Leaf });
        let layouts = vec![Arc::new(outer), Arc::new(laid_out(1, &one_node, || NodeKind::Leaf))];
        let program = Arc::new(Program { layouts, totals: Totals::default() });
        for _ in 0..3 {
            let lends = (random.below(2) == 0).then(|| random.another());
            let (mut fast, mut plain) = (Player::new(&program, true, lends), Player::new(&program, false, None));
            plain.catches_up(&mut fast.done);
            for value in 1..60 {
                let paths: Vec<String> = fast.running.keys().cloned().collect();
                if paths.is_empty() {
                    break;
                }
                let path = &paths[random.below(paths.len())];
                let place = fast.running[path].1.clone();
                let choice = random.below(place.scope.layout.nodes[place.node as usize].choices.len());
                let give = || emitted(place.edges(choice), choice, value);
                fast.end(path, give());
                plain.end(path, give());
                plain.catches_up(&mut fast.done);
                ended += 1;
                let paths = |player: &Player| player.running.keys().cloned().collect::<Vec<_>>();
                assert_eq!(paths(&fast), paths(&plain), "{text}: {path} takes {choice}");
                assert_eq!(fast.arrived, plain.arrived, "{text}: {path} takes {choice}");
                assert_eq!(fast.end, plain.end, "{text}: {path} takes {choice}");
                assert_eq!(fast.run.snapshot(true), plain.run.snapshot(true), "{text}: {path} takes {choice}");
            }
            (steps, waits, items) = (steps + fast.steps, waits + fast.waits, items + fast.items);
            branches += fast.branches;
        }
    }
    let counts = format!("of {ended}: {steps} steps, {waits} waits, {items} items, {branches} branches");
    assert!(steps * 20 > ended && waits * 400 > ended && items * 20 > ended, "{counts}");
    assert!(branches * 200 > ended, "{counts}");
}
