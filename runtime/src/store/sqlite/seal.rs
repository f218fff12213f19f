//! Checksums of rows. SQLite keeps none: without them, a byte that changes on the disk could change a recorded output
//! without any error.
//!
//! They are CRC-32s, which never miss a change within four bytes, and others once in four billion times. The fields
//! that are summed up here, and their order, are part of the format.

use crc32fast::Hasher;

/// Sums up one row. Adjacent fields cannot be mistaken for others: numbers are of one length, and texts begin
/// with theirs.
pub(super) struct Seal(Hasher);

impl Seal {
    /// `table` distinguishes the rows of one table from those of another.
    pub(super) fn of(table: u8) -> Seal {
        let mut hasher = Hasher::new();
        hasher.update(&[table]);
        Seal(hasher)
    }

    pub(super) fn number(mut self, number: i64) -> Seal {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(super) fn text(mut self, text: &[u8]) -> Seal {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    pub(super) fn perhaps<T>(mut self, value: Option<T>, with: impl FnOnce(Seal, T) -> Seal) -> Seal {
        self.0.update(&[u8::from(value.is_some())]);
        match value {
            Some(value) => with(self, value),
            None => self,
        }
    }

    /// The checksum as it is in the file: at most four bytes.
    pub(super) fn finish(self) -> i64 {
        i64::from(self.0.finalize().cast_signed())
    }
}

/// The checksum of a row of records, the same in the commit log and in the journal.
pub(super) fn of_records(id: i64, position: i64, time: i64, records: i64, body: &[u8]) -> i64 {
    Seal::of(b'j').number(id).number(position).number(time).number(records).text(body).finish()
}

/// The checksum of an owner.
pub(super) fn of_owner(id: i64, expires: i64, boot: Option<&str>, workflows: &str) -> i64 {
    let seal = Seal::of(b'o').number(id).number(expires);
    seal.perhaps(boot, |seal, boot| seal.text(boot.as_bytes())).text(workflows.as_bytes()).finish()
}

/// The checksum of a graph.
pub(super) fn of_graph(hash: i64, body: &[u8]) -> i64 {
    Seal::of(b'g').number(hash).text(body).finish()
}
