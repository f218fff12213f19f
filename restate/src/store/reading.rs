//! Reads the values of objects by SQL: of a few one by one, of many together.

use std::collections::HashMap;
use std::iter::Peekable;

use bytes::Bytes;
use graphweft::Json;
use graphweft::store::StoreError;

use super::{Address, Inner, Seen, failed, unreadable};
use crate::admin::quoted;
use crate::error::ClientError;
use crate::object::{self, Object, Parsed};

/// How many objects are read one by one at most.
const FEW: usize = 8;

/// How many objects are read together at most, and how many of their records.
const TOGETHER: (usize, u64) = (256, 10_000);

/// About how many bytes of values one query brings. Messages between servers may have 32 MiB.
const PAGE: u64 = 16 << 20;

/// Values of an object by their keys.
pub(super) type State = Vec<(String, Bytes)>;

/// What is to be read of an object.
pub(super) struct Wanted<'a> {
    pub(super) address: &'a Address,
    pub(super) seen: &'a Seen,
    /// From this record on.
    from: u64,
    /// About so many.
    records: u64,
    /// How many bytes the object has, at most so many of them to be read.
    bytes: u64,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(address: &'a Address, seen: &'a Seen, from: u64, bytes: u64) -> Self {
        let records = object::number_of(&seen.0).unwrap_or_default().saturating_sub(from) + 1;
        Wanted { address, seen, from, records, bytes }
    }

    /// As many as are read together, at least one.
    pub(super) fn some_of(wanted: &mut Peekable<impl Iterator<Item = Wanted<'a>>>) -> Vec<Self> {
        let (mut some, mut records, mut bytes) = (Vec::new(), 0, 0);
        while some.len() < TOGETHER.0
            && let Some(next) = wanted
                .next_if(|next| some.is_empty() || (records + next.records <= TOGETHER.1 && bytes + next.bytes <= PAGE))
        {
            records += next.records;
            bytes += next.bytes;
            some.push(next);
        }
        some
    }
}

impl Inner {
    /// The values of several objects that are read together; none if each is to be read on its own.
    pub(super) async fn states(&self, wanted: &[Wanted<'_>]) -> HashMap<Address, State> {
        let mut states = HashMap::new();
        // One is found by its key. Of many, the server finds all in little more than that takes.
        if wanted.len() <= FEW {
            return states;
        }
        let row = |wanted: &Wanted<'_>| {
            let (service, id) = wanted.address;
            let (key, part) = (object::key_of(wanted.from), object::parts_from(wanted.from));
            format!("('{}', '{}', '{key}', '{part}')", quoted(service), quoted(id))
        };
        let sql = format!(
            "select service_name, service_key, key, {VALUE} from state \
             join (values {}) as wanted(service, id, first_key, first_part) \
             on service_name = service and service_key = id where service_key in ({}) and {}",
            wanted.iter().map(row).collect::<Vec<_>>().join(", "),
            wanted.iter().map(|wanted| format!("'{}'", quoted(&wanted.address.1))).collect::<Vec<_>>().join(", "),
            of_the_run("first_key", "first_part"),
        );
        match self.admin.query(&sql).await {
            Ok(rows) => {
                for row in &rows {
                    let address = (text(row, "service_name"), text(row, "service_key"));
                    states.entry(address).or_insert_with(State::new).push((text(row, "key"), value(row)));
                }
            }
            Err(error) => tracing::debug!(%error, "runs on Restate are read one by one"),
        }
        states
    }

    /// The graphs of an object, and its batches from a record on.
    pub(super) async fn batches(&self, wanted: &Wanted<'_>, state: Option<State>) -> Result<Parsed, StoreError> {
        let id = &wanted.address.1;
        let state = match state {
            Some(state) => state,
            None => self.state(wanted).await.map_err(|error| match failed(&error) {
                StoreError::Other { message } => unreadable(id, message),
                error => error,
            })?,
        };
        Object::parse(state, wanted.from).map_err(|(key, message)| unreadable(id, format!("`{key}`: {message}")))
    }

    /// The values of one object with its graphs, and its batches from a record on. Those of a large one are read in parts.
    async fn state(&self, wanted: &Wanted<'_>) -> Result<State, ClientError> {
        let (service, id) = wanted.address;
        let of_the_run = of_the_run(
            &format!("'{}'", object::key_of(wanted.from)),
            &format!("'{}'", object::parts_from(wanted.from)),
        );
        let of_this =
            format!("service_name = '{}' and service_key = '{}' and {of_the_run}", quoted(service), quoted(id));
        if wanted.bytes <= PAGE {
            return self.values(&of_this).await;
        }
        let sql = format!("select key, {} as bytes from state where {of_this} order by key", size_of_value());
        let sizes = self.admin.query(&sql).await?;
        let sizes = sizes.iter().map(|row| (text(row, "key"), row["bytes"].as_u64().unwrap_or_default()));
        let mut state = State::new();
        for (first, last) in pages(sizes) {
            let page = format!("{of_this} and key >= '{}' and key <= '{}'", quoted(&first), quoted(&last));
            state.extend(self.values(&page).await?);
        }
        Ok(state)
    }

    async fn values(&self, condition: &str) -> Result<State, ClientError> {
        let rows = self.admin.query(&format!("select key, {VALUE} from state where {condition}")).await?;
        Ok(rows.iter().map(|row| (text(row, "key"), value(row))).collect())
    }
}

/// The columns of a value: a part of a batch may end within a letter, and is no text then.
const VALUE: &str = "value_utf8, case when value_utf8 is null then value end as bytes";

/// How many bytes a value has; of one that is no text, how many a part has.
pub(super) fn size_of_value() -> String {
    format!("coalesce(octet_length(value_utf8), {})", object::PART)
}

/// The condition that a value is a graph, or of a batch from a record on.
fn of_the_run(first_key: &str, first_part: &str) -> String {
    let (records, graphs, parts) = (object::RECORDS, object::GRAPHS, object::PARTS);
    format!(
        "((key like '{records}%' and key >= {first_key}) or (key like '{parts}%' and key >= {first_part}) \
         or key like '{graphs}%')"
    )
}

/// The first and the last keys of pages of values, by the keys of all and their sizes in bytes, in order.
fn pages(sizes: impl Iterator<Item = (String, u64)>) -> Vec<(String, String)> {
    let (mut pages, mut bytes) = (Vec::<(String, String)>::new(), 0);
    for (key, size) in sizes {
        bytes += size;
        match pages.last_mut() {
            Some((_, last)) if bytes <= PAGE => *last = key,
            _ => {
                bytes = size;
                pages.push((key.clone(), key));
            }
        }
    }
    pages
}

/// The value of a row: a text, or bytes in hexadecimal.
fn value(row: &Json) -> Bytes {
    match row["bytes"].as_str() {
        Some(hex) => {
            let digits = hex.bytes().filter_map(|digit| char::from(digit).to_digit(16)).collect::<Vec<u32>>();
            digits.chunks_exact(2).filter_map(|byte| u8::try_from(byte[0] * 16 + byte[1]).ok()).collect()
        }
        None => text(row, "value_utf8").into(),
    }
}

/// A text of a row.
fn text(row: &Json, column: &str) -> String {
    row[column].as_str().map(str::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{PAGE, pages, value};

    #[test]
    fn a_page_has_values_as_far_as_they_fit_and_one_at_least() {
        let sizes = [("a", 1), ("b", PAGE - 1), ("c", 1), ("d", PAGE + 1), ("e", 2)];
        let pages = pages(sizes.into_iter().map(|(key, size)| (key.to_owned(), size)));
        let pages: Vec<_> = pages.iter().map(|(first, last)| (&**first, &**last)).collect();
        assert_eq!(pages, [("a", "b"), ("c", "c"), ("d", "d"), ("e", "e")]);
    }

    #[test]
    fn a_value_that_is_no_text_is_read_by_its_bytes() {
        let row = |text: &str| serde_json::from_str(text).unwrap();
        assert_eq!(&*value(&row(r#"{"key": "p/0/0", "bytes": "61c3"}"#)), b"a\xc3");
        assert_eq!(&*value(&row(r#"{"key": "r/0", "value_utf8": "{}", "bytes": null}"#)), b"{}");
    }
}
