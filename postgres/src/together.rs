//! Appends of several runs that come at the same time, in one statement and one commit.
//!
//! What comes while few statements are under way is written at once, by itself. What comes while [`MOST`] are is written together as soon
//! as one of them is done: the more runs there are, the more share a commit, and one alone does not wait for others.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::Object;
use futures::future::join_all;
use graphweft::store::{Append, Appended, HeaderChange, StoreError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::batch::NewRows;
use crate::connections::{Connections, Facts};
use crate::numbers::{of_run, to_integer};
use crate::runs;
use crate::trouble::Trouble;

/// How many statements with appends are under way before others wait for one of them.
const MOST: usize = 2;

/// How many appends one statement has at most, and how many bytes if it has several.
const MOST_APPENDS: usize = 128;
const MOST_BYTES: usize = 1 << 20;

/// For how long a statement keeps others waiting: one may wait for a lock of another transaction on its run.
const KEEPS: Duration = Duration::from_millis(100);

/// The appends of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    appends: VecDeque<Waits>,
    under_way: usize,
}

/// An append that adds one row and changes nothing of the header of its run.
#[derive(Debug)]
struct Waits {
    append: Append,
    row: NewRows,
    reply: oneshot::Sender<Result<Appended, StoreError>>,
}

/// A statement is under way while this lives.
struct UnderWay {
    together: Together,
    connections: Connections,
}

impl Together {
    pub(crate) async fn append(&self, connections: &Connections, append: Append) -> Result<Appended, StoreError> {
        let row = NewRows::of(append.run, append.at, append.time, &append.records)
            .map_err(|trouble| trouble.for_caller(&connections.server))?;
        if !row.is_single() || append.header != HeaderChange::default() {
            let (append, rows) = (&append, &row);
            return connections
                .with(|client| async move { runs::append(client, connections.facts, append, rows).await })
                .await;
        }
        let begins = {
            let mut waiting = self.lock();
            if waiting.under_way < MOST {
                waiting.under_way += 1;
                Ok((append, row))
            } else {
                let (reply, replied) = oneshot::channel();
                waiting.appends.push_back(Waits { append, row, reply });
                Err(replied)
            }
        };
        let replied = match begins {
            Ok((append, row)) => {
                let under_way = UnderWay { together: self.clone(), connections: connections.clone() };
                return under_way.during(write_alone(connections, &append, &row)).await;
            }
            Err(replied) => replied,
        };
        replied.await.unwrap_or_else(|_| {
            let message = "the runtime in which a record was to be written has ended".to_owned();
            Err(StoreError::Other { message })
        })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next that are written together, each of another run, in the place of a statement that is done. If there are none, there is one
    /// statement less under way.
    fn next(&self) -> Vec<Waits> {
        let (mut next, mut left) = (Vec::new(), VecDeque::new());
        let (mut runs, mut bytes) = (HashSet::new(), 0);
        let mut waiting = self.lock();
        while let Some(waits) = waiting.appends.pop_front() {
            let more = waits.row.bytes();
            let fits = next.is_empty() || (next.len() < MOST_APPENDS && bytes + more <= MOST_BYTES);
            if fits && runs.insert(waits.append.run) {
                bytes += more;
                next.push(waits);
            } else {
                left.push_back(waits);
            }
        }
        waiting.appends = left;
        waiting.under_way -= usize::from(next.is_empty());
        next
    }
}

impl UnderWay {
    /// Waits for a statement. While it takes long, others are written.
    async fn during<T>(self, statement: impl Future<Output = T>) -> T {
        let mut statement = pin!(statement);
        match timeout(KEEPS, &mut statement).await {
            Ok(done) => done,
            Err(_) => {
                drop(self);
                statement.await
            }
        }
    }
}

/// The next statement takes the place of this one.
impl Drop for UnderWay {
    fn drop(&mut self) {
        let runtime = Handle::try_current();
        loop {
            let next = self.together.next();
            if next.is_empty() {
                return;
            }
            // Those that wait hear that their runtime has ended.
            let Ok(runtime) = &runtime else { continue };
            let under_way = UnderWay { together: self.together.clone(), connections: self.connections.clone() };
            drop(runtime.spawn(write(under_way, next)));
            return;
        }
    }
}

async fn write(under_way: UnderWay, appends: Vec<Waits>) {
    let connections = under_way.connections.clone();
    under_way.during(write_all(&connections, appends)).await;
}

async fn write_all(connections: &Connections, mut appends: Vec<Waits>) {
    if appends.len() > 1 {
        let of = &*appends;
        match connections.with(|client| async move { write_in_one(&client, connections.facts, of).await }).await {
            Ok(written) => {
                let written: HashSet<i64> = written.into_iter().collect();
                let is_written = |waits: &mut Waits| written.contains(&of_run(waits.append.run));
                for waits in appends.extract_if(.., is_written) {
                    drop(waits.reply.send(Ok(Appended::Done)));
                }
            }
            Err(error) => {
                for waits in appends {
                    drop(waits.reply.send(Err(error.clone())));
                }
                return;
            }
        }
    }
    // Those that are left are conflicts, or another transaction has their runs locked at the moment.
    let each = appends.into_iter().map(|Waits { append, row, reply }| async move {
        drop(reply.send(write_alone(connections, &append, &row).await));
    });
    join_all(each).await;
}

async fn write_alone(connections: &Connections, append: &Append, row: &NewRows) -> Result<Appended, StoreError> {
    let facts = connections.facts;
    connections.with(|client| async move { runs::append_records(&client, facts, append, row).await }).await
}

/// Writes these appends, and returns the runs of those that are written. It waits for no lock of a run: two statements with the same
/// runs would wait for each other. If one append is refused by the server, none is written.
async fn write_in_one(client: &Object, facts: Facts, appends: &[Waits]) -> Result<Vec<i64>, Trouble> {
    let mut rows = NewRows::default();
    let mut added = Vec::with_capacity(appends.len());
    for Waits { append, row, .. } in appends {
        rows.extend(row);
        added.push(to_integer(append.records.len() as u64));
    }
    let NewRows { runs, seqs, records, times, checksums, bodies } = &rows;
    let Facts { locks, xids } = facts;
    let insert = client
        .prepare_cached(&format!(
            "with first as materialized (select pg_advisory_xact_lock_shared({locks}, 0)),
             new as materialized (
                 select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::bigint[], $7::text[])
                 with ordinality as new (run, seq, added, records, time, checksum, body, number)
             ),
             free as (
                 select r.key, new.added, new.seq from first, new, runs r where r.key = new.run and r.records = new.seq
                 for update of r skip locked
             ),
             changed as (
                 update runs r set records = r.records + free.added from free where r.key = free.key and r.records = free.seq
                 returning r.key
             ),
             written as (
                 insert into journal (run, seq, records, place, time, checksum, body)
                 select run, seq, records, ((pg_current_xact_id()::text::bigint + {xids}) << 16) + number - 1, time, checksum, body
                 from changed, new where new.run = changed.key
             )
             select key from changed"
        ))
        .await?;
    let written = client.query(&insert, &[runs, seqs, &added, records, times, checksums, bodies]).await;
    match written {
        Ok(written) => written.iter().map(|row| Ok(row.try_get(0)?)).collect(),
        // One of them has something that the server does not take: each by itself, so that only that one fails.
        Err(error) if is_of_values(&error) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the server has refused a statement for what is in it, or for locks: nothing is written, and the connection is as before.
fn is_of_values(error: &tokio_postgres::Error) -> bool {
    let classes = ["22", "23", "40", "53", "54"];
    error.code().is_some_and(|code| classes.iter().any(|class| code.code().starts_with(class)))
}
