//! What a view says, as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use graphweft_inspector::view::{KINDS, RunView, State, ViewPart};

/// A view as a reader has it: the lists of a part with whole numbers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Read {
    pub(crate) paths: Vec<String>,
    pub(crate) things: Vec<(u8, i64, i64, i64, i64)>,
    pub(crate) times: Vec<i64>,
    pub(crate) moves: Vec<[i64; 4]>,
    pub(crate) taken: Vec<[i64; 3]>,
    pub(crate) began: Vec<[i64; 3]>,
    pub(crate) runs: Vec<(u64, graphweft::RunStatus)>,
    pub(crate) details: Vec<String>,
    pub(crate) progress: BTreeMap<u32, (u64, String)>,
}

fn whole<const N: usize>(list: &[i64], column: usize) -> Vec<[i64; N]> {
    let mut sum = 0;
    let entries = list.chunks_exact(N).map(|entry| {
        let mut entry: [i64; N] = entry.try_into().unwrap();
        sum += entry[column];
        entry[column] = sum;
        entry
    });
    entries.collect()
}

impl Read {
    pub(crate) fn add(&mut self, part: ViewPart) {
        let part: ViewPart = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
        if part.whole {
            *self = Read::default();
        }
        let things = part.things;
        let columns = [things.kind.len(), things.within.len(), things.node.len(), things.item.len(), things.turn.len()];
        assert!(columns.iter().all(|length| *length == things.path.len()));
        for at in 0..things.path.len() {
            self.things.push((things.kind[at], things.within[at], things.node[at], things.item[at], things.turn[at]));
        }
        self.paths.extend(things.path);
        self.times.extend(whole::<1>(&part.times, 0).into_iter().map(|[time]| time));
        self.moves.extend(whole::<4>(&part.moves, 1));
        self.taken.extend(whole::<3>(&part.taken, 1));
        self.began.extend(whole::<3>(&part.began, 1));
        self.runs.extend(part.runs.iter().map(|change| (change.seq, change.status)));
        self.details.extend(part.details.iter().map(|detail| serde_json::to_string(detail).unwrap()));
        for one in part.progress {
            self.progress.insert(one.thing, (one.number, one.data.to_string()));
        }
        assert_eq!(part.seq + 1, self.times.len() as i64);
    }

    pub(crate) fn of(view: &RunView) -> Read {
        let mut read = Read::default();
        read.add(view.part(None));
        read
    }

    /// The states of all things after an event, by what is in the view.
    pub(crate) fn states_at(&self, seq: i64) -> BTreeMap<&str, (i64, i64)> {
        let mut states = BTreeMap::new();
        for [thing, at, state, attempt] in &self.moves {
            if *at <= seq {
                states.insert(self.paths[*thing as usize].as_str(), (*state, *attempt));
            }
        }
        states.retain(|_, (state, _)| *state != State::NotReached as i64);
        states
    }

    pub(crate) fn edges_at(&self, seq: i64) -> Vec<[i64; 3]> {
        self.taken.iter().copied().filter(|[_, at, _]| *at <= seq).collect()
    }

    /// What a person compares: without times.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (at, path) in self.paths.iter().enumerate() {
            let (kind, within, node, item, turn) = self.things[at];
            let kind = format!("{:?}", KINDS[usize::from(kind)]).to_lowercase();
            let _ = write!(text, "{at} {path} ({kind}");
            if within >= 0 {
                let _ = write!(text, " in {within}");
            }
            for (name, value, none) in [("node", node, -1), ("item", item, -1), ("turn", turn, 0)] {
                if value != none {
                    let _ = write!(text, ", {name} {value}");
                }
            }
            text.push_str("):");
            for [thing, seq, state, attempt] in &self.moves {
                if *thing == at as i64 {
                    let state = serde_json::to_value(graphweft_inspector::view::STATES[*state as usize]).unwrap();
                    let _ = write!(text, " {seq} {}", state.as_str().unwrap());
                    if *attempt > 1 {
                        let _ = write!(text, "/{attempt}");
                    }
                }
            }
            text.push('\n');
        }
        let edges = self.taken.iter().map(|[scope, seq, edge]| format!("{scope}:{edge}@{seq}"));
        let _ = writeln!(text, "edges {}", edges.collect::<Vec<_>>().join(" "));
        let runs = self.runs.iter().map(|(seq, status)| format!("{seq} {status:?}").to_lowercase());
        let _ = writeln!(text, "run {}", runs.collect::<Vec<_>>().join(", "));
        for detail in &self.details {
            let mut detail: serde_json::Value = serde_json::from_str(detail).unwrap();
            for time in ["retry_at", "until", "at"] {
                if detail.get(time).is_some() {
                    detail[time] = "..".into();
                }
            }
            let _ = writeln!(text, "{detail}");
        }
        text
    }
}
