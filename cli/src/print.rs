//! Output.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use serde_json::Value;

/// A line, or an error where no one reads any more.
pub(crate) fn line(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

pub(crate) fn json(value: &Value) -> io::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// A table whose columns are as wide as what is in them.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head).add_rows(rows);
    line(&table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n"))
}
