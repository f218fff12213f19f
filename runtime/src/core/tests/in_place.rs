//! The fast path leads where `apply` does: random proven graphs, each run by a core that is asked for the fast path at
//! every step, and by one that never is.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphweft_graph::START;
use serde_json::Map;

use super::proven::searched;
use crate::core::{
    Admission, Arrived, Chance, Emitted, Layout, NodeKind, NodeSpec, Place, Program, Report, Run, TaskId, Tokens,
    Turns, Wanted, Writes,
};
use crate::options::NodeOptions;
use crate::testing::try_net;

/// A core, and what is under way in it by its path.
struct Player {
    run: Run<u32>,
    running: BTreeMap<String, (TaskId, Place)>,
    /// What fired what is under way.
    arrived: BTreeMap<String, Option<Arrived<u32>>>,
    end: Option<String>,
}

fn emitted(edges: usize, choice: usize, value: u32) -> Emitted<u32> {
    let tokens = match edges {
        0 => Tokens::None,
        1 => Tokens::One(value),
        edges => Tokens::Many(vec![value; edges]),
    };
    Emitted { choice, tokens }
}

impl Player {
    fn new(program: &Arc<Program>) -> Self {
        let run = Run::new(Arc::clone(program), 0, false, Map::new(), None);
        let mut player = Player { run, running: BTreeMap::new(), arrived: BTreeMap::new(), end: None };
        player.report(Report::Begin(emitted(program.layouts[0].edges_of(START, 0), 0, 0)));
        player
    }

    fn report(&mut self, report: Report<u32>) {
        let event = self.run.decide(report, || Chance { now: std::time::SystemTime::UNIX_EPOCH, random: 0.0 });
        let Some(event) = event else { return };
        self.run.apply(event).expect("what is decided is possible");
        loop {
            while let Some(task) = self.run.next_changed() {
                match self.run.wanted(task) {
                    Wanted::Attempt => {
                        let (place, arrived) = (self.run.place_of(task).expect("a task"), self.run.take_input(task));
                        self.runs(task, place, arrived);
                    }
                    Wanted::Stop => self.report(Report::Stopped { task }),
                    _ => {}
                }
            }
            match self.run.admit(0) {
                Some(Admission::Event(event)) => self.run.apply(event).expect("what is admitted is possible"),
                Some(Admission::Enter(_)) => panic!("no node has a graph inside"),
                None => break,
            }
        }
        if let Some(end) = self.run.take_end() {
            self.end = Some(format!("{end:?}"));
        }
    }

    fn runs(&mut self, task: TaskId, place: Place, arrived: Option<Arrived<u32>>) {
        self.arrived.insert(place.to_string(), arrived);
        self.running.insert(place.to_string(), (task, place));
    }

    /// Ends a node; whether that was a short step.
    fn end(&mut self, path: &str, emitted: Emitted<u32>, is_asked: bool) -> bool {
        let Some((task, place)) = self.running.remove(path) else { return false };
        self.arrived.remove(path);
        let passed_on = if is_asked { self.run.apply_in_place(task, emitted) } else { Err(emitted) };
        match passed_on {
            Ok(next) => {
                let turns: Turns = next.turns.unwrap_or_else(|| place.turns.clone());
                self.runs(task, Place { node: next.node, turns, ..place }, Some(Arrived::One(next.value)));
                true
            }
            Err(emitted) => {
                self.report(Report::Succeeded { task, emitted, writes: Writes::default() });
                false
            }
        }
    }
}

#[test]
fn a_step_in_place_leads_where_its_two_events_do() {
    let (mut random, graphs) = searched(20_000);
    let (mut steps, mut short) = (0u64, 0u64);
    for _ in 0..graphs {
        let text = random.graph();
        let Ok(net) = try_net(&text) else { continue };
        let specs = net.graph.nodes[2..].iter().map(|node| NodeSpec {
            name: node.id.clone(),
            kind: NodeKind::Leaf,
            options: NodeOptions::default(),
        });
        let layout = Layout::new(0, "w", &net.graph, &net.plan, specs.collect());
        let program = Arc::new(Program { layouts: vec![Arc::new(layout)] });
        for _ in 0..3 {
            let (mut with, mut without) = (Player::new(&program), Player::new(&program));
            for value in 1..60 {
                let paths: Vec<String> = with.running.keys().cloned().collect();
                if paths.is_empty() {
                    break;
                }
                let path = &paths[random.below(paths.len())];
                let place = with.running[path].1.clone();
                let choice = random.below(net.graph.nodes[place.node as usize].choices.len());
                let give = || emitted(place.edges(choice), choice, value);
                short += u64::from(with.end(path, give(), true));
                without.end(path, give(), false);
                steps += 1;
                assert!(with.running.keys().eq(without.running.keys()), "{text}: {path} takes {choice}");
                assert_eq!(with.arrived, without.arrived, "{text}: {path} takes {choice}");
                assert_eq!(with.end, without.end, "{text}: {path} takes {choice}");
            }
        }
    }
    assert!(short * 10 > steps, "only {short} of {steps} steps were short");
}
