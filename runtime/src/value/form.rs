//! The marks of values that plain JSON cannot express, and the limits.

use serde_json::{Map, Value as Json};

/// How deep the lists and maps of a value may be nested. With the levels of an event around it, this stays below the
/// 128 levels that readers of JSON accept by default.
pub const MAX_DEPTH: usize = 100;

/// How many lists, maps, options and newtypes a value may have around one of its parts.
pub(super) const MAX_CALLS: usize = 4 * MAX_DEPTH;

pub(super) const MARK: &str = "$graphweft:";
pub(super) const SOME: &str = "$graphweft:some";
pub(super) const FLOAT: &str = "$graphweft:float";
pub(super) const INTEGER: &str = "$graphweft:integer";
pub(super) const MAP: &str = "$graphweft:map";

/// How large a recorded value may be: about the bytes of its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxSize(pub(crate) usize);

impl MaxSize {
    /// No limit, for values that are not recorded.
    pub(crate) const NONE: MaxSize = MaxSize(usize::MAX);
    /// 64 MiB.
    pub const DEFAULT: MaxSize = MaxSize(64 << 20);

    /// In bytes.
    #[doc(hidden)]
    pub fn bytes(self) -> usize {
        self.0
    }
}

/// Whether an object is the mark of a value that plain JSON cannot express.
pub(crate) fn is_marked(map: &Map<String, Json>) -> bool {
    mark_of(map).is_some()
}

/// The mark, and the marked value.
pub(super) fn mark_of(map: &Map<String, Json>) -> Option<(&str, &Json)> {
    let (key, value) = map.iter().next().filter(|_| map.len() == 1)?;
    key.starts_with(MARK).then_some((key.as_str(), value))
}

/// The same value, in which each map whose keys all are the texts of numbers or of booleans is marked.
pub(super) fn mark_keys(json: &Json) -> Json {
    match json {
        Json::Array(items) => items.iter().map(mark_keys).collect(),
        Json::Object(fields) => {
            let keys: Option<Vec<Json>> = fields.keys().map(|key| number_or_bool(key)).collect();
            let values = fields.values().map(mark_keys);
            match keys.filter(|keys| !keys.is_empty()) {
                Some(keys) => {
                    let entries: Json =
                        keys.into_iter().zip(values).map(|(key, value)| Json::Array(vec![key, value])).collect();
                    Json::Object(Map::from_iter([(MAP.to_owned(), entries)]))
                }
                None => Json::Object(fields.keys().cloned().zip(values).collect()),
            }
        }
        scalar => scalar.clone(),
    }
}

/// The number or boolean that is written so as a key.
fn number_or_bool(key: &str) -> Option<Json> {
    let json: Json = serde_json::from_str(key).ok()?;
    let written = json.to_string();
    (matches!(json, Json::Number(_) | Json::Bool(_)) && written == key).then_some(json)
}

/// Whether a key could be mistaken for a mark, or for an escaped one.
pub(super) fn resembles_mark(key: &str) -> bool {
    key.starts_with('$') && key.trim_start_matches('$').starts_with(&MARK[1..])
}

/// A step on the way to a part of a value.
#[derive(Debug)]
pub(super) enum Part {
    Field(String),
    Item(usize),
}

/// The way to a part, as in `items[0].name`; `.` is the whole.
pub(super) fn written<'p>(way: impl Iterator<Item = &'p Part>) -> String {
    let mut field = String::new();
    for part in way {
        match part {
            Part::Item(item) => field.push_str(&format!("[{item}]")),
            Part::Field(name) if field.is_empty() => field.push_str(name),
            Part::Field(name) => field.push_str(&format!(".{name}")),
        }
    }
    if field.is_empty() { ".".to_owned() } else { field }
}

/// The first part in which two values differ.
pub(crate) fn first_difference(a: &Json, b: &Json) -> Option<String> {
    let mut way = Vec::new();
    find_difference(a, b, &mut way).then(|| written(way.iter()))
}

fn find_difference(a: &Json, b: &Json, way: &mut Vec<Part>) -> bool {
    let mut is_within = |part: Part, a: &Json, b: &Json| {
        way.push(part);
        let differs = find_difference(a, b, way);
        if !differs {
            way.pop();
        }
        differs
    };
    match (a, b) {
        (Json::Object(a), Json::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().zip(b.values()).any(|((key, a), b)| is_within(Part::Field(key.clone()), a, b))
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().any(|(item, (a, b))| is_within(Part::Item(item), a, b))
        }
        _ => a != b,
    }
}
