//! SQLite without a workflow: what a durable step costs is what it takes beyond these.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

/// So many commits make the log as long as it gets. While it grows, every sync has to record its new length as well.
pub const WARM_UP: u64 = 3000;

/// When SQLite waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// With every commit.
    Full,
    /// When the log is copied back.
    Normal,
}

/// How a file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// As SQLite does by itself.
    Defaults,
    /// As graphweft's store does: smaller pages, and a longer log.
    AsOurs,
}

/// A file with a table in it, and what is to be written there.
pub struct Raw {
    connection: Connection,
    bodies: Vec<String>,
    next: i64,
}

impl Raw {
    /// Makes a file. What is written to it is `bodies`, in turns.
    pub fn new(path: &Path, synchronous: Synchronous, tuning: Tuning, bodies: Vec<String>) -> Self {
        let connection = Connection::open(path).expect("a new file");
        let pragmas = match tuning {
            Tuning::Defaults => "PRAGMA journal_mode = WAL;",
            Tuning::AsOurs => "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 2048;",
        };
        connection.execute_batch(pragmas).expect("SQLite knows them");
        // In the order of the commits, which is the least that SQLite can do: no row has to be put in its place.
        let table = "CREATE TABLE commit_log (
            pos INTEGER PRIMARY KEY, id INTEGER NOT NULL, time INTEGER NOT NULL, records INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT";
        connection.execute_batch(table).expect("a table");
        let mut raw = Raw { connection, bodies, next: 0 };
        raw.wait_for_the_disk("OFF");
        raw.commits(WARM_UP);
        raw.wait_for_the_disk(match synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Normal => "NORMAL",
        });
        raw
    }

    fn wait_for_the_disk(&self, when: &str) {
        self.connection.pragma_update(None, "synchronous", when).expect("SQLite knows it");
    }

    /// So many commits of one row.
    pub fn commits(&mut self, times: u64) -> Duration {
        let begun = Instant::now();
        for _ in 0..times {
            self.insert(0);
            self.next += 1;
        }
        begun.elapsed()
    }

    /// So many commits of a row for each of some runs.
    pub fn group_commits(&mut self, times: u64, runs: i64) -> Duration {
        let begun = Instant::now();
        for _ in 0..times {
            self.execute("BEGIN IMMEDIATE");
            for run in 0..runs {
                self.insert(run);
            }
            self.execute("COMMIT");
            self.next += 1;
        }
        begun.elapsed()
    }

    fn insert(&self, run: i64) {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO commit_log (id, time, records, body) VALUES (?1, ?2, 2, ?3)")
            .expect("a statement");
        let body = &self.bodies[self.next as usize % self.bodies.len()];
        insert.execute((run << 31 | self.next, 1_700_000_000_000_i64, body)).expect("a row");
    }

    fn execute(&self, statement: &str) {
        self.connection.prepare_cached(statement).and_then(|mut statement| statement.execute([])).expect("a statement");
    }
}

/// The rows of records that graphweft has written to a file.
pub fn rows(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("a file of runs");
    let mut rows = connection
        .prepare(
            "SELECT body FROM (SELECT id, body FROM journal UNION ALL SELECT id, body FROM commit_log) ORDER BY id",
        )
        .expect("a file of runs");
    let rows = rows.query_map([], |row| row.get(0)).expect("a file of runs");
    rows.collect::<Result<_, _>>().expect("text")
}

/// What the appends in a row have written, as JSON: of one append, or of several behind an index.
pub fn appends_of(row: &str) -> impl Iterator<Item = Value> {
    let bodies = &row[row.find('[').expect("a body")..];
    serde_json::Deserializer::from_str(bodies).into_iter().map(|value| value.expect("JSON"))
}

/// What graphweft has written to a file, append for append.
pub fn bodies(path: &Path) -> Vec<String> {
    rows(path).iter().flat_map(|row| appends_of(row)).map(|append| append.to_string()).collect()
}

/// Puts all that is in the log into the file, so that the file can be copied by itself.
pub fn settle(path: &Path) {
    let connection = Connection::open(path).expect("a file of runs");
    let is_busy = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    // Whoever had it open closes it some moments after.
    while is_busy().expect("a file of runs") {
        std::thread::sleep(Duration::from_millis(10));
    }
}
