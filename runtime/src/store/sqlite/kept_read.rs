//! A read transaction that the writer's connection keeps open from one append to the next.
//!
//! SQLite begins a read transaction for each statement and ends it after that, which takes four locks of the file, and
//! a quarter of the time of an append. While one is kept, a write succeeds only if no other connection has written since: otherwise
//! SQLite says that it is busy (`SQLITE_BUSY_SNAPSHOT`, <https://www.sqlite.org/isolation.html>). So what has been checked in its first
//! write need not be checked in the next ones.
//!
//! The pages in SQLite's log that it may read are not copied back by others meanwhile, beyond those that were there when it began.
//! So it is not kept for long while nothing is appended, and the writer's thread ends it whenever it has something to do.

use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionState};

/// One that is kept begins when two appends follow each other as closely as this.
const CLOSE: Duration = Duration::from_millis(1);

/// After how long without an append it ends.
pub(super) const IDLE: Duration = Duration::from_millis(10);

/// After how long the next one may begin, once another connection has written meanwhile.
const SHARED: Duration = Duration::from_millis(200);

/// A statement of its own, which nothing else executes. It has rows in every database that has tables.
const READ: &str = "SELECT 1 FROM sqlite_schema";

/// See the module.
#[derive(Default)]
pub(super) struct KeptRead {
    state: State,
    /// When the last append began.
    last: Option<Instant>,
    /// None begins before.
    not_before: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    None,
    /// Nothing has been written in it.
    Begun,
    /// All that has been written since it began was written by this connection, and it was checked that the connection
    /// knows what was before.
    Checked,
}

impl KeptRead {
    /// Before an append that begins now: begins a transaction if appends follow one another.
    pub(super) fn before_append(&mut self, connection: &Connection, now: Instant) -> State {
        let is_close = self.last.is_some_and(|last| now.saturating_duration_since(last) < CLOSE);
        self.last = Some(now);
        if self.state == State::None && is_close && self.not_before.is_none_or(|time| time <= now) {
            self.state = if begin_read(connection) { State::Begun } else { State::None };
        }
        if self.state != State::None && !matches!(connection.transaction_state(NO_NAME), Ok(TransactionState::Read)) {
            self.end(connection);
        }
        self.state
    }

    /// After an append. Returns whether the transaction is kept from here on.
    pub(super) fn after_append(&mut self) -> bool {
        let begins = self.state == State::Begun;
        if begins {
            self.state = State::Checked;
        }
        begins
    }

    /// After an append that began then, and failed since another connection has written, or is writing.
    pub(super) fn after_busy(&mut self, connection: &Connection, now: Instant) {
        if self.state != State::None {
            self.not_before = Some(now + SHARED);
        }
        self.end(connection);
    }

    /// Ends it, before anything but an append by one statement.
    pub(super) fn end(&mut self, connection: &Connection) {
        if std::mem::take(&mut self.state) != State::None {
            end_read(connection);
        }
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.state != State::None
    }

    /// Ends it if nothing has been appended for some time. Returns whether it is still kept.
    pub(super) fn end_if_idle(&mut self, connection: &Connection) -> bool {
        if self.last.is_none_or(|last| last.elapsed() >= IDLE) {
            self.end(connection);
        }
        self.state != State::None
    }
}

/// The main database.
const NO_NAME: Option<&str> = None;

/// Begins to read rows and does not read the last one. Returns whether that has succeeded: an error that lasts is that of the append that
/// follows.
fn begin_read(connection: &Connection) -> bool {
    let Ok(mut read) = connection.prepare_cached(READ) else { return false };
    let Ok(mut rows) = read.query([]) else { return false };
    let begins = matches!(rows.next(), Ok(Some(_)));
    if begins {
        // Otherwise it would end here. The statement is in the cache, from where `end` takes it; if it were not, it would have ended.
        std::mem::forget(rows);
    }
    begins
}

/// Rows that are dropped reset their statement, and with it the read ends.
fn end_read(connection: &Connection) {
    drop(connection.prepare_cached(READ).map(|mut read| drop(read.query([]))));
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use rusqlite::{Connection, ErrorCode};
    use tempfile::TempDir;

    use super::{CLOSE, IDLE, KeptRead, SHARED, State};

    fn place() -> (TempDir, Connection, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            let connection = Connection::open(directory.path().join("kept.db")).unwrap();
            connection
                .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS log (pos INTEGER)")
                .unwrap();
            connection.busy_timeout(Duration::ZERO).unwrap();
            connection
        };
        let (ours, other) = (open(), open());
        (directory, ours, other)
    }

    fn insert(connection: &Connection) -> Option<ErrorCode> {
        connection.execute("INSERT INTO log VALUES (1)", []).err().and_then(|error| error.sqlite_error_code())
    }

    /// Two appends, so that it is kept. Returns when the next one begins.
    fn kept(kept: &mut KeptRead, connection: &Connection) -> Instant {
        let now = Instant::now();
        assert_eq!((kept.before_append(connection, now), insert(connection)), (State::None, None));
        assert!(!kept.after_append());
        assert_eq!((kept.before_append(connection, now), insert(connection)), (State::Begun, None));
        assert!(kept.after_append());
        assert_eq!((kept.before_append(connection, now), insert(connection)), (State::Checked, None));
        assert!(!kept.after_append());
        now
    }

    #[test]
    fn a_write_in_it_succeeds_only_if_no_other_connection_has_written() {
        let (_directory, ours, other) = place();
        let mut read = KeptRead::default();
        let now = kept(&mut read, &ours);
        assert_eq!(insert(&other), None, "others are not in its way");
        assert_eq!(read.before_append(&ours, now), State::Checked);
        assert_eq!(insert(&ours), Some(ErrorCode::DatabaseBusy));
        read.after_busy(&ours, now);
        // Not again at once: two that write in turns would be in the way of each other each time.
        assert_eq!((read.before_append(&ours, now), insert(&ours)), (State::None, None));
        assert_eq!((read.before_append(&ours, now), insert(&ours)), (State::None, None));
        let later = now + SHARED;
        read.before_append(&ours, later);
        assert_eq!(read.before_append(&ours, later), State::Begun);
    }

    #[test]
    fn it_is_kept_only_between_appends_that_follow_each_other_and_ends_before_anything_else() {
        let (_directory, ours, other) = place();
        let mut read = KeptRead::default();
        let begun = Instant::now();
        assert_eq!(read.before_append(&ours, begun), State::None);
        assert_eq!(read.before_append(&ours, begun + CLOSE), State::None);
        let truncate = |connection: &Connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0)).unwrap()
        };
        let mut read = KeptRead::default();
        let now = kept(&mut read, &ours);
        assert!(truncate(&other), "the log cannot be emptied meanwhile");
        read.end(&ours);
        assert!(!truncate(&other));
        assert_eq!(read.before_append(&ours, now), State::Begun, "it may begin again");
        // Nothing was appended in it.
        assert_eq!(insert(&other), None);
        assert!(insert(&ours).is_some());
    }

    #[test]
    fn it_ends_when_nothing_was_appended_for_some_time() {
        let (_directory, ours, _other) = place();
        let mut read = KeptRead::default();
        let now = kept(&mut read, &ours);
        read.last = Some(now + Duration::from_secs(3600));
        assert!(read.end_if_idle(&ours));
        read.last = now.checked_sub(IDLE);
        assert!(!read.end_if_idle(&ours) && !ours.is_busy());
    }

    /// The statement is in a cache, from where others may take its place.
    #[test]
    fn one_that_is_lost_is_noticed() {
        let (_directory, ours, _other) = place();
        let mut read = KeptRead::default();
        let now = kept(&mut read, &ours);
        ours.flush_prepared_statement_cache();
        assert_eq!(read.before_append(&ours, now), State::None);
    }
}
