//! Values as they are recorded: JSON from which each is read back exactly.
//!
//! Ordinary values look as serde_json writes them. Values that plain JSON would merge with others, or cannot write, are
//! marked by an object with one key that begins with `$graphweft:`:
//!
//! | value | as it is recorded |
//! | --- | --- |
//! | `Some(x)`, where `x` is written as `null`, or is marked as `some` itself | `{"$graphweft:some": x}` |
//! | NaN and infinities | `{"$graphweft:float": "NaN"}`, `"inf"`, `"-inf"`; a NaN of other bits as `"NaN:7ff8000000000001"` |
//! | integers beyond 64 bits | `{"$graphweft:integer": "170141183460469231731687303715884105727"}` |
//! | maps with keys that are no text in JSON, or occur twice; with numbers or booleans for keys, where serde would read their text as a text (`tag`, `untagged`, `flatten`) | `{"$graphweft:map": [[key, value], ..]}` |
//!
//! A key of the user's that begins with `$graphweft:`, or with more `$` before that, gets one more `$`.

mod decode;
mod encode;
mod form;
mod loss;
mod place;
#[cfg(test)]
mod tests;

use std::mem::ManuallyDrop;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

pub(crate) use encode::Unrecordable;
use encode::{Encoded, Form};
pub use form::{MAX_DEPTH, MaxSize};
pub(crate) use form::{first_difference, is_marked};
pub(crate) use loss::{Against, Loss, differ_in_order, has_fields, loss, shortened};

use crate::field::Unreadable;

/// A value as it is recorded, in a form that its type reads: of several in one that a reducer merges others into.
///
/// # Errors
/// If there is none.
pub(crate) fn encode<T: Serialize + DeserializeOwned>(value: &T, max: MaxSize) -> Result<Json, Unrecordable> {
    encode_in(value, max, &[Form::ExactKeysInside, Form::ExactKeys])
}

/// A value as it is recorded, in a form that its type reads, and that a reducer merges into others of it.
///
/// # Errors
/// If there is none.
pub(crate) fn encode_merged<T: Serialize + DeserializeOwned>(value: &T, max: MaxSize) -> Result<Json, Unrecordable> {
    encode_in(value, max, &[Form::ExactKeysInside])
}

/// In the first of these forms that its type reads, if it may not read the shortest one.
fn encode_in<T: Serialize + DeserializeOwned>(value: &T, max: MaxSize, forms: &[Form]) -> Result<Json, Unrecordable> {
    let Encoded { mut json, is_doubtful } = encode::encode(value, max, Form::Exact)?;
    if !is_doubtful {
        return Ok(json);
    }
    let mut is_read = decode::<T>(&json).map(drop);
    for form in forms {
        if is_read.is_ok() {
            break;
        }
        json = encode::encode(value, max, *form)?.json;
        is_read = decode::<T>(&json).map(drop);
    }
    is_read.map(|()| json).map_err(Unrecordable::not_read_back)
}

/// An error as it is recorded, whose type is not the one that reads it.
pub(crate) fn encode_part<T: Serialize + ?Sized>(value: &T, max: MaxSize) -> Result<Json, Unrecordable> {
    encode::encode(value, max, Form::Exact).map(|encoded| encoded.json)
}

/// An error that [`encode_part`] has recorded, with its maps in the form for `tag`, `untagged` and `flatten`: all those whose keys may be
/// numbers or booleans. `None` if it has none.
pub(crate) fn with_marked_keys(recorded: &Json) -> Option<Json> {
    let marked = form::mark_keys(recorded);
    (marked != *recorded).then_some(marked)
}

/// A value as plain JSON, for readers without its type.
pub(crate) fn to_plain<T: Serialize + ?Sized>(value: &T, max: MaxSize) -> Result<Json, Unrecordable> {
    encode::encode(value, max, Form::Plain).map(|encoded| encoded.json)
}

/// A value from its record.
pub(crate) fn decode<T: DeserializeOwned>(json: &Json) -> Result<T, Unreadable> {
    decode::read(json, true)
}

/// A record as plain JSON, for a reader that does not have its type. A value that plain JSON cannot express becomes the closest one
/// that it can: an integer beyond 64 bits the text of its digits, NaN and infinities `null`, and a map whose keys are no texts the
/// list of its entries.
pub(crate) fn decode_untyped(json: &Json) -> Result<Json, Unreadable> {
    decode::read_untyped(json)
}

/// A value from plain JSON, as it comes from outside.
pub(crate) fn from_plain<T: DeserializeOwned>(json: &Json) -> Result<T, Unreadable> {
    decode::read(json, false)
}

/// Checks that JSON from outside is not too deep for recursive functions, and may be recorded.
///
/// # Errors
/// The problem. The JSON is dropped here, level by level.
pub(crate) fn check_json(json: Json, max: MaxSize) -> Result<Json, Unrecordable> {
    let (mut level, mut next): (Vec<&Json>, Vec<&Json>) = (vec![&json], Vec::new());
    let mut size = 0_usize;
    for _ in 0..=MAX_DEPTH {
        for value in level.drain(..) {
            size += match value {
                Json::Null | Json::Bool(_) => 5,
                Json::Number(_) => 8,
                Json::String(text) => text.len() + 3,
                Json::Array(_) => 2,
                Json::Object(map) => map.keys().map(|key| key.len() + 3).sum::<usize>() + 2,
            };
            match value {
                Json::Array(items) => next.extend(items),
                Json::Object(map) => next.extend(map.values()),
                _ => {}
            }
        }
        if next.is_empty() {
            if size > max.0 {
                return Err(Unrecordable::of_size(size, max));
            }
            return Ok(json);
        }
        std::mem::swap(&mut level, &mut next);
    }
    drop((level, next));
    take_apart(json);
    Err(Unrecordable::too_deep())
}

/// Drops a value that cannot be recorded. It may be nested too deep, and its type may drop it level by level: it gets a
/// stack of its own, that of a thread. If there is none, the value is leaked, since a stack that overflows ends the process.
pub(crate) fn drop_refused<T: Send>(value: T) {
    let value = ManuallyDrop::new(value);
    let dropped = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("graphweft-drop".to_owned()).stack_size(DROP_STACK);
        thread
            .spawn_scoped(scope, || drop(ManuallyDrop::into_inner(value)))
            .is_ok_and(|dropping| dropping.join().is_ok())
    });
    if !dropped {
        tracing::warn!(of = std::any::type_name::<T>(), "a value that was refused could not be dropped");
    }
}

/// Drops a value that cannot be recorded and may have to stay in this thread. What is nested too deep is leaked.
pub(crate) fn drop_here<T>(value: T, why: &Unrecordable) {
    if why.is_too_deep() {
        std::mem::forget(value);
    }
}

/// The stack in bytes, of which only the used part takes memory: enough for a million levels.
const DROP_STACK: usize = if cfg!(target_pointer_width = "64") { 512 << 20 } else { 64 << 20 };

/// Drops JSON of any depth.
fn take_apart(json: Json) {
    let mut left = vec![json];
    while let Some(json) = left.pop() {
        match json {
            Json::Array(items) => left.extend(items),
            Json::Object(map) => left.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}
