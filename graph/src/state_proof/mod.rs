//! Proves two properties of the state of a run: P8, no node reads a key that may not have been written; P9, no two
//! nodes that may run at the same time overwrite one key.
//!
//! The keys that nodes access are constants of their types, which only the compiler knows. So a macro can write the graph as
//! numbers ([`StateGraph::encode`]), and the proof can run in constants: `const fn`s over slices, without recursion. A node
//! that reads nothing costs one look at its facts, and so does one that overwrites nothing. Constants that call these may
//! `#[allow(long_running_const_eval)]`: they end, but in a graph of thousands of nodes not soon. [`StateProof::of`] proves a
//! whole graph; it says at which node it failed, so that the constant can fail at that node's token.
//!
//! # What is proven
//!
//! A node sees the state as it was when its attempt started, and what it writes is there from its completion on. So a read
//! is safe if, in every play and every order, a node that writes the key has completed in the causal past of the reader
//! (the source of [`search`](self) decides that, `overlapping` the same of P9). Both are exact for graphs without
//! collecting nodes: refused if and only if some play shows it, where each choice is free. That a bounded arm
//! has been taken before `spent` is, is not used. With collecting nodes (`a | b => node`) both are safe, and may refuse a
//! graph of which no play shows it; that needs a node that waits for a collecting node and for what else leads to it.
//!
//! # Graphs inside nodes
//!
//! [`summary`] gives the facts of a node with a graph inside. The nodes inside see the state around the node as it was when
//! the node started, and what has been written inside since; the graph around sees what they have written when the node
//! completes.
//!
//! - A *nested workflow* is proven with the keys that it is given. As a node it reads those, writes what is
//!   [always written](Summary::AlwaysWritten), and may write what is [maybe written](Summary::MaybeWritten).
//! - The graph inside `[..]` is proven with nothing given, as far as P9 goes. As a node it reads what is
//!   [needed](Summary::Needed), and may write all that is [written](Summary::Written): there may be no item. That asks the
//!   right question of P8, since the routes inside and those outside are chosen independently: a read inside is
//!   unsafe if and only if its key may be unwritten inside and may be unwritten when the node starts. All items share one state; of what
//!   other items write, an item may see something or nothing, so only its own writes count. A node that
//!   [runs for items](NodeRoles::runs_for_items) overlaps with itself: whatever is overwritten inside is overwritten by
//!   two items at once, so that [`overlapping_write`] reports the node.
//!
//! ```
//! use graphweft_graph::state_proof::{NodeRoles, StateFacts, StateGraph, StateKeyFact, UnwrittenRead, unwritten_read};
//! use graphweft_graph::{END, Graph, NodeIx, START, analyse};
//!
//! struct NoFailures;
//! impl NodeRoles for NoFailures {
//!     fn is_failure(&self, _: NodeIx, _: usize) -> bool {
//!         false
//!     }
//!     fn runs_for_items(&self, _: NodeIx) -> bool {
//!         false
//!     }
//! }
//!
//! const OWNER: StateKeyFact = StateKeyFact::overwrite("owner");
//!
//! let mut graph = Graph::new("START", "END");
//! let [assign, report] = ["assign", "report"].map(|name| graph.add_node(name));
//! graph.connect(START, assign);
//! graph.connect(assign, report);
//! graph.connect(report, END);
//! let plan = analyse(&graph).expect("a chain is sound");
//! let numbers = StateGraph::encode(&graph, &plan, &NoFailures);
//!
//! let reads = StateFacts { reads: &[OWNER], ..StateFacts::NONE };
//! let writes = StateFacts { writes: &[OWNER], ..StateFacts::NONE };
//! let none = StateFacts::NONE;
//! assert_eq!(unwritten_read(&numbers, &[none, none, writes, reads], &[], report), None);
//!
//! // Without the writer, the key has to be given at the start.
//! let nothing_before = UnwrittenRead { key: 0, writer: None, passed: None };
//! assert_eq!(unwritten_read(&numbers, &[none, none, none, reads], &[], report), Some(nothing_before));
//! assert_eq!(unwritten_read(&numbers, &[none, none, none, reads], &[OWNER], report), None);
//! ```

mod explain;
mod facts;
mod keys;
mod message;
mod node_keys;
mod overlapping;
mod pack;
mod proof;
mod questions;
mod search;
mod state_graph;
mod summary;
mod together;
mod unwritten;

pub use facts::{Holds, StateFacts, StateKeyFact, Zero};
pub use keys::MOST_KEYS;
pub use message::{GraphNames, Message};
pub use node_keys::NodeKeys;
pub use overlapping::{Overlap, OverlappingWrite, first_overlapping_write, overlapping_write};
pub use pack::{numbers_of, pack, pack_names, unpack};
pub use proof::{PackedGraph, StateProof};
pub use state_graph::{NodeRoles, StateGraph};
pub use summary::{Summary, summary, summary_len};
pub use unwritten::{UnwrittenRead, first_unwritten_read, unwritten_read};
