//! Checksums over what a row says. SQLite keeps none: without them a byte that changes on the disk would change what a node
//! has given, and nobody would know.
//!
//! They are CRC-32s, which never miss a change within four bytes, and others once in four billion times. What is summed up
//! here, and in which order, is part of the format.

use crc32fast::Hasher;

/// Sums up one row. Fields that follow each other cannot be taken for others: numbers are of one length, and texts begin
/// with theirs.
pub(super) struct Seal(Hasher);

impl Seal {
    /// `table` keeps the rows of one from being taken for those of another.
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

    /// As it stands in the file: in four bytes at most.
    pub(super) fn finish(self) -> i64 {
        i64::from(self.0.finalize().cast_signed())
    }
}

/// Of a row of the journal.
pub(super) fn of_records(id: i64, time: i64, records: i64, body: &[u8]) -> i64 {
    Seal::of(b'j').number(id).number(time).number(records).text(body).finish()
}

/// Of an owner.
pub(super) fn of_owner(id: i64, expires: i64, boot: Option<&str>, workflows: &str) -> i64 {
    let seal = Seal::of(b'o').number(id).number(expires);
    seal.perhaps(boot, |seal, boot| seal.text(boot.as_bytes())).text(workflows.as_bytes()).finish()
}

/// Of a graph.
pub(super) fn of_graph(hash: i64, body: &[u8]) -> i64 {
    Seal::of(b'g').number(hash).text(body).finish()
}
