//! The batches of the commit log as a move is to write them, kept by the writer as they are added: all writes wait for a move, and it would
//! take twice as long if it had to read the log. It has as many bytes as the log may have before it is moved.

use foldhash::HashMap;

use super::batches::{Batch, NewRow};
use super::schema::run_of;
use super::settings::ROW_BYTES;
use super::trouble::Trouble;

/// See the module.
#[derive(Default)]
pub(super) struct Unmoved {
    /// The rows that each run is to get in the journal.
    of_runs: HashMap<i64, Vec<NewRow>>,
    /// How many rows the log has.
    rows_of_log: usize,
    /// The position of a large batch that was damaged when it was read.
    damaged: Option<i64>,
}

impl Unmoved {
    pub(super) fn add(&mut self, batch: &Batch<'_>) {
        if batch.is_large() {
            // It is in the journal, between those before it and those behind it.
            if !batch.is_sound() {
                self.damaged = Some(batch.position);
            }
            return;
        }
        let of_run = self.of_runs.entry(run_of(batch.id)).or_default();
        let follows = |row: &&mut NewRow| row.end() == batch.id && row.bytes() < ROW_BYTES;
        if let Some(row) = of_run.last_mut().filter(follows) {
            return row.push(batch);
        }
        let mut row = NewRow::default();
        row.push(batch);
        of_run.push(row);
    }

    pub(super) fn add_row(&mut self) {
        self.rows_of_log += 1;
    }

    pub(super) fn rows_of_log(&self) -> usize {
        self.rows_of_log
    }

    /// The rows to be written, in the order of the journal.
    ///
    /// # Errors
    /// If a batch is damaged.
    pub(super) fn into_rows(self) -> Result<Vec<NewRow>, Trouble> {
        if let Some(position) = self.damaged {
            let says = format!("the batch at position {position} of its log does not match its checksum");
            return Err(Trouble::Damaged(says));
        }
        let mut rows: Vec<NewRow> = self.of_runs.into_values().flatten().collect();
        rows.sort_unstable_by_key(NewRow::id);
        Ok(rows)
    }
}
