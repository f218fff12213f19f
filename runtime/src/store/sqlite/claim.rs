//! Taking runs over.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, Params, params};

use super::log_index::LogIndex;
use super::owners::{self, Census};
use super::read::header_by_key;
use super::row::RunRow;
use super::run_rows::{self, RunRows};
use super::times::{from_integer, from_millis, to_integer, to_millis};
use super::trouble::Trouble;
use super::write_transaction::WriteTransaction;
use crate::store::{Claim, Claimed, Damaged, RunHeader, RunKey};

/// What a claim would do, as of now.
pub(super) struct Plan {
    /// The runs to take over, in the order in which they became ready.
    take: Vec<Ready>,
    nudged: Vec<i64>,
    next_wake: Option<i64>,
    dead: Vec<i64>,
}

impl Plan {
    /// Makes the plan by reading only, so that a claim with nothing to do costs no write transaction.
    pub(super) fn make(connection: &Connection, database: &Path, claim: &Claim) -> Result<Plan, Trouble> {
        let Census { alive, dead } = owners::census(connection, database)?;
        let mut search = Search {
            connection,
            claim,
            only: claim.only.map(|run| to_integer(run.0)),
            except: claim.except.iter().map(|run| to_integer(run.0)).collect(),
            ready: Vec::new(),
            next_wake: None,
        };
        let me = to_integer(claim.owner.0);
        let is_wanted = |owner: &i64| *owner == me || (claim.orphans && !alive.contains(owner));
        for owner in owners_of_runs(connection)?.into_iter().filter(is_wanted) {
            let suspended_only = owner == me && !claim.own;
            search.runs_of(Some(owner), if suspended_only { 1 } else { 0 })?;
        }
        search.runs_of(None, 0)?;
        let Search { mut ready, next_wake, .. } = search;
        ready.sort_unstable();
        ready.truncate(claim.limit);
        let mut nudged =
            connection.prepare_cached("SELECT key FROM runs WHERE owner = ?1 AND nudged = 1 ORDER BY key")?;
        let nudged = nudged.query_map([me], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(Plan { take: ready, nudged, next_wake, dead })
    }

    /// The result of the claim if there is nothing to do; otherwise `None`.
    pub(super) fn nothing_to_do(&self) -> Option<Claimed> {
        let next_wake = self.next_wake.map(from_millis);
        (self.take.is_empty() && self.nudged.is_empty() && self.dead.is_empty())
            .then(|| Claimed { next_wake, ..Claimed::default() })
    }

    /// The owners that are found dead.
    pub(super) fn dead(&self) -> &[i64] {
        &self.dead
    }

    /// Carries out the plan.
    pub(super) fn carry_out(
        self,
        transaction: &mut WriteTransaction<'_>,
        database: &Path,
        claim: &Claim,
    ) -> Result<Claimed, Trouble> {
        for dead in self.dead {
            owners::bury(transaction, dead)?;
        }
        let me = Some(to_integer(claim.owner.0));
        for key in &self.nudged {
            let row = RunRow::expect(transaction, *key)?;
            if (row.owner, row.nudged) != (me, 1) {
                return Err(disagrees(&row));
            }
            RunRow { nudged: 0, ..row }.update(transaction)?;
        }
        let taken: HashSet<_> = self.take.iter().map(|ready| ready.key).collect();
        let (mut runs, mut damaged) = (Vec::new(), Vec::new());
        for ready in self.take {
            match as_it_is(transaction, &ready, claim) {
                Ok(header) => runs.push(take_over(transaction, header, claim)?),
                // Damage of one run does not affect the others.
                Err(trouble @ Trouble::Damaged(_)) => {
                    let (key, id) = (RunKey(from_integer(ready.key)), id_of(transaction, ready.key));
                    damaged.push(Damaged::new(key, id, trouble.at(database)));
                }
                Err(other) => return Err(other),
            }
        }
        let nudged = self.nudged.into_iter().filter(|key| !taken.contains(key));
        Ok(Claimed {
            runs,
            damaged,
            nudged: nudged.map(|key| RunKey(from_integer(key))).collect(),
            next_wake: self.next_wake.map(from_millis),
        })
    }
}

/// The runs that a claimer believes to execute, and that another owner has now.
pub(super) fn lost(connection: &Connection, claim: &Claim) -> Result<Vec<RunKey>, Trouble> {
    let mut lost = connection.prepare_cached("SELECT 1 FROM runs WHERE key = ?1 AND owner IS NOT ?2")?;
    let mut runs = Vec::new();
    for run in &claim.except {
        if lost.exists(params![to_integer(run.0), to_integer(claim.owner.0)])? {
            runs.push(*run);
        }
    }
    Ok(runs)
}

/// A run that is ready, according to the index.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    ready: i64,
    key: i64,
    owner: Option<i64>,
}

struct Search<'a> {
    connection: &'a Connection,
    claim: &'a Claim,
    only: Option<i64>,
    except: HashSet<i64>,
    ready: Vec<Ready>,
    next_wake: Option<i64>,
}

impl Search<'_> {
    /// Searches the runs of a dead owner, of the claimer, or without an owner, whose `ready` is at least `from`: 0 for
    /// all, 1 for suspended ones.
    fn runs_of(&mut self, owner: Option<i64>, from: i64) -> Result<(), Trouble> {
        let claim = self.claim;
        let now = to_millis(claim.now);
        for workflow in &claim.workflows {
            let left = self.add(READY_RUNS, params![owner, workflow, now, from], owner, claim.limit)?;
            self.add(SUSPENDED_LATER, params![owner, workflow, now], owner, left)?;
            let mut runs = self.connection.prepare_cached(NEXT_RUNS)?;
            let mut rows = runs.query(params![owner, workflow, now])?;
            while let Some(row) = rows.next()? {
                let (ready, key) = (row.get(0)?, row.get(1)?);
                if self.is_wanted(key) {
                    self.next_wake = Some(self.next_wake.map_or(ready, |next: i64| next.min(ready)));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Adds runs that a query finds. Returns how many more may be added.
    fn add(&mut self, query: &str, params: impl Params, owner: Option<i64>, most: usize) -> Result<usize, Trouble> {
        let mut runs = self.connection.prepare_cached(query)?;
        let mut rows = runs.query(params)?;
        let mut left = most;
        while let Some(row) = rows.next()?.filter(|_| left > 0) {
            let (ready, key) = (row.get(0)?, row.get(1)?);
            if self.is_wanted(key) {
                self.ready.push(Ready { ready, key, owner });
                left -= 1;
            }
        }
        Ok(left)
    }

    fn is_wanted(&self, key: i64) -> bool {
        !self.except.contains(&key) && self.only.is_none_or(|only| only == key)
    }
}

/// The ready runs of an owner and a workflow, the longest ready first; read from the index.
pub(super) const READY_RUNS: &str = "
    SELECT ready, key FROM runs WHERE owner IS ?1 AND workflow = ?2 AND ready BETWEEN ?4 AND ?3 ORDER BY ready, key";

/// Runs that wait for a time and were suspended at a later time than now: the clock was set back since. Read from the
/// index.
pub(super) const SUSPENDED_LATER: &str = "
    SELECT ready, key FROM runs
    WHERE owner IS ?1 AND workflow = ?2 AND updated > ?3 AND ready > ?3 AND ready > 0 ORDER BY updated, key";

/// Runs that become ready later.
pub(super) const NEXT_RUNS: &str = "
    SELECT ready, key FROM runs WHERE owner IS ?1 AND workflow = ?2 AND ready > ?3 ORDER BY ready, key";

/// Every owner of an unfinished run, in as many steps as there are owners.
pub(super) const OWNERS_OF_RUNS: &str = "
    WITH RECURSIVE owners (id) AS (
        SELECT min(owner) FROM runs WHERE owner IS NOT NULL
        UNION ALL
        SELECT (SELECT min(owner) FROM runs WHERE owner > owners.id) FROM owners WHERE owners.id IS NOT NULL
    )
    SELECT id FROM owners WHERE id IS NOT NULL";

fn owners_of_runs(connection: &Connection) -> Result<Vec<i64>, Trouble> {
    let mut owners = connection.prepare_cached(OWNERS_OF_RUNS)?;
    let owners = owners.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(owners)
}

/// The header of a run that is to be taken over.
fn as_it_is(transaction: &WriteTransaction<'_>, ready: &Ready, claim: &Claim) -> Result<RunHeader, Trouble> {
    let row = RunRow::expect(transaction, ready.key)?;
    if (row.ready, row.owner) != (Some(ready.ready), ready.owner) || !claim.workflows.contains(&row.workflow) {
        return Err(disagrees(&row));
    }
    Ok(header_by_key(transaction, transaction.log(), row.key)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
}

fn take_over(
    transaction: &mut WriteTransaction<'_>,
    mut header: RunHeader,
    claim: &Claim,
) -> Result<RunHeader, Trouble> {
    let time = claim.resumed_at(last_time(transaction, transaction.log(), &header)?);
    let rows = super::codec::encode(&[claim.record(&header.workflow)]).map_err(std::io::Error::from)?;
    transaction.add_rows(header.key, header.records, time, &rows)?;
    header.apply(&claim.change(), 1, time);
    RunRow::of(&header, false)?.update(transaction)?;
    // As it is in the file.
    Ok(RunHeader { updated: from_millis(to_millis(header.updated)), ..header })
}

/// The time of the last record of a run; none of a run that has begun without records.
fn last_time(connection: &Connection, log: &LogIndex, run: &RunHeader) -> Result<Option<SystemTime>, Trouble> {
    let Some(last) = run.records.checked_sub(1) else { return Ok(None) };
    let mut statement = run_rows::select(connection)?;
    let mut rows = RunRows::from(connection, &mut statement, log, run.key, last)?;
    let mut time = None;
    loop {
        match rows.next(|batch| {
            time = Some(from_millis(batch.time));
            Ok(())
        }) {
            Ok(true) => {}
            // Damage is an error for who reads the run.
            Ok(false) | Err(Trouble::Damaged(_)) => return Ok(time),
            Err(trouble) => return Err(trouble),
        }
    }
}

/// The id of a run whose row is not to be trusted.
fn id_of(connection: &Connection, key: i64) -> String {
    let id = connection.query_row("SELECT id FROM runs WHERE key = ?1", [key], |row| row.get(0));
    id.unwrap_or_else(|_| format!("run number {key}"))
}

fn disagrees(row: &RunRow) -> Trouble {
    Trouble::Damaged(format!("run `{}` is not as an index has it", row.id))
}
