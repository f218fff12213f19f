//! Taking runs over.

use std::time::SystemTime;

use deadpool_postgres::Object;
use graphweft::store::{Claim, Claimed, Damaged, RunHeader, RunKey};

use crate::batch::NewRows;
use crate::numbers::{from_integer, from_millis, of_run, to_integer, to_millis};
use crate::owners::{DEAD, OwnRow};
use crate::row;
use crate::runs::{self, RowPlace};
use crate::statements::Statements;
use crate::trouble::Trouble;

/// The runs `r` that a claim may take when they are ready, of any owner: `$2` workflows, `$3` exceptions, `$4` the only one.
const IS_WANTED: &str =
    "r.ready is not null and r.workflow = any($2) and r.key <> all($3) and ($4::bigint is null or r.key = $4)";

/// The owners that it may take them from, each found by an index in the order of time, however many wait: none; `$1`, the claimer,
/// with `$5` also those that run; with `$6` the dead.
const FROM: [(&str, &str); 3] =
    [("", "r.owner is null"), ("", "r.owner = $1 and ($5 or r.ready > 0)"), ("dead", "r.owner = dead.id and $6")];

/// When they are ready, at `$7`.
const IS_READY: &str = "r.ready <= $7";

/// When they are ready although their time has not come: the clock was set back since they were suspended. There is hardly ever one.
const IS_LATE: &str = "r.ready > $7 and r.suspended > $7";

/// The suspended runs for which a pool has a result become ready: those without an owner, of the claimer and of the dead. One of the claimer
/// that is in its memory gets the result by its executor, and is an exception. A result is announced once to each engine that claims, and some
/// times more while it is new: an engine that comes to rest writes over when its run is ready, and takes the result after that.
const WOKEN: &str = "woken as (
     update runs r set ready = $7 where id in (
         select run from node_tasks where result is not null and not taken
         and (announced is distinct from $1 or done > now() - interval '10 seconds')
     )
     and status in ('waiting', 'sleeping') and (ready is null or ready > $7) and workflow = any($2) and $4::bigint is null
     and (owner is null or owner = $1 or $6 and owner in (select id from dead)) returning id, key, ready, records
 ),
 announced as (
     update node_tasks t set announced = $1 from woken
     where t.run = woken.id and result is not null and not taken and announced is distinct from $1
 )";

/// The first rows of each, in the order of time.
fn each(select: &str, when: &str, limit: &str) -> String {
    let of = |(each_of, from): &(&str, &str)| {
        let first = format!(
            "(select r.* from runs r where {from} and {IS_WANTED} and {when} order by r.ready, r.key limit {limit}) as r"
        );
        match *each_of {
            "" => format!("(select {select} from {first})"),
            each_of => format!("(select {select} from {each_of} cross join lateral {first})"),
        }
    };
    FROM.iter().map(of).collect::<Vec<_>>().join(" union all ")
}

/// Whether a run has one of these owners.
fn is_free() -> String {
    let of = |(each_of, from): &(&str, &str)| match *each_of {
        "" => format!("({from})"),
        each_of => format!("exists (select from {each_of} where {from})"),
    };
    FROM.iter().map(of).collect::<Vec<_>>().join(" or ")
}

/// Also returns the row of the claimer, as it was before.
pub(crate) async fn claim(mut client: Object, claim: &Claim) -> Result<(Claimed, Option<OwnRow>), Trouble> {
    let (me, now, limit) = (to_integer(claim.owner.get()), to_millis(claim.now), to_integer(claim.limit as u64));
    let except: Vec<i64> = claim.except.iter().map(|run| of_run(*run)).collect();
    let only = claim.only.map(of_run);
    // Most claims find nothing: one statement, which renews the lease as well, so that an idle engine makes few.
    let look = client
        .prepare_cached(&format!(
            "with {DEAD}, nudges as (update runs set nudged = false where owner = $1 and nudged returning key),
             renewed as materialized (select renew($1)), {WOKEN}
             select 'nudged' as what, key as number, null::bigint as records from nudges
             union all select 'owner', renewals, mark from owners, renewed where id = $1
             union all select 'lost', key, null from runs where key = any($3) and owner is distinct from $1
             union all select 'wakes', min(ready), null from ({}) as next
             union all (select 'ready', key, records from (
                 {}
                 union all (
                     select r.ready, r.key, r.records from runs r where {IS_LATE} and {IS_WANTED} and ({})
                     order by r.suspended desc limit $8
                 )
                 union all select ready, key, records from woken where key <> all($3)
             ) as now order by ready, key limit $8)",
            each("r.ready", "r.ready > $7", "1"),
            each("r.ready, r.key, r.records", IS_READY, "$8"),
            is_free(),
        ))
        .await?;
    let seen =
        client.query(&look, &[&me, &claim.workflows, &except, &only, &claim.own, &claim.orphans, &now, &limit]).await?;
    let (mut claimed, mut own) = (Claimed::default(), None);
    let (mut ready, mut lengths): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    for row in seen {
        let number: Option<i64> = row.try_get(1)?;
        match (row.try_get::<_, &str>(0)?, number) {
            ("nudged" | "lost", Some(key)) => claimed.nudged.push(RunKey::new(from_integer(key))),
            ("owner", Some(renewals)) => own = Some(OwnRow { mark: row.try_get(2)?, renewals }),
            ("wakes", Some(wakes)) => claimed.next_wake = Some(from_millis(wakes)),
            ("ready", Some(key)) => {
                ready.push(key);
                lengths.push(row.try_get(2)?);
            }
            _ => {}
        }
    }
    if ready.is_empty() {
        return Ok((claimed, own));
    }
    let step = client.transaction().await?;
    // Not one that has got records meanwhile, by a transaction with a greater number than this one: its next record would be before
    // those in the feed.
    let pick = step
        .prepare_cached(&format!(
            "with {DEAD}, first as materialized (select adds())
             select {}, (select time from journal where run = r.key order by seq desc limit 1)
             from first, unnest($8::bigint[], $9::bigint[]) as seen (run, length), runs r
             where r.key = run and r.records = length and {IS_WANTED} and ({}) and ({IS_READY} or {IS_LATE})
             order by r.ready, r.key for update of r skip locked",
            row::COLUMNS,
            is_free(),
        ))
        .await?;
    let picked = step
        .query(&pick, &[&me, &claim.workflows, &except, &only, &claim.own, &claim.orphans, &now, &ready, &lengths])
        .await?;
    let mut rows = NewRows::default();
    for found in picked {
        match row::header(&found, 0) {
            Ok(header) => {
                let last: Option<i64> = found.try_get(row::COUNT)?;
                let time = claim.resumed_at(last.map(from_millis));
                claimed.runs.push(take((&step).into(), claim, time, header, &mut rows).await?);
            }
            Err(Trouble::Store(error)) => {
                let key = RunKey::new(from_integer(found.try_get(0)?));
                claimed.damaged.push(Damaged::new(key, key.get().to_string(), error));
            }
            Err(trouble) => return Err(trouble),
        }
    }
    runs::insert_rows((&step).into(), &rows, RowPlace::Behind(0)).await?;
    step.commit().await?;
    claimed.nudged.retain(|key| claimed.runs.iter().all(|run| run.key != *key));
    Ok((claimed, own))
}

async fn take(
    step: Statements<'_>,
    claim: &Claim,
    time: SystemTime,
    mut run: RunHeader,
    rows: &mut NewRows,
) -> Result<RunHeader, Trouble> {
    rows.add(of_run(run.key), run.records, time, &[claim.record(&run.workflow)])?;
    run.apply(&claim.change(), 1, time);
    runs::update(step, &run, Some(false)).await?;
    Ok(run)
}
