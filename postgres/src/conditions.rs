//! What a query is about, as the condition of a statement.

use graphweft::store::{QuestionQuery, RunQuery};
use tokio_postgres::types::ToSql;

use crate::numbers::{is_storable, of_run, to_integer, to_millis};
use crate::row::{status, tags};
use crate::trouble::Trouble;

/// Conditions that all have to hold, with their values.
#[derive(Default)]
pub(crate) struct Conditions {
    wanted: Vec<String>,
    values: Vec<Box<dyn ToSql + Send + Sync>>,
}

impl Conditions {
    /// On a run `r`.
    pub(crate) fn of_runs(query: &RunQuery) -> Result<Self, Trouble> {
        let mut conditions = Conditions::default();
        conditions.add_id_prefix(&query.id_prefix);
        if !query.workflows.is_empty() {
            conditions.add("r.workflow = any($)", storable(&query.workflows));
        }
        if !query.not_workflows.is_empty() {
            conditions.add("r.workflow <> all($)", storable(&query.not_workflows));
        }
        if !query.not_graphs.is_empty() {
            let graphs: Vec<i64> = query.not_graphs.iter().map(|hash| hash.cast_signed()).collect();
            conditions.add("r.graph <> all($)", graphs);
        }
        if !query.status.is_empty() {
            let wanted: Vec<String> = query.status.iter().map(|wanted| status(*wanted)).collect::<Result<_, _>>()?;
            conditions.add("r.status = any($)", wanted);
        }
        if let Some(run) = &query.forked_from {
            conditions.add_text("r.forked_from = $", run);
        }
        if let Some(run) = &query.started_by {
            conditions.add_text("r.started_by = $", run);
        }
        conditions.add_tags(tags(&query.tags));
        if let Some(since) = query.unchanged_since {
            conditions.add("r.updated < $", to_millis(since));
        }
        if let Some(from) = query.from {
            conditions.add("r.created >= $", to_millis(from));
        }
        if let Some(until) = query.until {
            conditions.add("r.created < $", to_millis(until));
        }
        if let Some(before) = query.before {
            conditions.add("r.key < $", of_run(before));
        }
        if let Some(after) = query.after {
            conditions.add("r.key > $", of_run(after));
        }
        Ok(conditions)
    }

    /// On a question `q` of a run `r`.
    pub(crate) fn of_questions(query: &QuestionQuery) -> Self {
        let mut conditions = Conditions::default();
        conditions.add_id_prefix(&query.id_prefix);
        if !query.workflows.is_empty() {
            conditions.add("r.workflow = any($)", storable(&query.workflows));
        }
        conditions.add_tags(tags(&query.tags));
        if let Some(name) = &query.name {
            conditions.add_text("q.name = $", name);
        }
        if let Some(after) = &query.after {
            let (asked, run) = (conditions.place(to_millis(after.asked)), conditions.place(of_run(after.run)));
            let question = conditions.place(after.question.clone());
            conditions.wanted.push(format!("(q.asked, q.run, q.question) > ({asked}, {run}, {question})"));
        }
        conditions
    }

    /// A condition with one `$`, for this value.
    pub(crate) fn add(&mut self, condition: &str, value: impl ToSql + Send + Sync + 'static) {
        let place = self.place(value);
        self.wanted.push(condition.replace('$', &place));
    }

    /// The same for a text.
    fn add_text(&mut self, condition: &str, value: &str) {
        if is_storable(value) {
            self.add(condition, value.to_owned());
        } else {
            self.wanted.push("false".to_owned());
        }
    }

    fn place(&mut self, value: impl ToSql + Send + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn add_id_prefix(&mut self, prefix: &str) {
        if !prefix.is_empty() {
            self.add_text("starts_with(r.id, $)", prefix);
            // By which the index is used.
            self.add_text("r.id >= $", prefix);
        }
    }

    pub(crate) fn add_tags(&mut self, tags: Vec<String>) {
        if !tags.is_empty() {
            self.add("r.tags @> $", tags);
        }
    }

    /// The condition of a `where`.
    pub(crate) fn wanted(&self) -> String {
        if self.wanted.is_empty() { "true".to_owned() } else { self.wanted.join(" and ") }
    }

    /// The end of a statement which gives at most so many rows; 0: no limit.
    pub(crate) fn limit(&mut self, limit: usize) -> String {
        if limit == 0 { String::new() } else { format!("limit {}", self.place(to_integer(limit as u64))) }
    }

    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| -> &(dyn ToSql + Sync) { &**value }).collect()
    }
}

fn storable(texts: &[String]) -> Vec<String> {
    texts.iter().filter(|text| is_storable(text)).cloned().collect()
}
