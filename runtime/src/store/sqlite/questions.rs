//! The open questions of all runs.

use std::collections::HashSet;

use rusqlite::{Connection, Row, params, params_from_iter};

use super::conditions::Conditions;
use super::row::{COLUMNS, COLUMNS_COUNT, RunRow};
use super::seal::Seal;
use super::times::{from_integer, from_millis, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::asked::Question;
use crate::store::{AskedQuestion, OpenQuestion, QuestionChange, QuestionQuery, RunKey};

/// A change of the open questions of a run, encoded.
#[derive(Default)]
pub(super) struct EncodedQuestions {
    /// Whether no others are open.
    is_all: bool,
    open: Vec<EncodedQuestion>,
    closed: Vec<String>,
}

struct EncodedQuestion {
    id: String,
    name: String,
    asked: i64,
    body: String,
}

impl EncodedQuestions {
    /// `None` if nothing changes.
    pub(super) fn of(change: &QuestionChange) -> Result<Option<EncodedQuestions>, serde_json::Error> {
        if change.is_empty() {
            return Ok(None);
        }
        let encode = |open: &OpenQuestion| {
            Ok(EncodedQuestion {
                id: open.question.id.clone(),
                name: open.name().into_owned(),
                asked: to_millis(open.asked),
                body: serde_json::to_string(&open.question)?,
            })
        };
        let open = change.open.iter().map(encode).collect::<Result<_, _>>()?;
        Ok(Some(EncodedQuestions { is_all: change.is_all, open, closed: change.closed.clone() }))
    }

    /// No question is open.
    pub(super) fn none() -> EncodedQuestions {
        EncodedQuestions { is_all: true, ..EncodedQuestions::default() }
    }

    /// Changes the rows of a run.
    pub(super) fn write(&self, transaction: &Connection, run: RunKey) -> Result<(), Trouble> {
        let key = to_integer(run.0);
        let mut remove = transaction.prepare_cached("DELETE FROM questions WHERE run = ?1 AND question = ?2")?;
        if self.is_all {
            let stays: HashSet<&str> = self.open.iter().map(|question| question.id.as_str()).collect();
            let mut there = transaction.prepare_cached("SELECT question FROM questions WHERE run = ?1")?;
            let there = there.query_map([key], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
            for gone in there.iter().filter(|id| !stays.contains(id.as_str())) {
                remove.execute(params![key, gone])?;
            }
        }
        for closed in &self.closed {
            remove.execute(params![key, closed])?;
        }
        for EncodedQuestion { id, name, asked, body } in &self.open {
            let mut before =
                transaction.prepare_cached("SELECT asked FROM questions WHERE run = ?1 AND question = ?2")?;
            let mut before = before.query(params![key, id])?;
            // What is asked again has been open since it was asked first.
            let asked = before.next()?.map_or(Ok(*asked), |row| row.get(0))?;
            let written = transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO questions (run, question, name, asked, question_body, question_checksum)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![key, id, name, asked, body, checksum(key, id, name, asked, body)])?;
            is_written(written, "questions")?;
        }
        Ok(())
    }
}

fn checksum(run: i64, id: &str, name: &str, asked: i64, body: &str) -> i64 {
    let seal = Seal::of(b'q').number(run).text(id.as_bytes()).text(name.as_bytes());
    seal.number(asked).text(body.as_bytes()).finish()
}

/// The columns that [`read`] reads, behind others.
const QUESTION: &str = "run, question, name, asked, question_body, question_checksum";

fn read(row: &Row<'_>, first: usize) -> Result<OpenQuestion, Trouble> {
    let (run, id, name): (i64, String, String) = (row.get(first)?, row.get(first + 1)?, row.get(first + 2)?);
    let (asked, body): (i64, String) = (row.get(first + 3)?, row.get(first + 4)?);
    let damaged = |what: String| Trouble::Damaged(format!("question `{id}` of run number {run} {what}"));
    if row.get::<_, i64>(first + 5)? != checksum(run, &id, &name, asked, &body) {
        return Err(damaged("does not match its checksum".to_owned()));
    }
    let question: Question =
        serde_json::from_str(&body).map_err(|error| damaged(format!("cannot be read: {error}")))?;
    Ok(OpenQuestion { question, asked: from_millis(asked) })
}

/// How many questions of a run are open, and the one that has been open for the longest time.
pub(super) fn of_run(connection: &Connection, run: RunKey) -> Result<(u64, Option<OpenQuestion>), Trouble> {
    let key = to_integer(run.0);
    let mut count = connection.prepare_cached("SELECT count(*) FROM questions WHERE run = ?1")?;
    let open = from_integer(count.query_row([key], |row| row.get(0))?);
    if open == 0 {
        return Ok((0, None));
    }
    let first = format!("SELECT {QUESTION} FROM questions WHERE run = ?1 ORDER BY asked, question LIMIT 1");
    let mut first = connection.prepare_cached(&first)?;
    let mut rows = first.query([key])?;
    let first = rows.next()?.map(|row| read(row, 0)).transpose()?;
    Ok((open, first))
}

/// Checks every row, and that it belongs to a run that is not over.
pub(super) fn check(connection: &Connection) -> Result<(), Trouble> {
    let mut all = connection.prepare(&format!("SELECT {QUESTION} FROM questions"))?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let id = read(row, 0)?.question.id;
        let key: i64 = row.get(0)?;
        let run = RunRow::find(connection, key)?.map(RunRow::header).transpose()?;
        if run.is_none_or(|run| run.status.is_over()) {
            return Err(Trouble::Damaged(format!("question `{id}` is open, and its run number {key} is not")));
        }
    }
    Ok(())
}

pub(super) fn list(connection: &Connection, query: &QuestionQuery) -> Result<Vec<AskedQuestion>, Trouble> {
    let mut wanted = Conditions::default();
    if let Some(after) = &query.after {
        wanted.add_with("(asked, run, question) > (?, ?, ?)", to_millis(after.asked));
        wanted.add_value(to_integer(after.run.0));
        wanted.add_value(after.question.clone());
    }
    if let Some(name) = &query.name {
        wanted.add_with("name = ?", name.clone());
    }
    wanted.add_id_prefix(&query.id_prefix);
    if !query.workflows.is_empty() {
        wanted.add_one_of("workflow", query.workflows.iter().cloned());
    }
    wanted.add_tags(&query.tags);
    let (wanted, values) = wanted.done();
    let limit = if query.limit == 0 { -1 } else { to_integer(query.limit as u64) };
    // In this order of the tables: the index has the order in which they are wanted.
    let statement = format!(
        "SELECT {COLUMNS}, {QUESTION} FROM questions INDEXED BY questions_asked CROSS JOIN runs ON key = run
         WHERE {wanted} ORDER BY asked, run, question LIMIT {limit}"
    );
    let mut select = connection.prepare(&statement)?;
    let mut rows = select.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let header = RunRow::read(row)?.header()?;
        found.push(AskedQuestion::new(&header, read(row, COLUMNS_COUNT)?));
    }
    Ok(found)
}
