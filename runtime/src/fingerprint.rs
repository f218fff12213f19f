//! The form of a graph when a run was recorded. A run is resumed under another graph only if all its records still have
//! the same meaning.
//!
//! A fingerprint is plain data: for each graph that a workflow can enter its nodes, how each is reached, where it
//! leads, and hashes of its input and output types. Changes without effect on records are left out: retries and time
//! limits, doc comments, the names of types. The order in which nodes are written is in the hash, and costs no more
//! than a comparison.

mod compare;
mod past;
mod path;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub(crate) use compare::position_of_label;
pub(crate) use past::{Change, FormerNames, FormerNamesOfCalled, NodeNames, Past, Retyped, Translation};
pub(crate) use path::{below_child, inside_child};
pub(crate) use schema::hash as schema_hash;

/// The fingerprint of a workflow.
#[derive(Debug)]
pub(crate) struct Fingerprint {
    /// The hash of the body. The same in every process and from every compiler.
    pub(crate) hash: u64,
    /// The body, as stored with a run and read by [`Past::read`].
    #[cfg(test)]
    pub(crate) body: Json,
    /// Hash and body, as a store keeps them.
    pub(crate) stored: Arc<(u64, Json)>,
    graphs: Body,
}

impl Fingerprint {
    /// `shown`: the graphs as people see them, which are stored beside it. They are not in the hash.
    pub(crate) fn new(graphs: Vec<GraphPrint>, shown: Json) -> Self {
        let graphs = Body { graphs };
        let mut body = serde_json::to_value(&graphs).unwrap_or_default();
        let hash = fnv1a(canonical(&body).as_bytes());
        if let Json::Object(body) = &mut body {
            body.insert(SHOWN.to_owned(), shown);
        }
        Fingerprint {
            hash,
            #[cfg(test)]
            body: body.clone(),
            stored: Arc::new((hash, body)),
            graphs,
        }
    }
}

/// The name in a stored body under which its graphs are as people see them.
pub(crate) const SHOWN: &str = "shown";

/// Every graph that a run can enter; the first is that of the workflow that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Body {
    pub(crate) graphs: Vec<GraphPrint>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GraphPrint {
    pub(crate) name: String,
    pub(crate) input: String,
    pub(crate) output: String,
    /// Where START leads.
    pub(crate) start: Vec<RoutePrint>,
    pub(crate) nodes: Vec<NodePrint>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodePrint {
    pub(crate) name: String,
    pub(crate) was: Vec<String>,
    pub(crate) kind: KindPrint,
    pub(crate) input: String,
    pub(crate) output: String,
    pub(crate) at_most_once: bool,
    /// The loops around it, the outermost first, each by the nodes at which it is entered. Its turns count these loops.
    pub(crate) loops: Vec<Vec<String>>,
    pub(crate) ways: Vec<WayPrint>,
    pub(crate) routes: Vec<RoutePrint>,
}

impl NodePrint {
    fn is_each(&self) -> bool {
        matches!(self.kind, KindPrint::Each(_))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KindPrint {
    Node,
    /// A nested workflow: its name, and which of the graphs it is.
    Workflow(String, usize),
    /// `[..]`, and which of the graphs is inside.
    Each(usize),
}

impl KindPrint {
    fn inside(&self) -> Option<usize> {
        match self {
            KindPrint::Node => None,
            KindPrint::Workflow(_, graph) | KindPrint::Each(graph) => Some(*graph),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WayPrint {
    pub(crate) kind: WayKind,
    pub(crate) places: Vec<Vec<SourcePrint>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WayKind {
    Plain,
    All,
    Any,
}

/// The source of an edge, and the labels by which it is taken; none if its source is not routed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SourcePrint {
    pub(crate) node: String,
    pub(crate) labels: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RoutePrint {
    pub(crate) label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at_most: Option<u32>,
    pub(crate) to: Vec<String>,
}

/// JSON with the keys of each object in order. `serde_json` itself keeps the order in which they were set, if any crate
/// of the program enables its feature `preserve_order`.
pub(crate) fn canonical(json: &Json) -> String {
    match json {
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let text = |(name, value): (&String, &Json)| format!("{}:{}", Json::from(name.as_str()), canonical(value));
            format!("{{{}}}", fields.into_iter().map(text).collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The 64-bit FNV-1a hash, <http://www.isthe.com/chongo/tech/comp/fnv/>: short, and the same everywhere. It need not
/// resist attacks, since a collision helps no attacker here.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = Fnv1a::default();
    hash.add(bytes);
    hash.finish()
}

/// The same hash of what is written to it.
pub(crate) struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

impl io::Write for Fnv1a {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}
