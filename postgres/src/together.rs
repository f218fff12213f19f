//! Appends of several runs that come at the same time, in one statement and one commit.
//!
//! What comes while few statements are under way is written at once, by itself. What comes while [`MOST`] are waits in a queue, and is
//! written together as soon as one of them is done: the more runs there are, the more share a commit, and one alone does not wait for
//! others.
//!
//! No append waits for another one for longer than [`KEEPS`]. A statement that takes longer, since it waits for a lock, does not count any
//! more, and what has waited so long is written by itself.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use futures::future::join_all;
use graphweft::store::{Append, Appended, HeaderChange, StoreError};
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::apart::spawn_for_any;
use crate::batch::NewRows;
use crate::connections::{Connections, Facts, transaction};
use crate::numbers::{of_run, to_integer};
use crate::runs;
use crate::trouble::{Trouble, chain, is_undone_by};

/// How many statements with appends are under way before others wait for one of them.
const MOST: usize = 2;

/// How many appends one statement has at most, and how many bytes if it has several.
const MOST_APPENDS: usize = 128;
const MOST_BYTES: usize = 1 << 20;

/// For how long a statement keeps others waiting.
const KEEPS: Duration = Duration::from_millis(100);

type Reply = Result<Appended, StoreError>;

/// The appends of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Waits>,
    /// The statements under way, and since when.
    statements: Vec<(u64, Instant)>,
    last: u64,
}

/// An append that adds one row and changes nothing of the header of its run.
#[derive(Debug)]
struct Waits {
    number: u64,
    append: Append,
    row: NewRows,
    runtime: Handle,
    reply: oneshot::Sender<Reply>,
}

/// A statement is under way while this lives.
struct UnderWay {
    number: u64,
    has_begun: bool,
    together: Together,
    connections: Connections,
}

impl Waiting {
    fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Begins a statement, if there are not too many under way.
    fn begin(&mut self) -> Option<u64> {
        let counting = self.statements.iter().filter(|(_, since)| since.elapsed() < KEEPS).count();
        if counting >= MOST {
            return None;
        }
        let number = self.next_number();
        self.statements.push((number, Instant::now()));
        Some(number)
    }
}

impl Together {
    pub(crate) async fn append(&self, connections: &Connections, append: Append) -> Reply {
        let row = NewRows::of(append.run, append.at, append.time, &append.records)
            .map_err(|trouble| trouble.for_caller(&connections.server))?;
        let runtime = Handle::try_current();
        let (Ok(runtime), true) = (runtime, row.is_single() && append.header == HeaderChange::default()) else {
            let (append, rows) = (&append, &row);
            return connections
                .with(|client| async move { runs::append(client, connections.facts, append, rows).await })
                .await;
        };
        let begun = {
            let mut waiting = self.lock();
            match waiting.begin() {
                Some(number) => Ok((number, append, row)),
                None => {
                    let (reply, replied) = oneshot::channel();
                    let number = waiting.next_number();
                    waiting.queue.push_back(Waits { number, append, row, runtime, reply });
                    Err((number, replied))
                }
            }
        };
        let (number, replied) = match begun {
            Ok((number, append, row)) => {
                let (together, connections) = (self.clone(), connections.clone());
                let under_way = UnderWay { number, has_begun: true, together, connections };
                return write_alone(&under_way.connections, &append, &row).await;
            }
            Err(waits) => waits,
        };
        let mut replied = pin!(replied);
        if let Ok(reply) = timeout(KEEPS, &mut replied).await {
            return replied_with(reply);
        }
        let left = {
            let mut waiting = self.lock();
            let at = waiting.queue.iter().position(|waits| waits.number == number);
            at.and_then(|at| waiting.queue.remove(at))
        };
        match left {
            Some(Waits { append, row, .. }) => write_alone(connections, &append, &row).await,
            None => replied_with(replied.await),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next that are written together, each of another run, and all of one runtime: that of the writer.
    fn next(&self, runtime: Id) -> Vec<Waits> {
        let (mut next, mut passed) = (Vec::new(), Vec::new());
        let (mut runs, mut bytes) = (HashSet::new(), 0);
        let mut waiting = self.lock();
        while next.len() < MOST_APPENDS
            && let Some(waits) = waiting.queue.pop_front()
        {
            let more = waits.row.bytes();
            if !next.is_empty() && bytes + more > MOST_BYTES {
                passed.push(waits);
                break;
            }
            // If its caller is gone, nothing needs it.
            if waits.reply.is_closed() {
                continue;
            }
            if waits.runtime.id() != runtime || !runs.insert(waits.append.run) {
                passed.push(waits);
                continue;
            }
            bytes += more;
            next.push(waits);
        }
        for waits in passed.into_iter().rev() {
            waiting.queue.push_front(waits);
        }
        next
    }
}

fn replied_with(reply: Result<Reply, oneshot::error::RecvError>) -> Reply {
    reply.unwrap_or_else(|_| {
        let message = "the runtime in which a record was to be written has ended".to_owned();
        Err(StoreError::Other { message })
    })
}

/// The next statement takes the place of this one. One that has not begun had a runtime that has ended: those that wait write by themselves.
impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut waiting = self.together.lock();
        waiting.statements.retain(|(number, _)| *number != self.number);
        let next = waiting.queue.front().filter(|_| self.has_begun).map(|waits| waits.runtime.clone());
        let Some(runtime) = next else { return };
        let Some(number) = waiting.begin() else { return };
        drop(waiting);
        let (together, connections) = (self.together.clone(), self.connections.clone());
        drop(spawn_for_any(&runtime, UnderWay { number, has_begun: false, together, connections }.write()));
    }
}

impl UnderWay {
    async fn write(mut self) {
        self.has_begun = true;
        write_together(&self.connections, self.together.next(Handle::current().id())).await;
    }
}

async fn write_together(connections: &Connections, mut appends: Vec<Waits>) {
    let mut is_known = true;
    if appends.len() > 1 {
        let of = &*appends;
        let written =
            connections.with(|client| async move { known(write_in_one(&client, connections.facts, of).await) });
        match written.await {
            Ok(written) => {
                is_known = written.is_some();
                let written: HashSet<i64> = written.unwrap_or_default().into_iter().collect();
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
    // Those that are left are conflicts, or another transaction has their runs locked at the moment, or nothing is known of them.
    let each = appends.into_iter().map(|Waits { append, row, reply, .. }| async move {
        let done = match is_known {
            true => write_alone(connections, &append, &row).await,
            false => look_up(connections, &append, &row).await,
        };
        drop(reply.send(done));
    });
    join_all(each).await;
}

async fn write_alone(connections: &Connections, append: &Append, row: &NewRows) -> Reply {
    let facts = connections.facts;
    let written = |client: Object| async move { known(runs::append_records(&client, facts, append, row).await) };
    match connections.with(written).await? {
        Some(done) => Ok(done),
        None => look_up(connections, append, row).await,
    }
}

/// `None` if nothing is known: the connection was lost, and what was sent may be done.
fn known<T>(done: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    match done {
        Err(trouble) if trouble.is_unknown() => {
            if let Trouble::Database(error) = &trouble {
                tracing::warn!(error = chain(error), "it is looked up whether records were written");
            }
            Ok(None)
        }
        done => done.map(Some),
    }
}

/// Whether an append was written by a statement of which nothing is known, since its connection was lost; it is written now if not. Nothing
/// else writes the same: an engine that takes a run over begins with a record of that.
async fn look_up(connections: &Connections, append: &Append, row: &NewRows) -> Reply {
    let look_up = |mut client: Object| async move {
        let (key, at) = (of_run(append.run), to_integer(append.at));
        let step = transaction(&mut client, 2 * row.bytes()).await?;
        // Waits for that statement, if it is under way.
        let lock = step.prepare_cached("select from runs where key = $1 for update").await?;
        if step.query_opt(&lock, &[&key]).await?.is_none() {
            return Ok(Appended::Conflict);
        }
        let same = "select from journal where run = $1 and seq = $2 and time = $3 and checksum = $4 and body = $5";
        let same = step.prepare_cached(same).await?;
        let (NewRows { times, checksums, bodies, .. }, none) = (row, Ok(Appended::Conflict));
        let ([time], [checksum], [body]) = (&times[..], &checksums[..], &bodies[..]) else { return none };
        if step.query_opt(&same, &[&key, &at, time, checksum, body]).await?.is_some() {
            return Ok(Appended::Done);
        }
        if !runs::append_in((&step).into(), append, row).await? {
            return none;
        }
        step.commit().await?;
        Ok(Appended::Done)
    };
    connections.idempotent(look_up).await
}

/// Writes these appends, and returns the runs of those that are written. It waits for no lock of a run: two statements with the same runs
/// would wait for each other. If the server refuses one append, none is written.
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
    match client.query(&insert, &[runs, seqs, &added, records, times, checksums, bodies]).await {
        Ok(written) => Ok(written.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?),
        // One of them has something that the server does not take: each by itself, so that only that one fails.
        Err(error) if is_undone_by(&error) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}
