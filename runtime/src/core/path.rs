//! Where in a run something happens, and how that is written.
//!
//! - `checkout/charge`: node `charge` of workflow `checkout`.
//! - `checkout/draft#2`: in the second turn of its loop; the first is unmarked. `checkout/draft#2.3`: in the third turn
//!   of an inner loop, in the second of the outer one.
//! - `checkout/delivery/pack`: node `pack` of the workflow that runs as node `delivery`.
//! - `digest/search[3]`: the fourth item in node `search` of `[search]` or `[search => summarise]`; `search[3]#2` in
//!   the second turn of a loop inside the brackets, `search#2[3]` where the brackets stand in a loop.

use std::fmt;
use std::sync::Arc;

use super::layout::Layout;

/// A node in a scope, in a turn. Cheap to make and to copy; it becomes a string only where someone reads it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) scope: Arc<ScopePath>,
    pub(crate) node: u32,
    pub(crate) turns: Turns,
}

/// Where a scope stands in its run.
pub(crate) struct ScopePath {
    pub(crate) layout: Arc<Layout>,
    /// The node that the scope is inside of; `None` for the workflow that was started.
    pub(crate) around: Option<Place>,
    /// What stands before all names of a workflow that a node has started, in the place of the workflow's own.
    pub(crate) prefix: Option<String>,
    /// For an item of `[..]`, which one.
    pub(crate) item: Option<usize>,
}

/// The number of the turn in each loop around a node, from 1, the outermost first. Two levels go without allocation.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Turns {
    Outside,
    One(u64),
    Two(u64, u64),
    More(Arc<[u64]>),
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair;
        let turns: &[u64] = match self {
            Turns::Outside => &[],
            Turns::One(turn) => std::slice::from_ref(turn),
            Turns::Two(outer, inner) => {
                pair = [*outer, *inner];
                &pair
            }
            Turns::More(turns) => turns,
        };
        if turns.iter().all(|turn| *turn == 1) {
            return Ok(());
        }
        for (at, turn) in turns.iter().enumerate() {
            write!(f, "{}{turn}", if at == 0 { '#' } else { '.' })?;
        }
        Ok(())
    }
}

impl ScopePath {
    /// What stands before the name of each node of this scope.
    fn write_before(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.around, self.item) {
            (None, _) => f.write_str(self.prefix.as_ref().unwrap_or(&self.layout.name)),
            (Some(around), None) => fmt::Display::fmt(around, f),
            (Some(around), Some(_)) => around.scope.write_before(f),
        }
    }

    /// What stands behind it.
    fn write_behind(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.around, self.item) {
            (Some(around), Some(item)) => {
                around.scope.write_behind(f)?;
                write!(f, "{}[{item}]", around.turns)
            }
            _ => Ok(()),
        }
    }
}

impl Place {
    /// How many edges go live under a choice.
    pub(crate) fn edges(&self, choice: usize) -> usize {
        self.scope.layout.edges_of(self.node as usize, choice)
    }

    /// Whether it is a node, or stands in the graph inside it.
    pub(crate) fn is_within(&self, node: &Place) -> bool {
        let mut at = self;
        loop {
            if at.node == node.node && at.turns == node.turns && Arc::ptr_eq(&at.scope, &node.scope) {
                return true;
            }
            match &at.scope.around {
                Some(around) => at = around,
                None => return false,
            }
        }
    }

    /// Whether the node has a graph inside.
    pub(crate) fn is_scope(&self) -> bool {
        self.scope.layout.is_scope(self.node as usize)
    }
}

impl fmt::Display for ScopePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_before(f)?;
        self.write_behind(f)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scope.write_before(f)?;
        f.write_str("/")?;
        f.write_str(self.scope.layout.nodes.get(self.node as usize).map_or("?", |node| node.name.as_str()))?;
        self.scope.write_behind(f)?;
        fmt::Display::fmt(&self.turns, f)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}
