//! Reading runs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params_from_iter};
use serde_json::Value;

use super::row::{COLUMNS, RunRow};
use super::seal;
use super::times::{from_integer, from_millis, to_integer, to_millis};
use super::trouble::Trouble;
use crate::store::RunStatus;
use crate::store::{Owner, RunHeader, RunKey, RunQuery};

/// A header, in the order in which [`header`] takes its columns.
static HEADER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS}, coalesce((
            SELECT journal.id + journal.records - (key << 31) FROM journal
            WHERE journal.id >= key << 31 AND journal.id < (key + 1) << 31 ORDER BY journal.id DESC LIMIT 1
        ), 0)
        FROM runs"
    )
});

fn header(row: &Row<'_>) -> Result<RunHeader, Trouble> {
    let run = RunRow::read(row)?;
    let damaged = |what: String| Trouble::Damaged(format!("run `{}` {what}", run.id));
    let status = status_of(run.status).ok_or_else(|| damaged(format!("has the unknown status {}", run.status)))?;
    let records: i64 = row.get(14)?;
    if records < run.records {
        return Err(Trouble::Damaged(format!("record {records} of run `{}` is not there", run.id)));
    }
    let forked_at = from_integer(run.forked_at.unwrap_or(0));
    Ok(RunHeader {
        key: RunKey(from_integer(run.key)),
        id: run.id,
        workflow: run.workflow,
        status,
        created: from_millis(run.created),
        updated: from_millis(run.updated),
        owner: run.owner.map(|owner| Owner(from_integer(owner))),
        wake_at: run.ready.filter(|_| status.is_suspended()).map(from_millis),
        graph: run.graph.cast_unsigned(),
        forked_from: run.forked_from.map(|id| (id, forked_at)),
        records: from_integer(records),
    })
}

fn headers(mut rows: Rows<'_>) -> Result<Vec<RunHeader>, Trouble> {
    let mut headers = Vec::new();
    while let Some(row) = rows.next()? {
        headers.push(header(row)?);
    }
    Ok(headers)
}

pub(super) fn header_by_id(connection: &Connection, id: &str) -> Result<Option<RunHeader>, Trouble> {
    let mut select = connection.prepare_cached(&format!("{} WHERE id = ?1", *HEADER))?;
    let found = headers(select.query([id])?)?.pop();
    match found {
        Some(other) if other.id != id => {
            Err(Trouble::Damaged(format!("an index has run `{}` in the place of `{id}`", other.id)))
        }
        found => Ok(found),
    }
}

/// The same for a run named by a caller, with a check that it is in the indexes: a run that is missing there would
/// never be resumed.
pub(super) fn indexed_header(connection: &Connection, id: &str) -> Result<Option<RunHeader>, Trouble> {
    // One transaction, so that all reads see the same moment: other processes may write meanwhile.
    let moment = connection.unchecked_transaction()?;
    let found = header_by_id(&moment, id)?;
    if let Some(header) = found.as_ref().filter(|header| !header.status.is_over()) {
        RunRow::expect(&moment, to_integer(header.key.0))?.is_indexed(&moment)?;
    }
    Ok(found)
}

pub(super) fn header_by_key(connection: &Connection, key: i64) -> Result<Option<RunHeader>, Trouble> {
    let mut select = connection.prepare_cached(&format!("{} WHERE key = ?1", *HEADER))?;
    Ok(headers(select.query([key])?)?.pop())
}

/// The workflows that have unfinished runs, in as many steps as there are workflows.
pub(super) const UNFINISHED_WORKFLOWS: &str = "
    WITH RECURSIVE names (name) AS (
        SELECT min(workflow) FROM runs WHERE status IN (0, 1, 2)
        UNION ALL
        SELECT (SELECT min(workflow) FROM runs WHERE status IN (0, 1, 2) AND workflow > names.name) FROM names
        WHERE names.name IS NOT NULL
    )
    SELECT name FROM names WHERE name IS NOT NULL";

fn unfinished_workflows(connection: &Connection) -> Result<Vec<String>, Trouble> {
    let mut names = connection.prepare_cached(UNFINISHED_WORKFLOWS)?;
    let names = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

/// The graphs that unfinished runs of a workflow were recorded under, in as many steps as there are graphs.
pub(super) const UNFINISHED_GRAPHS: &str = "
    WITH RECURSIVE graphs (hash) AS (
        SELECT min(graph) FROM runs WHERE status IN (0, 1, 2) AND workflow = ?1
        UNION ALL
        SELECT (SELECT min(graph) FROM runs WHERE status IN (0, 1, 2) AND workflow = ?1 AND graph > graphs.hash)
        FROM graphs WHERE graphs.hash IS NOT NULL
    )
    SELECT hash FROM graphs WHERE hash IS NOT NULL";

fn unfinished_graphs(connection: &Connection, workflow: &str) -> Result<Vec<i64>, Trouble> {
    let mut hashes = connection.prepare_cached(UNFINISHED_GRAPHS)?;
    let hashes = hashes.query_map([workflow], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(hashes)
}

pub(super) fn list(connection: &Connection, query: &RunQuery) -> Result<Vec<RunHeader>, Trouble> {
    if query.workflows.is_empty() || !is_of_unfinished(query) {
        return list_of(connection, query, None);
    }
    // A run could get another graph meanwhile.
    let at_once = connection.unchecked_transaction()?;
    // The runs of one graph are in the index in the order of their keys. All runs of the workflow would have to be
    // sorted.
    let mut headers = Vec::new();
    for workflow in BTreeSet::from_iter(&query.workflows) {
        for graph in unfinished_graphs(&at_once, workflow)? {
            if query.not_graph != Some(graph.cast_unsigned()) {
                headers.extend(list_of(&at_once, query, Some((workflow, graph)))?);
            }
        }
    }
    headers.sort_unstable_by_key(|header| header.key);
    if !query.oldest_first {
        headers.reverse();
    }
    if query.limit > 0 {
        headers.truncate(query.limit);
    }
    Ok(headers)
}

fn is_of_unfinished(query: &RunQuery) -> bool {
    !query.status.is_empty() && !query.status.iter().any(|status| status.is_over())
}

/// The runs of one workflow that were recorded last under one graph, or of all.
fn list_of(connection: &Connection, query: &RunQuery, only: Option<(&str, i64)>) -> Result<Vec<RunHeader>, Trouble> {
    let (wanted, values) = conditions(connection, query, only)?;
    let limit = if query.limit == 0 { -1 } else { to_integer(query.limit as u64) };
    let order = if query.oldest_first { "ASC" } else { "DESC" };
    let statement = format!("{} WHERE {wanted} ORDER BY key {order} LIMIT {limit}", *HEADER);
    let mut select = connection.prepare(&statement)?;
    headers(select.query(params_from_iter(values))?)
}

pub(super) fn count(connection: &Connection, query: &RunQuery) -> Result<u64, Trouble> {
    let (wanted, values) = conditions(connection, query, None)?;
    let mut select = connection.prepare(&format!("SELECT count(*) FROM runs WHERE {wanted}"))?;
    Ok(from_integer(select.query_row(params_from_iter(values), |row| row.get(0))?))
}

/// What a query is about, as the condition of a statement and its values.
fn conditions(
    connection: &Connection,
    query: &RunQuery,
    only: Option<(&str, i64)>,
) -> Result<(String, Vec<Box<dyn ToSql>>), Trouble> {
    let mut wanted = vec!["1".to_owned()];
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let is_unfinished = is_of_unfinished(query);
    if is_unfinished {
        // Written exactly as in the index, or SQLite would not use it.
        wanted.push("status IN (0, 1, 2)".to_owned());
    }
    if is_unfinished && !query.not_workflows.is_empty() {
        let others = unfinished_workflows(connection)?.into_iter();
        let others: Vec<_> = others.filter(|workflow| !query.not_workflows.contains(workflow)).collect();
        wanted.push(format!("workflow IN ({})", vec!["?"; others.len()].join(", ")));
        values.extend(others.into_iter().map(|workflow| Box::new(workflow) as Box<dyn ToSql>));
    }
    if let Some((workflow, _)) = only {
        wanted.push("workflow = ?".to_owned());
        values.push(Box::new(workflow.to_owned()));
    } else if !query.workflows.is_empty() {
        wanted.push(format!("workflow IN ({})", vec!["?"; query.workflows.len()].join(", ")));
        values.extend(query.workflows.iter().map(|workflow| Box::new(workflow.clone()) as Box<dyn ToSql>));
    }
    if !query.id_prefix.is_empty() {
        wanted.push("id >= ?".to_owned());
        values.push(Box::new(query.id_prefix.clone()));
        if let Some(behind) = behind_all_with(&query.id_prefix) {
            wanted.push("id < ?".to_owned());
            values.push(Box::new(behind));
        }
    }
    if let Some(from) = query.from {
        wanted.push("created >= ?".to_owned());
        values.push(Box::new(to_millis(from)));
    }
    if let Some(until) = query.until {
        wanted.push("created < ?".to_owned());
        values.push(Box::new(to_millis(until)));
    }
    for workflow in query.not_workflows.iter().filter(|_| !is_unfinished) {
        wanted.push("workflow <> ?".to_owned());
        values.push(Box::new(workflow.clone()));
    }
    if let Some((_, graph)) = only {
        wanted.push("graph = ?".to_owned());
        values.push(Box::new(graph));
    } else if let Some(graph) = query.not_graph {
        wanted.push("graph <> ?".to_owned());
        values.push(Box::new(graph.cast_signed()));
    }
    if !query.status.is_empty() {
        let numbers: Vec<_> = query.status.iter().map(|status| status_number(*status).to_string()).collect();
        wanted.push(format!("status IN ({})", numbers.join(", ")));
    }
    if let Some(origin) = &query.forked_from {
        wanted.push("forked_from = ?".to_owned());
        values.push(Box::new(origin.clone()));
    }
    if let Some(before) = query.before {
        wanted.push("key < ?".to_owned());
        values.push(Box::new(to_integer(before.0)));
    }
    if let Some(after) = query.after {
        wanted.push("key > ?".to_owned());
        values.push(Box::new(to_integer(after.0)));
    }
    Ok((wanted.join(" AND "), values))
}

/// The least text behind all texts with a prefix; `None` if there is none.
fn behind_all_with(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The number behind a character may be no character.
        if let Some(next) = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

pub(super) fn graph(connection: &Connection, hash: u64) -> Result<Option<Value>, Trouble> {
    let damaged = |what: &str| Trouble::Damaged(format!("graph {hash:016x} {what}"));
    let mut select = connection.prepare_cached("SELECT body, checksum FROM graphs WHERE hash = ?1")?;
    let found = select.query_row([hash.cast_signed()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
    let Some((body, checksum)) = found.optional()? else {
        // It was added with the first run that needs it.
        let is_needed =
            connection.prepare_cached("SELECT 1 FROM runs WHERE graph = ?1")?.exists([hash.cast_signed()])?;
        return if is_needed { Err(damaged("of a run is not there")) } else { Ok(None) };
    };
    if checksum != seal::of_graph(hash.cast_signed(), body.as_bytes()) {
        return Err(damaged("does not match its checksum"));
    }
    serde_json::from_str(&body).map(Some).map_err(|error| damaged(&format!("cannot be read: {error}")))
}

/// The number of a status in the file; a number never gets another meaning.
pub(super) fn status_number(status: RunStatus) -> i64 {
    match status {
        RunStatus::Running => 0,
        RunStatus::Waiting => 1,
        RunStatus::Sleeping => 2,
        RunStatus::Completed => 3,
        RunStatus::Failed => 4,
        RunStatus::Cancelled => 5,
    }
}

/// The status of a number; `None` for a number that this version does not know.
pub(super) fn status_of(number: i64) -> Option<RunStatus> {
    let all = [
        RunStatus::Running,
        RunStatus::Waiting,
        RunStatus::Sleeping,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ];
    all.into_iter().find(|status| status_number(*status) == number)
}
