//! Adding runs, and records to them.

use std::sync::Arc;
use std::time::SystemTime;

use deadpool_postgres::Object;
use graphweft::store::{
    Append, Appended, Created, HeaderChange, NewRun, Record, RunHeader, RunKey, StartedOver, StoreError, Stored,
};
use serde_json::Value;

use crate::batch::{self, INSERT, INSERT_AT, JournalRow, NewRows};
use crate::checked;
use crate::connections::{Facts, transaction};
use crate::numbers::{from_integer, from_millis, is_storable, of_run, to_integer, to_millis};
use crate::questions;
use crate::row::{self, Columns};
use crate::statements::Statements;
use crate::trouble::Trouble;

/// The place of rows in the feed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Behind so many rows that the transaction has added before.
    OfTransaction(usize),
    /// That of a subtransaction which adds nothing else, and has begun behind the lock of those that add rows.
    OfSubtransaction(Facts),
}

impl Place {
    /// The place by the numbers of the subtransaction that has written a row, without its epoch, and of its transaction.
    fn of(self, sub: i64, whole: i64) -> RowPlace {
        match self {
            Place::OfTransaction(behind) => RowPlace::Behind(to_integer(behind as u64)),
            Place::OfSubtransaction(facts) => {
                let epoch = whole & !0xffff_ffff;
                let number = epoch | sub;
                // It is the greater one.
                let number = if number < whole { number + (1 << 32) } else { number };
                RowPlace::At((number + facts.xids) << 16)
            }
        }
    }
}

/// The place of the first of some rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowPlace {
    Behind(i64),
    At(i64),
}

/// The numbers by which [`Place::of`] is known, of a row that was just written.
const WRITTEN: &str = "xmin::text::bigint, pg_current_xact_id()::text::bigint";

/// Begins a subtransaction that adds rows: the lock comes before its number.
const BEGIN_ADDING: &str = "savepoint graphweft_adds; select adds()";
const UNDO_ADDING: &str = "rollback to savepoint graphweft_adds; release savepoint graphweft_adds";

/// `is_again`: it was tried, and the connection was lost. Then a run that is there may be this one.
pub(crate) async fn create(mut client: Object, run: &NewRun, is_again: bool) -> Result<Created, Trouble> {
    let mut rows = NewRows::of_new(run)?;
    loop {
        let step = transaction(&mut client, rows.bytes()).await?;
        if let Some(header) = add((&step).into(), run, &mut rows, Place::OfTransaction(0)).await? {
            step.commit().await?;
            return Ok(Created::New(header));
        }
        step.rollback().await?;
        match in_the_way((&client).into(), run).await? {
            Some(Created::Existing(header)) if is_again && is_same(&header, run) => return Ok(Created::New(header)),
            Some(there) => return Ok(there),
            None => {}
        }
    }
}

/// Whether a run was added as this one: an engine adds one with an id at a time.
fn is_same(header: &RunHeader, run: &NewRun) -> bool {
    let is_own = header.owner.is_some() && header.owner == run.owner;
    is_own && to_millis(header.created) == to_millis(run.time)
}

/// The same in a transaction of the program. Of a run that is there, its first record as well.
pub(crate) async fn create_within(
    step: Statements<'_>,
    facts: Facts,
    run: &NewRun,
) -> Result<(Created, Option<Record>), Trouble> {
    let mut rows = NewRows::of_new(run)?;
    loop {
        step.batch_execute(BEGIN_ADDING).await?;
        if let Some(header) = add(step, run, &mut rows, Place::OfSubtransaction(facts)).await? {
            step.batch_execute("release savepoint graphweft_adds").await?;
            return Ok((Created::New(header), None));
        }
        step.batch_execute(UNDO_ADDING).await?;
        if let Some(there) = in_the_way(step, run).await? {
            let first = match &there {
                Created::Existing(header) => read(step, header.key, 0, 1).await?.pop().map(|stored| stored.record),
                _ => None,
            };
            return Ok((there, first));
        }
    }
}

/// Why a run could not be added; what was in the way may be gone meanwhile.
async fn in_the_way(step: Statements<'_>, run: &NewRun) -> Result<Option<Created>, Trouble> {
    if let Some(header) = header(step, &run.id).await? {
        return Ok(Some(Created::Existing(header)));
    }
    Ok(kept_until(step, run).await?.map(|until| Created::Deleted { until }))
}

/// Adds a run with its records. `None` if its id is not free: then the transaction is to be undone.
async fn add(
    step: Statements<'_>,
    run: &NewRun,
    rows: &mut NewRows,
    place: Place,
) -> Result<Option<RunHeader>, Trouble> {
    let new = Columns::of_new(run)?;
    let insert = step
        .prepare_cached(&format!(
            "with first as materialized (select adds())
             insert into runs (id, workflow, status, created, updated, owner, ready, nudged, graph, forked_from, started_by, tags,
                 records, header)
             select $1, $2, $3, $4, $5, $6, $7, false, $8, $9, $10, $11, $12, $13 from first
             where not exists (select from deleted where id = $1 and until > $4)
             on conflict (id) do nothing returning key, {WRITTEN}",
        ))
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
    let place = place.of(added.try_get(1)?, added.try_get(2)?);
    rows.belong_to(key);
    insert_rows(step, rows, place).await?;
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

async fn kept_until(client: Statements<'_>, run: &NewRun) -> Result<Option<SystemTime>, Trouble> {
    let select = client.prepare_cached("select until from deleted where id = $1 and until > $2").await?;
    let kept = client.query_opt(&select, &[&run.id, &to_millis(run.time)]).await?;
    Ok(kept.map(|row| row.try_get(0)).transpose()?.map(from_millis))
}

pub(crate) async fn header(client: Statements<'_>, id: &str) -> Result<Option<RunHeader>, Trouble> {
    if !is_storable(id) {
        return Ok(None);
    }
    let select = client.prepare_cached(&format!("select {} from runs r where id = $1", row::COLUMNS)).await?;
    client.query_opt(&select, &[&id]).await?.map(|row| row::header(&row, 0)).transpose()
}

/// `rows`: the records of the batch.
pub(crate) async fn append(
    mut client: Object,
    facts: Facts,
    batch: &Append,
    rows: &NewRows,
) -> Result<Appended, Trouble> {
    if batch.header == HeaderChange::default() {
        return append_records(&client, facts, batch, rows).await;
    }
    let step = transaction(&mut client, rows.bytes()).await?;
    if !append_in((&step).into(), batch, rows).await? {
        step.rollback().await?;
        return Ok(Appended::Conflict);
    }
    step.commit().await?;
    Ok(Appended::Done)
}

/// Adds records without a change of the header: the step of most nodes, and one statement.
pub(crate) async fn append_records(
    client: &Object,
    facts: Facts,
    batch: &Append,
    rows: &NewRows,
) -> Result<Appended, Trouble> {
    let (key, at, added) = (of_run(batch.run), to_integer(batch.at), to_integer(batch.records.len() as u64));
    let NewRows { seqs, records, times, checksums, bodies, .. } = rows;
    // As `adds()` and `place(0)`: calls of functions cost more than all else here. The lock is taken before the transaction has a number, which the
    // update gives it.
    let Facts { locks, xids } = facts;
    let changed = format!(
        "with changed as (
             update runs set records = records + $3
             where key = $1 and records = $2 and pg_advisory_xact_lock_shared({locks}, 0) is not null returning key
         )
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
pub(crate) async fn append_in(step: Statements<'_>, batch: &Append, rows: &NewRows) -> Result<bool, Trouble> {
    let (key, at) = (of_run(batch.run), to_integer(batch.at));
    let select = step
        .prepare_cached(&format!(
            "with first as materialized (select adds())
             select {} from first, runs r where key = $1 and records = $2 for update of r",
            row::COLUMNS
        ))
        .await?;
    let Some(found) = step.query_opt(&select, &[&key, &at]).await? else { return Ok(false) };
    let header = row::header(&found, 0)?;
    write(step, header, batch, rows, RowPlace::Behind(0)).await?;
    Ok(true)
}

/// Adds records in a transaction of the program, which is open after that. A conflict changes nothing.
pub(crate) async fn append_within(
    step: Statements<'_>,
    facts: Facts,
    batch: &Append,
    rows: &NewRows,
) -> Result<Appended, Trouble> {
    let (key, at) = (of_run(batch.run), to_integer(batch.at));
    step.batch_execute(BEGIN_ADDING).await?;
    // Written, and not locked: then it has the number of the subtransaction.
    let take = step
        .prepare_cached(&format!(
            "update runs r set records = records where key = $1 and records = $2 returning r.{WRITTEN}, {}",
            row::COLUMNS
        ))
        .await?;
    let Some(taken) = step.query_opt(&take, &[&key, &at]).await? else {
        step.batch_execute(UNDO_ADDING).await?;
        return Ok(Appended::Conflict);
    };
    let place = Place::OfSubtransaction(facts).of(taken.try_get(0)?, taken.try_get(1)?);
    write(step, row::header(&taken, 2)?, batch, rows, place).await?;
    Ok(Appended::Done)
}

/// Adds records to a run with this header, which the transaction has locked.
async fn write(
    step: Statements<'_>,
    mut header: RunHeader,
    batch: &Append,
    rows: &NewRows,
    place: RowPlace,
) -> Result<(), Trouble> {
    header.apply(&batch.header, batch.records.len() as u64, batch.time);
    update(step, &header, batch.header.nudge.then_some(true)).await?;
    insert_rows(step, rows, place).await?;
    // In one order everywhere, so that no two transactions wait for each other.
    let mut graphs: Vec<_> = batch.header.graphs().collect();
    graphs.sort_by_key(|graph| graph.0);
    for graph in graphs {
        keep_graph(step, graph).await?;
    }
    questions::change(step, &header, &batch.header.questions).await
}

/// Writes the header of a run back, and whether it is nudged, if that changes.
pub(crate) async fn update(step: Statements<'_>, header: &RunHeader, nudged: Option<bool>) -> Result<(), Trouble> {
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
async fn tell(step: Statements<'_>) -> Result<(), Trouble> {
    let tell = step.prepare_cached("select tell()").await?;
    step.execute(&tell, &[]).await?;
    Ok(())
}

/// Adds rows of records.
pub(crate) async fn insert_rows(step: Statements<'_>, rows: &NewRows, place: RowPlace) -> Result<(), Trouble> {
    if rows.is_empty() {
        return Ok(());
    }
    let (text, first) = match place {
        RowPlace::Behind(behind) => (INSERT, behind),
        RowPlace::At(first) => (INSERT_AT, first),
    };
    let insert = step.prepare_cached(text).await?;
    let NewRows { runs, seqs, records, times, checksums, bodies } = rows;
    step.execute(&insert, &[runs, seqs, records, times, checksums, bodies, &first]).await?;
    Ok(())
}

pub(crate) async fn keep_graph(step: Statements<'_>, graph: &Arc<(u64, Value)>) -> Result<(), Trouble> {
    let hash = graph.0.cast_signed();
    // Most are there, and a statement that adds nothing locks nothing.
    let there = step.prepare_cached("select from graphs where hash = $1").await?;
    if step.query_opt(&there, &[&hash]).await?.is_none() {
        let insert =
            step.prepare_cached("insert into graphs (hash, body) values ($1, $2) on conflict do nothing").await?;
        step.execute(&insert, &[&hash, &checked::to_text(&graph.1)?]).await?;
    }
    Ok(())
}

pub(crate) async fn graph(client: &Object, hash: u64) -> Result<Option<Value>, Trouble> {
    let select = client.prepare_cached("select body from graphs where hash = $1").await?;
    let Some(row) = client.query_opt(&select, &[&hash.cast_signed()]).await? else { return Ok(None) };
    checked::value_from_text(row.try_get(0)?, || format!("graph {hash}")).map(Some)
}

pub(crate) async fn start_over(mut client: Object, end: &Append, next: &NewRun) -> Result<StartedOver, Trouble> {
    let rows = NewRows::of(end.run, end.at, end.time, &end.records)?;
    let mut first = NewRows::of_new(next)?;
    let step = transaction(&mut client, rows.bytes() + first.bytes()).await?;
    if !append_in((&step).into(), end, &rows).await? {
        step.rollback().await?;
        return Ok(StartedOver::Conflict);
    }
    if let Some(header) = add((&step).into(), next, &mut first, Place::OfTransaction(rows.bodies.len())).await? {
        step.commit().await?;
        return Ok(StartedOver::Done(Box::new(header)));
    }
    step.rollback().await?;
    match kept_until((&client).into(), next).await? {
        Some(until) => Ok(StartedOver::Deleted { until }),
        None => Ok(StartedOver::Existing),
    }
}

/// The records of a run from this number on, at most so many.
pub(crate) async fn read(client: Statements<'_>, run: RunKey, from: u64, limit: usize) -> Result<Vec<Stored>, Trouble> {
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
