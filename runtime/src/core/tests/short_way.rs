//! The short way leads where the long one does: random proven graphs, each run by a core that is asked for the short way at
//! every step, and by one that never is.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphweft_graph::START;
use serde_json::Map;

use super::proven::searched;
use crate::core::{
    Arrived, Command, Core, Emitted, Ended, Event, Layout, NodeKind, NodeSpec, Place, Program, TaskId, Tokens, Turns,
    Writes,
};
use crate::options::NodeOptions;
use crate::testing::try_net;

/// A core, and what is under way in it by its path.
struct Player {
    core: Core<u32>,
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
        let core = Core::new(Arc::clone(program), 0, false, Map::new(), None);
        let mut player = Player { core, running: BTreeMap::new(), arrived: BTreeMap::new(), end: None };
        player.tell(Event::Begun(emitted(program.layouts[0].edges_of(START, 0), 0, 0)));
        player
    }

    fn tell(&mut self, event: Event<u32>) {
        self.core.apply(event);
        while let Some(command) = self.core.next_command() {
            match command {
                Command::Run { task, place, attempt, arrived, .. } => {
                    assert_eq!(attempt, 1);
                    self.runs(task, place, arrived);
                }
                Command::Cancel(task) => {
                    self.tell(Event::Ended { task, ended: Ended::Stopped, writes: Writes::default(), random: 0.0 })
                }
                Command::End(end) => self.end = Some(format!("{end:?}")),
                _ => {}
            }
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
        let passed_on = if is_asked { self.core.pass_on(task, emitted) } else { Err(emitted) };
        match passed_on {
            Ok(next) => {
                let turns: Turns = next.turns.unwrap_or_else(|| place.turns.clone());
                self.runs(task, Place { node: next.node, turns, ..place }, Some(Arrived::One(next.value)));
                true
            }
            Err(emitted) => {
                let ended = Ended::Emitted(emitted);
                self.tell(Event::Ended { task, ended, writes: Writes::default(), random: 0.0 });
                false
            }
        }
    }
}

#[test]
fn the_short_way_leads_where_the_long_one_does() {
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
