//! Values of all kinds as they are recorded: each is read back as it was, and no JSON breaks what reads it.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use graphweft::prelude::*;
use graphweft::{__::MaxSize, Json, Payload};

/// What plain JSON merges or cannot write, among what it can.
#[value]
enum Part {
    Unit,
    Float(f64),
    Narrow(f32),
    Large(u128),
    Low(i128),
    Nested(Option<Option<Option<()>>>),
    Json(Option<Json>),
    List(Vec<Part>),
    Named { next: Option<Box<Part>>, name: Option<Option<String>> },
    Cells(BTreeMap<(u8, Option<bool>), Option<Part>>),
    Numbers(BTreeMap<i128, Part>),
    Texts(BTreeMap<String, Part>),
}

/// Bytes that a value is made of; or JSON, as somebody might write into a file.
pub fn values(data: &[u8]) {
    if let Ok(json) = serde_json::from_slice::<Json>(data) {
        reads(&json);
    }
    let mut bytes = Unstructured::new(data);
    while let (false, Ok(part)) = (bytes.is_empty(), part(&mut bytes, 5)) {
        let recorded = part.__to_json(MaxSize::DEFAULT).expect("it can be recorded");
        let text = serde_json::to_string(&recorded).expect("JSON");
        let read: Json = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, recorded, "{text}");
        let part = Part::__from_json(&read).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(part.__to_json(MaxSize::DEFAULT).expect("it can be recorded"), recorded);
        reads(&recorded);
    }
}

/// What can be read of some JSON is a value like any other.
fn reads(json: &Json) {
    if let Ok(part) = Part::__from_json(json) {
        let recorded = part.__to_json(MaxSize::DEFAULT).expect("it can be recorded");
        assert!(Part::__from_json(&recorded).is_ok(), "{recorded}");
    }
    let _refused = Part::__from_plain(json).map(drop);
    let _refused = <Vec<Option<Json>>>::__from_json(json).map(drop);
    if let Ok(json) = Json::__from_json(json) {
        let recorded = json.__to_json(MaxSize::DEFAULT).expect("it can be recorded");
        assert_eq!(Json::__from_json(&recorded).expect("JSON is of any kind"), json);
    }
}

fn part(bytes: &mut Unstructured<'_>, deep: usize) -> Result<Part> {
    Ok(match bytes.int_in_range(0..=if deep == 0 { 6 } else { 11u8 })? {
        0 => Part::Unit,
        1 => Part::Float(f64::from_bits(bytes.arbitrary()?)),
        2 => Part::Narrow(f32::from_bits(bytes.arbitrary()?)),
        3 => Part::Large(bytes.arbitrary()?),
        4 => Part::Low(bytes.arbitrary()?),
        5 => Part::Nested(*bytes.choose(&[None, Some(None), Some(Some(None)), Some(Some(Some(())))])?),
        6 => Part::Json(if bytes.arbitrary()? { Some(json(bytes, 3)?) } else { None }),
        7 => Part::List(some(bytes, |bytes| part(bytes, deep - 1))?),
        8 => Part::Named {
            next: if bytes.arbitrary()? { Some(Box::new(part(bytes, deep - 1)?)) } else { None },
            name: bytes.choose(&[None, Some(None), Some(Some(String::new()))])?.clone(),
        },
        9 => Part::Cells(some(bytes, |bytes| {
            let value = if bytes.arbitrary()? { Some(part(bytes, deep - 1)?) } else { None };
            Ok((bytes.arbitrary()?, value))
        })?),
        10 => Part::Numbers(some(bytes, |bytes| Ok((bytes.arbitrary()?, part(bytes, deep - 1)?)))?),
        _ => Part::Texts(some(bytes, |bytes| Ok((key(bytes)?, part(bytes, deep - 1)?)))?),
    })
}

fn some<T, C: FromIterator<T>>(
    bytes: &mut Unstructured<'_>,
    mut item: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<C> {
    (0..bytes.int_in_range(0..=3u8)?).map(|_| item(bytes)).collect()
}

/// A key, which may look like a mark.
fn key(bytes: &mut Unstructured<'_>) -> Result<String> {
    let marks = ["$graphweft:some", "$graphweft:float", "$$graphweft:map", "$graphweft:", "$", "a", ""];
    Ok(if bytes.arbitrary()? { (*bytes.choose(&marks)?).to_owned() } else { bytes.arbitrary()? })
}

fn json(bytes: &mut Unstructured<'_>, deep: usize) -> Result<Json> {
    Ok(match bytes.int_in_range(0..=if deep == 0 { 3 } else { 5u8 })? {
        0 => Json::Null,
        1 => Json::from(bytes.arbitrary::<i64>()?),
        2 => Json::from(bytes.arbitrary::<f64>()?),
        3 => Json::from(key(bytes)?),
        4 => Json::Array(some(bytes, |bytes| json(bytes, deep - 1))?),
        _ => Json::Object(some(bytes, |bytes| Ok((key(bytes)?, json(bytes, deep - 1)?)))?),
    })
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    #[test]
    fn random_values_are_read_back() {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        for seed in 0..3_000_u64 {
            let bytes: Vec<u8> = (0..24_u64).flat_map(|at| hasher.hash_one((seed, at)).to_le_bytes()).collect();
            super::values(&bytes);
        }
    }
}
