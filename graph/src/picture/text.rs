//! A picture in box-drawing characters, for a terminal.

use super::layout::{Boxed, Layout, Shape, beside};
use super::{EdgeKind, Picture};

/// The directions in which lines lead from a cell.
const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// By these directions.
const LINES: [char; 16] = [' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼'];

impl Picture {
    /// A drawing for a terminal, in box-drawing characters.
    ///
    /// Edges lead down, with their labels where they leave a node. An edge that starts the next turn of a loop is written
    /// beside its node: `↺ redo → draft`. A double box is a workflow of its own, a frame is what runs for each item. `▼` is
    /// "then", `○` a join, `▽` a collecting node.
    pub fn to_text(&self) -> String {
        let layout = Layout::of(self);
        let mut canvas = Canvas::of(&layout);
        canvas.draw(&layout, 0, 0);
        let lines = canvas.rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n");
        lines.collect()
    }
}

struct Canvas {
    rows: Vec<Vec<char>>,
}

impl Canvas {
    fn of(layout: &Layout) -> Self {
        let (width, height) = (layout.width.max(0).unsigned_abs(), layout.height.max(0).unsigned_abs());
        Canvas { rows: vec![vec![' '; width]; height] }
    }

    fn put(&mut self, x: isize, y: isize, char: char) {
        let cell = usize::try_from(y).ok().and_then(|y| self.rows.get_mut(y)).zip(usize::try_from(x).ok());
        if let Some(cell) = cell.and_then(|(row, x)| row.get_mut(x)) {
            *cell = char;
        }
    }

    fn write(&mut self, x: isize, y: isize, text: &str) {
        for (at, char) in (x..).zip(text.chars()) {
            self.put(at, y, char);
        }
    }

    fn draw(&mut self, layout: &Layout, left: isize, top: isize) {
        let mut cells = vec![vec![0u8; layout.width.max(0).unsigned_abs()]; layout.height.max(0).unsigned_abs()];
        for line in &layout.lines {
            for pair in line.corners.windows(2) {
                connect(&mut cells, pair[0], pair[1]);
            }
        }
        for (y, row) in (top..).zip(&cells) {
            for (x, lines) in (left..).zip(row).filter(|(_, lines)| **lines != 0) {
                self.put(x, y, LINES[usize::from(*lines)]);
            }
        }
        for boxed in &layout.boxes {
            self.draw_box(boxed, left, top);
        }
        for line in &layout.lines {
            if let Some((x, y)) = line.corners.first() {
                let of =
                    layout.boxes.iter().find(|at| (at.x..at.x + at.width).contains(x) && at.y + at.height - 1 == *y);
                let is_double = of.is_some_and(|of| of.shape == Shape::Workflow);
                self.put(left + x, top + y, if is_double { '╤' } else { '┬' });
            }
            if let Some((x, y)) = line.corners.last() {
                let arrow = match line.kind {
                    EdgeKind::Then => '▼',
                    EdgeKind::Joins => '○',
                    EdgeKind::Collects => '▽',
                };
                self.put(left + x, top + y, arrow);
            }
            if let Some((x, y, text)) = &line.label {
                self.write(left + x, top + y, text);
            }
        }
    }

    fn draw_box(&mut self, boxed: &Boxed, left: isize, top: isize) {
        let [one, two, three, four, flat, side] = match boxed.shape {
            Shape::Boundary => ['╭', '╮', '╰', '╯', '─', '│'],
            Shape::Step | Shape::Each => ['┌', '┐', '└', '┘', '─', '│'],
            Shape::Workflow => ['╔', '╗', '╚', '╝', '═', '║'],
        };
        let (x, y) = (left + boxed.x, top + boxed.y);
        let (right, bottom) = (x + boxed.width - 1, y + boxed.height - 1);
        for at in x + 1..right {
            self.put(at, y, flat);
            self.put(at, bottom, flat);
        }
        for at in y + 1..bottom {
            self.put(x, at, side);
            self.put(right, at, side);
        }
        for (at, row, corner) in [(x, y, one), (right, y, two), (x, bottom, three), (right, bottom, four)] {
            self.put(at, row, corner);
        }
        match &boxed.inside {
            Some(inside) => {
                self.write(x + 2, y, &boxed.name);
                self.draw(inside, x + (boxed.width - inside.width) / 2, y + 1);
            }
            None => {
                let name = boxed.name.chars().count().cast_signed();
                self.write(x + (boxed.width - name) / 2, y + 1, &boxed.name);
            }
        }
        if let Some(back) = beside(&boxed.back) {
            self.write(right + 2, y + 1, &back);
        }
    }
}

/// Adds a straight line between two cells.
fn connect(cells: &mut [Vec<u8>], from: (isize, isize), to: (isize, isize)) {
    let mut add = |x: isize, y: isize, lines: u8| {
        let row = usize::try_from(y).ok().and_then(|y| cells.get_mut(y));
        if let Some(cell) = row.zip(usize::try_from(x).ok()).and_then(|(row, x)| row.get_mut(x)) {
            *cell |= lines;
        }
    };
    let ((x1, y1), (x2, y2)) = (from.min(to), from.max(to));
    if x1 == x2 {
        for y in y1..y2 {
            add(x1, y, DOWN);
            add(x1, y + 1, UP);
        }
    } else {
        for x in x1..x2 {
            add(x, y1, RIGHT);
            add(x + 1, y1, LEFT);
        }
    }
}
