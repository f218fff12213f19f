//! Lists of runs and of questions.

use std::io;
use std::time::SystemTime;

use graphweft::store::StoreError;
use graphweft::{Engine, PendingQuestion, QuestionFilter, RunFilter, RunInfo};
use serde_json::json;

use crate::arguments::{List, Output, Questions};
use crate::error::{CliError, Ended};
use crate::print;
use crate::status::word;
use crate::times::{age, duration, until};

pub(crate) async fn runs(engine: &Engine, asked: List, output: Output) -> Result<Ended, CliError> {
    let mut filter = RunFilter::default().id_prefix(asked.id_prefix);
    filter.status = asked.status.into_iter().map(Into::into).collect();
    filter.workflow = asked.workflow;
    for (key, value) in asked.tag {
        filter = filter.tag(key, value);
    }
    let page = async |last: Option<&RunInfo>, limit| {
        let mut filter = filter.clone().limit(limit);
        filter.before = last.map(|run| run.key);
        engine.list_runs(filter).await
    };
    if output.json {
        let (runs, has_more) = first(asked.limit, page, |run| print::pretty(&json!(run))).await?;
        return list_ended(print::json_list(&runs), has_more, || older(asked.limit));
    }
    let row = |run: &RunInfo| {
        let until = run.ended.unwrap_or_else(SystemTime::now);
        let took = duration(until.duration_since(run.created).unwrap_or_default());
        [run.id.clone(), run.workflow.clone(), word(run.status), age(run.created), took, place(run)]
    };
    let (rows, has_more) = first(asked.limit, page, row).await?;
    let printed = print::table(["RUN", "WORKFLOW", "STATUS", "AGE", "TOOK", "WHERE"], rows);
    list_ended(printed, has_more, || older(asked.limit))
}

fn older(limit: usize) -> String {
    format!(
        "{limit} runs are listed, and there are older ones: `--limit {}` lists more; `--status`, `--workflow`, `--tag` and \
         `--id-prefix` select",
        limit.saturating_mul(2).max(20)
    )
}

/// A list was printed; where there is more than that, the note says so.
fn list_ended(printed: io::Result<()>, has_more: bool, note: impl FnOnce() -> String) -> Result<Ended, CliError> {
    if has_more && printed.is_ok() {
        print::note(&note());
    }
    Ended::Done.having_printed(printed)
}

/// How many entries are read at once.
const PAGE: usize = 500;

/// What is printed of so many entries of a list, and whether there are more. A page at a time: an entry that is read takes several times
/// the memory of what is printed of it.
async fn first<T, P>(
    limit: usize,
    mut page: impl AsyncFnMut(Option<&T>, usize) -> Result<Vec<T>, StoreError>,
    printed: impl Fn(&T) -> P,
) -> Result<(Vec<P>, bool), CliError> {
    let (mut all, mut last) = (Vec::new(), None);
    loop {
        // One more at the end, to know whether there is one.
        let asked = (limit - all.len()).saturating_add(1).min(PAGE);
        let mut entries = page(last.as_ref(), asked).await?;
        let is_last = entries.len() < asked;
        let left = limit - all.len();
        all.extend(entries.iter().take(left).map(&printed));
        if entries.len() > left || is_last {
            return Ok((all, entries.len() > left));
        }
        last = entries.pop();
    }
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
    let mut filter = QuestionFilter::default();
    filter.workflow = asked.workflow;
    let page = async |last: Option<&PendingQuestion>, limit| {
        let mut filter = filter.clone().limit(limit);
        filter.after = last.map(|open| open.place.clone());
        engine.questions(filter).await
    };
    if output.json {
        let (questions, has_more) = first(asked.limit, page, |open| print::pretty(&json!(open))).await?;
        return list_ended(print::json_list(&questions), has_more, || newer(asked.limit));
    }
    let row = |open: &PendingQuestion| {
        let prompt = open.question.prompt.lines().next().unwrap_or_default();
        [open.run.clone(), open.question.name.clone(), age(open.asked), prompt.to_owned()]
    };
    let (rows, has_more) = first(asked.limit, page, row).await?;
    let printed = print::table(["RUN", "QUESTION", "AGE", "PROMPT"], rows);
    list_ended(printed, has_more, || newer(asked.limit))
}

fn newer(limit: usize) -> String {
    format!(
        "{limit} questions are listed, and there are newer ones: `--limit {}` lists more; `--workflow` selects",
        limit.saturating_mul(2).max(20)
    )
}
