//! The logs beside the runs.

use futures::future::BoxFuture;
use graphweft::store::{LogAppended, LogEntry, LogStore, LogTrim, NewLogEntry, StoreError};

use deadpool_postgres::{Object, Transaction};

use crate::apart::apart;
use crate::connections::{Connections, transaction};
use crate::numbers::{from_integer, from_millis, text, to_integer, to_millis};
use crate::schema::LOCKS;
use crate::trouble::Trouble;

/// The logs in the tables of a schema.
#[derive(Clone, Debug)]
pub(crate) struct Logs(pub(crate) Connections);

async fn append(mut client: Object, entry: &NewLogEntry) -> Result<LogAppended, Trouble> {
    let (log, key) = (text("the name of a log", &entry.log)?, text("the key of an entry", &entry.key)?);
    let body = entry.value.to_string();
    let time = to_millis(entry.time);
    let step = transaction(&mut client, body.len()).await?;
    lock(&step, log).await?;
    let look = step
        .prepare_cached(
            "select (select pos from logs where log = $1 and key = $2), coalesce((select max(pos) from logs where log = $1), 0)",
        )
        .await?;
    let there = step.query_one(&look, &[&log, &key]).await?;
    let end = from_integer(there.try_get(1)?);
    if let Some(position) = there.try_get::<_, Option<i64>>(0)? {
        return Ok(LogAppended::Existing { position: from_integer(position) });
    }
    if entry.behind.is_some_and(|behind| behind != end) {
        return Ok(LogAppended::Conflict { end });
    }
    let insert = step
        .prepare_cached("insert into logs (log, key, time, checksum, body) values ($1, $2, $3, $4, $5) returning pos")
        .await?;
    let added = step.query_one(&insert, &[&log, &key, &time, &checksum(log, key, time, &body), &body]).await?;
    let position = from_integer(added.try_get(0)?);
    step.commit().await?;
    Ok(LogAppended::Added { position })
}

/// Until the transaction ends, no other one adds to the log or trims it, so that positions become visible in their order.
async fn lock(step: &Transaction<'_>, log: &str) -> Result<(), Trouble> {
    let lock = "select pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, $2::integer::bigint))";
    let lock = step.prepare_cached(lock).await?;
    step.execute(&lock, &[&log, &LOCKS]).await?;
    Ok(())
}

async fn trim(mut client: Object, trim: &LogTrim) -> Result<bool, Trouble> {
    let (log, until) = (text("the name of a log", &trim.log)?, to_integer(trim.until));
    let keep: Vec<i64> = trim.keep.iter().map(|position| to_integer(*position)).collect();
    let body = trim.value.to_string();
    let step = transaction(&mut client, body.len()).await?;
    lock(&step, log).await?;
    let look = step.prepare_cached("select key, time from logs where log = $1 and pos = $2").await?;
    let Some(last) = step.query_opt(&look, &[&log, &until]).await? else { return Ok(false) };
    let (key, time): (&str, i64) = (last.try_get(0)?, last.try_get(1)?);
    let update = step.prepare_cached("update logs set body = $3, checksum = $4 where log = $1 and pos = $2").await?;
    step.execute(&update, &[&log, &until, &body, &checksum(log, key, time, &body)]).await?;
    let remove = step.prepare_cached("delete from logs where log = $1 and pos < $2 and pos <> all($3)").await?;
    step.execute(&remove, &[&log, &until, &keep]).await?;
    step.commit().await?;
    Ok(true)
}

async fn read(client: &Object, log: &str, after: u64, until: u64) -> Result<Vec<LogEntry>, Trouble> {
    let select = client
        .prepare_cached(
            "select pos, key, time, checksum, body from logs where log = $1 and pos > $2 and pos <= $3 order by pos",
        )
        .await?;
    let rows = client.query(&select, &[&log, &to_integer(after), &to_integer(until)]).await?;
    let entry = |row: &tokio_postgres::Row| {
        let (position, key, time, body): (i64, &str, i64, &str) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(4)?);
        if row.try_get::<_, i64>(3)? != checksum(log, key, time, body) {
            return Err(Trouble::damaged(format!("entry {position} of log `{log}` does not match its checksum")));
        }
        let value = serde_json::from_str(body)
            .map_err(|error| Trouble::damaged(format!("entry {position} of log `{log}` cannot be read: {error}")))?;
        Ok(LogEntry::new(from_integer(position), key, value, from_millis(time)))
    };
    rows.iter().map(entry).collect()
}

async fn list(client: &Object, prefix: &str) -> Result<Vec<String>, Trouble> {
    let select = client
        .prepare_cached("select distinct log from logs where starts_with(log, $1) and log >= $1 order by log")
        .await?;
    Ok(client.query(&select, &[&prefix]).await?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

async fn delete(mut client: Object, log: &str) -> Result<bool, Trouble> {
    let step = client.transaction().await?;
    lock(&step, log).await?;
    let delete = step.prepare_cached("delete from logs where log = $1").await?;
    let deleted = step.execute(&delete, &[&log]).await? > 0;
    step.commit().await?;
    Ok(deleted)
}

fn checksum(log: &str, key: &str, time: i64, body: &str) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for text in [log, key, body] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(&time.to_le_bytes());
    i64::from(hasher.finalize())
}

impl LogStore for Logs {
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        let connections = self.0.clone();
        apart(async move { connections.with(|client| append(client, &entry)).await })
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        let (connections, log) = (self.0.clone(), log.to_owned());
        apart(async move {
            let log = &*log;
            connections.idempotent(|client| async move { read(&client, log, after, until).await }).await
        })
    }

    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let (connections, prefix) = (self.0.clone(), prefix.to_owned());
        apart(async move {
            let prefix = &*prefix;
            connections.search(|client| async move { list(&client, prefix).await }).await
        })
    }

    fn trim(&self, wanted: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        let connections = self.0.clone();
        apart(async move { connections.with(|client| trim(client, &wanted)).await })
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (connections, log) = (self.0.clone(), log.to_owned());
        apart(async move {
            let log = &*log;
            connections.with(|client| delete(client, log)).await
        })
    }
}
