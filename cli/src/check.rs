//! Runs that the program could not resume.

use graphweft::Engine;
use serde_json::{Value, json};

use crate::arguments::Output;
use crate::error::{CliError, Ended};
use crate::print;
use crate::times::safe;

pub(crate) async fn check(engine: &Engine, output: Output) -> Result<Ended, CliError> {
    if engine.workflows().next().is_none() {
        return Err(CliError::NeedsCode);
    }
    let check = engine.check().await?;
    if output.json {
        let refused = check.refused.iter().map(|(run, error)| json!({ "run": run, "error": error.to_string() }));
        let unregistered = check.unregistered.iter().map(|(run, workflow)| json!({ "run": run, "workflow": workflow }));
        let (refused, unregistered): (Vec<Value>, Vec<Value>) = (refused.collect(), unregistered.collect());
        print::json(&json!({ "checked": check.checked, "refused": refused, "unregistered": unregistered }))?;
    } else {
        for (run, error) in &check.refused {
            print::line(&safe(run))?;
            for line in error.to_string().lines() {
                print::line(&format!("    {}", safe(line)))?;
            }
        }
        for (run, workflow) in &check.unregistered {
            print::line(&format!("{}\n    workflow `{}` is not registered", safe(run), safe(workflow)))?;
        }
        let cannot = check.refused.len() + check.unregistered.len();
        let all = check.checked + check.unregistered.len() as u64;
        print::line(&format!("{cannot} of {all} unfinished runs cannot be resumed"))?;
    }
    let is_fine = check.refused.is_empty() && check.unregistered.is_empty();
    Ok(if is_fine { Ended::Done } else { Ended::CannotResume })
}
