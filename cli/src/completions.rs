//! Scripts by which shells complete the commands.

use clap::Command;
use serde_json::json;

use crate::arguments::{Completions, Output};
use crate::error::{CliError, Ended};
use crate::print;

/// `name`: by which the program is started.
pub(crate) fn print(program: &mut Command, name: &str, asked: Completions, output: Output) -> Result<Ended, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, program, name, &mut script);
    let script = String::from_utf8_lossy(&script);
    Ended::Done.having_printed(match output.json {
        true => print::json(&json!({ "shell": asked.shell.to_string(), "script": script })),
        false => print::text(script.trim_end()),
    })
}
