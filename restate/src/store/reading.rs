//! Reads the values of objects by SQL: of a few one by one, of many together.

use std::collections::HashMap;
use std::iter::Peekable;

use bytes::Bytes;
use graphweft::Json;
use graphweft::store::StoreError;

use super::{Address, Inner, Seen, failed, unreadable};
use crate::admin::quoted;
use crate::client::path_of;
use crate::http_client::{DoneBy, Request};
use crate::manifest::EXPORT;
use crate::object::{self, Object, Parsed};

/// How many objects are read one by one at most.
const FEW: usize = 8;

/// How many objects are read together at most, and how many of their records.
const TOGETHER: (usize, u64) = (256, 10_000);

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
}

impl<'a> Wanted<'a> {
    pub(super) fn new(address: &'a Address, seen: &'a Seen, from: u64) -> Self {
        let records = object::number_of(&seen.0).unwrap_or_default().saturating_sub(from) + 1;
        Wanted { address, seen, from, records }
    }

    /// As many as are read together, at least one.
    pub(super) fn some_of(wanted: &mut Peekable<impl Iterator<Item = Wanted<'a>>>) -> Vec<Self> {
        let (mut some, mut records) = (Vec::new(), 0);
        while some.len() < TOGETHER.0
            && let Some(next) = wanted.next_if(|next| some.is_empty() || records + next.records <= TOGETHER.1)
        {
            records += next.records;
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
        let (records, graphs) = (object::RECORDS, object::GRAPHS);
        let row = |wanted: &Wanted<'_>| {
            let (service, id) = wanted.address;
            format!("('{}', '{}', '{}')", quoted(service), quoted(id), object::key_of(wanted.from))
        };
        let sql = format!(
            "select service_name, service_key, key, value_utf8 from state join (values {}) as wanted(service, id, first_key) \
             on service_name = service and service_key = id where service_key in ({}) \
             and ((key like '{records}%' and key >= first_key) or key like '{graphs}%')",
            wanted.iter().map(row).collect::<Vec<_>>().join(", "),
            wanted.iter().map(|wanted| format!("'{}'", quoted(&wanted.address.1))).collect::<Vec<_>>().join(", ")
        );
        match self.admin.query(&sql).await {
            Ok(rows) => {
                for row in &rows {
                    let address = (text(row, "service_name"), text(row, "service_key"));
                    let state: &mut State = states.entry(address).or_default();
                    state.push((text(row, "key"), text(row, "value_utf8").into()));
                }
            }
            Err(error) => tracing::debug!(%error, "runs on Restate are read one by one"),
        }
        states
    }

    /// The graphs of an object, and its batches from a record on.
    pub(super) async fn batches(&self, wanted: &Wanted<'_>, state: Option<State>) -> Result<Parsed, StoreError> {
        let Wanted { address: (service, id), from, .. } = *wanted;
        let mut state = match state {
            Some(state) => state,
            None => self.state(wanted).await?,
        };
        let is_in_parts = |(key, value): &(String, Bytes)| !matches!(object::parts_of(key, value), Ok(None));
        if state.iter().any(is_in_parts) {
            // Parts are no texts: a worker puts them together.
            let path = path_of(service, id, EXPORT);
            let request = Request { path: &path, body: None, idempotency_key: None, done_by: DoneBy::Worker };
            let exported = self.ingress.post(request).await.map_err(|error| failed(&error))?;
            state = Object::imported(exported.to_string().as_bytes()).map_err(|error| unreadable(id, error))?;
        }
        Object::parse(state, from).map_err(|(key, message)| unreadable(id, format!("`{key}`: {message}")))
    }

    /// The values of one object with its graphs, and its batches from a record on.
    async fn state(&self, wanted: &Wanted<'_>) -> Result<State, StoreError> {
        let (service, id) = wanted.address;
        let (records, graphs) = (object::RECORDS, object::GRAPHS);
        let sql = format!(
            "select key, value_utf8 from state where service_name = '{}' and service_key = '{}' \
             and ((key like '{records}%' and key >= '{}') or key like '{graphs}%')",
            quoted(service),
            quoted(id),
            object::key_of(wanted.from)
        );
        let rows = self.admin.query(&sql).await.map_err(|error| failed(&error))?;
        Ok(rows.iter().map(|row| (text(row, "key"), text(row, "value_utf8").into())).collect())
    }
}

/// A text of a row.
fn text(row: &Json, column: &str) -> String {
    row[column].as_str().map(str::to_owned).unwrap_or_default()
}
