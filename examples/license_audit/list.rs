//! What there is in the database, for people.

use std::time::{Duration, SystemTime};

use comfy_table::{Table, presets};
use graphweft::store::RunStatus;

use crate::runs::Runs;
use crate::stop::Stop;

pub(crate) async fn table(runs: &Runs) -> Result<String, Stop> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(["run", "state", "started", "lock file"]);
    let now = SystemTime::now();
    for run in runs.list().await? {
        let started = ago(now.duration_since(run.created).unwrap_or_default());
        let lock_file = runs.request(&run.id).await?.lock_file;
        table.add_row([run.id, state(run.status).to_owned(), started, lock_file.display().to_string()]);
    }
    Ok(format!("{table}\n"))
}

fn state(status: RunStatus) -> &'static str {
    match status {
        // The store does not say whether its process is alive.
        RunStatus::Running => "running or interrupted",
        RunStatus::Waiting => "waits for answers",
        RunStatus::Sleeping => "waits for a timer",
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        _ => "unknown",
    }
}

fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    let (number, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3600 => (seconds / 60, "min"),
        3600..86400 => (seconds / 3600, "h"),
        _ => (seconds / 86400, "d"),
    };
    format!("{number} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_largest_unit_that_fits() {
        let shown = [0, 59, 60, 7199, 86400 * 3].map(|seconds| ago(Duration::from_secs(seconds)));
        assert_eq!(shown, ["0 s ago", "59 s ago", "1 min ago", "1 h ago", "3 d ago"]);
    }
}
