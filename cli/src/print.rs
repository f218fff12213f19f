//! The one door to the terminal: no other file writes to the standard streams, except for the MCP server, whose client is a program. No
//! control character of a text gets through.

use std::io::{self, BufWriter, Write};

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
    write(&mut io::stdout().lock(), &pretty(value))
}

/// The text of JSON for people.
pub(crate) fn pretty(value: &Value) -> String {
    safe_json(&format!("{value:#}"))
}

/// A list of JSON for people, by the [texts](pretty) of its entries.
pub(crate) fn json_list(entries: &[String]) -> io::Result<()> {
    let mut to = BufWriter::new(io::stdout().lock());
    to.write_all(b"[")?;
    for (at, entry) in entries.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // No string in it has the end of a line.
        write!(to, "{comma}\n  {}", entry.replace('\n', "\n  "))?;
    }
    write(&mut to, if entries.is_empty() { "]" } else { "\n]" })
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

/// How many characters of an id are aligned with the other rows. A longer one is printed as well, and moves what is behind it in its
/// own row, and in no other.
const ALIGNED: usize = 64;

/// A table whose columns are as wide as what is in them.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> io::Result<()> {
    text(&lines_of_table(head, rows).join("\n"))
}

fn lines_of_table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> Vec<String> {
    let (mut table, mut ids) = (Table::new(), Vec::new());
    table.load_style(presets::NOTHING).set_header(head);
    for row in rows {
        let cells = row.iter().enumerate();
        let mut cells: Vec<String> =
            cells.map(|(column, cell)| safe(&cut(cell, if column == 0 { WIDTHS.0 } else { WIDTHS.1 }))).collect();
        let id = cells.first_mut().map(|id| {
            let aligned: String = id.chars().take(ALIGNED).collect();
            (aligned.clone(), std::mem::replace(id, aligned))
        });
        ids.push(id.unwrap_or_default());
        table.add_row(cells);
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    for (line, (aligned, id)) in lines.iter_mut().skip(1).zip(&ids) {
        if let Some(rest) = line.trim_start().strip_prefix(aligned.as_str()).filter(|_| aligned != id) {
            *line = format!(" {id}{rest}");
        }
    }
    lines
}

/// What is to be known about an output, to standard error: the output is for programs as well.
pub(crate) fn note(text: &str) {
    // The output was printed.
    let _printed = write(&mut io::stderr().lock(), &safe(text));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_id_is_printed_and_moves_its_own_row() {
        let long = "x".repeat(1000);
        let rows = [["a", "one"], [&long, "two"], ["b", "three"]];
        let rows = rows.map(|row| row.map(str::to_owned)).to_vec();
        let lines = lines_of_table(["RUN", "WHERE"], rows);
        assert_eq!(lines.len(), 4);
        let column = |line: &str, word: &str| line.find(word).expect(word);
        assert_eq!(column(&lines[1], "one"), column(&lines[0], "WHERE"));
        assert_eq!(column(&lines[3], "three"), column(&lines[0], "WHERE"));
        assert!(column(&lines[0], "WHERE") < 70, "{}", lines[0]);
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), [&long, "two"]);
    }
}
