//! Rows of records, and the batches in them.
//!
//! A batch is what one append has added to one run, or a part of that if it is long: consecutive records, at one position in
//! the order of all commits. A row whose body begins with `["` is one batch, as [`codec`](super::codec) encodes it. A body
//! that begins with `*` has several: an index of them, which ends with `:`, and behind it their bodies, one after the other.
//!
//! ```text
//!   *0,17,0,2,63,-1022;2,5,40,2,58,9177;:["a",{"c":{..}},"b",{"b":{}}]["b",{"c":{..}},"c",{"b":{}}]
//!    │ │  │ │ │  │
//!    │ │  │ │ │  checksum, over the batch alone
//!    │ │  │ │ bytes of its body; 0 if it is large, and has a row of its own in the journal
//!    │ │  │ records
//!    │ │  milliseconds after the batch before it; of the first one, after the time of the row
//!    │ positions after the batch before it; of the first one, its position
//!    how far its id is behind the end of the batch before it; of the first one, behind the id of the row
//! ```
//!
//! The checksum of such a row is over its columns and its index, so that a damaged body is that of one batch.

use rusqlite::Row;
use rusqlite::types::{ToSql, ToSqlOutput, Type, ValueRef};

use super::seal;
use super::times::to_integer;
use super::trouble::Trouble;

/// What a body with several batches begins with, and what its index ends with.
const SEVERAL: u8 = b'*';
const END: u8 = b':';

/// What the body of one batch begins with: a list, and in it a path. Nothing else is taken for one: if this is damage to a
/// row of several, all but the first would be lost without a word.
const ONE: &[u8] = b"[\"";

/// How many batches the row of a commit has room for, and the bytes that most of them take.
const ROOM: usize = 16;
const ENTRY: usize = 48;
const BODY: usize = 192;

/// A body of which nothing is left, so that its batch is not taken for a large one.
const CUT_OFF: &[u8] = b" ";

/// A row of records as it is in the file: the columns of a batch, of one or of all that are in it.
#[derive(Clone, Copy)]
pub(super) struct RecordRow<'r>(Batch<'r>);

impl<'r> RecordRow<'r> {
    /// Of columns in the order of the fields.
    pub(super) fn read(row: &'r Row<'_>) -> Result<Self, Trouble> {
        let ValueRef::Text(body) = row.get_ref(5)? else {
            return Err(rusqlite::Error::InvalidColumnType(5, "body".to_owned(), Type::Text).into());
        };
        Ok(RecordRow(Batch {
            id: row.get(0)?,
            position: row.get(1)?,
            time: row.get(2)?,
            records: row.get(3)?,
            checksum: row.get(4)?,
            body,
        }))
    }

    /// Its batches, in order. `None` if it has several, and it cannot be known which.
    pub(super) fn batches(self) -> Option<Batches<'r>> {
        let Batch { id, position, time, records, checksum, body } = self.0;
        if body.is_empty() || body.starts_with(ONE) {
            let only = Some(self.0);
            return Some(Batches { only, index: &[], bodies: &[], id, position, time });
        }
        if body.first() != Some(&SEVERAL) {
            return None;
        }
        let end = body.iter().position(|byte| *byte == END)?;
        let (index, bodies) = body.split_at(end + 1);
        let is_sound = checksum == seal::of_records(id, position, time, records, index);
        is_sound.then_some(Batches { only: None, index: &index[1..], bodies, id, position: 0, time })
    }

    /// The row as one batch. If it has several, that does not match its checksum.
    pub(super) fn whole(self) -> Batch<'r> {
        self.0
    }
}

/// Some consecutive records of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch<'r> {
    pub(super) id: i64,
    pub(super) position: i64,
    pub(super) time: i64,
    pub(super) records: i64,
    pub(super) checksum: i64,
    /// Empty if it is large, and this is its place in the order of the commits.
    pub(super) body: &'r [u8],
}

impl<'r> Batch<'r> {
    /// Whether it matches its checksum.
    pub(super) fn is_sound(&self) -> bool {
        self.checksum == seal::of_records(self.id, self.position, self.time, self.records, self.body)
    }

    /// Whether its body is in a row of its own, in the journal.
    pub(super) fn is_large(&self) -> bool {
        self.body.is_empty()
    }

    /// The row of this batch alone.
    pub(super) fn row(self) -> RecordRow<'r> {
        RecordRow(self)
    }

    /// The id of the batch behind it.
    pub(super) fn end(&self) -> i64 {
        self.id.saturating_add(self.records)
    }
}

/// The batches of a row.
pub(super) struct Batches<'r> {
    only: Option<Batch<'r>>,
    index: &'r [u8],
    bodies: &'r [u8],
    id: i64,
    position: i64,
    time: i64,
}

impl<'r> Iterator for Batches<'r> {
    type Item = Batch<'r>;

    fn next(&mut self) -> Option<Batch<'r>> {
        if let Some(only) = self.only.take() {
            return Some(only);
        }
        let [id, position, time, records, bytes, checksum] = self.entry()?;
        // The index matches its checksum: what is not there was cut off, and the checksum of the batch shows it.
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let (body, bodies) = self.bodies.split_at(bytes.min(self.bodies.len()));
        let body = if body.is_empty() && bytes > 0 { CUT_OFF } else { body };
        self.bodies = bodies;
        // They wrap around in damaged rows, as they did when the index was made.
        self.id = self.id.wrapping_add(id);
        self.position = self.position.wrapping_add(position);
        self.time = self.time.wrapping_add(time);
        let batch = Batch { id: self.id, position: self.position, time: self.time, records, checksum, body };
        self.id = batch.end();
        Some(batch)
    }
}

impl Batches<'_> {
    /// The next entry of the index.
    fn entry(&mut self) -> Option<[i64; 6]> {
        let mut entry = [0; 6];
        for (at, number) in entry.iter_mut().enumerate() {
            *number = self.number(if at == 5 { b';' } else { b',' })?;
        }
        Some(entry)
    }

    /// The next number of the index, and what is behind it.
    fn number(&mut self, behind: u8) -> Option<i64> {
        let is_negative = self.index.first() == Some(&b'-');
        let mut number = 0_i64;
        for (at, byte) in self.index.iter().enumerate().skip(usize::from(is_negative)) {
            if *byte == behind {
                self.index = &self.index[at + 1..];
                return Some(number);
            }
            let digit = i64::from(char::from(*byte).to_digit(10)?);
            // Below zero, where the least number is too.
            let digit = if is_negative { -digit } else { digit };
            number = number.checked_mul(10)?.checked_add(digit)?;
        }
        None
    }
}

/// A row that is to be added, of one batch or several.
#[derive(Default)]
pub(super) struct NewRow {
    /// How many batches it makes room for with the first one.
    room: usize,
    first: Option<First>,
    index: String,
    bodies: Vec<u8>,
    /// The id and the time behind the last batch.
    end: i64,
    time: i64,
    position: i64,
    records: i64,
    batches: usize,
}

/// The first batch of a row.
#[derive(Clone, Copy)]
struct First {
    id: i64,
    time: i64,
    checksum: i64,
}

impl NewRow {
    /// One for what is committed together.
    pub(super) fn of_commit() -> Self {
        NewRow { room: ROOM, ..NewRow::default() }
    }

    pub(super) fn push(&mut self, batch: &Batch<'_>) {
        let Batch { id, position, time, records, checksum, body } = *batch;
        if self.first.is_none() {
            self.first = Some(First { id, time, checksum });
            (self.end, self.time) = (id, time);
            self.index.reserve(self.room * ENTRY);
            self.bodies.reserve(self.room * (ENTRY + BODY));
            self.index.push(char::from(SEVERAL));
        }
        let (behind, later) = (id.wrapping_sub(self.end), time.wrapping_sub(self.time));
        let (after, bytes) = (position.wrapping_sub(self.position), body.len());
        let mut digits = itoa::Buffer::new();
        for number in [behind, after, later, records, to_integer(bytes as u64), checksum] {
            self.index.push_str(digits.format(number));
            self.index.push(',');
        }
        self.index.pop();
        self.index.push(';');
        self.bodies.extend_from_slice(body);
        (self.end, self.time, self.position) = (batch.end(), time, position);
        self.records = self.records.saturating_add(records);
        self.batches += 1;
    }

    /// The id of the first batch.
    pub(super) fn id(&self) -> i64 {
        self.first.map_or(0, |first| first.id)
    }

    /// How long it is with what it has.
    pub(super) fn bytes(&self) -> usize {
        self.index.len() + self.bodies.len()
    }

    /// The id of the batch that would follow it in its run.
    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// The position of the last batch.
    pub(super) fn last_position(&self) -> i64 {
        self.position
    }

    /// The row. `None` if it has no batch. At the position of its last batch, or at a later one with its index, so that the
    /// batches keep their own.
    pub(super) fn row_at(&mut self, position: i64) -> Option<RecordRow<'_>> {
        let First { id, time, checksum } = self.first?;
        let records = self.records;
        if self.batches == 1 && position == self.position {
            return Some(Batch { id, position, time, records, checksum, body: &self.bodies }.row());
        }
        self.index.push(char::from(END));
        let checksum = seal::of_records(id, position, time, records, self.index.as_bytes());
        let (index, bodies) = (self.index.len(), self.bodies.len());
        self.bodies.resize(index + bodies, 0);
        self.bodies.copy_within(..bodies, index);
        self.bodies[..index].copy_from_slice(self.index.as_bytes());
        Some(Batch { id, position, time, records, checksum, body: &self.bodies }.row())
    }
}

/// A body as SQLite takes it. It is UTF-8 where it is not damaged.
pub(super) struct Text<'b>(pub(super) &'b [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(id: i64, position: i64, time: i64, records: i64, body: &[u8]) -> Batch<'_> {
        Batch { id, position, time, records, checksum: seal::of_records(id, position, time, records, body), body }
    }

    fn row_of(batches: &[Batch<'_>]) -> NewRow {
        let mut row = NewRow::default();
        batches.iter().for_each(|batch| row.push(batch));
        row
    }

    fn batches_of(row: RecordRow<'_>) -> Vec<Batch<'_>> {
        row.batches().expect("its index is whole").collect()
    }

    /// Also those that only damage can have made: their checksums show it, and not a panic.
    #[test]
    fn a_row_has_the_batches_that_were_put_into_it() {
        let (most, least) = (i64::MAX, i64::MIN);
        let batches = [
            batch(7 << 31, 5, 1_700_000_000_000, 2, br#"["a",{"c":{}},"b",{"b":{}}]"#),
            batch((7 << 31) + 2, 6, 1_700_000_000_003, 1, b"[\"\xff;,\"]"),
            batch(3, 9, 1_600_000_000_000, 1, b""),
            batch(most, least, most, most, b"[\"1\"]"),
            batch(least, most, least, least, b"*2]"),
            batch(0, 0, 0, 0, b"["),
        ];
        for n in 1..=batches.len() {
            let position = batches[n - 1].position;
            for at in [position, 77] {
                let mut row = row_of(&batches[..n]);
                let row = row.row_at(at).expect("it has some");
                assert_eq!(
                    (row.whole().id, row.whole().position, batches_of(row)),
                    (batches[0].id, at, batches[..n].to_vec())
                );
                assert!(batches_of(row).iter().all(Batch::is_sound));
                assert_eq!(row.whole().body[0] == SEVERAL, n > 1 || at != position);
            }
        }
        assert!(NewRow::default().row_at(1).is_none());
    }

    #[test]
    fn a_damaged_body_is_that_of_one_batch_and_a_damaged_index_is_noticed() {
        let batches = [batch(1, 5, 40, 2, b"[1,2]"), batch(3, 8, 41, 1, b"[3]"), batch(4, 9, 40, 1, b"[\"4\"]")];
        let mut row = row_of(&batches);
        let row = row.row_at(12).expect("it has some").whole();
        let mut found = 0;
        for at in 0..row.body.len() {
            let mut body = row.body.to_vec();
            body[at] ^= 1;
            let damaged = Batch { body: &body, ..row }.row();
            match damaged.batches() {
                Some(batches) => found += i32::from(batches.filter(|batch| !batch.is_sound()).count() == 1),
                None => assert!(!damaged.whole().is_sound(), "{at}"),
            }
        }
        assert_eq!(found, 13, "those of the bodies");
        // Of a row of one batch too: it cannot be known that it had only one.
        let mut alone = row_of(&batches[2..]);
        let alone = alone.row_at(9).expect("it has one").whole();
        for at in 0..alone.body.len() {
            let mut body = alone.body.to_vec();
            body[at] ^= 1;
            let damaged = Batch { body: &body, ..alone }.row();
            assert_eq!(damaged.batches().is_none(), at < 2);
            assert!(!damaged.whole().is_sound());
        }
        for damaged in
            [Batch { id: 2, ..row }, Batch { position: 13, ..row }, Batch { time: 41, ..row }].map(Batch::row)
        {
            assert!(damaged.batches().is_none() && !damaged.whole().is_sound());
        }
        // The file is cut off inside of the row.
        let cut = Batch { body: &row.body[..row.body.len() - 2], ..row }.row();
        assert_eq!(batches_of(cut).iter().map(Batch::is_sound).collect::<Vec<_>>(), [true, true, false]);
        let cut = Batch { body: &row.body[..row.body.len() - 7], ..row }.row();
        assert!(batches_of(cut).iter().all(|batch| !batch.is_large()));
    }
}
