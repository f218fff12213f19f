//! Notices that a file is a copy of another one: a backup that was restored, or one that was moved to another disk.
//!
//! What was recorded after it was copied is not in it, and would have its positions given to other records. Who follows the
//! feed of all runs may have read up to any of those, and would pass over what is recorded there now. So a copy gives
//! positions behind all that the original can have given.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::times::to_integer;
use super::trouble::{Trouble, is_written};
use super::write_transaction::{Journals, WriteTransaction};

/// A copy begins at so many positions for each second since 1970, and so each of several copies behind those before it: more than
/// any file gives in a second.
const A_SECOND: i64 = 1 << 20;

/// Which file this is, among all that are or were on its disk.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Origin {
    /// Its number on the disk, which may be that of a file which is gone.
    number: i64,
    /// When it was made, in nanoseconds; 0 where that is not kept.
    born: i64,
}

impl Origin {
    fn of(path: &Path) -> io::Result<Origin> {
        let file = path.metadata()?;
        let since = file.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
        Ok(Origin { number: number(&file), born: born.unwrap_or(0) })
    }

    /// Whether this may be the same file. Not every kernel says when it was made.
    fn may_be(self, other: Origin) -> bool {
        self.number == other.number && (self.born == other.born || self.born == 0 || other.born == 0)
    }

    /// The one that is written in a file.
    fn written(connection: &Connection) -> Result<Option<Origin>, Trouble> {
        let mut select = connection.prepare(
            "SELECT number, (SELECT number FROM numbers WHERE name = 'born') FROM numbers WHERE name = 'inode'",
        )?;
        let written = select.query_row([], |row| Ok(Origin { number: row.get(0)?, born: row.get(1)? }));
        Ok(written.optional()?)
    }

    fn write(self, transaction: &Connection) -> Result<(), Trouble> {
        for (name, number) in [("inode", self.number), ("born", self.born)] {
            let written = transaction.execute(
                "INSERT INTO numbers (name, number) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET number = excluded.number",
                (name, number),
            )?;
            is_written(written, "numbers")?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn number(file: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;

    file.ino().cast_signed()
}

#[cfg(not(unix))]
fn number(_file: &Metadata) -> i64 {
    0
}

/// Has a copy give positions of its own. A file of which that is not possible is used as it is.
pub(super) fn look(connection: &Connection, path: &Path) {
    let looked = Origin::of(path).map_err(Trouble::from).and_then(|here| leave_out_positions(connection, here));
    match looked {
        Ok(false) => {}
        Ok(true) => {
            tracing::info!(path = %path.display(), "this file of runs is a copy: its feed continues at other places")
        }
        Err(trouble) => {
            let error = trouble.at(path);
            tracing::warn!(%error, "it is not known whether this file of runs is a copy: its feed may give places again");
        }
    }
}

/// Returns whether it did.
fn leave_out_positions(connection: &Connection, here: Origin) -> Result<bool, Trouble> {
    if Origin::written(connection)?.is_some_and(|written| written.may_be(here)) {
        return Ok(false);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Others may have opened it at the same time.
    let written = Origin::written(connection)?;
    let is_copy = written.is_some_and(|written| !written.may_be(here));
    if is_copy {
        WriteTransaction::within(&transaction, &mut Journals::default(), |transaction| {
            transaction.move_log()?;
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            transaction.leave_out(to_integer(since.as_secs()).saturating_mul(A_SECOND))
        })?;
    }
    here.write(&transaction)?;
    transaction.commit()?;
    Ok(is_copy)
}
