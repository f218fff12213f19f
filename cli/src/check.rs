//! Runs that the program could not resume.

use graphweft::{CheckedVersion, Engine};
use serde_json::{Value, json};

use crate::arguments::Output;
use crate::commands::has_no_code;
use crate::error::{CliError, Ended};
use crate::print;

pub(crate) async fn check(engine: &Engine, output: Output) -> Result<Ended, CliError> {
    if has_no_code(engine) {
        return Err(CliError::NeedsCode { command: "check" });
    }
    let check = engine.check().await?;
    let is_fine = check.refused.is_empty() && check.unregistered.is_empty();
    let ended = if is_fine { Ended::Done } else { Ended::CannotResume };
    if output.json {
        let refused = check.refused.iter().map(|(run, error)| json!({ "run": run, "error": error.to_string() }));
        let unregistered = check.unregistered.iter().map(|(run, workflow)| json!({ "run": run, "workflow": workflow }));
        let (refused, unregistered): (Vec<Value>, Vec<Value>) = (refused.collect(), unregistered.collect());
        let versions: Vec<Value> = check.versions.iter().map(version_as_json).collect();
        let value = json!({
            "checked": check.checked, "refused": refused, "unregistered": unregistered, "versions": versions,
        });
        return ended.having_printed(print::json(&value));
    }
    let mut lines = Vec::new();
    for (run, error) in &check.refused {
        lines.push(run.clone());
        lines.extend(error.to_string().lines().map(|line| format!("    {line}")));
    }
    for (run, workflow) in &check.unregistered {
        lines.extend([run.clone(), format!("    workflow `{workflow}` is not registered")]);
    }
    for version in &check.versions {
        lines.extend(version_as_lines(version));
    }
    let cannot = check.refused.len() + check.unregistered.len();
    let all = check.checked + check.unregistered.len() as u64;
    lines.push(format!("{cannot} of {all} unfinished runs cannot be resumed"));
    ended.having_printed(lines.iter().try_for_each(|line| print::line(line)))
}

/// The runs are named only where they keep an earlier version in the program.
fn version_as_lines(version: &CheckedVersion) -> Vec<String> {
    let CheckedVersion { workflow, version, is_newest, runs, .. } = version;
    let runs_of = match runs.len() {
        1 => format!("1 unfinished run of `{workflow}` fits"),
        count => format!("{count} unfinished runs of `{workflow}` fit"),
    };
    if *is_newest {
        return vec![format!("{runs_of} version `{version}`, and new ones begin on it")];
    }
    if runs.is_empty() {
        return vec![format!(
            "{runs_of} version `{version}`: only retries and forks of runs that have ended would need it"
        )];
    }
    let mut lines = vec![format!("{runs_of} version `{version}`:")];
    lines.extend(runs.iter().map(|run| format!("    {run}")));
    lines
}

fn version_as_json(version: &CheckedVersion) -> Value {
    let CheckedVersion { workflow, version, is_newest, graph, runs, .. } = version;
    let graph = format!("{graph:016x}");
    json!({ "workflow": workflow, "version": version, "is_newest": is_newest, "graph": graph, "runs": runs })
}
