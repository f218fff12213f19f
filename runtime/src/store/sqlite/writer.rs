//! The one connection that writes, and its thread.
//!
//! Everything that is queued goes into one transaction, so that many runs share the wait for the disk. If that wait is
//! short, switching to a thread and back would take as long as the write: then the caller does it, with everything else
//! that is queued, if the connection is free at that moment; a single row that nothing is queued before does without the
//! queue. With [`Durability::Full`] that is so while one run records at a time on a quick disk, and never if it would
//! block all other tasks of a single-threaded runtime.

use std::path::PathBuf;
use std::sync::{Arc, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::check;
use super::delete;
use super::file::OpenFile;
use super::kept_read::{self, KeptRead};
use super::open;
use super::origin;
use super::owners::Owners;
use super::queue::{self, Answers, Job, Queue, Wake};
use super::runs::{self, EncodedAppend};
use super::settings::{Durability, LOG, LOG_BYTES, Settings, beside};
use super::trouble::Trouble;
use super::write_transaction::{Journals, WriteTransaction};
use crate::store::{Appended, StoreError};
use crate::sync::Mutex;

/// The maximum number of jobs in a transaction.
const GROUP: usize = 1024;

/// How many jobs a caller carries out for others, before it leaves the rest to the thread.
const GROUP_OF_CALLER: usize = 16;

/// The maximum time of a write in a caller. Waking a thread and being woken by it takes a tenth of this. A task that
/// blocks for longer delays others.
const QUICK: Duration = Duration::from_millis(1);

/// After how many jobs the length of the log is read. Not after each: once the times of a file were read, Linux updates
/// them with the next write, and the next sync has to write them as well.
const LOOK: usize = 32;

/// State shared by the handles of a store and its thread.
pub(super) struct Shared {
    pub(super) file: Arc<OpenFile>,
    pub(super) settings: Settings,
    pub(super) queue: Queue,
    pub(super) owners: Owners,
    writer: Mutex<Writer>,
}

struct Writer {
    connection: Connection,
    /// Ended before the connection is used for anything but an append by one statement.
    kept: KeptRead,
    /// That of the connection, once it was set here.
    busy_timeout: Option<Duration>,
    /// Whether it is known if the file is a copy. A tool beside the program looks with its first write: it may only read.
    has_looked: bool,
    journals: Journals,
    /// How many batches the commit log must have to be moved. More than in the settings after a move that has failed.
    log_rows: usize,
    /// The path of SQLite's write-ahead log.
    log: PathBuf,
    /// The last group that was committed, by the thread or a caller.
    last: Group,
    /// Jobs since the length of the log was last read.
    unlooked: usize,
    /// Whether the pages of deleted runs are still to be returned to the file system.
    returns_pages: bool,
}

/// How many jobs were done together, and how long that took.
#[derive(Clone, Copy, Default)]
struct Group {
    jobs: usize,
    took: Duration,
}

/// For how long a caller may leave answers to others unsent while the thread has nothing else to do.
const MOMENT: Duration = Duration::from_millis(1);

/// How long something waits that is tried again soon.
const BRIEF: Duration = Duration::from_millis(500);

/// After how long a transaction that removes what deleted runs have left takes no more of it.
const REMOVING: Duration = Duration::from_millis(5);

/// Whether to wait for other processes.
#[derive(Clone, Copy)]
enum Patience {
    Wait,
    /// For what is tried again soon, and is not to keep others waiting for long.
    Briefly,
    GiveUp,
}

/// Why jobs are not committed.
enum Uncommitted {
    /// No job has had an effect, and all can be tried again.
    NotBegun(Trouble),
    /// The jobs have failed, and their effects are undone.
    Undone(Trouble),
}

impl Uncommitted {
    fn trouble(self) -> Trouble {
        match self {
            Uncommitted::NotBegun(trouble) | Uncommitted::Undone(trouble) => trouble,
        }
    }
}

impl Shared {
    pub(super) fn new(file: Arc<OpenFile>, settings: Settings, connection: Connection) -> Self {
        let log = beside(&file.path, "wal");
        let (journals, log_rows) = (Journals::default(), settings.log_rows);
        let (busy_timeout, last, has_looked) = (None, Group::default(), !settings.is_existing);
        if has_looked {
            origin::look(&connection, &file.path);
        }
        let (unlooked, returns_pages) = (LOOK, false);
        let writer = Writer {
            connection,
            kept: KeptRead::default(),
            busy_timeout,
            has_looked,
            journals,
            log_rows,
            log,
            last,
            unlooked,
            returns_pages,
        };
        let writer = Mutex::new(writer);
        Shared { file, owners: Owners::default(), queue: Queue::default(), settings, writer }
    }

    /// Does some of the queued jobs, if the connection is free, and has the thread do the rest.
    pub(super) fn help(&self) {
        let busy = match self.writer.try_lock() {
            Ok(writer) if !writer.is_quick(self.settings.durability) => true,
            Ok(mut writer) => {
                writer.end_kept_read();
                // A caller wakes the others itself.
                drop(writer.commit_group(self, GROUP_OF_CALLER, Patience::GiveUp));
                self.leave_chores(&mut writer);
                self.queue.len() > 0
            }
            // The thread finds out about a panic.
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => true,
        };
        if busy {
            self.queue.wake();
        }
    }

    /// Appends in the caller, without the queue. `None` if that is not quicker, or cannot be done by one statement: then
    /// nothing has happened.
    pub(super) fn append_at_once(&self, batch: &EncodedAppend) -> Option<Result<Appended, StoreError>> {
        if !batch.is_one_row() {
            return None;
        }
        let mut writer = self.writer.try_lock().ok()?;
        if !writer.is_quick(self.settings.durability) || !self.queue.is_free() {
            return None;
        }
        let appended = writer.append_alone(self, batch)?;
        if writer.kept.after_append() {
            self.queue.tell_of_kept_read();
        }
        self.leave_chores(&mut writer);
        Some(appended)
    }

    /// Has the thread do what is due after a commit of a caller.
    fn leave_chores(&self, writer: &mut Writer) {
        if writer.log_is_long() || writer.commit_log_is_full(self) {
            self.queue.call();
        }
    }

    #[cfg(test)]
    pub(super) fn keeps_read(&self) -> bool {
        self.writer.lock().unwrap().kept.is_kept()
    }

    /// Ends the read transaction that is kept, if nothing needs it. Returns whether it is still kept.
    fn still_keeps_read(&self) -> bool {
        match self.writer.try_lock() {
            Ok(mut writer) => writer.end_idle_read(),
            // It is in use.
            Err(_) => true,
        }
    }

    /// Works until the last handle is gone and everything is done.
    pub(super) fn work(&self) {
        // Also when a job panics: no caller may wait for an answer that never comes.
        let _closing = Closing(&self.queue);
        let mut due = Instant::now() + self.settings.lease / 3;
        // When the next part of what deleted runs have left is removed.
        let mut removes: Option<Instant> = None;
        // Sent when they are dropped.
        let mut unsent: Option<Answers> = None;
        let mut keeps_read = false;
        loop {
            let renewal = (!self.owners.is_empty()).then_some(due);
            let moment = unsent.is_some().then_some(MOMENT).or(keeps_read.then_some(kept_read::IDLE));
            let pause = moment.map(|moment| Instant::now() + moment);
            let Some(wake) = self.queue.wait([renewal, removes].into_iter().flatten().min(), pause) else {
                unsent = None;
                keeps_read = self.still_keeps_read();
                continue;
            };
            let Ok(mut writer) = self.writer.lock() else { return };
            writer.end_kept_read();
            keeps_read = false;
            match (wake, unsent.take()) {
                (Wake::End, _) => return,
                // Other processes, and a job that has to be alone, are waited for in the next turn, when no caller is
                // without an answer.
                (Wake::Work, Some(before)) => {
                    unsent = writer.commit_group(self, GROUP, Patience::GiveUp);
                    drop(before);
                }
                (Wake::Work, None) => unsent = writer.commit_group(self, GROUP, Patience::Wait),
                (Wake::Chores, before) => drop(before),
            }
            let is_due = renewal.is_some_and(|renewal| renewal <= Instant::now());
            if is_due || writer.commit_log_is_full(self) {
                unsent = None;
            }
            if is_due {
                let is_locked = writer.look(self).is_ok() && writer.renew(self);
                // Counted from here on: what waits in the queue comes first.
                due = Instant::now() + if is_locked { self.settings.lease / 30 } else { self.settings.lease / 3 };
                removes = removes.or_else(|| Some(Instant::now()));
            }
            if removes.is_some_and(|time| time <= Instant::now()) {
                unsent = None;
                let are_left = self.file.is_there().is_ok() && writer.remove_left_records(self);
                removes = are_left.then(|| Instant::now() + BRIEF);
            }
            if writer.commit_log_is_full(self) && self.file.is_there().is_ok() {
                writer.move_commit_log(self);
            }
            if (wake == Wake::Chores || writer.log_is_long()) && self.file.is_there().is_ok() {
                unsent = None;
                writer.copy_log_back(self, "PASSIVE");
            }
        }
    }
}

struct Closing<'a>(&'a Queue);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Writer {
    /// Whether a task may do the next write itself: if it hardly waits for the disk, and no other task waits with it.
    fn is_quick(&self, durability: Durability) -> bool {
        match durability {
            Durability::Relaxed => true,
            Durability::Full => self.last.jobs <= 1 && self.last.took < QUICK && others_go_on(),
        }
    }

    /// Commits the oldest jobs of the queue together, and answers them. Returns the answers that one of the callers is to
    /// send to the others.
    fn commit_group(&mut self, shared: &Shared, most: usize, patience: Patience) -> Option<Answers> {
        let begun = Instant::now();
        let mut jobs = shared.queue.take(most, matches!(patience, Patience::Wait));
        let group = jobs.len();
        if group == 0 {
            return None;
        }
        let committed = shared.file.is_there().map_err(|gone| Uncommitted::Undone(gone.into()));
        let committed = match committed.and_then(|()| self.commit(shared, patience, &mut jobs)) {
            Err(Uncommitted::NotBegun(trouble)) if trouble.is_busy() && matches!(patience, Patience::GiveUp) => {
                shared.queue.put_back(jobs);
                return None;
            }
            committed => committed.map_err(|uncommitted| self.explain(uncommitted.trouble(), shared)),
        };
        self.has_done(group, begun);
        if committed.is_ok() && jobs.iter().any(|job| job.is_last()) {
            self.settle(shared);
        }
        queue::answer(jobs, committed)
    }

    fn has_done(&mut self, jobs: usize, begun: Instant) {
        self.unlooked += jobs;
        self.last = Group { jobs, took: begun.elapsed() };
    }

    /// See [`Shared::append_at_once`].
    fn append_alone(&mut self, shared: &Shared, batch: &EncodedAppend) -> Option<Result<Appended, StoreError>> {
        let begun = Instant::now();
        shared.file.is_there_at(begun).ok()?;
        self.be(Patience::GiveUp, shared).ok()?;
        let kept = self.kept.before_append(&self.connection, begun);
        let appended = runs::append_in_one_statement(&self.connection, &mut self.journals, batch, kept)?;
        if appended.as_ref().is_err_and(Trouble::is_busy) {
            self.kept.after_busy(&self.connection, begun);
            return None;
        }
        self.has_done(1, begun);
        Some(appended.map_err(|trouble| {
            self.end_kept_read();
            self.explain(trouble, shared)
        }))
    }

    fn end_kept_read(&mut self) {
        self.kept.end(&self.connection);
    }

    /// Returns whether it is still kept.
    fn end_idle_read(&mut self) -> bool {
        self.kept.end_if_idle(&self.connection)
    }

    /// Makes an error exact: damage may come from a file that was cut off since the last look.
    fn explain(&self, trouble: Trouble, shared: &Shared) -> StoreError {
        let gone = if trouble.is_damage() { self.look(shared) } else { Ok(()) };
        gone.err().unwrap_or_else(|| trouble.at(&shared.file.path))
    }

    fn commit(&mut self, shared: &Shared, patience: Patience, jobs: &mut [Box<dyn Job>]) -> Result<(), Uncommitted> {
        let committed = self.try_commit(shared, patience, jobs);
        if let Err(Uncommitted::Undone(_)) = committed {
            self.journals.forget();
        }
        if jobs.iter().any(|job| job.is_alone()) {
            // A closure of the program may have changed it.
            self.busy_timeout = None;
        }
        committed
    }

    fn try_commit(
        &mut self,
        shared: &Shared,
        patience: Patience,
        jobs: &mut [Box<dyn Job>],
    ) -> Result<(), Uncommitted> {
        self.be(patience, shared).map_err(Uncommitted::NotBegun)?;
        if let [job] = jobs
            && let Some(done) = job.run_alone(&self.connection, &mut self.journals)
        {
            return done.map_err(Uncommitted::NotBegun);
        }
        self.execute("BEGIN IMMEDIATE").map_err(Uncommitted::NotBegun)?;
        let run = WriteTransaction::within(&self.connection, &mut self.journals, |transaction| {
            jobs.iter_mut().try_for_each(|job| job.run(transaction))
        });
        self.end(run).map_err(Uncommitted::Undone)
    }

    fn commit_log_is_full(&self, shared: &Shared) -> bool {
        let log = self.journals.log();
        let is_large = log.bytes() >= LOG_BYTES && self.log_rows == shared.settings.log_rows;
        log.batches() >= self.log_rows || is_large
    }

    /// Moves the commit log to the journals. If it cannot be moved, nothing is lost, and reading takes longer.
    fn move_commit_log(&mut self, shared: &Shared) {
        let begun = self.be(Patience::Wait, shared).and_then(|()| self.execute("BEGIN IMMEDIATE"));
        let moved = begun.and_then(|()| {
            let moved =
                WriteTransaction::within(&self.connection, &mut self.journals, |transaction| transaction.move_log());
            self.end(moved)
        });
        self.log_rows = shared.settings.log_rows;
        if let Err(trouble) = moved {
            // It is tried again when there are many more.
            self.log_rows += self.journals.log().batches();
            self.journals.forget();
            tracing::warn!(error = %trouble.at(&shared.file.path), "the commit log of a store cannot be moved");
        }
    }

    /// Renews the leases of the owners of this process. Returns whether that is to be tried again soon, since others have locked the file.
    fn renew(&mut self, shared: &Shared) -> bool {
        let begun = self.be(Patience::Briefly, shared).and_then(|()| self.execute("BEGIN IMMEDIATE"));
        let renewed = begun.and_then(|()| {
            let renewed = shared.owners.renew(&self.connection, shared.settings.lease);
            self.end(renewed)
        });
        let is_locked = renewed.as_ref().is_err_and(Trouble::is_busy);
        if let Err(trouble) = renewed {
            // It is tried again well before the lease expires.
            tracing::warn!(error = %trouble.at(&shared.file.path), "the lease of a store's owner cannot be renewed");
        }
        is_locked
    }

    /// Removes some of the records of runs that were deleted within a lease of their end: the next deletion may be far off. Returns whether
    /// there is more to do at present.
    fn remove_left_records(&mut self, shared: &Shared) -> bool {
        let (begins, now) = (Instant::now(), SystemTime::now());
        if !self.returns_pages && matches!(delete::are_left(&self.connection, now), Ok(false)) {
            return false;
        }
        let begun = self.be(Patience::Briefly, shared).and_then(|()| self.execute("BEGIN IMMEDIATE"));
        let mut is_more = true;
        let removed = begun.and_then(|()| {
            let removed = WriteTransaction::within(&self.connection, &mut self.journals, |transaction| {
                while delete::sweep(transaction, now)? {
                    if begins.elapsed() > REMOVING {
                        return Ok(());
                    }
                }
                is_more = delete::return_pages(transaction)?;
                Ok(())
            });
            self.end(removed)
        });
        if let Err(trouble) = removed {
            // It is tried again with the next renewal of the lease.
            self.returns_pages = true;
            self.journals.forget();
            tracing::warn!(error = %trouble.at(&shared.file.path), "the records of deleted runs cannot be removed");
            return false;
        }
        self.returns_pages = is_more;
        is_more
    }

    fn be(&mut self, patience: Patience, shared: &Shared) -> Result<(), Trouble> {
        let timeout = match patience {
            Patience::Wait => shared.settings.busy_timeout,
            Patience::Briefly => shared.settings.busy_timeout.min(BRIEF),
            Patience::GiveUp => Duration::ZERO,
        };
        if self.busy_timeout != Some(timeout) {
            self.busy_timeout = None;
            self.connection.busy_timeout(timeout)?;
            self.busy_timeout = Some(timeout);
        }
        if !std::mem::replace(&mut self.has_looked, true) {
            origin::look(&self.connection, &shared.file.path);
        }
        Ok(())
    }

    /// Commits if everything succeeded; otherwise undoes everything.
    fn end(&self, run: Result<(), Trouble>) -> Result<(), Trouble> {
        let ended = run.and_then(|()| self.execute("COMMIT"));
        // After some errors SQLite has rolled back by itself.
        if ended.is_err() && !self.connection.is_autocommit() {
            drop(self.execute("ROLLBACK"));
        }
        ended
    }

    fn log_is_long(&mut self) -> bool {
        if self.unlooked < LOOK {
            return false;
        }
        self.unlooked = 0;
        std::fs::metadata(&self.log).is_ok_and(|log| log.len() > LOG)
    }

    /// Copies all of the log back and empties it, so that the file is whole without it, if no owner is left and nothing reads it
    /// for long.
    fn settle(&mut self, shared: &Shared) {
        let is_owned = self.connection.query_row("SELECT EXISTS (SELECT 1 FROM owners)", [], |row| row.get(0));
        if matches!(is_owned, Ok(false)) && self.be(Patience::Briefly, shared).is_ok() {
            self.copy_log_back(shared, "TRUNCATE");
        }
    }

    /// Copies the log back, as far as readers permit. `mode` is SQLite's, of a checkpoint. Commits are safe in the log, so an error
    /// here is not reported.
    fn copy_log_back(&self, shared: &Shared, mode: &str) {
        // Into a file that was cut off, it would be written behind a gap.
        if self.look(shared).is_err() {
            return;
        }
        let copied = self.connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
        if let Err(error) = copied {
            tracing::warn!(log = %self.log.display(), %error, "the log cannot be copied back to the database");
        }
        // The database may be longer now.
        if self.look(shared).is_ok() {
            self.look_for_a_gap(shared);
        }
    }

    /// Looks for a gap: a file that is cut off while its log is copied back can be as long as before after that. Only
    /// reading it shows the gap, which is quick for a small file.
    fn look_for_a_gap(&self, shared: &Shared) {
        let is_small = check::wanted_length(&self.connection).is_ok_and(|wanted| wanted <= check::SMALL);
        if is_small && Self::lacks_pages(shared).is_ok_and(|lacks_some| lacks_some) {
            let how = match shared.file.look_at_length() {
                // Since the last look, and whether or not something was copied meanwhile.
                Some((before, now)) => cut_off(before, now),
                None => "was cut off while its log was copied back,".to_owned(),
            };
            drop(shared.file.is_gone(how));
        }
    }

    /// Checks that the file is the one that was opened, and that all of it is there.
    fn look(&self, shared: &Shared) -> Result<(), StoreError> {
        let file = &shared.file;
        file.look()?;
        let Some((before, now)) = file.look_at_length() else { return Ok(()) };
        match self.is_cut_off(shared, now) {
            Ok(false) => Ok(()),
            Ok(true) => Err(file.is_gone(cut_off(before, now))),
            Err(trouble) => {
                // So that the next look detects the shorter file again.
                file.was_longer(before);
                tracing::warn!(error = %trouble.at(&file.path), "a store that has become shorter cannot be looked at");
                Ok(())
            }
        }
    }

    /// Whether a file of this length, which was longer, lacks some of its pages. It also becomes shorter when a
    /// `VACUUM` is copied back from the log, and pages that are still in the log need not be in the file.
    fn is_cut_off(&self, shared: &Shared, length: u64) -> Result<bool, Trouble> {
        match check::wanted_length(&self.connection) {
            Ok(wanted) if wanted <= length => return Ok(false),
            Err(trouble) if !trouble.is_damage() => return Err(trouble),
            Ok(_) | Err(_) => {}
        }
        Self::lacks_pages(shared)
    }

    /// Reads by a connection of its own: that of the writer still has pages in its cache.
    fn lacks_pages(shared: &Shared) -> Result<bool, Trouble> {
        let whole = open::reader(&shared.file.path, &shared.settings).map_err(Trouble::from);
        match whole.and_then(|connection| check::structure(&connection)) {
            Ok(()) => Ok(false),
            Err(trouble) if trouble.is_damage() => Ok(true),
            Err(trouble) => Err(trouble),
        }
    }

    fn execute(&self, statement: &str) -> Result<(), Trouble> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

fn cut_off(before: u64, now: u64) -> String {
    format!("was cut off, from {before} to {now} bytes,")
}

/// Whether other tasks can run while this one blocks.
fn others_go_on() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
