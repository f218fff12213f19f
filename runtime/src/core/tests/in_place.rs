//! The fast path leads where `apply` does: random proven graphs, each run by a core that is asked for the fast path at
//! every step, and by one that never is.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphweft_graph::START;
use serde_json::Map;

use super::proven::searched;
use crate::core::{
    Admission, Arrived, Chance, Conclusion, Emitted, Entered, Event, ItemPace, Layout, NodeKind, NodeSpec, Place,
    Program, Report, Run, ScopeKind, TaskId, Tokens, Wanted, Writes,
};
use crate::options::NodeOptions;
use crate::testing::{Net, try_net};

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
}

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
    fn new(program: &Arc<Program>, is_fast: bool) -> Self {
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
                    Wanted::Stop => self.report(Report::Stopped { task }),
                    Wanted::Conclude => self.concludes(task),
                    _ => {}
                }
            }
            match self.run.admit(0) {
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

    fn attempts(&mut self, task: TaskId) {
        let (place, arrived) = (self.run.place_of(task).expect("a task"), self.run.take_input(task));
        self.runs(task, place, arrived);
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
    });
    Layout::new(index, "w", &net.graph, &net.plan, specs.collect())
}

#[test]
fn what_is_applied_in_place_leads_where_its_events_do() {
    let (mut random, graphs) = searched(20_000);
    let (mut ended, mut steps, mut waits, mut items) = (0u64, 0u64, 0u64, 0u64);
    let one_node = try_net("START > x; x > END").expect("it is proven");
    for _ in 0..graphs {
        let text = random.graph();
        let Ok(net) = try_net(&text) else { continue };
        let inside = NodeKind::Scope(ScopeKind::Each, 1);
        let outer = laid_out(0, &net, || if random.below(8) == 0 { inside } else { NodeKind::Leaf });
        let layouts = vec![Arc::new(outer), Arc::new(laid_out(1, &one_node, || NodeKind::Leaf))];
        let program = Arc::new(Program { layouts });
        for _ in 0..3 {
            let (mut fast, mut plain) = (Player::new(&program, true), Player::new(&program, false));
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
                ended += 1;
                assert!(fast.running.keys().eq(plain.running.keys()), "{text}: {path} takes {choice}");
                assert_eq!(fast.arrived, plain.arrived, "{text}: {path} takes {choice}");
                assert_eq!(fast.end, plain.end, "{text}: {path} takes {choice}");
                assert_eq!(fast.run.snapshot(true), plain.run.snapshot(true), "{text}: {path} takes {choice}");
            }
            (steps, waits, items) = (steps + fast.steps, waits + fast.waits, items + fast.items);
        }
    }
    let counts = format!("of {ended}: {steps} steps, {waits} waits, {items} items");
    assert!(steps * 20 > ended && waits * 400 > ended && items * 20 > ended, "{counts}");
}
