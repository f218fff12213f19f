//! The one door to the terminal: no other file writes to the standard streams, except for the MCP server, whose client is a program. No
//! control character of a text gets through.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::arguments::Output;
use crate::safe::{cut, safe, safe_json};

fn write(to: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(to, "{text}")?;
    to.flush()
}

/// A line.
pub(crate) fn line(text: &str) -> io::Result<()> {
    write(&mut io::stdout().lock(), &safe(text))
}

/// A text of several lines.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let lines: Vec<String> = text.lines().map(safe).collect();
    write(&mut io::stdout().lock(), &lines.join("\n"))
}

/// JSON for people.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    write(&mut io::stdout().lock(), &safe_json(&serde_json::to_string_pretty(value)?))
}

/// JSON in a line, of which there will be more.
pub(crate) fn json_line(value: &Value) -> io::Result<()> {
    write(&mut io::stdout().lock(), &safe_json(&value.to_string()))
}

/// What was done.
pub(crate) fn done(output: Output, text: &str, value: &Value) -> io::Result<()> {
    if output.json { json(value) } else { line(text) }
}

/// How many characters of the cells of the first column are printed, which are ids, and of the others.
const WIDTHS: (usize, usize) = (1024, 160);

/// A table whose columns are as wide as what is in them.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> io::Result<()> {
    let mut table = Table::new();
    let cell = |(column, cell): (usize, String)| safe(&cut(&cell, if column == 0 { WIDTHS.0 } else { WIDTHS.1 }));
    let rows = rows.into_iter().map(|row| row.into_iter().enumerate().map(cell).collect::<Vec<_>>());
    table.load_style(presets::NOTHING).set_header(head).add_rows(rows);
    text(&table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n"))
}

/// What is wrong, to standard error.
pub(crate) fn error(text: &str) {
    let lines: Vec<String> = text.trim_end().lines().map(safe).collect();
    // It cannot be said where nothing can be printed.
    let _printed = write(&mut io::stderr().lock(), &lines.join("\n"));
}

/// The same as JSON in a line.
pub(crate) fn json_error(value: &Value) {
    let _printed = write(&mut io::stderr().lock(), &safe_json(&value.to_string()));
}

/// Help, which has no text of others, in its colours.
pub(crate) fn help(help: &clap::Error) -> io::Result<()> {
    help.print()?;
    io::stdout().flush()
}
