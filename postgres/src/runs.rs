//! Adding runs, and records to them.

use std::sync::Arc;
use std::time::SystemTime;

use deadpool_postgres::{Object, Transaction};
use graphweft::store::{
    Append, Appended, Created, HeaderChange, NewRun, RunHeader, RunKey, StartedOver, StoreError, Stored,
};
use serde_json::Value;

use crate::batch::{self, INSERT, JournalRow, NewRows};
use crate::checked;
use crate::connections::Facts;
use crate::numbers::{from_integer, from_millis, of_run, to_integer, to_millis};
use crate::questions;
use crate::row::{self, Columns};
use crate::trouble::Trouble;

pub(crate) async fn create(mut client: Object, run: &NewRun) -> Result<Created, Trouble> {
    loop {
        let step = client.transaction().await?;
        if let Some(header) = add(&step, run, 0).await? {
            step.commit().await?;
            return Ok(Created::New(header));
        }
        step.rollback().await?;
        // Why not; the one that was in the way may be gone meanwhile.
        if let Some(header) = header(&client, &run.id).await? {
            return Ok(Created::Existing(header));
        }
        if let Some(until) = kept_until(&client, run).await? {
            return Ok(Created::Deleted { until });
        }
    }
}

/// Adds a run, behind so many rows of records in the same transaction. `None` if its id is not free: then the transaction is to be undone.
async fn add(step: &Transaction<'_>, run: &NewRun, behind: usize) -> Result<Option<RunHeader>, Trouble> {
    let new = Columns::of_new(run)?;
    let insert = step
        .prepare_cached(
            "with first as materialized (select adds())
             insert into runs (id, workflow, status, created, updated, owner, ready, nudged, graph, forked_from, started_by, tags,
                 records, header)
             select $1, $2, $3, $4, $5, $6, $7, false, $8, $9, $10, $11, $12, $13 from first
             where not exists (select from deleted where id = $1 and until > $4)
             on conflict (id) do nothing returning key",
        )
        .await?;
    let added = step
        .query_opt(
            &insert,
            &[
                &new.id,
                &new.workflow,
                &new.status,
                &new.created,
                &new.updated,
                &new.owner,
                &new.ready,
                &new.graph,
                &new.forked_from,
                &new.started_by,
                &new.tags,
                &new.records,
                &new.header,
            ],
        )
        .await?;
    let Some(added) = added else { return Ok(None) };
    let key = RunKey::new(from_integer(added.try_get(0)?));
    insert_rows(step, &NewRows::of(key, 0, run.time, &run.records)?, behind).await?;
    keep_graph(step, &run.graph).await?;
    if run.owner.is_none() {
        tell(step).await?;
    }
    // A run with this id may have been deleted while the statement above waited for that.
    let free = step.prepare_cached("delete from deleted where id = $1 returning until").await?;
    if let Some(kept) = step.query_opt(&free, &[&run.id]).await?
        && kept.try_get::<_, i64>(0)? > new.created
    {
        return Ok(None);
    }
    // As it will be read.
    let mut header: RunHeader = checked::from_text(&new.header, || "a new header".to_owned())?;
    header.key = key;
    Ok(Some(header))
}

async fn kept_until(client: &Object, run: &NewRun) -> Result<Option<SystemTime>, Trouble> {
    let select = client.prepare_cached("select until from deleted where id = $1 and until > $2").await?;
    let kept = client.query_opt(&select, &[&run.id, &to_millis(run.time)]).await?;
    Ok(kept.map(|row| row.try_get(0)).transpose()?.map(from_millis))
}

pub(crate) async fn header(client: &Object, id: &str) -> Result<Option<RunHeader>, Trouble> {
    if id.contains('\0') {
        return Ok(None);
    }
    let select = client.prepare_cached(&format!("select {} from runs r where id = $1", row::COLUMNS)).await?;
    client.query_opt(&select, &[&id]).await?.map(|row| row::header(&row, 0)).transpose()
}

pub(crate) async fn append(mut client: Object, facts: Facts, batch: &Append) -> Result<Appended, Trouble> {
    let rows = NewRows::of(batch.run, batch.at, batch.time, &batch.records)?;
    if batch.header == HeaderChange::default() {
        return append_records(&client, facts, batch, &rows).await;
    }
    let step = client.transaction().await?;
    if !append_in(&step, batch, &rows).await? {
        step.rollback().await?;
        return Ok(Appended::Conflict);
    }
    step.commit().await?;
    Ok(Appended::Done)
}

/// Adds records without a change of the header: the step of most nodes, and one statement.
async fn append_records(client: &Object, facts: Facts, batch: &Append, rows: &NewRows) -> Result<Appended, Trouble> {
    let (key, at, added) = (of_run(batch.run), to_integer(batch.at), to_integer(batch.records.len() as u64));
    let NewRows { seqs, records, times, checksums, bodies, .. } = rows;
    // As `adds()` and `place(0)`: calls of functions cost more than all else here.
    let Facts { locks, xids } = facts;
    let changed = format!(
        "with first as materialized (select pg_advisory_xact_lock_shared({locks}, 0)),
         changed as (update runs set records = records + $3 from first where key = $1 and records = $2 returning key)
         insert into journal (run, seq, records, place, time, checksum, body)"
    );
    let place = format!("((pg_current_xact_id()::text::bigint + {xids}) << 16)");
    let done = if let ([records], [time], [checksum], [body]) = (&records[..], &times[..], &checksums[..], &bodies[..])
    {
        let insert = format!("{changed} select key, $2, $4::integer, {place}, $5, $6, $7 from changed");
        let insert = client.prepare_cached(&insert).await?;
        client.execute(&insert, &[&key, &at, &added, records, time, checksum, body]).await? > 0
    } else if rows.is_empty() {
        let select = client.prepare_cached("select from runs where key = $1 and records = $2").await?;
        client.query_opt(&select, &[&key, &at]).await?.is_some()
    } else {
        let insert = format!(
            "{changed} select key, seq, new.records, {place} + number - 1, time, checksum, body
             from changed, unnest($4::bigint[], $5::integer[], $6::bigint[], $7::bigint[], $8::text[])
                 with ordinality as new (seq, records, time, checksum, body, number)"
        );
        let insert = client.prepare_cached(&insert).await?;
        client.execute(&insert, &[&key, &at, &added, seqs, records, times, checksums, bodies]).await? > 0
    };
    Ok(if done { Appended::Done } else { Appended::Conflict })
}

/// Adds records and changes the header. Returns whether it did, without any change if not.
async fn append_in(step: &Transaction<'_>, batch: &Append, rows: &NewRows) -> Result<bool, Trouble> {
    let (key, at) = (of_run(batch.run), to_integer(batch.at));
    let select = step
        .prepare_cached(&format!(
            "with first as materialized (select adds())
             select {} from first, runs r where key = $1 and records = $2 for update of r",
            row::COLUMNS
        ))
        .await?;
    let Some(found) = step.query_opt(&select, &[&key, &at]).await? else { return Ok(false) };
    let mut header = row::header(&found, 0)?;
    header.apply(&batch.header, batch.records.len() as u64, batch.time);
    update(step, &header, batch.header.nudge.then_some(true)).await?;
    insert_rows(step, rows, 0).await?;
    // In one order everywhere, so that no two transactions wait for each other.
    let mut graphs: Vec<_> = batch.header.graphs().collect();
    graphs.sort_by_key(|graph| graph.0);
    for graph in graphs {
        keep_graph(step, graph).await?;
    }
    questions::change(step, &header, &batch.header.questions).await?;
    Ok(true)
}

/// Writes the header of a run back, and whether it is nudged, if that changes.
pub(crate) async fn update(step: &Transaction<'_>, header: &RunHeader, nudged: Option<bool>) -> Result<(), Trouble> {
    let update = step
        .prepare_cached(
            "update runs set status = $2, updated = $3, owner = $4, ready = $5, nudged = coalesce($6, nudged), graph = $7, records = $8,
                 header = $9
             where key = $1",
        )
        .await?;
    let new = Columns::of(header)?;
    let changed = step
        .execute(
            &update,
            &[
                &of_run(header.key),
                &new.status,
                &new.updated,
                &new.owner,
                &new.ready,
                &nudged,
                &new.graph,
                &new.records,
                &new.header,
            ],
        )
        .await?;
    if nudged == Some(true) || header.owner.is_none() && new.ready.is_some() {
        tell(step).await?;
    }
    if changed == 1 { Ok(()) } else { Err(Trouble::damaged(format!("the row of run `{}` is not there", header.id))) }
}

/// Has other engines look when the transaction is over.
async fn tell(step: &Transaction<'_>) -> Result<(), Trouble> {
    let tell = step.prepare_cached("select tell()").await?;
    step.execute(&tell, &[]).await?;
    Ok(())
}

/// Adds rows of records behind so many in the same transaction.
pub(crate) async fn insert_rows(step: &Transaction<'_>, rows: &NewRows, behind: usize) -> Result<(), Trouble> {
    if !rows.is_empty() {
        let insert = step.prepare_cached(INSERT).await?;
        let NewRows { runs, seqs, records, times, checksums, bodies } = rows;
        step.execute(&insert, &[runs, seqs, records, times, checksums, bodies, &to_integer(behind as u64)]).await?;
    }
    Ok(())
}

async fn keep_graph(step: &Transaction<'_>, graph: &Arc<(u64, Value)>) -> Result<(), Trouble> {
    let hash = graph.0.cast_signed();
    // Most are there, and a statement that adds nothing locks nothing.
    let there = step.prepare_cached("select from graphs where hash = $1").await?;
    if step.query_opt(&there, &[&hash]).await?.is_none() {
        let insert =
            step.prepare_cached("insert into graphs (hash, body) values ($1, $2) on conflict do nothing").await?;
        step.execute(&insert, &[&hash, &graph.1.to_string()]).await?;
    }
    Ok(())
}

pub(crate) async fn graph(client: &Object, hash: u64) -> Result<Option<Value>, Trouble> {
    let select = client.prepare_cached("select body from graphs where hash = $1").await?;
    let Some(row) = client.query_opt(&select, &[&hash.cast_signed()]).await? else { return Ok(None) };
    let read = serde_json::from_str(row.try_get(0)?);
    read.map(Some).map_err(|error| Trouble::damaged(format!("graph {hash} cannot be read: {error}")))
}

pub(crate) async fn start_over(mut client: Object, end: &Append, next: &NewRun) -> Result<StartedOver, Trouble> {
    let rows = NewRows::of(end.run, end.at, end.time, &end.records)?;
    let step = client.transaction().await?;
    if !append_in(&step, end, &rows).await? {
        step.rollback().await?;
        return Ok(StartedOver::Conflict);
    }
    if let Some(header) = add(&step, next, rows.bodies.len()).await? {
        step.commit().await?;
        return Ok(StartedOver::Done(Box::new(header)));
    }
    step.rollback().await?;
    match kept_until(&client, next).await? {
        Some(until) => Ok(StartedOver::Deleted { until }),
        None => Ok(StartedOver::Existing),
    }
}

/// The records of a run from this number on, at most so many.
pub(crate) async fn read(client: &Object, run: RunKey, from: u64, limit: usize) -> Result<Vec<Stored>, Trouble> {
    let select = client
        .prepare_cached(&format!(
            "select {}, r.id from journal j left join runs r on r.key = j.run
             where j.run = $1 and j.seq >= coalesce((select max(seq) from journal where run = $1 and seq <= $2), $2)
             order by j.seq limit $3",
            batch::COLUMNS
        ))
        .await?;
    let (key, first, most) = (of_run(run), to_integer(from), to_integer(limit as u64));
    let mut stored = Vec::new();
    for row in client.query(&select, &[&key, &first, &most]).await? {
        let rows = JournalRow::read(&row, 0)?;
        let id: Option<&str> = row.try_get(7)?;
        let records = rows.stored(id.unwrap_or_default()).map_err(Trouble::Store)?;
        let expected = stored.last().map_or(rows.first().min(from), |last: &Stored| last.seq + 1);
        if rows.first() != expected {
            return Err(Trouble::Store(StoreError::BadRecord {
                run: id.unwrap_or_default().to_owned(),
                seq: expected,
                message: "its row is missing; restore the database from a backup".to_owned(),
            }));
        }
        stored.extend(records);
    }
    stored.retain(|stored| stored.seq >= from);
    stored.truncate(limit);
    Ok(stored)
}
