//! The tables, and how a file gets from one format to the next.

use std::ops::Range;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::times::to_integer;
use super::trouble::Trouble;
use crate::store::{RunKey, StoreError};

/// Marks a file as a database of runs: `grwf`.
const APPLICATION: i64 = 0x6772_7766;

/// How many bits of the id of a row are the number of its first record.
const RECORD_BITS: u32 = 31;

/// A run has fewer records than this: with more, the ids of its rows would be those of the next run.
pub(super) const MOST_RECORDS: i64 = 1 << RECORD_BITS;

/// The greatest number of a run whose rows have ids of their own.
pub(super) const LAST_RUN: i64 = i64::MAX / MOST_RECORDS;

/// The ids that rows of the journal can have for a run.
pub(super) fn rows_of(run: RunKey) -> Range<i64> {
    let first = to_integer(run.0).saturating_mul(MOST_RECORDS);
    first..first.saturating_add(MOST_RECORDS)
}

/// The run of a row of records with this id.
pub(super) fn run_of(id: i64) -> i64 {
    id >> RECORD_BITS
}

/// The steps from one format to the next; after the first n of them a file has format n.
///
/// A batch is the records that one append has added to one run, or some of them if they are many. Its `id` is
/// `run << 31 | seq` of the first of them, and its position the place of the batch in the order of all commits. A row of
/// `commit_log` has the batches of one commit, of whatever runs, or some of them if they are long; its `id`, `time` and
/// `records` are those of the first batch and of all of them, its `pos` is the position of the last. A move makes rows of
/// `journal` of all rows of the log, each with the batches of one run; their `pos` is the last position of the move. So
/// the records of a run lie together in their order, and those of a move too. A large batch is added to the journal at
/// once, as a row of its own with its own position, and to the log with an empty body. `ready` is the time at which a run can
/// resume: 0 if it runs, a time if it waits for one, NULL if it waits for an answer or is over. The index on it holds
/// only runs that an engine may have to take over, however many others there are. `runs_suspended` has the runs that
/// wait for a time, by the time when they were suspended: after the clock was set back, that is later than now.
/// `runs_unfinished` has the graphs of the runs, so that runs under another graph than the current one are found
/// without reading those under this one. `runs_over` has the runs that have ended, by the time when they did.
///
/// The `tags` of a run, as JSON, are under the checksum of its row; the table `tags` has them again, as an index.
/// `questions` has the open questions of all runs, with the time when each was asked.
///
/// When a run is deleted its row goes, and its number is kept in `leftovers` until the last rows of its records are
/// gone, a few at a time and not before `after`. `deleted` has the ids that are not free yet. `numbers` has
/// `run`, the greatest number of a run that was deleted, which never gets smaller; and which file this is, see `origin`.
/// `moves` has the last position of each move, up to which batches are no longer in the log. `tasks` says which owner has a periodic task. `snapshots` has what the first `records` records of a
/// run come to. `logs` has the entries of the logs beside the runs; a `pos` of one that was deleted is not given again.
///
/// A `checksum` is over all columns of its row; those of owners are in a table of their own. The `records` of a run is
/// how many there were when its row was last written, so that a journal which has lost its end is detected.
const STEPS: &[&str] = &[
    "
    CREATE TABLE runs (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workflow TEXT NOT NULL,
        status INTEGER NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        owner INTEGER,
        ready INTEGER,
        graph INTEGER NOT NULL,
        nudged INTEGER NOT NULL,
        forked_from TEXT,
        forked_at INTEGER,
        previous TEXT,
        next TEXT,
        started_by TEXT,
        started_at TEXT,
        on_close INTEGER,
        tags TEXT,
        records INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_ready ON runs (owner, workflow, ready) WHERE ready IS NOT NULL;
    CREATE INDEX runs_suspended ON runs (owner, workflow, updated, ready) WHERE ready > 0;
    CREATE INDEX runs_owner ON runs (owner) WHERE owner IS NOT NULL;
    CREATE INDEX runs_nudged ON runs (owner) WHERE nudged = 1;
    CREATE INDEX runs_unfinished ON runs (workflow, graph) WHERE status IN (0, 1, 2);
    CREATE INDEX runs_over ON runs (status, updated) WHERE status IN (3, 4, 5, 6);
    CREATE INDEX runs_forked ON runs (forked_from) WHERE forked_from IS NOT NULL;
    CREATE INDEX runs_started ON runs (started_by) WHERE started_by IS NOT NULL;
    CREATE TABLE tags (
        tag TEXT NOT NULL,
        value TEXT NOT NULL,
        run INTEGER NOT NULL,
        PRIMARY KEY (tag, value, run)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE questions (
        run INTEGER NOT NULL,
        question TEXT NOT NULL,
        name TEXT NOT NULL,
        asked INTEGER NOT NULL,
        question_body TEXT NOT NULL,
        question_checksum INTEGER NOT NULL,
        PRIMARY KEY (run, question)
    ) STRICT;
    CREATE INDEX questions_asked ON questions (asked, run, question);
    CREATE TABLE commit_log (
        pos INTEGER PRIMARY KEY,
        id INTEGER NOT NULL,
        time INTEGER NOT NULL,
        records INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE journal (
        id INTEGER PRIMARY KEY,
        pos INTEGER NOT NULL,
        time INTEGER NOT NULL,
        records INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX journal_places ON journal (pos);
    CREATE TABLE moves (last INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE graphs (hash INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;
    CREATE TABLE owners (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        expires INTEGER NOT NULL,
        boot TEXT,
        workflows TEXT NOT NULL
    ) STRICT;
    CREATE TABLE owner_checksums (owner INTEGER PRIMARY KEY, checksum INTEGER NOT NULL) STRICT;
    CREATE TABLE leftovers (run INTEGER PRIMARY KEY, after INTEGER NOT NULL) STRICT;
    CREATE TABLE deleted (id TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX deleted_until ON deleted (until);
    CREATE TABLE numbers (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE tasks (
        task TEXT PRIMARY KEY,
        owner INTEGER NOT NULL,
        until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE TABLE snapshots (
        run INTEGER PRIMARY KEY,
        records INTEGER NOT NULL,
        state BLOB NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE logs (
        pos INTEGER PRIMARY KEY AUTOINCREMENT,
        log TEXT NOT NULL,
        key TEXT NOT NULL,
        time INTEGER NOT NULL,
        body TEXT NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX logs_keys ON logs (log, key);
    CREATE INDEX logs_places ON logs (log, pos);
",
];

/// The format of the files that this version writes.
pub(super) const FORMAT: u32 = STEPS.len() as u32;

/// The statements of all steps, each as SQLite keeps it in its schema.
pub(super) fn statements() -> impl Iterator<Item = &'static str> {
    STEPS.iter().flat_map(|step| step.split(';')).map(str::trim).filter(|statement| !statement.is_empty())
}

/// Brings a file to [`FORMAT`], from an empty one or an older format. A file of another kind is not changed.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Trouble> {
    // Both parts of the format are read in one transaction, or another process could change them in between.
    if format(&*connection.transaction()?, path)? == FORMAT {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found = format(&step, path)?;
    for statements in &STEPS[found as usize..] {
        step.execute_batch(statements)?;
    }
    step.pragma_update(None, "application_id", APPLICATION)?;
    step.pragma_update(None, "user_version", FORMAT)?;
    Ok(step.commit()?)
}

/// Checks that a file which is not written to has [`FORMAT`].
pub(super) fn is_current(connection: &Connection, path: &Path) -> Result<(), Trouble> {
    let path = match format(&*connection.unchecked_transaction()?, path)? {
        FORMAT => return Ok(()),
        0 => StoreError::NotADatabase { path: path.to_owned(), message: "it is empty".to_owned() },
        found => StoreError::OlderFormat { path: path.to_owned(), found, known: FORMAT },
    };
    Err(path.into())
}

/// The format of a file, 0 of an empty one.
fn format(connection: &Connection, path: &Path) -> Result<u32, Trouble> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application == APPLICATION {
        let found = u32::try_from(version).unwrap_or(u32::MAX);
        return match found {
            1..=FORMAT => Ok(found),
            0 => Err(StoreError::Corrupt { path: path.to_owned(), message: "it has no format".to_owned() }.into()),
            _ => Err(StoreError::NewerFormat { path: path.to_owned(), found, known: FORMAT }.into()),
        };
    }
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if (application, version, tables) != (0, 0, 0) {
        let message = "it is an SQLite database of something else".to_owned();
        return Err(StoreError::NotADatabase { path: path.to_owned(), message }.into());
    }
    Ok(0)
}
