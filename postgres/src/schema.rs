//! The tables, and how a database gets from one format to the next.

use std::time::Duration;

use graphweft::store::StoreError;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient};

use crate::connections::Facts;
use crate::trouble::{RIGHTS, Trouble};

/// The steps from one format to the next; after the first n of them a database has format n.
///
/// A row of `runs` has the header of a run as JSON, and in columns what runs are found by; `key` and `records` count, not those in
/// the JSON. `ready` is the time at which a run can resume: 0 if it runs, a time if it waits for one, and null if it waits for an
/// answer or is over; of a run that waits for a time, `suspended` is since when.
///
/// A row of `journal` has consecutive records, from number `seq` on. `place` is its place in the feed of all runs: the number
/// of its transaction, and its number in that. `meta.xids` is added to the numbers of transactions: a database that was dumped and restored
/// in another server has other ones there.
///
/// The feed ends where the first transaction is that adds rows and is under way, so that no row becomes visible before one that
/// was read. Such a transaction calls `adds()` before it has a number, which gives it a lock; its number is the id of another
/// lock that it holds. `horizon()` takes the open transactions of its snapshot, and leaves those out that hold the second lock and not the first, which are
/// of others; one that has ended since, or has a number and no lock yet, has neither, and then it is not sure. Only what is read by a later statement may
/// rely on it.
///
/// A row of `node_tasks` is an attempt at a node of a pool. It is free, has a worker, which is an owner, or has a result. `taken`: the
/// engine that drives the run has read the result, and has added records since; it is kept for some time after that, in case that those
/// were others. `done`: when it had the result, and from then on when that was taken. A run that is suspended is made ready by a result that is not taken. `announced`: to which owner it was, and it
/// is again to another one, and as long as the result is new: one that was recorded by an engine which died then is never taken.
///
/// An owner is an engine, or a worker of pools: it holds an advisory lock, by which its end is noticed at once, and renews `expires`, by which it is
/// noticed when its machine is gone. `beat` is when it has done that last: an engine that has just lost its connection makes
/// another one. When the server has just started, no engine can have done either. By `mark`, a random number, and `renewals` it knows its
/// row from one of a database that was restored.
///
/// Engines of the format before use the tables while a step is made, and after it: what they do not write has a default.
const STEPS: &[&str] = &["
    create table runs (
        key bigint generated always as identity primary key,
        id text collate \"C\" not null unique,
        workflow text collate \"C\" not null,
        status text collate \"C\" not null,
        created bigint not null,
        updated bigint not null,
        owner bigint,
        ready bigint,
        nudged boolean not null,
        suspended bigint generated always as (case when ready > 0 then updated end) stored,
        graph bigint not null,
        forked_from text collate \"C\",
        started_by text collate \"C\",
        tags text[] collate \"C\" not null,
        records bigint not null,
        header text not null
    ) with (fillfactor = 80);
    create index runs_owned on runs (owner, ready, key) where owner is not null;
    create index runs_free on runs (ready, key) where owner is null and ready is not null;
    create index runs_suspended on runs (suspended) where suspended is not null;
    create index runs_nudged on runs (owner) where nudged;
    create index runs_of_workflow on runs (workflow, key);
    create index runs_open on runs (workflow, graph) where status in ('running', 'waiting', 'sleeping');
    create index runs_status on runs (status, updated);
    create index runs_forked on runs (forked_from) where forked_from is not null;
    create index runs_started on runs (started_by) where started_by is not null;
    create index runs_tags on runs using gin (tags) with (fastupdate = off);

    create table journal (
        run bigint not null,
        seq bigint not null,
        records integer not null,
        place bigint not null,
        time bigint not null,
        checksum bigint not null,
        body text not null,
        primary key (run, seq)
    );
    create unique index journal_places on journal (place);

    create table questions (
        run bigint not null,
        question text collate \"C\" not null,
        name text collate \"C\" not null,
        asked bigint not null,
        body text not null,
        primary key (run, question)
    );
    create index questions_asked on questions (asked, run, question);

    create table graphs (hash bigint primary key, body text not null);
    create table snapshots (run bigint primary key, records bigint not null, checksum bigint not null, state bytea not null);
    create table deleted (id text collate \"C\" primary key, until bigint not null);
    create table tasks (task text primary key, owner bigint not null, until bigint not null);

    create table owners (
        id bigint generated by default as identity primary key,
        workflows text[] not null,
        beat timestamptz not null,
        expires timestamptz not null
    );

    create table logs (
        pos bigint generated always as identity primary key,
        log text collate \"C\" not null,
        key text collate \"C\" not null,
        time bigint not null,
        checksum bigint not null,
        body text not null,
        unique (log, key)
    );
    create index logs_places on logs (log, pos);

    alter table meta add column xids bigint not null default 0, add column deleted_place bigint not null default -1;

    create function place(number bigint) returns bigint language sql volatile as
        'select ((pg_current_xact_id()::text::bigint + (select xids from meta)) << 16) + number';
    create function owner_locks() returns integer language sql stable as
        'select hashtext(''graphweft owners of '' || current_schema())';
    create function alive(one owners) returns boolean language sql volatile as
        'select one.beat > ''-infinity'' and greatest(one.expires, pg_postmaster_start_time() + interval ''4 seconds'') > clock_timestamp() and (
            one.beat > clock_timestamp() - interval ''700 milliseconds''
            or pg_postmaster_start_time() > clock_timestamp() - interval ''2 seconds''
            or exists (
                select from pg_locks where locktype = ''advisory'' and objsubid = 2 and classid = owner_locks()::oid
                and objid = (one.id & 2147483647)::integer::oid
                and database = (select oid from pg_database where datname = current_database())
            )
        )';
    create function tell() returns void language sql volatile as
        'select pg_notify(''graphweft_'' || owner_locks(), '''')';
    create function renew(owner bigint) returns void language sql volatile as
        'update owners set beat = clock_timestamp(), expires = clock_timestamp() + interval ''4 seconds'' where id = owner';
    create function adds() returns boolean language sql volatile as
        'select true from pg_advisory_xact_lock_shared(owner_locks(), 0)';
    create function horizon(out place bigint, out is_sure boolean) language sql volatile as '
        with locks as materialized (
            select pid, locktype, classid, objid, objsubid, database, transactionid::text::bigint as id from pg_locks
            where locktype in (''advisory'', ''transactionid'') and granted
        ),
        adding as (
            select pid from locks where locktype = ''advisory'' and objsubid = 2 and classid = owner_locks()::oid and objid = 0
            and database = (select oid from pg_database where datname = current_database())
        ),
        under_way as (
            select number, pid from (select x::text::bigint as number from pg_snapshot_xip(pg_current_snapshot()) as x) as open
            left join locks on locktype = ''transactionid'' and id = (number & 4294967295)
            where pid is null or pid in (select pid from adding)
        )
        select (coalesce((select min(number) from under_way), pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
                + (select xids from meta)) << 16,
            not exists (select from under_way where pid is null)';
", "
    alter table owners add column mark bigint not null default 0, add column renewals bigint not null default 0;
    create or replace function renew(owner bigint) returns void language sql volatile as
        'update owners set beat = clock_timestamp(), expires = clock_timestamp() + interval ''4 seconds'',
            renewals = renewals + 1 where id = owner';
", "
    create table node_tasks (
        run text collate \"C\" not null,
        task text collate \"C\" not null,
        number bigint generated always as identity,
        pool text collate \"C\" not null,
        at_most_once boolean not null,
        body text not null,
        worker bigint,
        cancelled boolean not null default false,
        result text,
        done timestamptz,
        taken boolean not null default false,
        announced bigint,
        primary key (run, task)
    );
    create index node_tasks_free on node_tasks (pool, number) where result is null and worker is null and not cancelled;
    create index node_tasks_under_way on node_tasks (worker) where result is null and worker is not null;
    create index node_tasks_done on node_tasks (done) where result is not null;
    create index node_tasks_news on node_tasks (run) where result is not null and not taken;

    create function tell_pools(what text) returns void language sql volatile as
        'select pg_notify(''graphweft_pools_'' || owner_locks(), what)';
", "
    alter table meta add column system bigint;
"];

/// The format of the databases that this version writes.
const FORMAT: i32 = STEPS.len() as i32;

/// Of the advisory locks: `grwf`.
pub(crate) const LOCKS: i32 = 0x6772_7766;

/// How often the steps are tried while other engines use the tables, with pauses of [`PAUSE`].
const TRIES: u32 = 60;

const PAUSE: Duration = Duration::from_millis(200);

/// Brings a schema to [`FORMAT`], from none or an older format, on a connection that finds its tables there.
///
/// Engines of an older format may be at work. A step wants whole tables, and they lock those in another order: so it waits for one for less
/// time than the server takes to look for a deadlock, which would end a transaction of theirs, and begins anew.
pub(crate) async fn migrate(client: &mut Client, schema: &str) -> Result<Facts, Trouble> {
    if format(client).await? == Some(FORMAT) {
        return facts(client).await;
    }
    let mut tries = 1;
    loop {
        match make_steps(client, schema).await {
            Err(Trouble::Database(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(trouble) => return Err(trouble),
            Ok(()) => return facts(client).await,
        }
    }
}

/// What [`migrate`] returns, of a schema that has the present format already.
pub(crate) async fn existing(client: &mut Client, schema: &str) -> Result<Facts, Trouble> {
    let (path, known) = (schema.into(), FORMAT.unsigned_abs());
    match format(client).await?.map(i32::unsigned_abs) {
        Some(found) if found == known => facts(client).await,
        Some(found) if found > known => Err(Trouble::Store(StoreError::NewerFormat { path, found, known })),
        Some(found) => Err(Trouble::Store(StoreError::OlderFormat { path, found, known })),
        None => {
            refuse_without_rights(client, schema).await?;
            Err(Trouble::Unusable(format!("there is no store in its schema `{schema}`; look for another name")))
        }
    }
}

/// A schema that the user may not use is, for all statements, one that is not there.
async fn refuse_without_rights(client: &impl GenericClient, schema: &str) -> Result<(), Trouble> {
    let may_use = "select has_schema_privilege(oid, 'usage'), current_user::text from pg_namespace where nspname = $1";
    match client.query_opt(may_use, &[&schema]).await? {
        Some(row) if !row.try_get::<_, bool>(0)? => Err(Trouble::Unusable(format!(
            "the user `{}` may not use its schema `{schema}`; {RIGHTS}",
            row.try_get::<_, String>(1)?
        ))),
        _ => Ok(()),
    }
}

async fn make_steps(client: &mut Client, schema: &str) -> Result<(), Trouble> {
    let step = client.transaction().await?;
    // One engine after another, of all schemas.
    step.execute("select pg_advisory_xact_lock($1, 0)", &[&LOCKS]).await?;
    step.batch_execute("set local lock_timeout = '300ms'").await?;
    let is_there = step.query_one("select to_regnamespace($1) is not null", &[&quoted(schema)]).await?;
    if !is_there.get::<_, bool>(0) {
        step.batch_execute(&format!("create schema {}", quoted(schema))).await?;
    }
    refuse_without_rights(&step, schema).await?;
    step.batch_execute(
        "create table if not exists meta (one boolean primary key default true check (one), format integer not null)",
    )
    .await?;
    let found = step.query_opt("select format from meta", &[]).await?.map_or(0, |row| row.get::<_, i32>(0));
    if found > FORMAT {
        let number = |format: i32| format.unsigned_abs();
        let (path, found, known) = (schema.into(), number(found), number(FORMAT));
        return Err(Trouble::Store(StoreError::NewerFormat { path, found, known }));
    }
    for statements in &STEPS[usize::try_from(found).unwrap_or(0)..] {
        step.batch_execute(statements).await?;
    }
    step.execute("insert into meta (format) values ($1) on conflict (one) do update set format = $1", &[&FORMAT])
        .await?;
    step.commit().await?;
    Ok(())
}

/// The format of the schema; `None` if it is none of ours.
async fn format(client: &Client) -> Result<Option<i32>, Trouble> {
    let is_there = client.query_one("select to_regclass('meta') is not null", &[]).await?;
    if !is_there.get::<_, bool>(0) {
        return Ok(None);
    }
    Ok(client.query_opt("select format from meta", &[]).await?.map(|row| row.get(0)))
}

/// How many places of transactions a schema that has come to another server leaves out, since those behind its last record may have been
/// given away where it was.
const AHEAD: i64 = 1 << 32;

/// The facts of a schema that has the present format. Has the next transaction behind all places before: those of a database that was restored in
/// another server are of that which it comes from, as `system` says.
pub(crate) async fn facts(client: &mut Client) -> Result<Facts, Trouble> {
    let step = client.transaction().await?;
    step.execute("select pg_advisory_xact_lock($1, 0)", &[&LOCKS]).await?;
    // Every user may ask for it, unless that was revoked.
    let may_ask = "select has_function_privilege('pg_control_system()', 'execute')";
    let system: Option<i64> = match step.query_one(may_ask, &[]).await?.try_get(0)? {
        true => step.query_one("select system_identifier from pg_control_system()", &[]).await?.try_get(0)?,
        false => None,
    };
    let behind = format!(
        "update meta set system = coalesce($1, system), xids = xids + ahead + case when system <> $1 then {AHEAD} else 0 end
         from (
             select (greatest((select max(place) from journal), deleted_place) >> 16) + 1
                 - (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + xids) as behind from meta
         ) as places, greatest(behind, 0) as ahead
         where $1::bigint is not null and system is distinct from $1 or ahead > 0"
    );
    step.execute(&behind, &[&system]).await?;
    let row = step.query_one("select owner_locks(), xids from meta", &[]).await?;
    let facts = Facts { locks: row.try_get(0)?, xids: row.try_get(1)? };
    step.commit().await?;
    Ok(facts)
}

/// A name as it is written in a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
