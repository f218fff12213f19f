//! Deleting old runs.

use graphweft::{Engine, Retention};
use serde_json::{Map, json};

use crate::arguments::{Output, Prune};
use crate::error::{CliError, Ended};
use crate::print;

pub(crate) async fn prune(engine: &Engine, asked: Prune, output: Output) -> Result<Ended, CliError> {
    let kinds = [
        ("completed", asked.completed.map(Retention::completed)),
        ("failed", asked.failed.map(|age| Retention::default().failed(age))),
        ("cancelled", asked.cancelled.map(|age| Retention::default().cancelled(age))),
    ];
    let becomes = if asked.dry_run { "would be deleted" } else { "deleted" };
    let (mut runs, mut lines) = (Map::new(), Vec::new());
    for (kind, retention) in kinds {
        let Some(retention) = retention else { continue };
        let count = match asked.dry_run {
            true => engine.count_expired_by(retention).await?,
            false => engine.delete_expired_by(retention).await?,
        };
        lines.push(format!("{kind}: {count} {becomes}"));
        runs.insert(kind.to_owned(), json!(count));
    }
    // Nothing is printed before: whatever becomes of the output, all are deleted.
    let printed = match output.json {
        true => print::json(&json!({ "dry_run": asked.dry_run, "runs": runs })),
        false => print::text(&lines.join("\n")),
    };
    Ended::Done.having_done(&lines.join(", "), printed)
}
