//! A graph whose nodes read and write keys, and what the proofs and the judge say of it.

use std::collections::BTreeSet;

use graphweft_graph::state_proof::{
    NodeRoles, StateFacts, StateGraph, StateKeyFact, Summary, overlapping_write, summary, summary_len, unwritten_read,
};
use graphweft_graph::{Graph, NodeIx, Plan, Way, analyse};
use graphweft_judge::judge::{KeyUse, Seen, interleave, judge, play_state};
use graphweft_judge::notation;

const A: StateKeyFact = StateKeyFact::overwrite("a");
const B: StateKeyFact = StateKeyFact::overwrite("b");
const C: StateKeyFact = StateKeyFact::overwrite("c");
pub(crate) const KEYS: [StateKeyFact; 3] = [A, B, C];
/// The keys of each mask.
const SETS: [&[StateKeyFact]; 8] = [&[], &[A], &[B], &[A, B], &[C], &[A, C], &[B, C], &[A, B, C]];

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) graph: Graph<String>,
    pub(crate) uses: Vec<KeyUse>,
}

impl NodeRoles for Case {
    fn is_failure(&self, node: NodeIx, choice: usize) -> bool {
        self.uses[node].failures.get(choice).copied().unwrap_or(false)
    }

    fn runs_for_items(&self, _: NodeIx) -> bool {
        false
    }
}

/// What the comparison came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) reads: u64,
    pub(crate) unwritten: u64,
    pub(crate) overlaps: u64,
    pub(crate) always_written: u64,
    /// Refused although no play shows it; only with collecting nodes.
    pub(crate) refused_unseen: u64,
    pub(crate) with_loops: u64,
    pub(crate) collecting: u64,
    /// Too many states to play.
    pub(crate) unplayed: u64,
    /// Played in every order as well.
    pub(crate) interleaved: u64,
}

impl Case {
    pub(crate) fn text(&self) -> String {
        let name = |node: usize| &self.graph.nodes[node].id;
        let uses = self.uses.iter().enumerate().filter(|(_, uses)| **uses != KeyUse::default());
        let uses = uses.map(|(node, uses)| {
            let KeyUse { reads, writes, failures, is_watched } = uses;
            format!(
                "\n    {} reads {reads:03b} writes {writes:03b} fails {failures:?} watched {is_watched}",
                name(node)
            )
        });
        notation::write(&self.graph) + &uses.collect::<String>()
    }

    /// Compares all of it. `None` if the graph is not sound.
    ///
    /// # Errors
    /// Where proof and judge disagree, and on what.
    pub(crate) fn compare(&self, most_states: usize) -> Result<Option<Agreed>, String> {
        let Ok(plan) = analyse(&self.graph) else { return Ok(None) };
        let Ok(verdict) = judge(&self.graph) else { return Ok(None) };
        let mut agreed = Agreed::default();
        let Some(seen) = play_state(&self.graph, &verdict, &self.uses, most_states) else {
            agreed.unplayed = 1;
            return Ok(Some(agreed));
        };
        agreed.with_loops = u64::from(!plan.loops.is_empty());
        let collects = self.graph.nodes.iter().flat_map(|node| &node.ways).any(|way| matches!(way, Way::Any(_)));
        agreed.collecting = u64::from(collects);
        if plan.loops.is_empty() && self.graph.nodes.len() <= 7 {
            agreed.interleaved = self.compare_judges(&seen, collects)?;
        }
        let numbers = StateGraph::encode(&self.graph, &plan, self);
        self.compare_reads(&numbers, &seen, collects, &mut agreed)?;
        self.compare_overlaps(&numbers, &plan, &seen, collects, &mut agreed)?;
        self.compare_end(&numbers, &seen, collects, &mut agreed)?;
        Ok(Some(agreed))
    }

    /// The judge that follows pasts and the one that plays every order; gives how many graphs the second could play.
    fn compare_judges(&self, seen: &Seen, collects: bool) -> Result<u64, String> {
        let Some(played) = interleave(&self.graph, &self.uses, 20_000) else { return Ok(0) };
        let unwritten_at_end = if collects { seen.unwritten_at_end } else { played.unwritten_at_end };
        let expected = Seen { unwritten_at_end, ..played };
        if expected == *seen { Ok(1) } else { Err(format!("in every order {expected:?}, by pasts {seen:?}")) }
    }

    fn facts(&self) -> Vec<StateFacts> {
        let facts = |uses: &KeyUse| StateFacts {
            reads: SETS[usize::from(uses.reads)],
            writes: SETS[usize::from(uses.writes)],
            ..StateFacts::NONE
        };
        self.uses.iter().map(facts).collect()
    }

    fn compare_reads(&self, numbers: &[u32], seen: &Seen, collects: bool, agreed: &mut Agreed) -> Result<(), String> {
        let facts = self.facts();
        for node in 0..self.graph.nodes.len() {
            let all = unwritten_read(numbers, &facts, &[], node);
            let mut some = false;
            for key in (0..KEYS.len()).filter(|key| self.uses[node].reads & 1 << key != 0) {
                let others = SETS[7 & !(1 << key)];
                let found = unwritten_read(numbers, &facts, others, node).is_some();
                let was_seen = seen.unwritten[node] & 1 << key != 0;
                let what = format!("{} reads {}: found {found}, seen {was_seen}", self.name(node), KEYS[key].name);
                agree(found, was_seen, collects, agreed).map_err(|()| what)?;
                agreed.reads += 1;
                agreed.unwritten += u64::from(found);
                some |= found;
            }
            if some != all.is_some() {
                return Err(format!("{} reads several keys: found {all:?}, one by one {some}", self.name(node)));
            }
            if let Some(found) = all {
                self.check_explained(node, &found)?;
            }
        }
        Ok(())
    }

    /// The writer that is named writes the key, and the choice is one of the node that is named.
    fn check_explained(&self, node: NodeIx, found: &graphweft_graph::state_proof::UnwrittenRead) -> Result<(), String> {
        let key = SETS[usize::from(self.uses[node].reads)][found.key];
        let writes = |writer: NodeIx| SETS[usize::from(self.uses[writer].writes)].contains(&key);
        let is_known = match (found.writer, found.passed) {
            (None, None) => !(0..self.graph.nodes.len()).any(writes),
            (None, Some(_)) => false,
            (Some(writer), None) => writes(writer),
            (Some(writer), Some((router, choice))) => {
                let is_passed = router != writer || self.uses[writer].failures.get(choice) == Some(&true);
                writes(writer) && choice < self.graph.nodes[router].choices.len() && is_passed
            }
        };
        if is_known { Ok(()) } else { Err(format!("the report at {} is not so: {found:?}", self.name(node))) }
    }

    /// Each two watched nodes alone, as writers of one key.
    fn compare_overlaps(
        &self,
        numbers: &[u32],
        plan: &Plan,
        seen: &Seen,
        collects: bool,
        agreed: &mut Agreed,
    ) -> Result<(), String> {
        let watched: Vec<NodeIx> = (0..self.uses.len()).filter(|node| self.uses[*node].is_watched).collect();
        let mut found = BTreeSet::new();
        for one in &watched {
            for other in watched.iter().filter(|other| *other <= one) {
                let mut facts = vec![StateFacts::NONE; self.graph.nodes.len()];
                facts[*one].writes = &[A];
                facts[*other].may_write = &[A];
                if let Some(overlap) = overlapping_write(numbers, &facts, *one)
                    && overlap.other == *other
                {
                    found.insert((*other, *one));
                }
                let was_seen = seen.overlaps.contains(&(*other, *one));
                let found = found.contains(&(*other, *one));
                let (loops, names) = (&plan.node_loop, (self.name(*other), self.name(*one)));
                let what = format!("{names:?} overlap: found {found}, seen {was_seen}; loops {loops:?}");
                agree(found, was_seen, collects, agreed).map_err(|()| what)?;
                agreed.overlaps += u64::from(found);
            }
        }
        Ok(())
    }

    fn compare_end(&self, numbers: &[u32], seen: &Seen, collects: bool, agreed: &mut Agreed) -> Result<(), String> {
        let facts = self.facts();
        let always: Vec<StateKeyFact> = match summary_len(numbers, &facts, &[], Summary::AlwaysWritten) {
            0 => vec![],
            1 => summary::<1>(numbers, &facts, &[], Summary::AlwaysWritten).to_vec(),
            2 => summary::<2>(numbers, &facts, &[], Summary::AlwaysWritten).to_vec(),
            _ => summary::<3>(numbers, &facts, &[], Summary::AlwaysWritten).to_vec(),
        };
        for (key, fact) in KEYS.iter().enumerate() {
            let found = !always.contains(fact);
            let was_seen = seen.unwritten_at_end & 1 << key != 0;
            let what = format!("{} is unwritten at the end: found {found}, seen {was_seen}", fact.name);
            agree(found, was_seen, collects, agreed).map_err(|()| what)?;
            agreed.always_written += u64::from(!found);
        }
        Ok(())
    }

    fn name(&self, node: NodeIx) -> &str {
        &self.graph.nodes[node].id
    }
}

/// Of collecting nodes the proof may say more than a play shows, and never less.
fn agree(found: bool, seen: bool, collects: bool, agreed: &mut Agreed) -> Result<(), ()> {
    match (found, seen) {
        (true, false) if collects => {
            agreed.refused_unseen += 1;
            Ok(())
        }
        _ if found == seen => Ok(()),
        _ => Err(()),
    }
}

impl Agreed {
    pub(crate) fn add(&mut self, other: Agreed) {
        self.reads += other.reads;
        self.unwritten += other.unwritten;
        self.overlaps += other.overlaps;
        self.always_written += other.always_written;
        self.refused_unseen += other.refused_unseen;
        self.with_loops += other.with_loops;
        self.collecting += other.collecting;
        self.unplayed += other.unplayed;
        self.interleaved += other.interleaved;
    }
}
