//! Deleting runs that are over, and periodic tasks.

use deadpool_postgres::Object;
use graphweft::store::{Delete, ReserveTask, RunKey};

use crate::numbers::{of_run, to_integer, to_millis};
use crate::trouble::Trouble;

pub(crate) async fn delete(mut client: Object, delete: &Delete) -> Result<Vec<RunKey>, Trouble> {
    let keys: Vec<i64> = delete.runs.iter().map(|run| of_run(*run)).collect();
    let (now, until) = (to_millis(delete.now), delete.ids_until.map(to_millis));
    let step = client.transaction().await?;
    let free = step.prepare_cached("delete from deleted where until <= $1").await?;
    step.execute(&free, &[&now]).await?;
    let remove = step
        .prepare_cached(
            "with gone as (
                 delete from runs where key = any($1) and status in ('completed', 'failed', 'cancelled', 'started_over')
                 returning key, id
             ), kept as (
                 insert into deleted (id, until) select id, $2::bigint from gone where $2 is not null
                 on conflict (id) do update set until = excluded.until
             )
             select key from gone",
        )
        .await?;
    let gone: Vec<i64> =
        step.query(&remove, &[&keys, &until]).await?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    // The feed ends where it did.
    let end = step
        .prepare_cached(
            "update meta set deleted_place = greatest(deleted_place, last) from (
                 select max(place) as last from journal where run = any($1)
             ) as places where last > deleted_place",
        )
        .await?;
    step.execute(&end, &[&gone]).await?;
    for table in ["journal", "snapshots", "questions"] {
        let remove = step.prepare_cached(&format!("delete from {table} where run = any($1)")).await?;
        step.execute(&remove, &[&gone]).await?;
    }
    step.commit().await?;
    Ok(delete.runs.iter().copied().filter(|run| gone.contains(&of_run(*run))).collect())
}

pub(crate) async fn reserve_task(client: &Object, task: &ReserveTask) -> Result<bool, Trouble> {
    let reserve = client
        .prepare_cached(
            "insert into tasks as t (task, owner, until) values ($1, $2, $3)
             on conflict (task) do update set owner = excluded.owner, until = excluded.until
             where t.owner = $2 or t.until <= $4
                 or not exists (select from owners where owners.id = t.owner and alive(owners))",
        )
        .await?;
    let owner = to_integer(task.owner.get());
    let done = client.execute(&reserve, &[&task.task, &owner, &to_millis(task.until), &to_millis(task.now)]).await?;
    Ok(done == 1)
}
