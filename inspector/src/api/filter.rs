//! Which runs and questions to list, by the parameters of a request.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use graphweft::store::{QuestionPlace, RunKey};
use graphweft::{QuestionFilter, RunFilter, RunStatus};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::extract::Asked;
use crate::model::STATUSES;
use crate::problem::{Problem, shown};

/// How many runs or questions a page has at most.
const MAX_LIMIT: usize = 500;
const LIMIT: usize = 50;

/// Everything of a filter of runs but the status and the page.
pub(super) fn runs(asked: &mut Asked) -> Result<RunFilter, Problem> {
    let mut filter = RunFilter::default();
    filter.id_prefix = asked.one("id_prefix")?.unwrap_or_default();
    filter.workflow = asked.list("workflow");
    filter.forked_from = asked.one("forked_from")?;
    for (key, value) in tags(asked)? {
        filter = filter.tag(key, value);
    }
    filter.from = time(asked, "from")?;
    filter.until = time(asked, "until")?;
    Ok(filter)
}

/// The page of runs that is asked for.
pub(super) fn page_of_runs(asked: &mut Asked) -> Result<RunFilter, Problem> {
    let mut filter = runs(asked)?;
    filter.status = asked.list("status").iter().map(|text| status(text)).collect::<Result<_, _>>()?;
    filter.oldest_first = match asked.one("order")?.as_deref() {
        None | Some("newest") => false,
        Some("oldest") => true,
        Some(other) => {
            let detail = format!("`{}` is not an order: `newest` or `oldest`", shown(other));
            return Err(Problem::parameter("order", detail));
        }
    };
    let key = asked.parsed("cursor", "a cursor: pass the `next` of a page")?.map(RunKey::new);
    (filter.before, filter.after) = if filter.oldest_first { (None, key) } else { (key, None) };
    Ok(filter.limit(limit(asked)?))
}

pub(super) fn questions(asked: &mut Asked) -> Result<QuestionFilter, Problem> {
    let mut filter = QuestionFilter::default();
    filter.id_prefix = asked.one("id_prefix")?.unwrap_or_default();
    filter.workflow = asked.list("workflow");
    filter.name = asked.one("name")?;
    for (key, value) in tags(asked)? {
        filter = filter.tag(key, value);
    }
    filter.after = asked.one("cursor")?.map(|text| place(&text)).transpose()?;
    Ok(filter.limit(limit(asked)?))
}

pub(super) fn limit(asked: &mut Asked) -> Result<usize, Problem> {
    match asked.parsed("limit", "a number of entries")? {
        None => Ok(LIMIT),
        Some(limit @ 1..=MAX_LIMIT) => Ok(limit),
        Some(other) => {
            Err(Problem::parameter("limit", format!("a page has 1 to {MAX_LIMIT} entries, and not {other}")))
        }
    }
}

/// `tag=tenant=acme`; the value may contain further `=`.
pub(super) fn tags(asked: &mut Asked) -> Result<Vec<(String, String)>, Problem> {
    let pair = |text: String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Problem::parameter("tag", format!("`{}` is not a tag: write `key=value`", shown(&text)))),
    };
    asked.all("tag").into_iter().filter(|text| !text.is_empty()).map(pair).collect()
}

fn status(text: &str) -> Result<RunStatus, Problem> {
    RunStatus::deserialize(Value::from(text)).map_err(|_| {
        let known = STATUSES.map(|status| format!("`{}`", json!(status).as_str().unwrap_or_default())).join(", ");
        Problem::parameter("status", format!("`{}` is not a status, which are {known}", shown(text)))
    })
}

fn time(asked: &mut Asked, name: &str) -> Result<Option<SystemTime>, Problem> {
    let Some(millis) = asked.parsed::<u64>(name, "a time in milliseconds since 1970")? else { return Ok(None) };
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    // The stores count milliseconds in 64 bits with a sign.
    let time = time.filter(|_| i64::try_from(millis).is_ok());
    time.map(Some).ok_or_else(|| Problem::parameter(name, format!("{millis} ms after 1970 is no time of this machine")))
}

/// The text of a [`QuestionPlace`]: its JSON. A client only passes it back.
pub(super) fn cursor(place: &QuestionPlace) -> Option<String> {
    serde_json::to_string(place).ok()
}

fn place(text: &str) -> Result<QuestionPlace, Problem> {
    let bad = || Problem::parameter("cursor", format!("`{}` is not a cursor: pass the `next` of a page", shown(text)));
    serde_json::from_str(text).map_err(|_| bad())
}
