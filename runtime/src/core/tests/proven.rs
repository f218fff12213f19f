//! If the analysis accepts a graph, it runs: random graphs, random routes, nodes that finish in random order.
//!
//! `GRAPHWEFT_GRAPHS=1000000 GRAPHWEFT_SEED=7` searches longer, and elsewhere.

use std::collections::BTreeSet;

use super::sim::{Sim, workflow};
use crate::core::Writes;
use crate::json_graphs::try_net;

/// xorshift64*: the same graphs and routes in every run of the test.
pub(super) struct Random(u64);

impl Random {
    /// One that draws by itself.
    pub(super) fn another(&mut self) -> Random {
        Random(self.below(usize::MAX) as u64 | 1)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// A graph as text; most of them mean nothing.
    pub(super) fn graph(&mut self) -> String {
        let nodes = 2 + self.below(6);
        let name = |at: usize| char::from(b'a' + at as u8).to_string();
        let mut text = String::from("START>a;");
        for at in 0..nodes {
            let labels = if self.one_in(2) { 0 } else { 2 + self.below(2) };
            let edges = labels.max(1) + self.below(2);
            for edge in 0..edges {
                let forward = at + 1 + self.below(2);
                let to = if self.one_in(4) { self.below(nodes) } else { forward };
                let to = if to >= nodes { "END".to_owned() } else { name(to) };
                let label = if labels == 0 || edge >= labels { String::new() } else { format!("l{edge}:") };
                text.push_str(&format!("{}>{label}{to};", name(at)));
            }
        }
        self.with_joins(&text)
    }

    /// Turns some pairs of edges to one node into a group, or into the arrivals of a collecting node.
    fn with_joins(&mut self, text: &str) -> String {
        let mut edges: Vec<(String, String)> = text
            .split(';')
            .filter_map(|edge| edge.split_once('>'))
            .map(|(from, to)| match to.split_once(':') {
                Some((label, to)) => (format!("{from}:{label}"), to.to_owned()),
                None => (from.to_owned(), to.to_owned()),
            })
            .collect();
        let mut out = String::new();
        while let Some((from, to)) = edges.pop() {
            let other = edges.iter().position(|(_, also)| *also == to);
            match other.filter(|_| !self.one_in(4)) {
                Some(at) => {
                    let (first, _) = edges.swap_remove(at);
                    let alone = edges.iter().all(|(_, also)| *also != to)
                        && !out.contains(&format!(">{to};"))
                        && !out.contains(&format!(":{to};"));
                    let plain = !first.contains(':') && !from.contains(':');
                    if alone && plain && to != "END" && self.one_in(2) {
                        out.push_str(&format!("{first}|{from}>{to};"));
                    } else {
                        out.push_str(&format!("({first},{from})>{to};"));
                    }
                }
                None => match from.split_once(':') {
                    Some((from, label)) => out.push_str(&format!("{from}>{label}:{to};")),
                    None => out.push_str(&format!("{from}>{to};")),
                },
            }
        }
        out
    }
}

/// Plays one run; a run that goes round for long is left alone.
fn play(run: &mut Sim, collecting: &BTreeSet<String>, random: &mut Random) -> bool {
    for _ in 0..120 {
        if run.end.is_some() {
            return true;
        }
        if random.one_in(16) {
            run.crashes();
            if run.end.is_some() {
                return true;
            }
        }
        if let Some(stopping) = run.stopping.first().cloned().filter(|_| random.one_in(2)) {
            run.stops(&stopping);
            continue;
        }
        let running: Vec<String> = run.running().into_iter().map(str::to_owned).collect();
        assert!(!running.is_empty(), "nothing moves, and the run has not ended; {:?}", run.notes);
        let path = &running[random.below(running.len())];
        let name = path.trim_start_matches("w/").split('#').next().unwrap_or_default();
        let labels = run.labels(path).to_vec();
        match labels.len() {
            _ if collecting.contains(name) && !run.stopping.contains(path) && random.one_in(3) => {
                run.waits(path, Writes::default());
            }
            0 => run.done(path, 1),
            labels_count => run.takes(path, &labels[random.below(labels_count)]),
        }
    }
    false
}

/// Where chance begins, and how many graphs it is to make.
pub(super) fn searched(graphs: u64) -> (Random, u64) {
    let set = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    (Random(set("GRAPHWEFT_SEED").unwrap_or(0x5EED) | 1 << 40), set("GRAPHWEFT_GRAPHS").unwrap_or(graphs))
}

#[test]
fn a_proven_graph_runs_to_its_one_output_whatever_its_nodes_return() {
    let (mut random, graphs) = searched(20_000);
    let (mut accepted, mut ended) = (0, 0);
    for _ in 0..graphs {
        let text = random.graph();
        if try_net(&text).is_err() {
            continue;
        }
        accepted += 1;
        let collecting =
            text.split(';').filter(|part| part.contains('|')).filter_map(|part| part.split_once('>')).map(|(_, to)| to);
        let collecting: BTreeSet<String> = collecting.map(str::to_owned).collect();
        for _ in 0..3 {
            let text = text.clone();
            let shown = text.clone();
            let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut run = workflow(&text).start();
                let over = play(&mut run, &collecting, &mut random);
                (run, over)
            }));
            let Ok((run, over)) = played else { panic!("in {shown}") };
            if !over {
                continue;
            }
            ended += 1;
            let mut seen = BTreeSet::new();
            for path in &run.started {
                let name = path.trim_start_matches("w/").split('#').next().unwrap_or_default();
                assert!(collecting.contains(name) || seen.insert(path), "{path} ran twice in {shown}");
            }
            let nothing_collected = matches!(&run.end, Some(crate::core::RunEnd::Failed(failure))
                if matches!(failure.cause.fault, Some(crate::fault::Fault::NothingCollected { .. })));
            assert!(nothing_collected || run.output() > 0, "{shown}");
        }
    }
    assert!(
        accepted * 50 > graphs && ended > accepted,
        "of {graphs} graphs {accepted} were accepted, {ended} runs ended"
    );
}
