//! A picture as SVG, which needs nothing else.

use std::fmt::{self, Write};

use super::layout::{Boxed, Layout, Line, Shape, beside};
use super::{EdgeKind, Picture};

/// The size of a cell in pixels.
const WIDE: isize = 9;
const HIGH: isize = 20;

/// Inside of a page the rules would hold for the page as well, so they name the image.
const STYLE: &str = "\
.graphweft text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}\
.graphweft .label,.graphweft .back{fill:#57606a;font-size:13px}\
.graphweft :is(rect,path,circle){fill:none;stroke:#57606a;stroke-width:1.2}\
.graphweft rect{fill:#fff}.graphweft rect.each{fill:#f6f8fa}\
.graphweft .collects{stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){.graphweft text{fill:#e6edf3}\
.graphweft .label,.graphweft .back{fill:#9198a1}.graphweft :is(rect,path,circle){stroke:#9198a1}\
.graphweft rect{fill:#0d1117}.graphweft rect.each{fill:#151b23}}";

impl Picture {
    /// An SVG image. It needs no font, script or file, and follows the colours of the page that it is in, light or dark.
    ///
    /// Its lines and texts are those of [`to_text`](Self::to_text); the edges to a collecting node are dashed.
    pub fn to_svg(&self) -> String {
        let layout = Layout::of(self);
        let mut out = String::new();
        // Writing to a string does not fail.
        _ = document(&mut out, &layout);
        out
    }
}

fn document(out: &mut String, layout: &Layout) -> fmt::Result {
    let (width, height) = ((layout.width + 2) * WIDE, (layout.height + 1) * HIGH);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graphweft\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    )?;
    writeln!(out, "<style>{STYLE}</style>")?;
    out.push_str(
        "<defs>\
         <marker id=\"graphweft-then\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M1 1L7 4L1 7\"/></marker>\
         <marker id=\"graphweft-joins\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\">\
         <circle cx=\"4\" cy=\"4\" r=\"3\"/></marker></defs>\n",
    );
    draw(out, layout, 1, 0)?;
    out.push_str("</svg>\n");
    Ok(())
}

/// The middle of a cell.
fn middle(x: isize, y: isize) -> (isize, isize) {
    (x * WIDE + WIDE / 2, y * HIGH + HIGH / 2)
}

fn draw(out: &mut String, layout: &Layout, left: isize, top: isize) -> fmt::Result {
    for boxed in &layout.boxes {
        draw_box(out, boxed, left, top)?;
    }
    for line in &layout.lines {
        draw_line(out, line, left, top)?;
    }
    Ok(())
}

fn draw_box(out: &mut String, boxed: &Boxed, left: isize, top: isize) -> fmt::Result {
    let (x, y) = (left + boxed.x, top + boxed.y);
    let ((x1, y1), (x2, y2)) = (middle(x, y), middle(x + boxed.width - 1, y + boxed.height - 1));
    let (class, round) = match boxed.shape {
        Shape::Boundary => ("boundary", HIGH),
        Shape::Step => ("step", 3),
        Shape::Workflow => ("workflow", 3),
        Shape::Each => ("each", 3),
    };
    let mut rect = |by: isize| {
        let (width, height) = (x2 - x1 - 2 * by, y2 - y1 - 2 * by);
        writeln!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>",
            x1 + by,
            y1 + by
        )
    };
    rect(0)?;
    if boxed.shape == Shape::Workflow {
        rect(3)?;
    }
    match &boxed.inside {
        Some(inside) => {
            writeln!(out, "<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>", x1 + 6, y1 + 15, escaped(&boxed.name))?;
            draw(out, inside, x + (boxed.width - inside.width) / 2, y + 1)?;
        }
        None => {
            let (x, y) = ((x1 + x2) / 2, (y1 + y2) / 2 + 5);
            writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escaped(&boxed.name))?;
        }
    }
    if let Some(back) = beside(&boxed.back) {
        writeln!(out, "<text class=\"back\" x=\"{}\" y=\"{}\">{}</text>", x2 + WIDE, y1 + HIGH + 5, escaped(&back))?;
    }
    Ok(())
}

fn draw_line(out: &mut String, line: &Line, left: isize, top: isize) -> fmt::Result {
    let (class, marker) = match line.kind {
        EdgeKind::Then => ("then", "then"),
        EdgeKind::Joins => ("joins", "joins"),
        EdgeKind::Collects => ("collects", "then"),
    };
    let mut path = String::new();
    let last = line.corners.len().saturating_sub(1);
    for (at, (x, y)) in line.corners.iter().enumerate() {
        let (x, y) = middle(left + x, top + y);
        // The last corner is the arrow, above the box that it leads to.
        let y = if at == last { y + HIGH - 1 } else { y };
        write!(path, "{}{x} {y}", if at == 0 { 'M' } else { 'L' })?;
    }
    writeln!(out, "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#graphweft-{marker})\"/>")?;
    if let Some((x, y, label)) = &line.label {
        let (x, y) = middle(left + x, top + y);
        writeln!(out, "<text class=\"label\" x=\"{x}\" y=\"{}\">{}</text>", y + 5, escaped(label))?;
    }
    Ok(())
}

/// A text as the content of an element. Control characters are replaced by the layout; XML has none.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
