//! Lists of runs and of questions.

use std::time::SystemTime;

use graphweft::{Engine, QuestionFilter, RunFilter, RunInfo};
use serde_json::json;

use crate::arguments::{List, Output, Questions};
use crate::error::{CliError, Ended};
use crate::print;
use crate::status::word;
use crate::times::{age, duration, until};

pub(crate) async fn runs(engine: &Engine, asked: List, output: Output) -> Result<Ended, CliError> {
    let mut filter = RunFilter::default().id_prefix(asked.id_prefix).limit(asked.limit.saturating_add(1));
    filter.status = asked.status.into_iter().map(Into::into).collect();
    filter.workflow = asked.workflow;
    for (key, value) in asked.tag {
        filter = filter.tag(key, value);
    }
    let (runs, has_more) = first(engine.list_runs(filter).await?, asked.limit);
    if output.json {
        return Ended::Done.having_printed(print::json(&json!(runs)));
    }
    let rows = runs.iter().map(|run| {
        let until = run.ended.unwrap_or_else(SystemTime::now);
        let took = duration(until.duration_since(run.created).unwrap_or_default());
        [run.id.clone(), run.workflow.clone(), word(run.status), age(run.created), took, place(run)]
    });
    let printed = print::table(["RUN", "WORKFLOW", "STATUS", "AGE", "TOOK", "WHERE"], rows.collect());
    if has_more && printed.is_ok() {
        print::note(&format!(
            "{} runs are listed, and there are older ones: `--limit {}` lists more; `--status`, `--workflow`, `--tag` and \
             `--id-prefix` select",
            asked.limit,
            asked.limit.saturating_mul(2).max(20)
        ));
    }
    Ended::Done.having_printed(printed)
}

/// So many of a list that may have one more, and whether it has.
fn first<T>(mut all: Vec<T>, limit: usize) -> (Vec<T>, bool) {
    let has_more = all.len() > limit;
    all.truncate(limit);
    (all, has_more)
}

/// What a person wants to know of a run first: why it has failed, what it asks, where it is.
fn place(run: &RunInfo) -> String {
    let asks = run.question.as_ref().map(|question| format!("{}: {}", question.name, question.prompt));
    let awaits = (!run.awaited_signals.is_empty()).then(|| format!("signal {}", run.awaited_signals.join(", ")));
    let position = run.position.as_ref().map(|at| match (&at.next_attempt, &at.items) {
        (Some(next), _) => format!("{}: attempt {} {}: {}", at.path, next.number, until(next.at), next.failure),
        (None, Some(items)) => format!("{} ({}/{})", at.path, items.done, items.all),
        (None, None) => at.path.clone(),
    });
    run.failure.clone().or(asks).or(awaits).or(position).or_else(|| run.unreadable.clone()).unwrap_or_default()
}

pub(crate) async fn questions(engine: &Engine, asked: Questions, output: Output) -> Result<Ended, CliError> {
    let mut filter = QuestionFilter::default().limit(asked.limit.saturating_add(1));
    filter.workflow = asked.workflow;
    let (questions, has_more) = first(engine.questions(filter).await?, asked.limit);
    if output.json {
        return Ended::Done.having_printed(print::json(&json!(questions)));
    }
    let rows = questions.iter().map(|open| {
        let prompt = open.question.prompt.lines().next().unwrap_or_default();
        [open.run.clone(), open.question.name.clone(), age(open.asked), prompt.to_owned()]
    });
    let printed = print::table(["RUN", "QUESTION", "AGE", "PROMPT"], rows.collect());
    if has_more && printed.is_ok() {
        print::note(&format!(
            "{} questions are listed, and there are newer ones: `--limit {}` lists more; `--workflow` selects",
            asked.limit,
            asked.limit.saturating_mul(2).max(20)
        ));
    }
    Ended::Done.having_printed(printed)
}
