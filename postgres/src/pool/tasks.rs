//! The statements about tasks.

use deadpool_postgres::Object;
use graphweft::store::Owner;
use graphweft::{Fault, NodeResult, NodeTask};
use tokio_postgres::Row;

use super::listener::{CANCELLED, DONE, FREE, task_done};
use crate::checked;
use crate::connections::transaction;
use crate::numbers::to_integer;
use crate::trouble::{Trouble, chain};

/// The statuses of runs that have not ended.
const OPEN: &str = "('running', 'waiting', 'sleeping')";

/// What there is of a task that something waits for, if that is more than its row.
pub(super) struct Found {
    pub(super) run: String,
    pub(super) task: String,
    pub(super) what: What,
}

pub(super) enum What {
    /// A result, and how many records its run had then.
    Result(String, i64),
    /// No row, or one that is cancelled.
    NoTask,
    /// Not even its run.
    NoRun,
}

/// A task whose result its run has.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) run: String,
    pub(super) task: String,
    /// How many records its run had before.
    pub(super) records: i64,
}

/// How many bytes of tasks go into one statement, unless a single one has more.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// How many bytes a task may have: a value in PostgreSQL has less than a gigabyte, and the server ends a connection that sends more.
const LARGEST: usize = 1_000_000_000;

/// A task as it is added.
pub(super) struct NewTask<'t> {
    pub(super) task: &'t NodeTask,
    body: String,
}

impl<'t> NewTask<'t> {
    /// # Errors
    /// Why it cannot be added.
    pub(super) fn of(task: &'t NodeTask) -> Result<Self, String> {
        let body = checked::to_text(task).map_err(|error| error.for_caller("").to_string())?;
        if body.len() > LARGEST {
            return Err(format!("it has {} bytes, and a task in PostgreSQL at most {LARGEST}", body.len()));
        }
        Ok(NewTask { task, body })
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }
}

/// Adds tasks of open runs that are not there, except those that are not wanted any more when they are written: no worker sees them. One that was
/// cancelled by an engine which had lost the run is revived once its worker has stopped, unless it may be executed once. Returns why the
/// server does not take one of them, if that is so: then none is added.
pub(super) async fn add(
    mut client: Object,
    tasks: &[NewTask<'_>],
    is_wanted: impl Fn(&NodeTask) -> bool,
) -> Result<Option<String>, Trouble> {
    let step = transaction(&mut client, tasks.iter().map(NewTask::bytes).sum()).await?;
    let insert = step
        .prepare_cached(&format!(
            "with added as (
                 insert into node_tasks as t (run, task, pool, at_most_once, body)
                 select new.* from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[])
                     as new (run, task, pool, at_most_once, body)
                 join runs r on r.id = new.run and r.status in {OPEN}
                 on conflict (run, task) do update set cancelled = false
                     where t.cancelled and t.worker is null and t.result is null and not t.at_most_once
                 returning run
             )
             select tell_pools($6) from added limit 1"
        ))
        .await?;
    let runs: Vec<&str> = tasks.iter().map(|new| &*new.task.run_id).collect();
    let ids: Vec<&str> = tasks.iter().map(|new| &*new.task.id).collect();
    let pools: Vec<&str> = tasks.iter().map(|new| &*new.task.pool).collect();
    let once: Vec<bool> = tasks.iter().map(|new| new.task.at_most_once).collect();
    let bodies: Vec<&str> = tasks.iter().map(|new| &*new.body).collect();
    match step.query(&insert, &[&runs, &ids, &pools, &once, &bodies, &FREE]).await {
        Err(error) if is_of_values(&error) => return Ok(Some(chain(&error))),
        added => drop(added?),
    }
    let unwanted = tasks.iter().map(|new| new.task).filter(|task| !is_wanted(task));
    let (runs, ids): (Vec<&str>, Vec<&str>) = unwanted.map(|task| (&*task.run_id, &*task.id)).unzip();
    if !runs.is_empty() {
        let remove = "delete from node_tasks t using unnest($1::text[], $2::text[]) as of (run, task)
             where t.run = of.run and t.task = of.task and worker is null and result is null";
        let remove = step.prepare_cached(remove).await?;
        step.execute(&remove, &[&runs, &ids]).await?;
    }
    step.commit().await?;
    Ok(None)
}

/// Whether it is the values that the server does not take, which is so again: data exceptions, constraints and limits of the server.
pub(super) fn is_of_values(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| ["22", "23", "54"].iter().any(|class| code.code().starts_with(class)))
}

/// What there is of these tasks, except of those that are free or under way.
pub(super) async fn look(client: &Object, (runs, tasks): (&[String], &[String])) -> Result<Vec<Found>, Trouble> {
    let select = client
        .prepare_cached(
            "select wanted.run, wanted.task, r.records, t.result from unnest($1::text[], $2::text[]) as wanted (run, task)
             left join lateral (select * from node_tasks where run = wanted.run and task = wanted.task limit 1) as t on true
             left join lateral (select id, records from runs where id = wanted.run limit 1) as r on true
             where t.result is not null or t.run is null or t.cancelled or r.id is null",
        )
        .await?;
    let rows = client.query(&select, &[&runs, &tasks]).await?;
    let found = |row: &Row| {
        let (run, task, records, result) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        let what = match (records, result) {
            (None, _) => What::NoRun,
            (Some(records), Some(result)) => What::Result(result, records),
            (Some(_), None) => What::NoTask,
        };
        Ok(Found { run, task, what })
    };
    rows.iter().map(found).collect()
}

/// The runs of these tasks have taken their results, if they have more records than these by now: the result is in one of them, or the run
/// has more to do and is resumed in any case. Returns by run and task those of which that is not so yet.
pub(super) async fn taken(client: &Object, taken: &[Taken]) -> Result<Vec<(String, String)>, Trouble> {
    let update = client
        .prepare_cached(
            "with of as materialized (
                 select * from unnest($1::text[], $2::text[], $3::bigint[]) as of (run, task, records)
             ),
             later as (
                 update node_tasks t set taken = true, done = now() from of
                 where t.run = of.run and t.task = of.task and not taken and (select records from runs where id = of.run) > of.records
             )
             select run, task from of where (select records from runs where id = of.run) <= of.records",
        )
        .await?;
    let runs: Vec<&str> = taken.iter().map(|one| &*one.run).collect();
    let tasks: Vec<&str> = taken.iter().map(|one| &*one.task).collect();
    let records: Vec<i64> = taken.iter().map(|one| one.records).collect();
    let rows = client.query(&update, &[&runs, &tasks, &records]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Tasks are no longer needed. Their workers hear of it; those without one are gone.
pub(super) async fn cancel(client: &Object, (runs, tasks): (&[String], &[String])) -> Result<(), Trouble> {
    // First, and by itself: a worker may take one at the same time.
    let cancel = client
        .prepare_cached(
            "with cancelled as (
                 update node_tasks t set cancelled = true from unnest($1::text[], $2::text[]) as of (run, task)
                 where t.run = of.run and t.task = of.task and result is null returning t.run, t.worker
             )
             select tell_pools($3) from cancelled where worker is not null limit 1",
        )
        .await?;
    client.query(&cancel, &[&runs, &tasks, &CANCELLED]).await?;
    let remove = client
        .prepare_cached(
            "delete from node_tasks t using unnest($1::text[], $2::text[]) as of (run, task)
             where t.run = of.run and t.task = of.task and (result is not null or cancelled and worker is null)",
        )
        .await?;
    client.execute(&remove, &[&runs, &tasks]).await?;
    Ok(())
}

/// A task that was given to a worker.
pub(super) struct Claimed {
    pub(super) key: (String, String),
    pub(super) number: i64,
    /// The task itself, or why it cannot be read.
    pub(super) task: Result<NodeTask, String>,
}

impl Claimed {
    fn of(row: &Row) -> Result<Self, Trouble> {
        let key: (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let what = || format!("task `{}` of run `{}`", key.1, key.0);
        let task = checked::from_text(row.try_get(2)?, what).map_err(why_unread);
        Ok(Claimed { key, number: row.try_get(3)?, task })
    }
}

/// The result of a task, from its row. One that cannot be read is a fault.
pub(super) fn read_result(text: &str, (run, task): (&str, &str)) -> NodeResult {
    let what = || format!("the result of task `{task}` of run `{run}`");
    checked::from_text(text, what).unwrap_or_else(|error| of_fault(why_unread(error)))
}

/// The result of an attempt for which there is no other fault.
pub(super) fn of_fault(message: String) -> NodeResult {
    NodeResult::of_fault(Fault::Context { message })
}

fn why_unread(error: Trouble) -> String {
    format!("{}, or give the engine and its workers the same version of graphweft", error.for_caller(""))
}

/// Gives free tasks of these pools to a worker, the oldest first, except those of runs that are over and those with the `refused` numbers. Of each
/// pool it reads no more than it may give and these, however many are free.
pub(super) async fn claim(
    client: &Object,
    worker: Owner,
    pools: &[String],
    refused: &[i64],
    most: usize,
) -> Result<Vec<Claimed>, Trouble> {
    let claim = client
        .prepare_cached(&format!(
            "with free as (
                 select first.* from unnest($2::text[]) as wanted (pool) cross join lateral (
                     select run, task, number from node_tasks t
                     where t.pool = wanted.pool and result is null and worker is null and not cancelled
                     and number not in (select unnest($4::bigint[]))
                     and exists (select from runs where id = t.run and status in {OPEN})
                     order by number limit $3 for update of t skip locked
                 ) as first
                 order by number limit $3
             )
             update node_tasks t set worker = $1 from free where t.run = free.run and t.task = free.task
             returning t.run, t.task, t.body, t.number"
        ))
        .await?;
    let most = to_integer(most as u64);
    let rows = client.query(&claim, &[&to_integer(worker.get()), &pools, &most, &refused]).await?;
    rows.iter().map(Claimed::of).collect()
}

/// Those of these tasks that have no result yet, and whether no worker has them.
pub(super) async fn left(
    client: &Object,
    (runs, tasks): (&[String], &[String]),
) -> Result<Vec<((String, String), bool)>, Trouble> {
    let select = client
        .prepare_cached(
            "select t.run, t.task, t.worker is null from unnest($1::text[], $2::text[]) as of (run, task)
             join node_tasks t on t.run = of.run and t.task = of.task and t.result is null and not t.cancelled",
        )
        .await?;
    let rows = client.query(&select, &[&runs, &tasks]).await?;
    rows.iter().map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?))).collect()
}

/// The tasks that a worker has, and whether they are cancelled.
pub(super) async fn of_worker(client: &Object, worker: Owner) -> Result<Vec<((String, String), bool)>, Trouble> {
    let select = client
        .prepare_cached("select run, task, cancelled from node_tasks where worker = $1 and result is null")
        .await?;
    let rows = client.query(&select, &[&to_integer(worker.get())]).await?;
    rows.iter().map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?))).collect()
}

/// A worker was given a task, and has not heard of it, or cannot execute it.
pub(super) async fn give_back(client: &Object, worker: Owner, (run, task): (&str, &str)) -> Result<(), Trouble> {
    let free = client
        .prepare_cached(
            "with freed as (
                 update node_tasks set worker = null where run = $1 and task = $2 and worker = $3 and result is null returning run
             )
             select tell_pools($4) from freed",
        )
        .await?;
    client.query(&free, &[&run, &task, &to_integer(worker.get()), &FREE]).await?;
    Ok(())
}

/// Adds the result of a task that this worker still has.
pub(super) async fn finish(
    client: &Object,
    worker: Owner,
    (run, task): (&str, &str),
    result: &NodeResult,
) -> Result<(), Trouble> {
    let finish = client
        .prepare_cached(
            "with done as (
                 update node_tasks set result = $4, done = now()
                 where run = $1 and task = $2 and worker = $3 and result is null and not cancelled returning run
             )
             select tell_pools($5), (select tell() from runs where id = $1 and ready is null) from done",
        )
        .await?;
    let body = checked::to_text(result)?;
    client.query(&finish, &[&run, &task, &to_integer(worker.get()), &body, &task_done(run, task)]).await?;
    Ok(())
}

/// A worker has stopped a cancelled task.
pub(super) async fn stopped(client: &Object, worker: Owner, (run, task): (&str, &str)) -> Result<(), Trouble> {
    let delete = client
        .prepare_cached(
            "delete from node_tasks where run = $1 and task = $2 and worker = $3 and result is null and cancelled",
        )
        .await?;
    client.execute(&delete, &[&run, &task, &to_integer(worker.get())]).await?;
    Ok(())
}

/// Frees the tasks of workers that are gone; an attempt that may be made once is interrupted.
pub(super) async fn free_lost(client: &Object) -> Result<(), Trouble> {
    let interrupted = checked::to_text(&NodeResult::of_fault(Fault::Interrupted))?;
    let free = client
        .prepare_cached(
            "with busy as materialized (
                 select distinct worker as id from node_tasks where result is null and worker is not null
             ),
             gone as materialized (
                 select id from busy where not exists (select from owners where owners.id = busy.id and alive(owners))
             ),
             lost as materialized (
                 select run, task, at_most_once from node_tasks where result is null and worker in (select id from gone)
                 for update skip locked
             ),
             freed as (
                 update node_tasks t set worker = null from lost
                 where t.run = lost.run and t.task = lost.task and not lost.at_most_once returning t.run
             ),
             interrupted as (
                 update node_tasks t set result = $1, done = now() from lost
                 where t.run = lost.run and t.task = lost.task and lost.at_most_once returning t.run
             )
             select tell_pools(what) from (
                 (select $2::text as what from freed limit 1) union all (select $3 from interrupted limit 1)
             ) as news",
        )
        .await?;
    client.query(&free, &[&interrupted, &FREE, &DONE]).await?;
    Ok(())
}

/// Stops what runs that are over have left.
pub(super) async fn look_after(client: &Object) -> Result<(), Trouble> {
    let stop = client
        .prepare_cached(&format!(
            "with over as (
                 update node_tasks t set cancelled = true where result is null and not cancelled
                 and not exists (select from runs where id = t.run and status in {OPEN}) returning run
             ),
             gone as (delete from node_tasks where cancelled and result is null and worker is null)
             select tell_pools($1) from over limit 1"
        ))
        .await?;
    client.query(&stop, &[&CANCELLED]).await?;
    Ok(())
}

/// Removes results that are no longer needed.
pub(super) async fn tidy(client: &Object) -> Result<(), Trouble> {
    let remove = client
        .prepare_cached(&format!(
            "delete from node_tasks t where result is not null and (taken and done < now() - interval '10 minutes'
             or not exists (select from runs where id = t.run and status in {OPEN}))"
        ))
        .await?;
    client.execute(&remove, &[]).await?;
    Ok(())
}

/// Tells the progress of a task.
pub(super) async fn tell(client: &Object, payload: &str) -> Result<(), Trouble> {
    let tell = client.prepare_cached("select tell_pools($1)").await?;
    client.query(&tell, &[&payload]).await?;
    Ok(())
}
