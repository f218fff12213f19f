//! Engines, as owners of runs.
//!
//! Each has a connection of its own, on which it holds an advisory lock and renews its lease. When its process ends, the server
//! notices at once that the connection is closed, and with it the lock is gone. When its machine ends, or the process is
//! stopped, the lease runs out, by the clock of the database. An engine that is believed dead and is not, adds nothing any
//! more to a run that was taken over from it: see [`append`](crate::runs::append).
//!
//! The connections of owners are looked after by a [thread of their own](crate::leases): nodes may block all those of the program's runtime.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use futures::FutureExt;
use futures::future::{Fuse, select};
use graphweft::store::{Owner, StoreError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_postgres::Client;

use crate::connections::{Connections, Facts};
use crate::leases::Leases;
use crate::numbers::{from_integer, to_integer};
use crate::schema::facts;
use crate::trouble::Trouble;

/// How old the last renewal of a lease may be, before it is renewed.
const RENEW: Duration = Duration::from_millis(1500);

/// How long a lease is: `renew` in the schema says the same.
const LEASE: Duration = Duration::from_secs(4);

/// How often the connection of an owner is looked at, which needs no statement.
const LOOK: Duration = Duration::from_millis(100);

/// What statements about the owners that have runs and are not alive begin with, by `$1`, which is none of them. Owners are found by the index of
/// their runs, each by one step: those that have left or died, and have none, stay for a month, and there may be thousands.
pub(crate) const DEAD: &str = "recursive held (id) as (
     (select owner from runs where owner is not null order by owner limit 1)
     union all
     select (select owner from runs where owner > held.id order by owner limit 1) from held where held.id is not null
 ),
 dead as (select owners.id from held join owners on owners.id = held.id where owners.id <> $1 and not alive(owners))";

/// How many renewals fewer than an owner knows of its row may have: one may be lost with the server that had it. A server that lacks more, a
/// backup or a replica, lacks records too, which the owner has in memory.
const LATE: i64 = 1;

/// What an owner knows its row by. A database that was restored has none of it, that of another engine, or one of earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnRow {
    pub(crate) mark: i64,
    pub(crate) renewals: i64,
}

/// The owners of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners(Arc<All>);

#[derive(Debug, Default)]
struct All {
    kept: Mutex<HashMap<Owner, Kept>>,
    leases: Leases,
}

#[derive(Debug)]
struct Kept {
    /// The task that keeps it alive, and the one in the program's runtime that says that this is there.
    tasks: [AbortHandle; 2],
    renewed: Renewed,
    /// Where it was made.
    runtime: Handle,
}

/// When the lease of an owner was renewed last.
#[derive(Clone, Debug)]
struct Renewed(Arc<Mutex<Times>>);

#[derive(Debug)]
struct Times {
    renewed: Instant,
    /// Whether it has its connection.
    is_connected: bool,
    /// When it has made another one, in the place of one that was lost.
    reconnected: Option<Instant>,
    row: OwnRow,
}

impl Renewed {
    /// The lease was renewed, in this row, by a statement before which the row was known so. Returns whether that is its own.
    #[must_use]
    fn is_in(&self, found: Option<OwnRow>, known: OwnRow) -> bool {
        let mut times = self.lock();
        times.renewed = Instant::now();
        let Some(found) = found.filter(|found| found.mark == known.mark && found.renewals + LATE >= known.renewals)
        else {
            return false;
        };
        times.row.renewals = times.row.renewals.max(found.renewals);
        true
    }

    fn row(&self) -> OwnRow {
        self.lock().row
    }

    fn is_fresh(&self) -> bool {
        self.lock().renewed.elapsed() < RENEW
    }

    fn lost_connection(&self) {
        self.lock().is_connected = false;
    }

    fn reconnected(&self) {
        let mut times = self.lock();
        (times.is_connected, times.reconnected) = (true, Some(Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owners {
    pub(crate) async fn join(&self, connections: &Connections, workflows: Vec<String>) -> Result<Owner, StoreError> {
        let workflows = &workflows;
        let (id, row): (i64, OwnRow) = connections
            .with(|client| async move {
                let next = client
                    .prepare_cached(
                        "insert into owners (workflows, mark, beat, expires)
                         values ($1, (random() * 9e15)::bigint, now(), now() + interval '4 seconds') returning id, mark",
                    )
                    .await?;
                let row = client.query_one(&next, &[&&*workflows]).await?;
                Ok((row.try_get(0)?, OwnRow { mark: row.try_get(1)?, renewals: 0 }))
            })
            .await?;
        let thread = self.0.leases.thread();
        let own = connections.clone();
        let begun = thread.spawn(async move { own.persistently(|| Session::begin(&own, id)).await });
        // It ends only with the store.
        let session = begun.await.map_err(|_| StoreError::Closed)??;
        let renewed = Renewed(Arc::new(Mutex::new(Times {
            renewed: Instant::now(),
            is_connected: true,
            reconnected: None,
            row,
        })));
        let (is_there, is_gone) = oneshot::channel::<()>();
        let holds = tokio::spawn(async move {
            let _is_there = is_there;
            std::future::pending::<()>().await
        });
        let keep = keep(connections.clone(), id, session, renewed.clone());
        let keeps = thread.spawn(async move { drop(select(pin!(keep), is_gone).await) });
        let owner = Owner::new(from_integer(id));
        let tasks = [keeps.abort_handle(), holds.abort_handle()];
        self.lock().insert(owner, Kept { tasks, renewed, runtime: Handle::current() });
        Ok(owner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an owner has had its connection for some time. If it has just lost it, or made another one, others may have lost theirs too,
    /// and are not dead for that.
    pub(crate) fn is_settled(&self, owner: Owner) -> bool {
        self.lock().get(&owner).is_none_or(|kept| {
            let times = kept.renewed.lock();
            times.is_connected && times.reconnected.is_none_or(|at| at.elapsed() >= LEASE)
        })
    }

    /// What is known of the row of an owner of this process.
    pub(crate) fn known(&self, owner: Owner) -> Option<OwnRow> {
        self.lock().get(&owner).map(|kept| kept.renewed.row())
    }

    /// A claim has renewed the lease, in this row, before which the row was known so. Returns whether that is the owner's own.
    pub(crate) fn is_renewed(&self, owner: Owner, row: Option<OwnRow>, known: Option<OwnRow>) -> bool {
        self.lock().get(&owner).zip(known).is_none_or(|(kept, known)| kept.renewed.is_in(row, known))
    }

    /// Ends with the runs of the owner released, also if the result is dropped.
    pub(crate) fn leave(&self, connections: &Connections, owner: Owner) -> Option<JoinHandle<()>> {
        let kept = self.lock().remove(&owner);
        let connections = connections.clone();
        let runtime = kept.as_ref().map(|kept| kept.runtime.clone()).or_else(|| Handle::try_current().ok());
        if let Some(Kept { tasks, .. }) = kept {
            tasks.iter().for_each(AbortHandle::abort);
        }
        let leave = async move {
            let left = connections
                .with(|client| async move {
                    let id = to_integer(owner.get());
                    let release = client
                        .prepare_cached(
                            "with left_now as (update owners set beat = '-infinity', expires = now() where id = $1),
                             released as (update runs set owner = null where owner = $1 returning ready)
                             select tell() from released where ready is not null limit 1",
                        )
                        .await?;
                    client.query(&release, &[&id]).await?;
                    Ok(())
                })
                .await;
            if let Err(error) = left {
                tracing::warn!(%error, "an engine could not leave: its runs are taken over when its lease has ended");
            }
        };
        // Without a runtime it is noticed later.
        runtime.map(|runtime| runtime.spawn(leave))
    }
}

impl Drop for All {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        kept.drain().flat_map(|(_, kept)| kept.tasks).for_each(|task| task.abort());
    }
}

/// The connection of an owner.
struct Session {
    client: Client,
    /// Resolves when the connection ends.
    ended: Fuse<oneshot::Receiver<()>>,
    /// Whether it holds the lock. If not, the connection that the owner had before does, which the server has not noticed the
    /// end of.
    is_locked: bool,
    /// The row of the owner when it began.
    row: Option<OwnRow>,
}

impl Session {
    async fn begin(connections: &Connections, id: i64) -> Result<Self, Trouble> {
        let (client, ended) = connections.alone().await?;
        let mut session = Session { client, ended: ended.fuse(), is_locked: false, row: None };
        // An owner that has left stays until no claim or start of it can be under way any more, and one that was stopped until it is not expected
        // any more.
        let forget = "delete from owners where expires < now() - interval '30 days' and not exists (
             select from runs where owner = owners.id
         )";
        session.client.execute(forget, &[]).await?;
        session.row = session.renew(id).await?;
        let channel = session.client.query_one("select owner_locks()", &[]).await?.try_get::<_, i32>(0)?;
        session.client.batch_execute(&format!("listen \"graphweft_{channel}\"")).await?;
        // There was no listener until now.
        connections.changes.send_replace(());
        Ok(session)
    }

    /// Returns the row of the owner, as it was before.
    async fn renew(&mut self, id: i64) -> Result<Option<OwnRow>, Trouble> {
        if !self.is_locked {
            let lock = "select pg_try_advisory_lock(owner_locks(), ($1::bigint & 2147483647)::integer)";
            self.is_locked = self.client.query_one(lock, &[&id]).await?.try_get(0)?;
        }
        let renew = "with renewed as materialized (select renew($1))
             select mark, renewals from owners, renewed where id = $1";
        let row = self.client.query_opt(renew, &[&id]).await?;
        row.map(|row| Ok(OwnRow { mark: row.try_get(0)?, renewals: row.try_get(1)? })).transpose()
    }
}

/// Keeps an owner alive, over restarts of the server too. Its claims renew the lease as well, so this does it only where there
/// have been none.
async fn keep(connections: Connections, id: i64, session: Session, renewed: Renewed) {
    let mut session = Some(session);
    let mut has_just_ended = false;
    loop {
        match &mut session {
            // At once: without a connection it is alive no longer than its last renewal says.
            _ if std::mem::take(&mut has_just_ended) => {}
            Some(session) => drop(tokio::time::timeout(LOOK, &mut session.ended).await),
            None => tokio::time::sleep(LOOK).await,
        }
        let mut is_own = true;
        let known = renewed.row();
        let kept = match &mut session {
            Some(session) if session.client.is_closed() => Err(None),
            Some(session) if session.is_locked && renewed.is_fresh() => Ok(()),
            Some(session) => session.renew(id).await.map(|row| is_own = renewed.is_in(row, known)).map_err(Some),
            None => match again(&connections, id).await {
                Ok((begun, facts)) => {
                    is_own = renewed.is_in(begun.row, known) && facts == connections.facts;
                    session = Some(begun);
                    renewed.reconnected();
                    Ok(())
                }
                Err(error) => Err(Some(error)),
            },
        };
        if !is_own {
            let error = connections.was_restored();
            tracing::error!(%error, "an engine has ended");
            return;
        }
        if let Err(error) = kept
            && session.take().is_some()
        {
            has_just_ended = true;
            renewed.lost_connection();
            let error = error.map(|trouble| tracing::field::display(trouble.for_caller(&connections.server)));
            tracing::warn!(error, "an engine has lost its connection to PostgreSQL, and makes another one");
        }
    }
}

/// A connection in the place of one that was lost; and what the schema gives now, which was in another server if that is another.
async fn again(connections: &Connections, id: i64) -> Result<(Session, Facts), Trouble> {
    let mut session = Session::begin(connections, id).await?;
    let facts = facts(&mut session.client).await?;
    Ok((session, facts))
}

pub(crate) async fn is_alive(client: &Object, owner: Owner) -> Result<bool, Trouble> {
    let select = client.prepare_cached("select from owners where id = $1 and alive(owners)").await?;
    Ok(client.query_opt(&select, &[&to_integer(owner.get())]).await?.is_some())
}

pub(crate) async fn is_served(client: &Object, workflow: &str) -> Result<bool, Trouble> {
    let select =
        client.prepare_cached("select from owners where $1 = any(workflows) and alive(owners) limit 1").await?;
    Ok(client.query_opt(&select, &[&workflow]).await?.is_some())
}
