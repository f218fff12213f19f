//! Shows the play that a search has found, as far as a message names it.

use super::facts::{StateFacts, contains};
use super::search::Search;
use super::unwritten::UnwrittenRead;
use crate::model::{NodeIx, START};

/// A play: the nodes that run, and their choices.
struct Play<const N: usize> {
    runs: [bool; N],
    /// Whether the way to the target leads over the node.
    is_on_the_way: [bool; N],
    is_played: [bool; N],
    choice: [usize; N],
}

impl<const N: usize> Search<'_, N> {
    /// For a key that may be unwritten when a node starts: a writer, and the choice by which it is passed by.
    pub(super) const fn explain(&self, facts: &[StateFacts], key: usize) -> UnwrittenRead {
        let reader = self.questions.nodes[key];
        let play = self.show(reader, 1 << key);
        let mut found = UnwrittenRead { key, writer: None, passed: None };
        let mut place = self.graph.nodes;
        while place > 0 {
            place -= 1;
            let node = self.graph.at(place);
            if !contains(facts[node].writes, self.questions.keys[key]) {
                continue;
            }
            let passed = if node == reader || self.leads[node] & (1 << key) == 0 {
                None
            } else {
                self.passed_by(node, 1 << key, &play)
            };
            let is_better = match found.writer {
                None => true,
                Some(_) => found.passed.is_none() && passed.is_some(),
            };
            if is_better {
                found = UnwrittenRead { key, writer: Some(node), passed };
            }
        }
        if found.writer.is_none() {
            found.writer = self.find_that_may_write(facts, key);
        }
        found
    }

    /// Where no node is sure to write the key, one that may.
    const fn find_that_may_write(&self, facts: &[StateFacts], key: usize) -> Option<NodeIx> {
        let mut node = 0;
        while node < self.graph.nodes {
            if contains(facts[node].may_write, self.questions.keys[key]) {
                return Some(node);
            }
            node += 1;
        }
        None
    }

    /// Plays it, from START on.
    const fn show(&self, reader: NodeIx, key: u128) -> Play<N> {
        let mut play =
            Play { runs: [false; N], is_on_the_way: [false; N], is_played: [false; N], choice: [usize::MAX; N] };
        play.runs[START] = true;
        play.is_on_the_way[START] = true;
        loop {
            let mut has_changed = false;
            let mut place = 0;
            while place < self.graph.nodes {
                let node = self.graph.at(place);
                place += 1;
                if play.runs[node] && !play.is_played[node] && node != reader && self.leads[node] & key != 0 {
                    self.choose(node, key, &mut play);
                    has_changed = true;
                }
            }
            if !has_changed {
                return play;
            }
        }
    }

    const fn choose(&self, node: NodeIx, key: u128, play: &mut Play<N>) {
        play.is_played[node] = true;
        let mut choice = self.graph.first_choice(node);
        let mut passes_on = false;
        while choice < self.graph.first_choice(node + 1) {
            let (avoids, reaches) = self.outcome(node, choice);
            let fits = if play.is_on_the_way[node] { reaches } else { avoids };
            if fits & key != 0 {
                break;
            }
            choice += 1;
        }
        if choice == self.graph.first_choice(node + 1) {
            passes_on = true;
            choice = self.graph.first_choice(node);
            while choice < self.graph.first_choice(node + 1) && self.passed_on(node, choice) & key == 0 {
                choice += 1;
            }
        }
        if choice == self.graph.first_choice(node + 1) {
            return;
        }
        play.choice[node] = choice;
        let mut is_led_on = !play.is_on_the_way[node];
        let mut at = self.graph.first_taken(choice);
        while at < self.graph.first_taken(choice + 1) {
            let edge = self.graph.taken(at);
            let to = self.graph.to(edge);
            at += 1;
            if (self.begins_later_turn(edge) & key != 0) != passes_on {
                continue;
            }
            play.runs[to] = true;
            if !is_led_on && self.reaches[to] & key != 0 {
                play.is_on_the_way[to] = true;
                is_led_on = true;
            }
        }
    }

    /// The node of a play, and its choice, that does not lead on to a writer; the writer itself if it fails.
    const fn passed_by(&self, writer: NodeIx, key: u128, play: &Play<N>) -> Option<(NodeIx, usize)> {
        let mut before = [false; N];
        before[writer] = true;
        if play.choice[writer] != usize::MAX {
            let choice = play.choice[writer];
            let failed = (writer, choice - self.graph.first_choice(writer));
            return if self.graph.is_failure(choice) { Some(failed) } else { None };
        }
        loop {
            let mut has_changed = false;
            let mut next = 0;
            while next < self.graph.edges {
                let edge = next;
                next += 1;
                let from = self.graph.from(edge);
                if !before[self.graph.to(edge)] || before[from] || self.begins_later_turn(edge) & key != 0 {
                    continue;
                }
                let choice = play.choice[from];
                if choice != usize::MAX && !self.graph.takes(choice, edge) {
                    return Some((from, choice - self.graph.first_choice(from)));
                }
                before[from] = true;
                has_changed = true;
            }
            if !has_changed {
                return None;
            }
        }
    }
}
