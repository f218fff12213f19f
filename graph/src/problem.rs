//! Why a graph is refused.

use crate::model::{EdgeIx, NodeIx};

/// The routes that show a problem: at each of these nodes, the choice that is taken (its place in
/// [`NodeData::choices`](crate::NodeData::choices)), in running order. They begin at START or, where the problem lies
/// inside a loop, where a turn of that loop begins. Nodes that have no choice are left out: those with a single one,
/// and those of a loop's last turn that have only one by which the turn is the last. So a route may be empty: the
/// problem then comes up whatever is chosen.
pub type Route = Vec<(NodeIx, usize)>;

/// One reason for refusing a graph. Nodes and edges are named by their places in the [`Graph`](crate::Graph).
///
/// Of several pairs of edges that show one problem at one node, the first is given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// START leads nowhere.
    NoStart,
    /// No route from START comes here.
    Unreachable {
        /// The node that never runs.
        node: NodeIx,
    },
    /// Two edges are equal: they have the same ends, and every choice that takes one takes the other.
    DuplicateEdge {
        /// The edge that was written first.
        first: EdgeIx,
        /// Its repetition.
        second: EdgeIx,
    },
    /// Nodes without routes lead round in a circle.
    UnconditionalCycle {
        /// The circle in running order; the first node follows the last.
        path: Vec<NodeIx>,
    },
    /// A loop whose routes all stay inside it.
    NoWayOut {
        /// The nodes of the loop, in running order from where it is entered.
        nodes: Vec<NodeIx>,
    },
    /// A join at the head of a loop has both ways in from outside and ways back: the one would wait for the other.
    MixedJoin {
        /// The head of the loop.
        node: NodeIx,
        /// A way in that leads back from inside the loop.
        back: EdgeIx,
        /// A way in of the same group from outside the loop.
        outside: EdgeIx,
    },
    /// Two ways into a node can both come in one turn, or two edges can both feed one place of a join.
    RunsTwice {
        /// The node that would run twice.
        node: NodeIx,
        /// One of the ways in.
        first: EdgeIx,
        /// The other.
        second: EdgeIx,
        /// Routes under which both come.
        when: Route,
    },
    /// A node of a loop that is entered at several nodes hands over to two of them at once.
    TwoTokens {
        /// The node that sends both.
        node: NodeIx,
        /// One edge of the choice.
        first: EdgeIx,
        /// The other.
        second: EdgeIx,
        /// The nodes at which the loop is entered.
        heads: Vec<NodeIx>,
    },
    /// A join inside a loop that is entered at several nodes waits for an edge from inside it.
    JoinInHandOver {
        /// The join.
        node: NodeIx,
        /// Its edge from inside the loop.
        edge: EdgeIx,
        /// The nodes at which the loop is entered.
        heads: Vec<NodeIx>,
    },
    /// Two ways into a loop that is entered at several nodes can both come: it would hold two tokens.
    EnteredTwice {
        /// The nodes at which the loop is entered.
        heads: Vec<NodeIx>,
        /// One of the ways in.
        first: EdgeIx,
        /// The other.
        second: EdgeIx,
        /// Routes under which both come.
        when: Route,
    },
    /// A branch that runs once for each turn of a loop meets one that does not.
    LoopsMeet {
        /// Where they meet.
        node: NodeIx,
        /// The edge that comes once for each turn.
        each_turn: EdgeIx,
        /// The edge that does not.
        other: EdgeIx,
        /// The heads of the loop whose turns they are.
        heads: Vec<NodeIx>,
    },
    /// END is on a branch that leaves a loop while the loop continues.
    EndInSide {
        /// The edge into END.
        edge: EdgeIx,
        /// The edge by which the branch leaves the loop.
        side: EdgeIx,
        /// The edge that leads to the next turn at the same time.
        back: EdgeIx,
        /// Routes under which both are taken.
        when: Route,
    },
    /// Two ways into END can both come.
    SeveralOutputs {
        /// One of the ways in.
        first: EdgeIx,
        /// The other.
        second: EdgeIx,
        /// Routes under which both come.
        when: Route,
    },
    /// END is never reached.
    NoOutput {
        /// Routes under which it is not.
        when: Route,
    },
}
