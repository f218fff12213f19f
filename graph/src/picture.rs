//! A graph as a picture: text that Mermaid and Graphviz draw, a drawing for a terminal, and an image.

mod layers;
mod layout;
mod svg;
mod text;

use crate::model::{END, EdgeIx, Graph, NodeIx, START, Way};

/// What a picture shows: exactly the nodes and edges of a graph, one edge for each pair of ends and labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The nodes, START and END among them where they have an edge.
    pub nodes: Vec<PictureNode>,
    /// The edges; ends are places in `nodes`.
    pub edges: Vec<PictureEdge>,
}

/// A node of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureNode {
    /// The text on it.
    pub name: String,
    /// How it is drawn.
    pub kind: PictureKind,
    /// The names of the nodes that it may call. Text for Mermaid and Graphviz has them, drawings for a terminal and images do not.
    pub uses: Vec<String>,
}

/// How a node is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// START or END.
    Boundary,
    /// A step.
    Step,
    /// A step that is a workflow of its own.
    Workflow,
    /// `[..]`: a frame around what runs for each item.
    Each(Box<Picture>),
}

/// An edge of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureEdge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// The labels that take it, as in `low | medium`; `None` for an edge that is always taken.
    pub label: Option<String>,
    /// How its target takes it.
    pub kind: EdgeKind,
}

/// How the target of an edge takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// It runs when this arrives.
    Then,
    /// It waits for this and its other branches: `(a, b) => join`.
    Joins,
    /// It takes one arrival after another: `a | b => node`.
    Collects,
}

impl Picture {
    /// The picture of a graph. `labels` holds for each node and choice how it was written, nothing for a node without
    /// routes. A workflow without output (`is_unit`) is drawn without the implied edge to END; its arms that lead
    /// nowhere lead to END.
    pub fn of<Id>(graph: &Graph<Id>, nodes: Vec<PictureNode>, labels: &[Vec<String>], is_unit: bool) -> Self {
        let mut edges: Vec<PictureEdge> = graph
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| !(is_unit && edge.from == START && edge.to == END))
            .map(|(at, edge)| PictureEdge {
                from: edge.from,
                to: edge.to,
                label: label_of(graph, labels, edge.from, at),
                kind: kind_of(graph, edge.to, at),
            })
            .collect();
        for (node, data) in graph.nodes.iter().enumerate() {
            for (choice, taken) in data.choices.iter().enumerate() {
                let label = labels.get(node).and_then(|labels| labels.get(choice));
                let leads_nowhere =
                    taken.edges.iter().all(|edge| is_unit && graph.edges.get(*edge).is_some_and(|edge| edge.to == END));
                if let (true, true, Some(label)) = (is_unit, leads_nowhere, label) {
                    edges.push(PictureEdge { from: node, to: END, label: Some(label.clone()), kind: EdgeKind::Then });
                }
            }
        }
        Picture { nodes, edges }
    }

    /// Text for Mermaid.
    ///
    /// `a --> b` is "then", `a --o join` an edge that a join waits for, `a -.-> node` one that a collecting node takes
    /// when it comes, `a -. uses .-> tool` a node that `a` may call.
    pub fn to_mermaid(&self) -> String {
        let mut out = String::from("flowchart TD\n");
        self.mermaid_into(&mut out, "", "    ");
        out
    }

    fn mermaid_into(&self, out: &mut String, prefix: &str, indent: &str) {
        for (at, node) in self.drawn() {
            let (id, name) = (format!("{prefix}n{at}"), mermaid_text(&node.name));
            match &node.kind {
                PictureKind::Boundary => out.push_str(&format!("{indent}{id}([\"{name}\"])\n")),
                PictureKind::Step => out.push_str(&format!("{indent}{id}[\"{name}\"]\n")),
                PictureKind::Workflow => out.push_str(&format!("{indent}{id}[[\"{name}\"]]\n")),
                PictureKind::Each(inside) => {
                    out.push_str(&format!("{indent}subgraph {id}[\"{name}\"]\n"));
                    inside.inner().mermaid_into(out, &format!("{id}_"), &format!("{indent}    "));
                    out.push_str(&format!("{indent}end\n"));
                }
            }
            for (number, used) in node.uses.iter().enumerate() {
                let used = mermaid_text(used);
                out.push_str(&format!(
                    "{indent}{id}_u{number}([\"{used}\"])\n{indent}{id} -. uses .-> {id}_u{number}\n"
                ));
            }
        }
        for edge in &self.edges {
            let arrow = match edge.kind {
                EdgeKind::Then => "-->",
                EdgeKind::Joins => "--o",
                EdgeKind::Collects => "-.->",
            };
            let label = edge.label.as_ref().map(|label| format!("|\"{}\"|", mermaid_text(label))).unwrap_or_default();
            out.push_str(&format!("{indent}{prefix}n{} {arrow}{label} {prefix}n{}\n", edge.from, edge.to));
        }
    }

    /// Text for Graphviz.
    pub fn to_dot(&self) -> String {
        let mut out = String::from("digraph {\n    compound=true;\n    node [shape=box];\n");
        self.dot_into(&mut out, "", "    ");
        out.push_str("}\n");
        out
    }

    fn dot_into(&self, out: &mut String, prefix: &str, indent: &str) {
        for (at, node) in self.drawn() {
            let (id, name) = (format!("{prefix}n{at}"), dot_text(&node.name));
            match &node.kind {
                PictureKind::Boundary => out.push_str(&format!("{indent}{id} [label=\"{name}\", shape=oval];\n")),
                PictureKind::Step => out.push_str(&format!("{indent}{id} [label=\"{name}\"];\n")),
                PictureKind::Workflow => out.push_str(&format!("{indent}{id} [label=\"{name}\", peripheries=2];\n")),
                PictureKind::Each(inside) => {
                    // Graphviz draws edges between nodes only: the frame has a point that they go to.
                    out.push_str(&format!("{indent}subgraph cluster_{id} {{\n{indent}    label=\"{name}\";\n"));
                    out.push_str(&format!("{indent}    {id} [shape=point];\n"));
                    inside.inner().dot_into(out, &format!("{id}_"), &format!("{indent}    "));
                    out.push_str(&format!("{indent}}}\n"));
                }
            }
            for (number, used) in node.uses.iter().enumerate() {
                let used = dot_text(used);
                out.push_str(&format!("{indent}{id}_u{number} [label=\"{used}\", style=\"rounded,dashed\"];\n"));
                out.push_str(&format!("{indent}{id} -> {id}_u{number} [label=\"uses\", style=dashed];\n"));
            }
        }
        for edge in &self.edges {
            let mut style = Vec::new();
            style.extend(edge.label.as_ref().map(|label| format!("label=\"{}\"", dot_text(label))));
            match edge.kind {
                EdgeKind::Then => {}
                EdgeKind::Joins => style.push("arrowhead=odot".to_owned()),
                EdgeKind::Collects => style.push("style=dashed".to_owned()),
            }
            let style = if style.is_empty() { String::new() } else { format!(" [{}]", style.join(", ")) };
            out.push_str(&format!("{indent}{prefix}n{} -> {prefix}n{}{style};\n", edge.from, edge.to));
        }
    }

    /// The nodes to draw: START and END only where they have an edge.
    fn drawn(&self) -> impl Iterator<Item = (usize, &PictureNode)> {
        self.nodes.iter().enumerate().filter(|(at, node)| {
            node.kind != PictureKind::Boundary || self.edges.iter().any(|edge| edge.from == *at || edge.to == *at)
        })
    }

    /// The inside of `[..]` without START and END, which are not written there.
    fn inner(&self) -> Picture {
        let is_boundary = |at: usize| self.nodes.get(at).is_none_or(|node| node.kind == PictureKind::Boundary);
        let edges = self.edges.iter().filter(|edge| !is_boundary(edge.from) && !is_boundary(edge.to));
        Picture { nodes: self.nodes.clone(), edges: edges.cloned().collect() }
    }
}

/// The label of an arm, with how often it may be taken: `redo (at most 5)`.
pub fn labelled(label: &str, at_most: Option<u32>) -> String {
    at_most.map_or_else(|| label.to_owned(), |at_most| format!("{label} (at most {at_most})"))
}

fn label_of<Id>(graph: &Graph<Id>, labels: &[Vec<String>], node: NodeIx, edge: EdgeIx) -> Option<String> {
    let labels = labels.get(node).filter(|labels| !labels.is_empty())?;
    let choices = &graph.nodes.get(node)?.choices;
    let taken: Vec<&str> = choices
        .iter()
        .zip(labels)
        .filter(|(choice, _)| choice.edges.contains(&edge))
        .map(|(_, label)| label.as_str())
        .collect();
    (taken.len() < choices.len() || choices.len() == 1).then(|| taken.join(" | "))
}

fn kind_of<Id>(graph: &Graph<Id>, node: NodeIx, edge: EdgeIx) -> EdgeKind {
    let way = graph.nodes.get(node).and_then(|node| node.ways.iter().find(|way| way.edges().any(|one| one == edge)));
    match way {
        Some(Way::All(_)) => EdgeKind::Joins,
        Some(Way::Any(_)) => EdgeKind::Collects,
        _ => EdgeKind::Then,
    }
}

/// Escapes a text. A picture is read line by line, so a line break inside a name has to be written as something else.
fn mermaid_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for at in text.chars() {
        match at {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            at if at.is_control() => out.push_str(&format!("&#{};", u32::from(at))),
            at => out.push(at),
        }
    }
    out
}

fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Choice;

    fn step(name: &str) -> PictureNode {
        let kind = if ["START", "END"].contains(&name) { PictureKind::Boundary } else { PictureKind::Step };
        PictureNode { name: name.to_owned(), kind, uses: Vec::new() }
    }

    #[test]
    fn what_a_node_uses_is_beside_it_with_a_dashed_edge() {
        let agent = PictureNode { uses: vec!["search".to_owned(), "a \"b\"".to_owned()], ..step("agent") };
        let picture = Picture { nodes: vec![agent], edges: Vec::new() };
        assert_eq!(
            picture.to_mermaid(),
            "flowchart TD\n    n0[\"agent\"]\n    n0_u0([\"search\"])\n    n0 -. uses .-> n0_u0\n    \
             n0_u1([\"a &quot;b&quot;\"])\n    n0 -. uses .-> n0_u1\n"
        );
        let dot = picture.to_dot();
        assert!(dot.contains("n0_u0 [label=\"search\", style=\"rounded,dashed\"];\n"), "{dot}");
        assert!(dot.contains("n0 -> n0_u1 [label=\"uses\", style=dashed];\n"), "{dot}");
    }

    /// `START => a => <ok: b, err: c>; (b, c) => join`
    fn picture() -> Picture {
        let mut graph = Graph::new("START", "END");
        let [a, b, c, join] = ["a", "b", "c", "join"].map(|name| graph.add_node(name));
        graph.connect(START, a);
        let [ok, err] = [b, c].map(|arm| {
            let edge = graph.add_edge(a, arm);
            graph.nodes[arm].ways.push(Way::Plain(edge));
            edge
        });
        graph.nodes[a].choices = vec![Choice { edges: vec![ok] }, Choice { edges: vec![err] }];
        let places = [b, c].map(|branch| {
            let edge = graph.add_edge(branch, join);
            graph.nodes[branch].choices[0].edges.push(edge);
            vec![edge]
        });
        graph.nodes[join].ways.push(Way::All(places.to_vec()));
        graph.connect(join, END);
        let labels = vec![vec![], vec![], vec!["ok".to_owned(), "err".to_owned()], vec![], vec![], vec![]];
        let nodes = ["START", "END", "a", "b", "c", "join"].map(step).to_vec();
        Picture::of(&graph, nodes, &labels, false)
    }

    #[test]
    fn a_line_that_ends_inside_a_name_does_not_end_in_the_picture() {
        let picture = Picture { nodes: vec![step("one\ntwo & \"three\"")], edges: Vec::new() };
        assert_eq!(picture.to_mermaid(), "flowchart TD\n    n0[\"one&#10;two &amp; &quot;three&quot;\"]\n");
    }

    #[test]
    fn mermaid_shows_every_edge_once_with_its_labels() {
        let text = picture().to_mermaid();
        for line in ["n0 --> n2", "n2 -->|\"ok\"| n3", "n2 -->|\"err\"| n4", "n3 --o n5", "n4 --o n5", "n5 --> n1"] {
            assert_eq!(text.matches(&format!("    {line}\n")).count(), 1, "{line} in\n{text}");
        }
        assert_eq!(text.lines().count(), 1 + 6 + 6, "{text}");
    }

    /// `START => draft => [one] => check => <redo: draft, ok: end>`, and a workflow beside it.
    fn looping() -> Picture {
        let node = |name: &str, kind| PictureNode { name: name.to_owned(), kind, uses: Vec::new() };
        let edge =
            |from, to, label: Option<&str>, kind| PictureEdge { from, to, label: label.map(str::to_owned), kind };
        let inside = Picture {
            nodes: vec![step("START"), step("END"), step("one"), step("two")],
            edges: vec![
                edge(0, 2, None, EdgeKind::Then),
                edge(2, 3, None, EdgeKind::Then),
                edge(3, 1, None, EdgeKind::Then),
            ],
        };
        Picture {
            nodes: vec![
                step("START"),
                step("END"),
                step("draft"),
                node("[one => two]", PictureKind::Each(Box::new(inside))),
                step("check"),
                node("a<b>&\u{1b}", PictureKind::Workflow),
            ],
            edges: vec![
                edge(0, 2, None, EdgeKind::Then),
                edge(2, 3, None, EdgeKind::Then),
                edge(3, 4, None, EdgeKind::Then),
                edge(4, 2, Some("redo"), EdgeKind::Then),
                edge(4, 1, Some("ok"), EdgeKind::Joins),
                edge(0, 5, None, EdgeKind::Then),
                edge(5, 1, None, EdgeKind::Joins),
            ],
        }
    }

    #[test]
    fn a_terminal_shows_layers_with_the_labels_where_an_edge_leaves() {
        assert_eq!(
            format!("\n{}", picture().to_text()),
            r"
   ╭───────╮
   │ START │
   ╰───┬───╯
       ▼
  ┌─────────┐
  │    a    │
  └┬────┬───┘
   │ok  │err
   ▼    ▼
┌───┐  ┌───┐
│ b │  │ c │
└─┬─┘  └─┬─┘
  └──┬───┘
     ○
 ┌──────┐
 │ join │
 └───┬──┘
     ▼
  ╭─────╮
  │ END │
  ╰─────╯
"
        );
    }

    #[test]
    fn a_terminal_shows_frames_double_boxes_and_what_leads_back() {
        assert_eq!(
            format!("\n{}", looping().to_text()),
            r"
           ╭───────╮
           │ START │
           ╰─┬──┬──╯
         ┌───┘  └────┐
         ▼           ▼
     ┌───────┐  ╔════════╗
     │ draft │  ║ a<b>&� ║
     └───┬───┘  ╚════╤═══╝
         ▼           │
 ┌─[one => two]─┐    │
 │   ┌─────┐    │    │
 │   │ one │    │    │
 │   └──┬──┘    │    │
 │      ▼       │    │
 │   ┌─────┐    │    │
 │   │ two │    │    │
 │   └─────┘    │    │
 └───────┬──────┘    │
    ┌────┘           └─────┐
    ▼                      │
┌───────┐                  │
│ check │ ↺ redo → draft   │
└───┬───┘                  │
    │ok                    │
    └──────────┬───────────┘
               ○
            ╭─────╮
            │ END │
            ╰─────╯
"
        );
    }

    /// Every edge comes to its node: the lines are followed, and a `┼` is gone straight through.
    #[test]
    fn no_two_edges_share_a_line_unless_they_lead_to_the_same_node() {
        // Three nodes that each lead to three others, and edges over a layer.
        let names: Vec<String> = (0..8).map(|at| format!("n{at}")).collect();
        let mut edges = Vec::new();
        for from in 1..4 {
            for to in 4..7 {
                edges.push((from, to, Some(format!("to_{to}"))));
            }
            edges.push((0, from, None));
            edges.push((from, 7, None));
            edges.push((from + 3, 7, None));
        }
        let edge = |(from, to, label)| PictureEdge { from, to, label, kind: EdgeKind::Then };
        let picture = Picture {
            nodes: names.iter().map(|name| step(name)).collect(),
            edges: edges.into_iter().map(edge).collect(),
        };
        let layout = layout::Layout::of(&picture);
        assert_eq!(layout.lines.len(), picture.edges.len());
        let mut cells: BTreeMap<((isize, isize), bool), (isize, isize)> = BTreeMap::new();
        for line in &layout.lines {
            let end = *line.corners.last().unwrap();
            let leads_to = layout.boxes.iter().find(|at| at.y == end.1 + 1 && (at.x..at.x + at.width).contains(&end.0));
            assert!(leads_to.is_some(), "{line:?}");
            for pair in line.corners.windows(2) {
                let ((x1, y1), (x2, y2)) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                assert!(x1 == x2 || y1 == y2, "{line:?}");
                for cell in (x1..=x2).flat_map(|x| (y1..=y2).map(move |y| (x, y))) {
                    let other = cells.insert((cell, x1 == x2), end);
                    assert!(other.is_none_or(|other| other == end), "{cell:?} in\n{}", picture.to_text());
                    let is_in_a_box = |at: &&layout::Boxed| {
                        (at.x..at.x + at.width).contains(&cell.0) && (at.y..at.y + at.height - 1).contains(&cell.1)
                    };
                    assert!(layout.boxes.iter().find(is_in_a_box).is_none(), "{cell:?} in\n{}", picture.to_text());
                }
            }
        }
    }

    #[test]
    fn an_edge_of_a_node_that_there_is_not_is_left_out() {
        let mut damaged = picture();
        let sound = damaged.to_text();
        damaged.edges.push(PictureEdge { from: 2, to: 99, label: None, kind: EdgeKind::Then });
        assert_eq!(damaged.to_text(), sound);
        assert_eq!(Picture { nodes: Vec::new(), edges: Vec::new() }.to_text(), "");
    }

    #[test]
    fn an_image_escapes_what_is_written_in_it() {
        let image = looping().to_svg();
        assert!(image.contains("a&lt;b&gt;&amp;\u{fffd}</text>"), "{image}");
        assert!(image.contains("↺ redo → draft</text>"), "{image}");
        assert!(!image.chars().any(|char| char.is_control() && char != '\n'));
        assert_eq!(image.matches("<path class").count(), 6 + 1, "{image}");
    }

    #[test]
    fn dot_shows_every_edge_once_with_its_labels() {
        let text = picture().to_dot();
        for line in ["n2 -> n3 [label=\"ok\"];", "n3 -> n5 [arrowhead=odot];", "n5 -> n1;"] {
            assert_eq!(text.matches(line).count(), 1, "{line} in\n{text}");
        }
    }
}
