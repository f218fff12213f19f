//! Lists of runs.

use std::collections::HashMap;

use deadpool_postgres::Object;
use graphweft::store::{OpenQuestion, RunHeader, RunOverview, RunQuery, StoreError, Stored};

use crate::batch::{self, JournalRow};
use crate::conditions::Conditions;
use crate::numbers::{from_integer, of_run, to_integer};
use crate::questions;
use crate::row;
use crate::trouble::Trouble;

pub(crate) async fn list(client: &Object, query: &RunQuery) -> Result<Vec<RunHeader>, Trouble> {
    let mut conditions = Conditions::of_runs(query)?;
    let limit = conditions.limit(query.limit);
    let order = if query.oldest_first { "asc" } else { "desc" };
    let select =
        format!("select {} from runs r where {} order by r.key {order} {limit}", row::COLUMNS, conditions.wanted());
    let select = client.prepare_cached(&select).await?;
    client.query(&select, &conditions.values()).await?.iter().map(|found| row::header(found, 0)).collect()
}

pub(crate) async fn count(client: &Object, query: &RunQuery) -> Result<u64, Trouble> {
    let conditions = Conditions::of_runs(query)?;
    let select = client.prepare_cached(&format!("select count(*) from runs r where {}", conditions.wanted())).await?;
    Ok(from_integer(client.query_one(&select, &conditions.values()).await?.try_get(0)?))
}

pub(crate) async fn overview(client: &Object, query: &RunQuery) -> Result<Vec<RunOverview>, Trouble> {
    let runs = list(client, query).await?;
    let keys: Vec<i64> = runs.iter().map(|run| of_run(run.key)).collect();
    let mut last = last_records(client, &runs, &keys).await?;
    let mut open = first_questions(client, &keys).await?;
    let of = |run: RunHeader| {
        let key = of_run(run.key);
        let (count, first) = open.remove(&key).map_or((0, None), |(count, first)| (count, Some(first)));
        let last = last.remove(&key).unwrap_or(Ok(Vec::new()));
        RunOverview::new(run, last, count, first)
    };
    Ok(runs.into_iter().map(of).collect())
}

type Last = HashMap<i64, Result<Vec<Stored>, StoreError>>;

async fn last_records(client: &Object, runs: &[RunHeader], keys: &[i64]) -> Result<Last, Trouble> {
    let firsts: Vec<i64> = runs.iter().map(|run| to_integer(RunOverview::first_record(run))).collect();
    let select = client
        .prepare_cached(&format!(
            "select {} from unnest($1::bigint[], $2::bigint[]) as wanted (run, first)
             join lateral (
                 select * from journal where run = wanted.run
                 and seq >= coalesce((select max(seq) from journal where run = wanted.run and seq <= first), first)
             ) as j on true order by j.run, j.seq",
            batch::COLUMNS
        ))
        .await?;
    let wanted: HashMap<i64, &RunHeader> = keys.iter().copied().zip(runs).collect();
    let mut last: Last = HashMap::new();
    for found in client.query(&select, &[&keys, &firsts]).await? {
        let rows = JournalRow::read(&found, 0)?;
        let Some(run) = wanted.get(&rows.run) else { continue };
        let of_run = last.entry(rows.run).or_insert_with(|| Ok(Vec::new()));
        match (rows.stored(&run.id), of_run) {
            (Ok(records), Ok(before)) => {
                let first = RunOverview::first_record(run);
                before.extend(records.into_iter().filter(|stored| stored.seq >= first));
            }
            (Err(error), of_run) => *of_run = Err(error),
            (Ok(_), Err(_)) => {}
        }
    }
    Ok(last)
}

/// How many questions of each run are open, and the one that has been for the longest time.
async fn first_questions(client: &Object, keys: &[i64]) -> Result<HashMap<i64, (u64, OpenQuestion)>, Trouble> {
    let select = client
        .prepare_cached(
            "select distinct on (run) run, count(*) over (partition by run), body, asked from questions
             where run = any($1) order by run, asked, question",
        )
        .await?;
    let mut first = HashMap::new();
    for found in client.query(&select, &[&keys]).await? {
        first.insert(found.try_get(0)?, (from_integer(found.try_get(1)?), questions::read(&found, 2)?));
    }
    Ok(first)
}
