//! Snapshots of runs.

use deadpool_postgres::Object;
use graphweft::store::{RunKey, Snapshot};

use crate::numbers::{from_integer, of_run, to_integer};
use crate::trouble::Trouble;

pub(crate) async fn put(client: &Object, run: RunKey, snapshot: &Snapshot) -> Result<(), Trouble> {
    let (at, checksum) = (to_integer(snapshot.at), checksum(snapshot.at, &snapshot.state));
    let insert = client
        .prepare_cached(
            "insert into snapshots as s (run, records, checksum, state)
             select key, $2, $3, $4 from runs where key = $1 and records >= $2 for key share
             on conflict (run) do update set records = excluded.records, checksum = excluded.checksum, state = excluded.state
             where s.records <= excluded.records",
        )
        .await?;
    client.execute(&insert, &[&of_run(run), &at, &checksum, &snapshot.state]).await?;
    Ok(())
}

pub(crate) async fn get(client: &Object, run: RunKey) -> Result<Option<Snapshot>, Trouble> {
    let select = client.prepare_cached("select records, checksum, state from snapshots where run = $1").await?;
    let Some(row) = client.query_opt(&select, &[&of_run(run)]).await? else { return Ok(None) };
    let snapshot = Snapshot::new(from_integer(row.try_get(0)?), row.try_get(2)?);
    if row.try_get::<_, i64>(1)? != checksum(snapshot.at, &snapshot.state) {
        return Err(Trouble::damaged(format!("the snapshot of run number {} does not match its checksum", run.get())));
    }
    Ok(Some(snapshot))
}

fn checksum(at: u64, state: &[u8]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&at.to_le_bytes());
    hasher.update(state);
    i64::from(hasher.finalize())
}
