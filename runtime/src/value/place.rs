//! Where a part of JSON is.

use serde_json::Value as Json;

use super::form::{MAP, Part, SOME, mark_of, resembles_mark, written};

/// A value that was reached, and how.
struct Reached<'j> {
    json: &'j Json,
    /// In which of those before it is.
    within: usize,
    /// As what. A mark is no step.
    part: Option<Part>,
}

/// The way to a part of `whole`, as in `items[0].name`; `.` is the whole. `exact`: with marks interpreted.
pub(super) fn place(part: &Json, whole: &Json, exact: bool) -> String {
    // Level by level: the JSON may be nested deep.
    let mut reached = vec![Reached { json: whole, within: 0, part: None }];
    let mut at = 0;
    while let Some(Reached { json, .. }) = reached.get(at) {
        let json: &Json = json;
        if std::ptr::eq(json, part) {
            break;
        }
        reach_into(json, at, exact, &mut reached);
        at += 1;
    }
    let mut way = Vec::new();
    while let Some(Reached { within, part, .. }) = reached.get(at).filter(|_| at > 0) {
        way.extend(part);
        at = *within;
    }
    written(way.into_iter().rev())
}

fn reach_into<'j>(json: &'j Json, within: usize, exact: bool, reached: &mut Vec<Reached<'j>>) {
    match json {
        Json::Array(items) => {
            let items = items.iter().enumerate();
            reached.extend(items.map(|(item, json)| Reached { json, within, part: Some(Part::Item(item)) }));
        }
        Json::Object(map) => match mark_of(map).filter(|_| exact) {
            Some((SOME, json)) => reached.push(Reached { json, within, part: None }),
            Some((MAP, Json::Array(entries))) => {
                for entry in entries.iter().filter_map(Json::as_array) {
                    let key = entry.first().map_or_else(String::new, |key| match key {
                        Json::String(text) => text.clone(),
                        key => key.to_string(),
                    });
                    let both = entry.iter();
                    reached.extend(both.map(|json| Reached { json, within, part: Some(Part::Field(key.clone())) }));
                }
            }
            _ => reached.extend(map.iter().map(|(key, json)| {
                let key = if exact && resembles_mark(key) { &key[1..] } else { key };
                Reached { json, within, part: Some(Part::Field(key.to_owned())) }
            })),
        },
        _ => {}
    }
}
