//! The nodes of a picture in layers, so that all edges lead down, except those that close a loop.
//!
//! The first steps of a layered drawing (Sugiyama, Tagawa, Toda 1981): edges that close a cycle are found by a depth-first
//! search, a layer is the length of the longest path to it, an edge over several layers passes each of those between in a
//! place of its own, and the order in a layer is that of the mean of the neighbours above and below.

/// A place in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A node.
    Node(usize),
    /// An edge that passes.
    Pass,
}

/// A piece of an edge from one layer to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The edge.
    pub(super) edge: usize,
    /// The place in the upper layer, and that in the lower one, by their numbers.
    pub(super) from: usize,
    pub(super) to: usize,
}

#[derive(Debug)]
pub(super) struct Layers {
    /// All places, by their numbers.
    pub(super) places: Vec<Place>,
    /// The numbers of the places of each layer, from left to right.
    pub(super) rows: Vec<Vec<usize>>,
    /// The pieces from each layer to the next.
    pub(super) pieces: Vec<Vec<Piece>>,
    /// The edges that close a loop.
    pub(super) back: Vec<usize>,
}

/// How often the order is improved, down and up.
const SWEEPS: usize = 4;

impl Layers {
    /// `nodes`: those that are drawn. `edges`: the ends of each edge.
    pub(super) fn of(nodes: &[usize], edges: &[(usize, usize)]) -> Self {
        let (order, back) = searched(nodes, edges);
        let count = nodes.iter().max().map_or(0, |most| most + 1);
        let mut layer = vec![0usize; count];
        let mut is_back = vec![false; edges.len()];
        back.iter().for_each(|edge| is_back[*edge] = true);
        let outgoing = outgoing(count, edges);
        for node in &order {
            for edge in outgoing[*node].iter().filter(|edge| !is_back[**edge]) {
                let to = edges[*edge].1;
                layer[to] = layer[to].max(layer[*node] + 1);
            }
        }
        let depth = nodes.iter().map(|node| layer[*node] + 1).max().unwrap_or(0);
        let mut layers = Layers {
            places: nodes.iter().map(|node| Place::Node(*node)).collect(),
            rows: vec![Vec::new(); depth],
            pieces: vec![Vec::new(); depth],
            back,
        };
        let mut place_of = vec![0usize; count];
        for (place, node) in nodes.iter().enumerate() {
            place_of[*node] = place;
            layers.rows[layer[*node]].push(place);
        }
        for (edge, (from, to)) in edges.iter().enumerate() {
            if is_back[edge] {
                continue;
            }
            let mut above = place_of[*from];
            for between in layer[*from] + 1..layer[*to] {
                let pass = layers.places.len();
                layers.places.push(Place::Pass);
                layers.rows[between].push(pass);
                layers.pieces[between - 1].push(Piece { edge, from: above, to: pass });
                above = pass;
            }
            layers.pieces[layer[*to] - 1].push(Piece { edge, from: above, to: place_of[*to] });
        }
        layers.sort();
        layers
    }

    fn sort(&mut self) {
        let mut at = vec![0; self.places.len()];
        let mut sums = vec![(0, 0); self.places.len()];
        for _ in 0..SWEEPS {
            for row in 1..self.rows.len() {
                self.sort_row((row, row - 1), row - 1, |piece| (piece.to, piece.from), &mut at, &mut sums);
            }
            for row in (0..self.rows.len().saturating_sub(1)).rev() {
                self.sort_row((row, row + 1), row, |piece| (piece.from, piece.to), &mut at, &mut sums);
            }
        }
    }

    /// Sorts a layer by the mean of the neighbours in another one. A place without neighbours stays at its number.
    fn sort_row(
        &mut self,
        (row, by): (usize, usize),
        pieces: usize,
        ends: impl Fn(&Piece) -> (usize, usize),
        at: &mut [usize],
        sums: &mut [(usize, usize)],
    ) {
        for (number, place) in self.rows[by].iter().enumerate() {
            at[*place] = number;
        }
        self.rows[row].iter().for_each(|place| sums[*place] = (0, 0));
        for (here, there) in self.pieces[pieces].iter().map(ends) {
            sums[here] = (sums[here].0 + at[there], sums[here].1 + 1);
        }
        // As integers, so that the order is total.
        for (number, place) in self.rows[row].iter().enumerate() {
            let (sum, count) = sums[*place];
            sums[*place].0 = (sum * 1024).checked_div(count).unwrap_or(number * 1024);
        }
        self.rows[row].sort_by_key(|place| sums[*place].0);
    }
}

/// The edges of each node.
fn outgoing(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut outgoing = vec![Vec::new(); count];
    for (edge, (from, _)) in edges.iter().enumerate() {
        outgoing[*from].push(edge);
    }
    outgoing
}

/// The nodes so that each comes before those that it leads to, except by the edges that close a cycle, which come second.
fn searched(nodes: &[usize], edges: &[(usize, usize)]) -> (Vec<usize>, Vec<usize>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let count = nodes.iter().max().map_or(0, |most| most + 1);
    let outgoing = outgoing(count, edges);
    let (mut seen, mut done, mut back) = (vec![Seen::Not; count], Vec::new(), Vec::new());
    for root in nodes {
        if seen[*root] != Seen::Not {
            continue;
        }
        seen[*root] = Seen::Open;
        let mut path = vec![(*root, 0usize)];
        while let Some((node, next)) = path.last_mut() {
            let Some(edge) = outgoing[*node].get(*next).copied() else {
                seen[*node] = Seen::Done;
                done.push(*node);
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match seen[to] {
                Seen::Open => back.push(edge),
                Seen::Not => {
                    seen[to] = Seen::Open;
                    path.push((to, 0));
                }
                Seen::Done => {}
            }
        }
    }
    done.reverse();
    (done, back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_over_two_layers_passes_the_one_between() {
        let layers = Layers::of(&[0, 1, 2], &[(0, 1), (1, 2), (0, 2)]);
        let kinds: Vec<Vec<Place>> =
            layers.rows.iter().map(|row| row.iter().map(|place| layers.places[*place]).collect()).collect();
        assert_eq!(kinds[0], [Place::Node(0)]);
        assert!(kinds[1].len() == 2 && kinds[1].contains(&Place::Node(1)) && kinds[1].contains(&Place::Pass));
        assert_eq!(kinds[2], [Place::Node(2)]);
        assert_eq!(layers.pieces.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 0]);
    }

    #[test]
    fn an_edge_that_closes_a_loop_leads_up() {
        let layers = Layers::of(&[0, 1, 2], &[(0, 1), (1, 2), (2, 1), (2, 2)]);
        assert_eq!(layers.back, [2, 3]);
        assert_eq!(layers.rows.len(), 3);
    }

    #[test]
    fn branches_are_ordered_so_that_their_edges_do_not_cross() {
        // 0 leads to 1 and 2, 1 to 4, 2 to 3.
        let layers = Layers::of(&[0, 1, 2, 3, 4], &[(0, 1), (0, 2), (1, 4), (2, 3)]);
        let at =
            |row: usize, node| layers.rows[row].iter().position(|place| layers.places[*place] == Place::Node(node));
        assert_eq!(at(1, 1) < at(1, 2), at(2, 4) < at(2, 3));
    }
}
