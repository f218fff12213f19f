//! Which edges can be live together in one turn.
//!
//! Two edges of one vertex can where one choice takes both. An edge of a later vertex can with any edge that can be
//! live together with one of those that lead into that vertex, since what the vertex chooses is free.

use super::nest::Nest;
use super::net::Net;
use crate::model::{EdgeIx, NodeIx};
use crate::problem::Route;

const NOT_HERE: usize = usize::MAX;

/// A symmetric relation, as a row of bits for each edge; every edge that can be live at all is in its own row.
pub(super) struct Pairs {
    root: NodeIx,
    /// The row of each edge.
    row: Vec<usize>,
    /// The edge of each row.
    edges: Vec<EdgeIx>,
    /// The vertices that can run, each with its first and last row.
    live: Vec<(NodeIx, usize, usize)>,
    width: usize,
    bits: Vec<u64>,
}

impl Pairs {
    pub(super) fn new(edges: usize) -> Self {
        Pairs { root: 0, row: vec![NOT_HERE; edges], edges: Vec::new(), live: Vec::new(), width: 0, bits: Vec::new() }
    }

    /// Finds the pairs of one turn that begins at `root` and runs `vertices`, each of which comes after all that lead
    /// to it.
    pub(super) fn find(&mut self, nest: &Nest, root: NodeIx, vertices: &[NodeIx]) {
        self.root = root;
        self.number(nest, vertices);
        self.width = self.edges.len().div_ceil(64);
        self.bits.clear();
        self.bits.resize(self.edges.len() * self.width, 0);
        let mut with_vertex = vec![0; self.width];
        let mut with_arm = vec![0; self.width];
        for (vertex, first, end) in &self.live {
            if first == end {
                continue;
            }
            with_vertex.fill(0);
            if *vertex != root {
                for edge in nest.into[*vertex].iter().filter(|edge| self.row[**edge] != NOT_HERE) {
                    let from = self.row[*edge] * self.width;
                    for (word, other) in with_vertex.iter_mut().zip(&self.bits[from..from + self.width]) {
                        *word |= other;
                    }
                }
            }
            let columns = Columns::new(*first, *end);
            for (at, word) in with_vertex.iter().enumerate() {
                let mut rest = *word;
                while rest != 0 {
                    let row = at * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    columns.fill(&mut self.bits, row * self.width);
                }
            }
            for row in *first..*end {
                self.bits[row * self.width..][..self.width].copy_from_slice(&with_vertex);
            }
            if let [_] = nest.arms[*vertex][..] {
                for row in *first..*end {
                    columns.fill(&mut self.bits, row * self.width);
                }
                continue;
            }
            for arm in &nest.arms[*vertex] {
                with_arm.fill(0);
                arm.edges.iter().for_each(|edge| set(&mut with_arm, self.row[*edge]));
                for edge in &arm.edges {
                    let row = &mut self.bits[self.row[*edge] * self.width..][..self.width];
                    let words = row.iter_mut().zip(&with_arm).take(end.div_ceil(64)).skip(first / 64);
                    words.for_each(|(word, other)| *word |= other);
                }
            }
        }
    }

    fn number(&mut self, nest: &Nest, vertices: &[NodeIx]) {
        for edge in self.edges.drain(..) {
            self.row[edge] = NOT_HERE;
        }
        self.live.clear();
        for vertex in vertices.iter().copied() {
            if vertex != self.root && !nest.into[vertex].iter().any(|edge| self.row[*edge] != NOT_HERE) {
                continue;
            }
            let first = self.edges.len();
            for edge in nest.arms[vertex].iter().flat_map(|arm| &arm.edges).copied() {
                if self.row[edge] == NOT_HERE {
                    self.row[edge] = self.edges.len();
                    self.edges.push(edge);
                }
            }
            self.live.push((vertex, first, self.edges.len()));
        }
    }

    /// The edges that can be live in this turn.
    pub(super) fn edges(&self) -> &[EdgeIx] {
        &self.edges
    }

    /// The vertices that can run in this turn, each after all that lead to it.
    pub(super) fn live(&self) -> impl DoubleEndedIterator<Item = NodeIx> + '_ {
        self.live.iter().map(|(vertex, ..)| *vertex)
    }

    pub(super) fn can_be_live(&self, edge: EdgeIx) -> bool {
        self.row[edge] != NOT_HERE
    }

    /// Whether both edges can be live in the same turn.
    pub(super) fn together(&self, first: EdgeIx, second: EdgeIx) -> bool {
        let (first, second) = (self.row[first], self.row[second]);
        first != NOT_HERE
            && second != NOT_HERE
            && self.bits[first * self.width + second / 64] & (1 << (second % 64)) != 0
    }

    /// The first of some edges with which an edge can be live in the same turn.
    pub(super) fn partner(&self, edge: EdgeIx, among: &EdgeSet) -> Option<EdgeIx> {
        if !self.can_be_live(edge) || among.bits.is_empty() {
            return None;
        }
        let row = &self.bits[self.row[edge] * self.width..][..self.width];
        let meets = row.iter().zip(&among.bits).any(|(one, other)| one & other != 0);
        if !meets {
            return None;
        }
        among.edges.iter().copied().find(|other| self.together(edge, *other))
    }

    /// The choices by which both edges are live, in running order.
    pub(super) fn route(&self, net: &Net<'_>, nest: &Nest, first: EdgeIx, second: EdgeIx) -> Route {
        let mut route = Route::new();
        let (mut one, mut other) = (first, second);
        loop {
            let place = |edge: EdgeIx| nest.place[nest.vertex[net.edges[edge].from]];
            if place(one) > place(other) {
                std::mem::swap(&mut one, &mut other);
            }
            let vertex = nest.vertex[net.edges[other].from];
            let shared = nest.vertex[net.edges[one].from] == vertex;
            let takes = |edges: &[EdgeIx]| edges.contains(&other) && (!shared || edges.contains(&one));
            if let Some(arm) = nest.arms[vertex].iter().find(|arm| takes(&arm.edges))
                && nest.arms[vertex].len() > 1
                && net.choices[arm.node].len() > 1
            {
                route.push((arm.node, arm.choice));
            }
            let before = nest.into[vertex].iter().copied();
            let next = if vertex == self.root {
                None
            } else if shared {
                before.clone().find(|edge| self.can_be_live(*edge)).inspect(|edge| one = *edge)
            } else {
                before.clone().find(|edge| *edge == one).or(before.clone().find(|edge| self.together(*edge, one)))
            };
            match next {
                Some(edge) => other = edge,
                None => break,
            }
        }
        route.reverse();
        route
    }
}

fn set(row: &mut [u64], bit: usize) {
    row[bit / 64] |= 1 << (bit % 64);
}

/// Neighbouring columns of the relation. Filling them in one row after the other is most of the work of an analysis, which
/// macros do without optimisation: so there are no iterators here, and the masks are made once.
struct Columns {
    /// The words of a row that they begin and end in.
    words: (usize, usize),
    /// The bits of those two words.
    masks: (u64, u64),
}

impl Columns {
    fn new(first: usize, end: usize) -> Self {
        let words = (first / 64, (end - 1) / 64);
        let (head, tail) = (u64::MAX << (first % 64), u64::MAX >> (63 - (end - 1) % 64));
        Columns { words, masks: if words.0 == words.1 { (head & tail, head & tail) } else { (head, tail) } }
    }

    /// Sets their bits in the row that begins at `row`.
    fn fill(&self, bits: &mut [u64], row: usize) {
        let (first, last) = self.words;
        bits[row + first] |= self.masks.0;
        bits[row + last] |= self.masks.1;
        let mut word = first + 1;
        while word < last {
            bits[row + word] = u64::MAX;
            word += 1;
        }
    }
}

/// A set of edges, for questions about all of them together.
#[derive(Default)]
pub(super) struct EdgeSet {
    edges: Vec<EdgeIx>,
    bits: Vec<u64>,
}

impl EdgeSet {
    pub(super) fn add(&mut self, pairs: &Pairs, edge: EdgeIx) {
        if pairs.can_be_live(edge) {
            self.bits.resize(pairs.width, 0);
            set(&mut self.bits, pairs.row[edge]);
            self.edges.push(edge);
        }
    }
}
