//! Engines, as owners of runs.
//!
//! Each has a connection of its own, on which it holds an advisory lock and renews its lease. When its process ends, the server
//! notices at once that the connection is closed, and with it the lock is gone. When its machine ends, or the process is
//! stopped, the lease runs out, by the clock of the database. An engine that is believed dead and is not, adds nothing any
//! more to a run that was taken over from it: see [`append`](crate::runs::append).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::Object;
use graphweft::store::{Owner, StoreError};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_postgres::Client;

use crate::connections::Connections;
use crate::numbers::{from_integer, to_integer};
use crate::trouble::Trouble;

/// How long an owner is alive without renewing its lease.
const LEASE: Duration = Duration::from_secs(4);

/// How often it does.
const RENEW: Duration = Duration::from_millis(1500);

/// What statements about the owners that are not alive begin with.
pub(crate) const DEAD: &str = "dead as (select id from owners where not alive(owners))";

/// The owners of this process, each with the task that keeps it alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners(Arc<Mutex<HashMap<Owner, AbortHandle>>>);

impl Owners {
    pub(crate) async fn join(&self, connections: &Connections, workflows: Vec<String>) -> Result<Owner, StoreError> {
        let workflows: Arc<[String]> = workflows.into();
        let id = connections
            .with(|client| async move {
                let next = client.prepare_cached("select nextval(pg_get_serial_sequence('owners', 'id'))").await?;
                Ok(client.query_one(&next, &[]).await?.try_get::<_, i64>(0)?)
            })
            .await?;
        let session = Session::begin(connections, id, &workflows).await;
        let session = session.map_err(|error| Trouble::from(error).told(&connections.server))?;
        let keeps = tokio::spawn(keep(connections.clone(), id, workflows, session));
        let owner = Owner::new(from_integer(id));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(owner, keeps.abort_handle());
        Ok(owner)
    }

    /// Ends with the runs of the owner released, also if the result is dropped.
    pub(crate) fn leave(&self, connections: &Connections, owner: Owner) -> Option<JoinHandle<()>> {
        let keeps = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&owner);
        let connections = connections.clone();
        let leave = async move {
            if let Some(keeps) = keeps {
                keeps.abort();
            }
            let left = connections
                .with(|client| async move {
                    let id = to_integer(owner.get());
                    let release = client
                        .prepare_cached(
                            "with gone as (delete from owners where id = $1)
                             update runs set owner = null where owner = $1",
                        )
                        .await?;
                    client.execute(&release, &[&id]).await?;
                    Ok(())
                })
                .await;
            if let Err(error) = left {
                tracing::warn!(%error, "an engine could not leave: its runs are taken over when its lease has ended");
            }
        };
        // Without a runtime it is noticed later.
        tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(leave))
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1 {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).drain().for_each(|(_, keeps)| keeps.abort());
        }
    }
}

/// The connection of an owner.
struct Session {
    client: Client,
    /// Whether it holds the lock. If not, the connection that the owner had before does, which the server has not noticed the
    /// end of.
    is_locked: bool,
}

impl Session {
    async fn begin(connections: &Connections, id: i64, workflows: &[String]) -> Result<Self, tokio_postgres::Error> {
        let mut session = Session { client: connections.alone().await?, is_locked: false };
        session.renew(id, workflows).await?;
        Ok(session)
    }

    /// Renews the lease, also of an owner that was believed dead: it may drive runs that nobody has taken over.
    async fn renew(&mut self, id: i64, workflows: &[String]) -> Result<(), tokio_postgres::Error> {
        if !self.is_locked {
            let lock = "select pg_try_advisory_lock(owner_locks(), ($1::bigint & 2147483647)::integer)";
            self.is_locked = self.client.query_one(lock, &[&id]).await?.try_get(0)?;
        }
        let renew = "insert into owners (id, workflows, beat, expires)
             values ($1, $2, clock_timestamp(), clock_timestamp() + make_interval(secs => $3))
             on conflict (id) do update set beat = excluded.beat, expires = excluded.expires";
        self.client.execute(renew, &[&id, &workflows, &LEASE.as_secs_f64()]).await?;
        Ok(())
    }
}

/// Keeps an owner alive, over restarts of the server too.
async fn keep(connections: Connections, id: i64, workflows: Arc<[String]>, session: Session) {
    let mut session = Some(session);
    loop {
        tokio::time::sleep(if session.is_some() { RENEW } else { RENEW / 10 }).await;
        let renewed = match &mut session {
            Some(session) => session.renew(id, &workflows).await,
            None => Session::begin(&connections, id, &workflows).await.map(|begun| session = Some(begun)),
        };
        if let Err(error) = renewed
            && session.take().is_some()
        {
            let server = &*connections.server;
            tracing::warn!(%error, server, "an engine has lost its connection to PostgreSQL, and makes another one");
        }
    }
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
