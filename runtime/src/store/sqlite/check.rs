//! Whether a file is whole.
//!
//! What a row says is held against its checksum whenever it is read. What holds the rows together, the pages and the
//! indexes, has no checksums: damage there could hide rows without a word. SQLite finds it by reading everything, which
//! takes some milliseconds for each megabyte. So a small file is checked when it is opened, and a large one when somebody
//! asks for it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::open::beside;
use super::read;
use super::schema;
use super::trouble::Trouble;

/// Files up to this length are checked when they are opened, in bytes.
const SMALL: u64 = 1 << 20;

/// What is looked at whenever a file is opened.
pub(super) fn on_opening(connection: &Connection, path: &Path) -> Result<(), Trouble> {
    schema_is_ours(connection)?;
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    if length(path) + length(&beside(path, "wal")) <= SMALL {
        structure(connection)?;
    }
    Ok(())
}

/// Everything: the structure of the file, and every row.
pub(super) fn whole(connection: &Connection) -> Result<(), Trouble> {
    // All of it as it is at one moment.
    let moment = connection.unchecked_transaction()?;
    schema_is_ours(&moment)?;
    structure(&moment)?;
    read::everything(&moment)
}

/// A changed letter in a statement could give a table another meaning.
fn schema_is_ours(connection: &Connection) -> Result<(), Trouble> {
    let mut select = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let found = select.query_map([], |row| row.get(0))?.collect::<Result<HashSet<String>, _>>()?;
    match schema::statements().find(|statement| !found.contains(*statement)) {
        Some(statement) => {
            let name = statement.split(" (").next().unwrap_or(statement);
            Err(Trouble::Damaged(format!("its schema is not as it was written, at `{name}`")))
        }
        None => Ok(()),
    }
}

fn structure(connection: &Connection) -> Result<(), Trouble> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(Trouble::Damaged(found.replace('\n', ", "))) }
}
