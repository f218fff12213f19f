//! The load beside the numbers of a scenario: values that plain JSON would merge with others, or cannot write. Each is
//! a function of its number, so that every node can check the bits that it gets, whatever has died in between.

use std::collections::BTreeMap;

use graphweft_judge::random_graphs::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::value::{self, MaxSize};

/// The fields of a value that carries a load, as it is recorded.
const NUMBER: &str = "number";
const LOAD: &str = "load";

/// A number with its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Carried {
    pub(super) number: u64,
    load: Load,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Load {
    float: Float,
    narrow: Narrow,
    nested: Option<Option<Option<u8>>>,
    nothing: Option<()>,
    wide: i128,
    natural: u128,
    entries: BTreeMap<Key, Option<Float>>,
    by_number: BTreeMap<i64, Vec<Option<()>>>,
    deep: Deep,
    text: String,
    any: Value,
}

/// Equal if its bits are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Float(f64);

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

/// Equal if its bits are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Narrow(f32);

impl PartialEq for Narrow {
    fn eq(&self, other: &Narrow) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

/// No text in JSON.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
enum Key {
    Nothing,
    At(i16, Option<bool>),
    Named { name: String },
}

/// A list of lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Deep(Vec<Deep>);

/// Less than the limit, since inputs and outputs are nested in a few lists and maps more.
const MAX_DEPTH: usize = 60;

impl Carried {
    /// The number with all that belongs to it.
    pub(super) fn of(number: u64) -> Carried {
        let random = &mut Random::new(number ^ 0x10ad);
        let load = Load {
            float: Float(float(random)),
            narrow: Narrow(narrow(random)),
            nested: [None, Some(None), Some(Some(None)), Some(Some(Some(0)))][random.below(4)],
            nothing: random.in_percent(50).then_some(()),
            wide: [i128::MIN, i128::MAX, -1, i64::MIN.into(), i128::from(i64::MIN) - 1][random.below(5)],
            natural: [u128::MAX, 0, u64::MAX.into(), u128::from(u64::MAX) + 1][random.below(4)],
            entries: (0..random.below(3)).map(|_| (key(random), entry(random))).collect(),
            by_number: (0..random.below(3)).map(|_| (random.bits() as i64, units(random))).collect(),
            deep: deep(random),
            text: text(random),
            any: any(random, 3),
        };
        Carried { number, load }
    }

    /// As it is recorded.
    pub(super) fn recorded(number: u64) -> Value {
        value::encode(&Carried::of(number), MaxSize::DEFAULT).expect("it can be recorded")
    }

    /// Whether it is as it was made.
    pub(super) fn is_whole(&self) -> bool {
        *self == Carried::of(self.number)
    }
}

/// The number of a recorded value that carries a load.
pub(super) fn number(value: &Map<String, Value>) -> Option<u64> {
    value.get(NUMBER).filter(|_| value.contains_key(LOAD))?.as_u64()
}

/// Whether that is the record of a value.
pub(super) fn is_recorded(value: &Value, recorded: &Value) -> bool {
    value::encode(value, MaxSize::DEFAULT).is_ok_and(|encoded| encoded == *recorded)
}

/// The damage anywhere in a value: in the inputs of a join, the items of a list, behind a label.
pub(super) fn damage(value: &Value) -> Option<String> {
    match value {
        Value::Array(all) => all.iter().find_map(damage),
        Value::Object(map) if number(map).is_none() => map.values().find_map(damage),
        Value::Object(_) => match value::decode::<Carried>(value) {
            Ok(carried) if carried.is_whole() => None,
            Ok(carried) => Some(format!("{carried:?} is not {:?}", Carried::of(carried.number))),
            Err(error) => Some(format!("{value} cannot be read: {error}")),
        },
        _ => None,
    }
}

fn float(random: &mut Random) -> f64 {
    let bits = random.bits();
    match random.below(10) {
        0 => f64::NAN,
        // Quiet and signalling ones, with both signs.
        1 => f64::from_bits((bits & 0x800F_FFFF_FFFF_FFFF) | 0x7FF0_0000_0000_0001),
        2 => f64::from_bits(0xFFF8_0000_0000_0000),
        3 => -0.0,
        4 => f64::from_bits(bits >> 12),
        5 => [f64::INFINITY, f64::NEG_INFINITY][random.below(2)],
        6 => [f64::MIN_POSITIVE, f64::MAX, f64::MIN, f64::EPSILON, 1e23][random.below(5)],
        7 => (bits >> 40) as f64,
        _ => f64::from_bits(bits),
    }
}

fn narrow(random: &mut Random) -> f32 {
    let bits = random.bits() as u32;
    match random.below(6) {
        0 => f32::NAN,
        1 => f32::from_bits((bits & 0x803F_FFFF) | 0x7FC0_0001),
        2 => -0.0,
        3 => f32::from_bits(bits >> 9),
        4 => f32::NEG_INFINITY,
        _ => f32::from_bits(bits),
    }
}

fn key(random: &mut Random) -> Key {
    match random.below(3) {
        0 => Key::Nothing,
        1 => Key::At(random.bits() as i16, [None, Some(false), Some(true)][random.below(3)]),
        _ => Key::Named { name: text(random) },
    }
}

fn entry(random: &mut Random) -> Option<Float> {
    random.in_percent(70).then(|| Float(float(random)))
}

fn units(random: &mut Random) -> Vec<Option<()>> {
    (0..random.below(3)).map(|_| random.in_percent(50).then_some(())).collect()
}

fn deep(random: &mut Random) -> Deep {
    let depth = if random.in_percent(10) { MAX_DEPTH } else { random.below(4) };
    (0..depth).fold(Deep(Vec::new()), |inner, _| Deep(vec![inner]))
}

/// A text, also one that could be mistaken for a mark.
fn text(random: &mut Random) -> String {
    let texts =
        ["", "$graphweft:some", "$$graphweft:map", "number", "\u{0}\n\u{7f}", "\u{1F980}e\u{301}", "l0", "null"];
    texts[random.below(texts.len())].to_owned()
}

/// JSON of any kind.
fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => json!(random.in_percent(50)),
        2 => [json!(random.bits()), json!(random.bits() as i64), json!(i64::MIN)][random.below(3)].clone(),
        // JSON has no others.
        3 => json!(Some(float(random)).filter(|float| float.is_finite())),
        4 => json!(text(random)),
        5 => (0..random.below(3)).map(|_| any(random, depth - 1)).collect(),
        _ => Value::Object((0..random.below(3)).map(|_| (text(random), any(random, depth - 1))).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_that_is_not_as_it_was_is_found_anywhere() {
        for seed in 0..200 {
            let recorded = Carried::recorded(seed);
            let text = recorded.to_string();
            let read: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(damage(&json!([1, {"l1": read}, "text"])), None, "{text}");
            let mut otherwise = Carried::of(seed);
            let bits = otherwise.load.float.0.to_bits();
            otherwise.load.float = Float(f64::from_bits(bits ^ 1));
            let otherwise = value::encode(&otherwise, MaxSize::DEFAULT).expect("it can be recorded");
            assert!(damage(&json!([{"l1": otherwise}])).is_some(), "{text}");
        }
    }

    #[test]
    fn plain_json_would_lose_some_of_it() {
        let plain = |seed| value::to_plain(&Carried::of(seed).load.float, MaxSize::DEFAULT).expect("JSON");
        assert!((0..200).any(|seed| plain(seed).is_null()));
    }
}
