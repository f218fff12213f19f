//! Reading runs.

use rusqlite::types::{ToSql, Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use serde_json::Value;

use super::codec::decode;
use super::runs::{status_number, status_of};
use super::schema::rows_of;
use super::times::{from_integer, from_millis, to_integer};
use super::trouble::Trouble;
use crate::store::{Owner, RunHeader, RunKey, RunQuery, RunStatus, StoreError, Stored};

/// A header, in the order in which [`header`] takes its columns.
const HEADER: &str = "
    SELECT key, id, workflow, status, created, updated, owner, ready, graph, forked_from, forked_at, coalesce((
        SELECT journal.id + journal.records - (key << 31) FROM journal
        WHERE journal.id >= key << 31 AND journal.id < (key + 1) << 31 ORDER BY journal.id DESC LIMIT 1
    ), 0)
    FROM runs";

fn header(row: &Row<'_>) -> rusqlite::Result<RunHeader> {
    let number: i64 = row.get(3)?;
    let status = status_of(number).ok_or(rusqlite::Error::IntegralValueOutOfRange(3, number))?;
    let ready: Option<i64> = row.get(7)?;
    let forked_from = row.get::<_, Option<String>>(9)?;
    let forked_at = from_integer(row.get::<_, Option<i64>>(10)?.unwrap_or(0));
    Ok(RunHeader {
        key: RunKey(from_integer(row.get(0)?)),
        id: row.get(1)?,
        workflow: row.get(2)?,
        status,
        created: from_millis(row.get(4)?),
        updated: from_millis(row.get(5)?),
        owner: row.get::<_, Option<i64>>(6)?.map(|owner| Owner(from_integer(owner))),
        wake_at: ready.filter(|_| status == RunStatus::Waiting).map(from_millis),
        graph: row.get::<_, i64>(8)?.cast_unsigned(),
        forked_from: forked_from.map(|id| (id, forked_at)),
        records: from_integer(row.get(11)?),
    })
}

pub(super) fn header_by_id(connection: &Connection, id: &str) -> Result<Option<RunHeader>, Trouble> {
    let mut select = connection.prepare_cached(&format!("{HEADER} WHERE id = ?1"))?;
    Ok(select.query_row([id], header).optional()?)
}

pub(super) fn header_by_key(connection: &Connection, key: i64) -> Result<Option<RunHeader>, Trouble> {
    let mut select = connection.prepare_cached(&format!("{HEADER} WHERE key = ?1"))?;
    Ok(select.query_row([key], header).optional()?)
}

pub(super) fn list(connection: &Connection, query: &RunQuery) -> Result<Vec<RunHeader>, Trouble> {
    let mut wanted = vec!["1".to_owned()];
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    if let Some(workflow) = &query.workflow {
        wanted.push("workflow = ?".to_owned());
        values.push(Box::new(workflow.clone()));
    }
    for workflow in &query.not_workflows {
        wanted.push("workflow <> ?".to_owned());
        values.push(Box::new(workflow.clone()));
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
    let limit = if query.limit == 0 { -1 } else { to_integer(query.limit as u64) };
    let statement = format!("{HEADER} WHERE {} ORDER BY key DESC LIMIT {limit}", wanted.join(" AND "));
    let mut select = connection.prepare(&statement)?;
    let headers = select.query_map(params_from_iter(values), header)?.collect::<Result<_, _>>()?;
    Ok(headers)
}

pub(super) fn records(connection: &Connection, run: RunKey, from: u64, limit: usize) -> Result<Vec<Stored>, Trouble> {
    let ids = rows_of(run);
    let mut stored = Vec::new();
    let mut decoded = Vec::new();
    // Begins with the row that holds number `from`, which may hold records before it.
    let mut select = connection.prepare_cached(
        "SELECT id, time, records, body FROM journal
         WHERE id >= coalesce((SELECT id FROM journal WHERE id >= ?1 AND id <= ?2 ORDER BY id DESC LIMIT 1), ?1)
         AND id < ?3 ORDER BY id",
    )?;
    let mut rows = select.query(params![ids.start, ids.start.saturating_add(to_integer(from)), ids.end])?;
    while let Some(row) = rows.next()?.filter(|_| stored.len() < limit) {
        let (id, time, records): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let ValueRef::Text(body) = row.get_ref(3)? else {
            return Err(rusqlite::Error::InvalidColumnType(3, "body".to_owned(), Type::Text).into());
        };
        let (first, time) = (from_integer(id - ids.start), from_millis(time));
        let sound = decode(body, &mut decoded).map_err(|error| error.to_string());
        if let Some(message) = sound.err().or_else(|| miscounted(decoded.len(), records)) {
            return Err(bad_record(connection, run, first + decoded.len() as u64, &message)?.into());
        }
        for (seq, record) in (first..).zip(decoded.drain(..)) {
            if seq >= from && stored.len() < limit {
                stored.push(Stored { seq, time, record });
            }
        }
    }
    Ok(stored)
}

fn miscounted(found: usize, counted: i64) -> Option<String> {
    (found as u64 != from_integer(counted)).then(|| format!("its row holds {found} records and says {counted}"))
}

fn bad_record(connection: &Connection, run: RunKey, seq: u64, message: &str) -> Result<StoreError, Trouble> {
    let mut select = connection.prepare_cached("SELECT id FROM runs WHERE key = ?1")?;
    let id = select.query_row([to_integer(run.0)], |row| row.get(0)).optional()?;
    let message = format!("{message}; it is damaged, or of a newer version of graphweft");
    Ok(StoreError::BadRecord { run: id.unwrap_or_else(|| format!("number {}", run.0)), seq, message })
}

pub(super) fn graph(connection: &Connection, hash: u64) -> Result<Option<Value>, Trouble> {
    let mut select = connection.prepare_cached("SELECT body FROM graphs WHERE hash = ?1")?;
    let body: Option<String> = select.query_row([hash.cast_signed()], |row| row.get(0)).optional()?;
    body.map(|body| serde_json::from_str(&body)).transpose().map_err(|error| {
        let error = rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error));
        Trouble::Sql(error)
    })
}
