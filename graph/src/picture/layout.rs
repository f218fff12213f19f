//! Where everything of a picture is drawn, in cells of the size of a character.
//!
//! ```text
//!        ┌───────┐
//!        │ check │
//!        └─┬──┬──┘     each edge leaves in a column of its own, with its label beside it
//!          │ok│err
//!       ┌──┘  └──┐     all edges to one node share a row, and come to it in one column
//!       ▼        ▼
//! ```
//!
//! No edge leaves in the column in which those to another node come, so a `┼` is always a crossing.

use super::layers::{Layers, Piece, Place};
use super::{EdgeKind, Picture, PictureEdge, PictureKind};

/// The columns between two boxes.
const GAP: isize = 2;

/// The columns that an edge takes that passes a layer.
const PASS: isize = 3;

/// A drawn picture.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) width: isize,
    pub(super) height: isize,
    pub(super) boxes: Vec<Boxed>,
    pub(super) lines: Vec<Line>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Boxed {
    pub(super) x: isize,
    pub(super) y: isize,
    pub(super) width: isize,
    pub(super) height: isize,
    pub(super) name: String,
    pub(super) shape: Shape,
    /// What is drawn in it, for each item.
    pub(super) inside: Option<Layout>,
    /// The edges that lead back from it: `redo → draft`.
    pub(super) back: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Boundary,
    Step,
    Workflow,
    Each,
}

/// An edge: the corners of its line, from the box above to the one below.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) corners: Vec<(isize, isize)>,
    pub(super) label: Option<(isize, isize, String)>,
    pub(super) kind: EdgeKind,
}

/// A place of a layer while it is laid out.
#[derive(Default)]
struct Cell {
    x: isize,
    /// With what is written beside the box.
    width: isize,
    /// The column in which edges come.
    port: isize,
}

impl Layout {
    /// Edges of nodes that there are not, in a damaged file, are left out.
    pub(super) fn of(picture: &Picture) -> Self {
        let is_sound = |edge: &&PictureEdge| edge.from.max(edge.to) < picture.nodes.len();
        let edges: Vec<PictureEdge> = picture.edges.iter().filter(is_sound).cloned().collect();
        if edges.len() == picture.edges.len() {
            return Layouter::new(picture).lay_out();
        }
        Layouter::new(&Picture { nodes: picture.nodes.clone(), edges }).lay_out()
    }
}

struct Layouter<'p> {
    picture: &'p Picture,
    layers: Layers,
    cells: Vec<Cell>,
    boxes: Vec<Option<Boxed>>,
    lines: Vec<Option<Line>>,
}

impl<'p> Layouter<'p> {
    fn new(picture: &'p Picture) -> Self {
        let nodes: Vec<usize> = picture.drawn().map(|(at, _)| at).collect();
        let ends: Vec<(usize, usize)> = picture.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let layers = Layers::of(&nodes, &ends);
        let mut layouter = Layouter {
            picture,
            cells: layers.places.iter().map(|_| Cell { width: PASS, ..Cell::default() }).collect(),
            boxes: Vec::new(),
            lines: picture.edges.iter().map(|_| None).collect(),
            layers,
        };
        for place in 0..layouter.cells.len() {
            let boxed = match layouter.layers.places[place] {
                Place::Node(node) => Some(layouter.boxed(place, node)),
                Place::Pass => None,
            };
            if let Some(boxed) = &boxed {
                let back = beside(&boxed.back).map_or(0, |text| columns(&text) + 1);
                layouter.cells[place].width = boxed.width + back;
            }
            layouter.boxes.push(boxed);
        }
        layouter
    }

    fn boxed(&self, place: usize, node: usize) -> Boxed {
        let kind = &self.picture.nodes[node].kind;
        let inside = match kind {
            PictureKind::Each(inside) => Some(Layout::of(&inside.inner())),
            _ => None,
        };
        let name = plain(&self.picture.nodes[node].name);
        let leaving: Vec<isize> = self
            .layers
            .pieces
            .iter()
            .flatten()
            .filter(|piece| piece.from == place)
            .map(|piece| self.width_of(piece.edge))
            .collect();
        let ports = leaving.iter().sum::<isize>() + GAP * (leaving.len() as isize - 1).max(0);
        let (wide, high) = inside.as_ref().map_or((0, 1), |inside| (inside.width + 2, inside.height));
        let back = self.layers.back.iter().map(|edge| &self.picture.edges[*edge]).filter(|edge| edge.from == node);
        let back = back.map(|edge| {
            let to = plain(&self.picture.nodes[edge.to].name);
            edge.label.as_ref().map_or_else(|| format!("→ {to}"), |label| format!("{} → {to}", plain(label)))
        });
        Boxed {
            x: 0,
            y: 0,
            width: (columns(&name) + 4).max(ports + 2).max(wide + 2).max(5),
            height: high + 2,
            name,
            shape: Shape::of(kind),
            inside,
            back: back.collect(),
        }
    }

    /// The columns of an edge and its label where it leaves a box.
    fn width_of(&self, edge: usize) -> isize {
        1 + self.picture.edges[edge].label.as_ref().map_or(0, |label| columns(&plain(label)))
    }

    fn lay_out(mut self) -> Layout {
        let mut top = 0;
        let rows = self.layers.rows.clone();
        // The column in which a piece leaves the layer above, by its edge.
        let mut leaving: Vec<(Piece, isize)> = Vec::new();
        for (row, places) in rows.iter().enumerate() {
            self.place(places, &leaving);
            self.choose_ports(places, &leaving);
            top = self.route(&leaving, top);
            let height = places.iter().filter_map(|place| self.boxes[*place].as_ref()).map(|boxed| boxed.height).max();
            let bottom = top + height.unwrap_or(1);
            for place in places {
                if let Some(boxed) = &mut self.boxes[*place] {
                    (boxed.x, boxed.y) = (self.cells[*place].x, top);
                }
            }
            leaving = self.leave(row, places, bottom);
            let has_labels = leaving.iter().any(|(piece, _)| self.has_label_here(piece));
            top = bottom + isize::from(has_labels);
        }
        self.moved_to_the_corner(top)
    }

    fn has_label_here(&self, piece: &Piece) -> bool {
        self.boxes[piece.from].is_some() && self.picture.edges[piece.edge].label.is_some()
    }

    /// Places a layer below the middle of what leads to it.
    fn place(&mut self, places: &[usize], leaving: &[(Piece, isize)]) {
        let (mut right, mut shift, mut counted) = (isize::MIN / 4, 0, 0);
        for place in places {
            let above: Vec<isize> =
                leaving.iter().filter(|(piece, _)| piece.to == *place).map(|(_, column)| *column).collect();
            let middle = match above.len() as isize {
                0 => None,
                count => Some(above.iter().sum::<isize>() / count),
            };
            let own = self.boxes[*place].as_ref().map_or(PASS, |boxed| boxed.width);
            let wanted = middle.map(|middle| middle - own / 2);
            let x = wanted.unwrap_or(0).max(right);
            if let Some(wanted) = wanted {
                (shift, counted) = (shift + x - wanted, counted + 1);
            }
            self.cells[*place].x = x;
            right = x + self.cells[*place].width + GAP;
        }
        let shift = if counted == 0 { 0 } else { shift / counted };
        places.iter().for_each(|place| self.cells[*place].x -= shift);
    }

    /// Chooses the column in which edges come to each place: that of the only one, so that it is straight, or the middle.
    /// None in which another edge leaves.
    fn choose_ports(&mut self, places: &[usize], leaving: &[(Piece, isize)]) {
        for place in places {
            let (x, edge) = (self.cells[*place].x, isize::from(self.boxes[*place].is_some()));
            let width = self.boxes[*place].as_ref().map_or(PASS, |boxed| boxed.width);
            let middle = x + width / 2;
            let is_free = |column: &isize| !leaving.iter().any(|(piece, at)| at == column && piece.to != *place);
            let mut above = leaving.iter().filter(|(piece, _)| piece.to == *place).map(|(_, column)| *column);
            let only = above.next().filter(|_| above.next().is_none());
            let free = (x + edge..x + width - edge).filter(is_free);
            let best = free.min_by_key(|column| (only.is_some_and(|only| only != *column), (column - middle).abs()));
            self.cells[*place].port = best.unwrap_or(middle);
        }
    }

    /// Leads the lines of a layer to the next one. Returns the row in which that begins.
    fn route(&mut self, leaving: &[(Piece, isize)], top: isize) -> isize {
        if leaving.is_empty() {
            return top;
        }
        let mut targets: Vec<(isize, isize, usize)> = Vec::new();
        for (piece, column) in leaving {
            let port = self.cells[piece.to].port;
            let (left, right) = (*column.min(&port), *column.max(&port));
            match targets.iter_mut().find(|(_, _, to)| *to == piece.to) {
                Some(target) => (target.0, target.1) = (target.0.min(left), target.1.max(right)),
                None => targets.push((left, right, piece.to)),
            }
        }
        targets.sort_unstable();
        // Which stretches of each row are taken.
        let mut rows: Vec<Vec<(isize, isize)>> = Vec::new();
        let mut row_of: Vec<(usize, isize)> = Vec::new();
        for (left, right, to) in targets {
            if left == right {
                continue;
            }
            let is_free =
                |row: &&mut Vec<(isize, isize)>| row.iter().all(|(from, until)| right + 1 < *from || *until + 1 < left);
            let row = match rows.iter_mut().enumerate().find(|(_, row)| is_free(row)) {
                Some((at, row)) => {
                    row.push((left, right));
                    at
                }
                None => {
                    rows.push(vec![(left, right)]);
                    rows.len() - 1
                }
            };
            row_of.push((to, top + row as isize));
        }
        let arrow = top + rows.len() as isize;
        for (piece, column) in leaving {
            let port = self.cells[piece.to].port;
            let row = row_of.iter().find(|(to, _)| *to == piece.to).map(|(_, row)| *row);
            let Some(line) = &mut self.lines[piece.edge] else { continue };
            if let (Some(row), true) = (row, *column != port) {
                line.corners.extend([(*column, row), (port, row)]);
            }
            line.corners.push((port, arrow));
        }
        arrow + 1
    }

    /// The columns in which edges leave a layer, in the order of where they lead.
    fn leave(&mut self, row: usize, places: &[usize], bottom: isize) -> Vec<(Piece, isize)> {
        let next = self.layers.rows.get(row + 1).cloned().unwrap_or_default();
        let mut leaving = Vec::new();
        for place in places {
            let mut pieces: Vec<Piece> =
                self.layers.pieces[row].iter().copied().filter(|piece| piece.from == *place).collect();
            pieces.sort_by_key(|piece| next.iter().position(|place| *place == piece.to));
            let Some((x, y, width)) = self.boxes[*place].as_ref().map(|at| (at.x, at.y + at.height - 1, at.width))
            else {
                leaving.extend(pieces.into_iter().map(|piece| (piece, self.cells[*place].port)));
                continue;
            };
            let widths: Vec<isize> = pieces.iter().map(|piece| self.width_of(piece.edge)).collect();
            let all = widths.iter().sum::<isize>() + GAP * (widths.len() as isize - 1).max(0);
            let middle = x + width / 2;
            let mut column = match widths[..] {
                // In the middle, if its label has room beside it.
                [only] if middle + only < x + width => middle,
                _ => x + (width - all) / 2,
            };
            for (piece, width) in pieces.into_iter().zip(widths) {
                let edge = &self.picture.edges[piece.edge];
                let label = edge.label.as_ref().map(|label| (column + 1, bottom, plain(label)));
                self.lines[piece.edge] = Some(Line { corners: vec![(column, y)], label, kind: edge.kind });
                leaving.push((piece, column));
                column += width + GAP;
            }
        }
        leaving
    }

    fn moved_to_the_corner(self, height: isize) -> Layout {
        let Layouter { cells, boxes, lines, .. } = self;
        let left = cells.iter().map(|cell| cell.x).min().unwrap_or(0);
        let right = cells.iter().map(|cell| cell.x + cell.width).max().unwrap_or(0);
        let mut layout = Layout {
            width: right - left,
            height,
            boxes: boxes.into_iter().flatten().collect(),
            lines: lines.into_iter().flatten().collect(),
        };
        layout.move_by(-left, 0);
        layout
    }
}

impl Layout {
    fn move_by(&mut self, x: isize, y: isize) {
        for boxed in &mut self.boxes {
            (boxed.x, boxed.y) = (boxed.x + x, boxed.y + y);
        }
        for line in &mut self.lines {
            line.corners.iter_mut().for_each(|corner| *corner = (corner.0 + x, corner.1 + y));
            if let Some((at, row, _)) = &mut line.label {
                (*at, *row) = (*at + x, *row + y);
            }
        }
    }
}

impl Shape {
    fn of(kind: &PictureKind) -> Self {
        match kind {
            PictureKind::Boundary => Shape::Boundary,
            PictureKind::Step => Shape::Step,
            PictureKind::Workflow => Shape::Workflow,
            PictureKind::Each(_) => Shape::Each,
        }
    }
}

/// What is written beside a box from which edges lead back.
pub(super) fn beside(back: &[String]) -> Option<String> {
    (!back.is_empty()).then(|| format!("↺ {}", back.join(", ")))
}

/// How many columns a text takes.
pub(super) fn columns(text: &str) -> isize {
    text.chars().count() as isize
}

/// A text without characters that would move the cursor of a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}
