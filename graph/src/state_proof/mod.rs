//! Proves what the nodes of a graph do with the state of a run: P8, no node reads a key that may not have been written;
//! P9, no two nodes that may run at the same time overwrite one key.
//!
//! What nodes read and write are constants of their types, which only the compiler knows. So the macro writes the graph as
//! numbers ([`StateGraph::encode`]), and the proof runs in constants: `const fn`s over slices, without recursion. A
//! graph in which no node reads or writes costs one look at each node.
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

mod facts;
mod message;
mod overlapping;
mod state_graph;
mod summary;
mod together;
mod unwritten;

pub use facts::{StateFacts, StateKeyFact, Zero};
pub use message::{GraphNames, Message};
pub use overlapping::{Overlap, OverlappingWrite, overlapping_write};
pub use state_graph::{NodeRoles, StateGraph};
pub use summary::{Summary, summary, summary_len};
pub use unwritten::{UnwrittenRead, unwritten_read};
