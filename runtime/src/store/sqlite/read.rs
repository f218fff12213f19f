//! Reading runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension, Row, Rows, params_from_iter};
use serde_json::Value;

use super::conditions::Conditions;
use super::log_index::LogIndex;
use super::row::{COLUMNS, COLUMNS_COUNT, RunRow, status_number};
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::Trouble;
use super::{questions, records, seal};
use crate::store::{RunHeader, RunOverview, RunQuery, StoreError};

/// A header, in the order in which [`header`] takes its columns.
static HEADER: LazyLock<String> = LazyLock::new(|| format!("{} FROM runs", columns()));

/// The same for runs that have a tag. In this order of the tables: the runs of a tag are in the order of their keys.
static TAGGED_HEADER: LazyLock<String> =
    LazyLock::new(|| format!("{} FROM tags CROSS JOIN runs ON key = run", columns()));

fn columns() -> String {
    format!(
        "SELECT {COLUMNS}, coalesce((
            SELECT journal.id + journal.records - (key << 31) FROM journal
            WHERE journal.id >= key << 31 AND journal.id < (key + 1) << 31 ORDER BY journal.id DESC LIMIT 1
        ), 0)"
    )
}

fn header(row: &Row<'_>, log: &LogIndex) -> Result<RunHeader, Trouble> {
    let known = RunRow::read(row)?.header()?;
    let records = log.length_of(known.key).map_or_else(|| row.get(COLUMNS_COUNT).map(from_integer), Ok)?;
    if records < known.records {
        return Err(Trouble::Damaged(format!("record {records} of run `{}` is not there", known.id)));
    }
    Ok(RunHeader { records, ..known })
}

fn headers(mut rows: Rows<'_>, log: &LogIndex) -> Result<Vec<RunHeader>, Trouble> {
    let mut headers = Vec::new();
    while let Some(row) = rows.next()? {
        headers.push(header(row, log)?);
    }
    Ok(headers)
}

pub(super) fn header_by_id(connection: &Connection, log: &LogIndex, id: &str) -> Result<Option<RunHeader>, Trouble> {
    let mut select = connection.prepare_cached(&format!("{} WHERE id = ?1", *HEADER))?;
    let found = headers(select.query([id])?, log)?.pop();
    match found {
        Some(other) if other.id != id => {
            Err(Trouble::Damaged(format!("an index has run `{}` in the place of `{id}`", other.id)))
        }
        found => Ok(found),
    }
}

/// The same for a run named by a caller, with a check that it is in the indexes: a run that is missing there would
/// never be resumed.
pub(super) fn indexed_header(moment: &Connection, log: &LogIndex, id: &str) -> Result<Option<RunHeader>, Trouble> {
    let found = header_by_id(moment, log, id)?;
    if let Some(header) = found.as_ref().filter(|header| !header.status.is_over()) {
        RunRow::expect(moment, to_integer(header.key.0))?.is_indexed(moment)?;
    }
    Ok(found)
}

pub(super) fn header_by_key(connection: &Connection, log: &LogIndex, key: i64) -> Result<Option<RunHeader>, Trouble> {
    let mut select = connection.prepare_cached(&format!("{} WHERE key = ?1", *HEADER))?;
    Ok(headers(select.query([key])?, log)?.pop())
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

pub(super) fn list(moment: &Connection, log: &LogIndex, query: &RunQuery) -> Result<Vec<RunHeader>, Trouble> {
    if query.workflows.is_empty() || !is_of_unfinished(query) || !query.tags.is_empty() {
        return list_of(moment, log, query, None);
    }
    // The runs of one graph are in the index in the order of their keys. All runs of the workflow would have to be
    // sorted.
    let mut headers = Vec::new();
    for workflow in BTreeSet::from_iter(&query.workflows) {
        for graph in unfinished_graphs(moment, workflow)? {
            if !query.not_graphs.contains(&graph.cast_unsigned()) {
                headers.extend(list_of(moment, log, query, Some((workflow, graph)))?);
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

/// The same runs, each with its last records and its open questions, all as of one moment.
pub(super) fn overview(
    moment: &Connection,
    log: &LogIndex,
    database: &Path,
    query: &RunQuery,
) -> Result<Vec<RunOverview>, Trouble> {
    let of = |header: RunHeader| {
        let from = RunOverview::first_record(&header);
        let last = match records::read(moment, log, header.key, from, usize::MAX) {
            // Damage of one run does not hide the others.
            Err(trouble @ (Trouble::Damaged(_) | Trouble::Store(StoreError::BadRecord { .. }))) => {
                Err(trouble.at(database))
            }
            last => Ok(last?),
        };
        let (open, question) = questions::of_run(moment, header.key)?;
        Ok(RunOverview::new(header, last, open, question))
    };
    list(moment, log, query)?.into_iter().map(of).collect()
}

/// The runs of one workflow that were recorded last under one graph, or of all.
fn list_of(
    connection: &Connection,
    log: &LogIndex,
    query: &RunQuery,
    only: Option<(&str, i64)>,
) -> Result<Vec<RunHeader>, Trouble> {
    let (wanted, values) = conditions(connection, query, only)?.done();
    let limit = if query.limit == 0 { -1 } else { to_integer(query.limit as u64) };
    let order = if query.oldest_first { "ASC" } else { "DESC" };
    let (from, key) = if query.tags.is_empty() { (&*HEADER, "key") } else { (&*TAGGED_HEADER, "run") };
    let statement = format!("{from} WHERE {wanted} ORDER BY {key} {order} LIMIT {limit}");
    let mut select = connection.prepare(&statement)?;
    headers(select.query(params_from_iter(values))?, log)
}

pub(super) fn count(connection: &Connection, query: &RunQuery) -> Result<u64, Trouble> {
    let (wanted, values) = conditions(connection, query, None)?.done();
    let from = if query.tags.is_empty() { "runs" } else { "tags CROSS JOIN runs ON key = run" };
    let mut select = connection.prepare(&format!("SELECT count(*) FROM {from} WHERE {wanted}"))?;
    Ok(from_integer(select.query_row(params_from_iter(values), |row| row.get(0))?))
}

/// What a query is about, as the condition of a statement and its values.
fn conditions(connection: &Connection, query: &RunQuery, only: Option<(&str, i64)>) -> Result<Conditions, Trouble> {
    let mut wanted = Conditions::default();
    let is_unfinished = is_of_unfinished(query);
    if is_unfinished {
        // Written exactly as in the index, or SQLite would not use it.
        wanted.add("status IN (0, 1, 2)");
    } else if !query.status.is_empty() && query.status.iter().all(|status| status.is_over()) {
        wanted.add("status IN (3, 4, 5, 6)");
    }
    if is_unfinished && !query.not_workflows.is_empty() {
        let others = unfinished_workflows(connection)?.into_iter();
        wanted.add_one_of("workflow", others.filter(|workflow| !query.not_workflows.contains(workflow)));
    }
    if let Some((workflow, graph)) = only {
        wanted.add_with("workflow = ?", workflow.to_owned());
        wanted.add_with("graph = ?", graph);
    } else {
        if !query.workflows.is_empty() {
            wanted.add_one_of("workflow", query.workflows.iter().cloned());
        }
        for graph in &query.not_graphs {
            wanted.add_with("graph <> ?", graph.cast_signed());
        }
    }
    wanted.add_id_prefix(&query.id_prefix);
    if let Some(from) = query.from {
        wanted.add_with("created >= ?", to_millis(from));
    }
    if let Some(until) = query.until {
        wanted.add_with("created < ?", to_millis(until));
    }
    if let Some(since) = query.unchanged_since {
        wanted.add_with("updated < ?", to_millis(since));
    }
    for workflow in query.not_workflows.iter().filter(|_| !is_unfinished) {
        wanted.add_with("workflow <> ?", workflow.clone());
    }
    if !query.status.is_empty() {
        let numbers: Vec<_> = query.status.iter().map(|status| status_number(*status).to_string()).collect();
        wanted.add(&format!("status IN ({})", numbers.join(", ")));
    }
    if let Some(origin) = &query.forked_from {
        wanted.add_with("forked_from = ?", origin.clone());
    }
    if let Some(run) = &query.started_by {
        wanted.add_with("started_by = ?", run.clone());
    }
    if let Some((tag, value)) = query.tags.first_key_value() {
        wanted.add_with("tag = ?", tag.clone());
        wanted.add_with("value = ?", value.clone());
    }
    wanted.add_tags(query.tags.iter().skip(1));
    let key = if query.tags.is_empty() { "key" } else { "run" };
    if let Some(before) = query.before {
        wanted.add_with(&format!("{key} < ?"), to_integer(before.0));
    }
    if let Some(after) = query.after {
        wanted.add_with(&format!("{key} > ?"), to_integer(after.0));
    }
    Ok(wanted)
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
