//! Which places of a join may be empty when it fires.
//!
//! A place may be skipped if its join can fire without it: where some choices lead to another place of the join, and
//! none of what they run leads to this one. Backwards through a turn, for each vertex that runs:
//!
//! - it *avoids* the place if in some choice of it every edge does: it is not the place's, and where it leads avoids it;
//! - it *spares* the place if in such a choice some edge feeds another place, or leads to a vertex that spares it.
//!
//! One choice for each vertex serves both, since a choice that spares also avoids. The places of all joins are asked
//! about at once, one bit each.

use super::nest::Nest;
use super::net::Net;
use super::pairs::Pairs;
use crate::model::{EdgeIx, NodeIx};
use crate::plan::Presence;

/// A join with at least two places, each with the edges that feed it.
pub(super) type Places = Vec<Vec<EdgeIx>>;

/// For each join and each of its places, whether the place holds a value in every turn in which the join fires.
pub(super) fn presence(
    net: &Net<'_>,
    nest: &Nest,
    pairs: &Pairs,
    root: NodeIx,
    joins: &[Places],
) -> Vec<Vec<Presence>> {
    let mut feeds: Vec<Option<Feed>> = vec![None; net.edges.len()];
    let mut bits = 0;
    for places in joins {
        let (first, end) = (bits, bits + places.len());
        for place in places {
            for edge in place {
                feeds[*edge] = Some(Feed { place: bits, first, end });
            }
            bits += 1;
        }
    }
    let spared = spared(net, nest, pairs, root, &feeds, bits);
    let mut bit = 0..;
    let mut of = |_: &Vec<EdgeIx>| {
        let skipped = bit.next().is_some_and(|bit| spared[bit / 64] & (1 << (bit % 64)) != 0);
        if skipped { Presence::MayBeSkipped } else { Presence::Always }
    };
    joins.iter().map(|places| places.iter().map(&mut of).collect()).collect()
}

/// The place that an edge feeds, and the range of all places of that join.
#[derive(Clone, Copy)]
struct Feed {
    place: usize,
    first: usize,
    end: usize,
}

/// The places that the root spares.
fn spared(net: &Net<'_>, nest: &Nest, pairs: &Pairs, root: NodeIx, feeds: &[Option<Feed>], bits: usize) -> Vec<u64> {
    let width = bits.div_ceil(64);
    let live: Vec<NodeIx> = pairs.live().collect();
    let mut slot: Vec<Option<usize>> = vec![None; net.choices.len()];
    for (at, vertex) in live.iter().enumerate() {
        slot[*vertex] = Some(at * width);
    }
    let mut avoids = vec![0u64; live.len() * width];
    let mut spares = vec![0u64; live.len() * width];
    let mut avoiding = vec![0u64; width];
    let mut sparing = vec![0u64; width];
    for (at, vertex) in live.iter().enumerate().rev() {
        for arm in &nest.arms[*vertex] {
            avoiding.fill(u64::MAX);
            sparing.fill(0);
            for edge in &arm.edges {
                if let Some(feed) = feeds[*edge] {
                    avoiding[feed.place / 64] &= !(1 << (feed.place % 64));
                    (feed.first..feed.end).for_each(|bit| sparing[bit / 64] |= 1 << (bit % 64));
                }
                let forward = nest.back[*edge].is_none();
                if let Some(to) = slot[nest.vertex[net.edges[*edge].to]].filter(|_| forward) {
                    for word in 0..width {
                        avoiding[word] &= avoids[to + word];
                        sparing[word] |= spares[to + word];
                    }
                }
            }
            for word in 0..width {
                avoids[at * width + word] |= avoiding[word];
                spares[at * width + word] |= avoiding[word] & sparing[word];
            }
        }
    }
    slot[root].map_or_else(Vec::new, |root| spares[root..root + width].to_vec())
}
