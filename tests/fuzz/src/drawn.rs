//! Pictures, read back from the text that draws them.

use graphweft_graph::picture::{EdgeKind, Picture, PictureEdge, PictureKind, PictureNode};

/// What a text draws: nodes by their ids, with the kind, the name and, for a frame, its place in front of its inside;
/// and edges.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) nodes: Vec<(String, &'static str, String)>,
    pub(crate) edges: Vec<(String, String, Option<String>, EdgeKind)>,
}

impl Drawn {
    /// What a text for this picture has to draw: START and END only where they have an edge, and never inside `[..]`.
    pub(crate) fn of(picture: &Picture) -> Self {
        let mut drawn = Drawn::default();
        drawn.add(picture, "", &|_| true);
        drawn
    }

    fn add(&mut self, picture: &Picture, prefix: &str, is_shown: &dyn Fn(&PictureEdge) -> bool) {
        let edges: Vec<&PictureEdge> = picture.edges.iter().filter(|edge| is_shown(edge)).collect();
        for (at, PictureNode { name, kind, .. }) in picture.nodes.iter().enumerate() {
            let id = format!("{prefix}n{at}");
            let has_edge = edges.iter().any(|edge| edge.from == at || edge.to == at);
            match kind {
                PictureKind::Boundary if !has_edge => {}
                PictureKind::Boundary => self.nodes.push((id, "boundary", name.clone())),
                PictureKind::Step => self.nodes.push((id, "step", name.clone())),
                PictureKind::Workflow => self.nodes.push((id, "workflow", name.clone())),
                PictureKind::Each(inside) => {
                    self.nodes.push((id.clone(), "each", name.clone()));
                    let is_boundary =
                        |at: usize| inside.nodes.get(at).is_none_or(|node| node.kind == PictureKind::Boundary);
                    let is_shown = |edge: &PictureEdge| !is_boundary(edge.from) && !is_boundary(edge.to);
                    self.add(inside, &format!("{id}_"), &is_shown);
                }
            }
        }
        for edge in edges {
            let (from, to) = (format!("{prefix}n{}", edge.from), format!("{prefix}n{}", edge.to));
            self.edges.push((from, to, edge.label.clone(), edge.kind));
        }
    }

    /// What a text for Mermaid draws, line by line.
    pub(crate) fn read_mermaid(text: &str) -> Self {
        let mut drawn = Drawn::default();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("flowchart TD"), "{text}");
        let mut frames = 0;
        for line in lines.map(str::trim_start) {
            let arrow = [("-->", EdgeKind::Then), ("--o", EdgeKind::Joins), ("-.->", EdgeKind::Collects)];
            if line == "end" {
                frames -= 1;
            } else if let Some(frame) = line.strip_prefix("subgraph ") {
                let (id, name) = node(frame, "[\"", "\"]").unwrap_or_else(|| panic!("no frame: {line}\n{text}"));
                drawn.nodes.push((id, "each", name));
                frames += 1;
            } else if let Some((id, name)) = node(line, "([\"", "\"])") {
                drawn.nodes.push((id, "boundary", name));
            } else if let Some((id, name)) = node(line, "[[\"", "\"]]") {
                drawn.nodes.push((id, "workflow", name));
            } else if let Some((id, name)) = node(line, "[\"", "\"]") {
                drawn.nodes.push((id, "step", name));
            } else {
                let edge = arrow.iter().find_map(|(arrow, kind)| {
                    let (from, rest) = line.split_once(arrow)?;
                    let from = is_id(from.strip_suffix(' ')?)?;
                    let (label, to) = match rest.strip_prefix("|\"") {
                        Some(rest) => rest.split_once("\"|").map(|(label, to)| (Some(plain(label)), to))?,
                        None => (None, rest),
                    };
                    Some((from, is_id(to.strip_prefix(' ')?)?, label, *kind))
                });
                drawn.edges.push(edge.unwrap_or_else(|| panic!("nothing is drawn by {line:?} of\n{text}")));
            }
        }
        assert_eq!(frames, 0, "{text}");
        drawn
    }

    /// The nodes and edges that a text for Graphviz draws: how often each id is named, and how many arrows there are.
    pub(crate) fn count_dot(text: &str) -> (usize, usize) {
        let (mut nodes, mut edges) = (0, 0);
        let (mut outside, mut in_quotes, mut escaped) = (String::new(), false, false);
        for at in text.chars() {
            match (in_quotes, escaped, at) {
                (true, false, '\\') => escaped = true,
                (_, false, '"') => in_quotes = !in_quotes,
                (true, ..) => escaped = false,
                (false, ..) => outside.push(at),
            }
        }
        assert!(!in_quotes, "a quote is open at the end of\n{text}");
        for statement in outside.split(['\n', '{']).map(str::trim).filter(|statement| statement.starts_with('n')) {
            match statement.contains("->") {
                true => edges += 1,
                false => nodes += usize::from(!statement.starts_with("node ")),
            }
        }
        (nodes, edges)
    }
}

fn node(line: &str, open: &str, close: &str) -> Option<(String, String)> {
    let (id, rest) = line.split_once(open)?;
    Some((is_id(id)?, plain(rest.strip_suffix(close)?)))
}

fn is_id(text: &str) -> Option<String> {
    let is_id = text.starts_with('n') && text.bytes().all(|at| at.is_ascii_digit() || at == b'n' || at == b'_');
    is_id.then(|| text.to_owned())
}

fn plain(text: &str) -> String {
    assert!(
        !text.contains(['"', '<', '>']) || text.replace("<br>", "").chars().all(|at| !"\"<>".contains(at)),
        "{text}"
    );
    let text = text.replace("<br>", "\n").replace("&lt;", "<").replace("&gt;", ">");
    let controls = (0..=0x9f).filter_map(char::from_u32).filter(|at| at.is_control());
    let text = controls.fold(text, |text, at| text.replace(&format!("&#{};", u32::from(at)), &at.to_string()));
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
