//! The words for the statuses of runs: those of JSON.

use clap::ValueEnum;
use graphweft::RunStatus;
use serde_json::json;

/// As JSON has it.
pub(crate) fn word(status: RunStatus) -> String {
    json!(status).as_str().unwrap_or_default().to_owned()
}

/// A status, as an argument. A test holds its words together with those of [`word`].
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Status {
    Running,
    Waiting,
    Sleeping,
    Completed,
    Failed,
    Cancelled,
    #[value(alias = "started-over")]
    StartedOver,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => RunStatus::Running,
            Status::Waiting => RunStatus::Waiting,
            Status::Sleeping => RunStatus::Sleeping,
            Status::Completed => RunStatus::Completed,
            Status::Failed => RunStatus::Failed,
            Status::Cancelled => RunStatus::Cancelled,
            Status::StartedOver => RunStatus::StartedOver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_asked_for_by_the_word_by_which_it_is_printed() {
        for status in Status::value_variants() {
            let value = status.to_possible_value().unwrap();
            assert_eq!(value.get_name(), word((*status).into()));
        }
        assert_eq!(word(RunStatus::StartedOver), "started_over");
        assert_eq!(Status::from_str("started-over", false), Ok(Status::StartedOver));
    }
}
