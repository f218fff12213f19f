//! What the nodes of a graph do with the state, as constants: what `workflow!` writes of a graph, and what a graph is as a
//! node of another.
//!
//! The proof itself, and why workflows are looked at to a depth, is in
//! [`graphweft_graph::state_proof`](mod@graphweft_graph::state_proof).

use std::marker::PhantomData;

pub use graphweft_graph::state_proof::{GraphNames, NodeKeys, PackedGraph, StateProof};

use crate::node::Node;
use crate::state::StateFacts;
use crate::workflow::Workflow;
pub use crate::workflow::{Depth, HasKeys};

/// One workflow deeper.
pub struct Deeper<D>(PhantomData<fn() -> D>);

/// No workflow is looked at.
pub struct Deepest;

/// What is not looked at.
pub struct Unseen;

impl<D: Depth> Depth for Deeper<D> {
    type Keys<W: Workflow> = W::Keys<D>;
    type Inside = D;
}

impl Depth for Deepest {
    type Keys<W: Workflow> = Unseen;
    type Inside = Self;
}

impl HasKeys for Unseen {
    const KEYS: &'static NodeKeys = &NodeKeys::UNENDING;
}

/// A workflow of which nothing is known, since its graph was refused.
pub struct NoKeys;

impl HasKeys for NoKeys {
    const KEYS: &'static NodeKeys = &NodeKeys::NONE;
}

/// A workflow in an editor, which proves nothing.
pub struct Unproven<D>(PhantomData<fn() -> D>);

impl<D> HasKeys for Unproven<D> {
    const KEYS: &'static NodeKeys = &NodeKeys::NONE;
}

type Four<D> = Deeper<Deeper<Deeper<Deeper<D>>>>;
type Sixteen<D> = Four<Four<Four<Four<D>>>>;

/// The depth at which graphs are proven: 32, which is more than the workflows that may be inside each other. A constant may be
/// made of another that is made of another, and so on for 128 (rustc's limit of its queries); a depth takes three of those, and
/// so does a `[..]` around a workflow, which takes a depth of its own.
pub type FullDepth = Sixteen<Sixteen<Deepest>>;

/// Asks what a node does with the state that is a workflow, at a depth.
pub struct WorkflowProbe<N, D>(PhantomData<fn() -> (N, D)>);

/// Asks what a node says of itself.
pub struct NodeProbe<N>(PhantomData<fn() -> N>);

/// The same of several nodes at once.
pub struct NodesProbe<N>(PhantomData<fn() -> N>);

/// Of what is no workflow, and of what is no node, which is an error elsewhere.
pub trait PlainFacts {
    /// None.
    const OF_GRAPH: Option<StateFacts> = None;
    /// No.
    const USE_STATE: bool = false;
    /// None.
    const OWN: StateFacts = StateFacts::NONE;
    /// None.
    const OWN_OF_8: [StateFacts; 8] = [StateFacts::NONE; 8];
}

impl<N, D> PlainFacts for WorkflowProbe<N, D> {}
impl<N> PlainFacts for NodeProbe<N> {}
impl<N> PlainFacts for NodesProbe<N> {}

impl<W: Workflow, D: Depth> WorkflowProbe<W, D> {
    /// What its graph does.
    pub const OF_GRAPH: Option<StateFacts> = Some(<D::Keys<W> as HasKeys>::KEYS.facts());
}

impl<N: Node> NodeProbe<N> {
    /// Whether it has to do with the state, or is a workflow.
    pub const USE_STATE: bool = N::USES_STATE;
    /// Its own.
    pub const OWN: StateFacts = N::STATE;
}

impl<A: Node, B: Node, C: Node, D: Node, E: Node, F: Node, G: Node, H: Node> NodesProbe<(A, B, C, D, E, F, G, H)> {
    /// Whether one of them has to do with the state, or is a workflow.
    pub const USE_STATE: bool = A::USES_STATE
        || B::USES_STATE
        || C::USES_STATE
        || D::USES_STATE
        || E::USES_STATE
        || F::USES_STATE
        || G::USES_STATE
        || H::USES_STATE;
    /// Their own.
    pub const OWN_OF_8: [StateFacts; 8] =
        [A::STATE, B::STATE, C::STATE, D::STATE, E::STATE, F::STATE, G::STATE, H::STATE];
}

/// Whether one of them is.
pub const fn any(all: &[bool]) -> bool {
    let mut at = 0;
    while at < all.len() {
        if all[at] {
            return true;
        }
        at += 1;
    }
    false
}

/// What all nodes say of themselves.
pub const fn joined<const NODES: usize>(parts: &[&[StateFacts]]) -> [StateFacts; NODES] {
    let mut facts = [StateFacts::NONE; NODES];
    let (mut node, mut part) = (0, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            facts[node] = parts[part][at];
            at += 1;
            node += 1;
        }
        part += 1;
    }
    facts
}

/// Whether a graph has workflows inside, which do not say of themselves what their graphs do.
pub const fn have_workflows(facts: &[StateFacts]) -> bool {
    let mut node = 0;
    while node < facts.len() {
        if !facts[node].inside.is_empty() {
            return true;
        }
        node += 1;
    }
    false
}

/// What nodes do, with the graphs inside them.
pub const fn facts_of<const NODES: usize>(
    own: &[StateFacts],
    of_graphs: [Option<StateFacts>; NODES],
) -> [StateFacts; NODES] {
    let mut facts = [StateFacts::NONE; NODES];
    let mut node = 0;
    while node < NODES {
        facts[node] = match of_graphs[node] {
            Some(of_graph) => of_graph,
            None => own[node],
        };
        node += 1;
    }
    facts
}

/// Does not compile if a proof failed at this place: its place is the token of that node.
#[track_caller]
pub const fn refuse_at(proof: &StateProof, place: usize) {
    if proof.place == place {
        proof.refuse()
    }
}

/// A node that has nothing to do with the state.
pub struct NoState<N>(PhantomData<fn() -> N>);

/// Holds a node to have nothing to do with the state, of which the compiler finds out the type only where it is made.
///
/// ```compile_fail,E0080
/// use graphweft::prelude::*;
/// use graphweft::state::StateFacts;
///
/// const OWNER: StateKey<String> = StateKey::new("owner");
///
/// struct Owned<T>(T);
///
/// impl Node for Owned<u32> {
///     type Input = ();
///     type Output = u32;
///     type Error = Never;
///     const STATE: StateFacts = StateFacts { may_write: &[OWNER.fact()], ..StateFacts::NONE };
///
///     async fn run(&self, (): (), _: &Context) -> Result<u32, Never> {
///         Ok(self.0)
///     }
/// }
///
/// // `Owned<u32>` would do.
/// let flow = workflow! { let owned: Owned<_> = Owned(1); START => owned };
/// ```
#[track_caller]
pub const fn no_state<N: Node>() -> NoState<N> {
    let StateFacts { reads, writes, may_write, .. } = N::STATE;
    let is_by_hand = N::FACTS.is_by_hand;
    if !is_by_hand || reads.len() + writes.len() + may_write.len() > 0 {
        panic!(
            "this node reads or writes the state, and a part of its type is left out\n\
             help: write the whole type, without `_`"
        );
    }
    NoState(PhantomData)
}

/// The node is one of that type.
pub fn of_type<N>(_: &N, _: NoState<N>) {}
