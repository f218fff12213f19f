//! Every value is read back from its record as it was, through JSON text too.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::form::MAX_DEPTH;
use super::{MaxSize, check_json, decode, decode_untyped, encode, encode_part, from_plain, to_plain};

fn recorded<T: Serialize + DeserializeOwned>(value: &T) -> Json {
    let json = encode(value, MaxSize::DEFAULT).expect("it can be recorded");
    let text = serde_json::to_string(&json).expect("JSON");
    let read: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!(read, json, "{text}");
    read
}

fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let json = recorded(value);
    decode(&json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[track_caller]
fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    assert_eq!(again(&value), value);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
enum Shape {
    Nothing,
    One(Option<()>),
    Two(u8, String),
    Named { at: Option<Option<u32>>, rest: Vec<Shape> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Wrapped(Option<u32>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Odd {
    #[serde(rename = "$graphweft:some")]
    some: u32,
    #[serde(rename = "$$graphweft:x")]
    other: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Alone {
    #[serde(rename = "$graphweft:float")]
    only: Option<Json>,
}

#[test]
fn what_json_merges_is_read_back() {
    survives::<Vec<Option<Option<u32>>>>(vec![None, Some(None), Some(Some(3))]);
    survives::<Vec<Option<Option<Option<()>>>>>(vec![None, Some(None), Some(Some(None)), Some(Some(Some(())))]);
    survives::<Vec<Option<()>>>(vec![None, Some(())]);
    survives::<Vec<Option<Unit>>>(vec![None, Some(Unit)]);
    survives::<Vec<Option<Wrapped>>>(vec![None, Some(Wrapped(None)), Some(Wrapped(Some(1)))]);
    survives::<Vec<Option<Json>>>(vec![None, Some(Json::Null), Some(json!({ "$graphweft:some": null }))]);
    survives::<Result<(), ()>>(Ok(()));
    survives(Shape::Named {
        at: Some(None),
        rest: vec![Shape::Nothing, Shape::One(None), Shape::One(Some(())), Shape::Two(1, "a".to_owned())],
    });
    survives((Odd { some: 1, other: 2 }, Alone { only: Some(Json::Null) }, Alone { only: None }));
    survives(json!({ "$graphweft:map": [1], "$$graphweft:a": { "$graphweft:float": "NaN" }, "$": 1, "$x": 2 }));
}

#[test]
fn maps_with_keys_of_all_kinds_are_read_back() {
    survives(BTreeMap::from([(1_u64, "a"), (u64::MAX, "b")].map(|(key, text)| (key, text.to_owned()))));
    survives(BTreeMap::from([(i128::MIN, 1), (-1, 2), (i128::MAX, 3)]));
    survives(BTreeMap::from([(true, 1), (false, 2)]));
    survives(BTreeMap::from([('a', 1), ('"', 2)]));
    survives(BTreeMap::from([((1, "a".to_owned()), 1), ((2, String::new()), 2)]));
    survives(BTreeMap::from([(None, 1), (Some("a".to_owned()), 2)]));
    survives(BTreeMap::from([(Wrapped(None), 1), (Wrapped(Some(7)), 2)]));
    survives(BTreeMap::from([(Shape::Nothing, 1), (Shape::Two(1, "x".to_owned()), 2)]));
    survives(BTreeMap::from([(Shape::Nothing, 1)]));
    survives(BTreeMap::from([(Vec::<u8>::new(), ()), (vec![1], ())]));
    survives(BTreeMap::from([((), 1)]));
    survives(HashMap::<String, Option<()>>::from([("$graphweft:map".to_owned(), Some(()))]));
    // As they were before: an object.
    assert_eq!(recorded(&BTreeMap::from([(1, 2)])), json!({ "1": 2 }));
}

/// serde keeps what is in these until it knows the type, and then reads the text of a number as a text.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    ByNumber { of: BTreeMap<u64, bool> },
    ByTruth { of: BTreeMap<bool, Vec<BTreeMap<i8, u8>>> },
    Plain { of: BTreeMap<String, u8> },
    Wide { of: u128 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    ByNumber(BTreeMap<u64, bool>),
    Wide(Vec<(i128,)>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flattened {
    name: String,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Rest {
    of: BTreeMap<u64, bool>,
}

#[test]
fn keys_that_are_numbers_are_read_back_wherever_they_are() {
    let of = || BTreeMap::from([(7, true), (u64::MAX, false)]);
    survives(vec![Tagged::ByNumber { of: of() }, Tagged::ByNumber { of: BTreeMap::new() }]);
    survives(Tagged::ByTruth { of: BTreeMap::from([(true, vec![BTreeMap::from([(-3, 3)])])]) });
    survives(Untagged::ByNumber(of()));
    survives(Flattened { name: "a".to_owned(), rest: Rest { of: of() } });
    // With marks only where there is no other way.
    let tagged = recorded(&Tagged::ByNumber { of: BTreeMap::from([(7, true)]) });
    assert_eq!(tagged, json!({ "type": "ByNumber", "of": { "$graphweft:map": [[7, true]] } }));
    let plain = recorded(&Tagged::Plain { of: BTreeMap::from([("7".to_owned(), 1)]) });
    assert_eq!(plain, json!({ "type": "Plain", "of": { "7": 1 } }));
}

#[test]
fn a_value_that_its_type_does_not_read_back_is_refused() {
    let refused = |value: &Tagged| encode(value, MaxSize::DEFAULT).expect_err("it is not read back").to_string();
    for of in [0, u128::MAX] {
        let error = refused(&Tagged::Wide { of });
        assert!(error.contains("its own type would not read it back"), "{error}");
        assert!(error.contains("read no `i128` and no `u128`"), "{error}");
    }
    assert!(encode(&Untagged::Wide(vec![(1,)]), MaxSize::DEFAULT).is_err());
}

#[test]
fn integers_beyond_64_bits_are_read_back() {
    for number in [i128::MIN, i128::from(i64::MIN) - 1, i64::MIN.into(), -1, 0, u64::MAX.into(), i128::MAX] {
        survives(number);
    }
    for number in [0, u128::from(u64::MAX), u128::from(u64::MAX) + 1, u128::MAX] {
        survives(number);
    }
    survives((i64::MIN, i64::MAX, u64::MAX));
}

#[test]
fn floats_are_read_back_bit_for_bit() {
    let named = [0.0, -0.0, f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324, -5e-324, 950.098_145_061_411_3, 0.1, 1e22];
    let odd = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::from_bits(0x7FF0_0000_0000_0001)];
    let seeded = foldhash::fast::FixedState::with_seed(1);
    let random = (0..1_000_000_u64).map(|at| f64::from_bits(std::hash::BuildHasher::hash_one(&seeded, at)));
    for number in named.into_iter().chain(odd).chain(random) {
        assert_eq!(again(&number).to_bits(), number.to_bits(), "{number}");
        let narrow = number as f32;
        assert_eq!(again(&narrow).to_bits(), narrow.to_bits(), "{narrow}");
    }
    for bits in [0x7F80_0001_u32, 0xFFC0_0001, 0x7FC0_0000, 1, 0x8000_0000] {
        assert_eq!(again(&f32::from_bits(bits)).to_bits(), bits);
    }
}

#[test]
fn ordinary_values_look_as_serde_json_writes_them() {
    let value = (
        vec![Some(1_u8), None],
        Shape::Two(1, "a".to_owned()),
        Shape::Named { at: Some(Some(1)), rest: vec![Shape::Nothing] },
        [1.5_f64, -0.0],
        'x',
        Unit,
        Wrapped(Some(1)),
        BTreeMap::from([("a".to_owned(), [1])]),
        json!({ "b": [null, { "c": 1 }] }),
    );
    let plain = serde_json::to_value(&value).expect("JSON");
    assert_eq!(recorded(&value), plain);
    assert_eq!(to_plain(&value, MaxSize::DEFAULT).expect("JSON"), plain);
}

#[test]
fn a_reader_without_the_type_gets_the_closest_json() {
    let closest = |value: Json| decode_untyped(&value).expect("JSON");
    let whole = (u128::MAX, i128::MIN, u64::MAX, Some(Some(())), f64::NAN);
    let digits = (u128::MAX.to_string(), i128::MIN.to_string());
    assert_eq!(closest(recorded(&whole)), json!([digits.0, digits.1, u64::MAX, null, null]));
    let cells = BTreeMap::from([((1, None), "a".to_owned()), ((2, Some('x')), "b".to_owned())]);
    assert_eq!(closest(recorded(&cells)), json!([[[1, null], "a"], [[2, "x"], "b"]]));
    for json in [json!({ "$graphweft:map": [1], "$$graphweft:a": { "$graphweft:float": "NaN" }, "$": 1 }), json!([{}])]
    {
        assert_eq!(closest(recorded(&json)), json);
    }
    assert!(decode_untyped(&json!({ "$graphweft:more": 1 })).is_err());
}

/// What has no type of ours around it, or one that serde reads by what it finds, sees plain JSON as far as there is any.
#[test]
fn without_its_type_a_value_is_plain_json() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Float(f64),
        Nested(Option<Option<String>>),
    }
    assert_eq!(decode::<Json>(&recorded(&Some(Some(())))).expect("JSON"), Json::Null);
    assert_eq!(decode::<Json>(&recorded(&f64::NAN)).expect("JSON"), Json::Null);
    assert_eq!(decode::<Json>(&recorded(&BTreeMap::from([(1, Some(()))]))).expect("JSON"), json!({ "1": null }));
    assert!(matches!(again(&Untagged::Float(f64::NAN)), Untagged::Float(number) if number.is_nan()));
    survives(Untagged::Nested(Some(None)));
    assert_eq!(to_plain(&(f64::NAN, Some(())), MaxSize::DEFAULT).expect("JSON"), json!([null, null]));
    assert!(to_plain(&u128::MAX, MaxSize::DEFAULT).is_err());
    assert!(from_plain::<f64>(&json!({ "$graphweft:float": "NaN" })).is_err());
}

#[test]
fn a_mark_that_is_not_known_is_an_error() {
    for json in [
        json!({ "$graphweft:more": 1 }),
        json!({ "$graphweft:float": "1.5" }),
        json!({ "$graphweft:float": "NaN:7ff0000000000000" }),
        json!({ "$graphweft:integer": "x" }),
        json!({ "$graphweft:map": [[1]] }),
    ] {
        assert!(decode::<Json>(&json).is_err(), "{json}");
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct List(Option<Box<List>>);

fn nested(depth: usize) -> Json {
    (0..depth).fold(Json::Null, |inner, _| Json::Array(vec![inner]))
}

#[test]
fn there_is_one_limit_for_depth() {
    let deepest = nested(MAX_DEPTH);
    survives(deepest.clone());
    assert_eq!(check_json(deepest.clone(), MaxSize::DEFAULT).expect("it fits"), deepest);
    let error = encode(&nested(MAX_DEPTH + 1), MaxSize::DEFAULT).expect_err("it is too deep");
    assert!(error.to_string().contains("more than 100 levels deep"), "{error}");
    for depth in [MAX_DEPTH + 1, 1_000_000] {
        let error = check_json(nested(depth), MaxSize::DEFAULT).expect_err("it is too deep");
        assert!(error.to_string().contains("more than 100 levels deep"), "{error}");
    }
    // Each level is an option and a newtype.
    let list = |length| (0..length).fold(List(None), |inner, _| List(Some(Box::new(inner))));
    let json = recorded(&list(MAX_DEPTH / 2 - 1));
    assert!(decode::<List>(&check_json(json, MaxSize::DEFAULT).expect("it fits")).is_ok());
    for length in [MAX_DEPTH / 2, 1000] {
        assert!(encode(&list(length), MaxSize::DEFAULT).is_err());
    }
    // A type that has only itself in it can be read from anything, for ever.
    assert!(decode::<List>(&json!(5)).is_err());
    assert!(from_plain::<List>(&json!([])).is_err());
}

#[test]
fn what_is_too_large_is_refused() {
    let text = "x".repeat(1000);
    assert!(encode(&text, MaxSize(1100)).is_ok());
    let error = encode(&vec![text.clone(); 3], MaxSize(2100)).expect_err("it is too large");
    assert_eq!(error.to_string(), "at `[2]`: it takes more than 2100 bytes, which is as large as a value may be");
    let error = check_json(json!([text, text]), MaxSize(1100)).expect_err("it is too large");
    assert_eq!(error.to_string(), "it takes 2008 bytes, and a value may take 1100");
}

#[test]
fn an_error_says_where_in_the_value_it_is() {
    #[derive(Serialize)]
    struct Order {
        lines: Vec<BTreeMap<String, Refuses>>,
    }
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not today"))
        }
    }
    let order = Order { lines: vec![BTreeMap::new(), BTreeMap::from([("price".to_owned(), Refuses)])] };
    let error = encode_part(&order, MaxSize::DEFAULT).expect_err("it refuses");
    assert_eq!(error.to_string(), "at `lines[1].price`: not today");
}

/// Keys are sorted, so that the content may come before the tag, by which its type is known.
#[test]
fn an_enum_with_a_tag_behind_its_content_is_read_with_its_type() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", content = "data")]
    enum Event {
        Counts(BTreeMap<u32, u32>),
        Flags { by: BTreeMap<bool, u128> },
        Nothing,
    }
    let events = vec![
        Some(Event::Counts(BTreeMap::from([(1, 2)]))),
        Some(Event::Flags { by: BTreeMap::from([(true, u128::MAX)]) }),
        Some(Event::Nothing),
        None,
    ];

    survives(events);
    let plain = json!([{ "type": "Counts", "data": { "1": 2 } }, { "data": { "1": 2 }, "type": "Counts" }]);
    let counts = || Event::Counts(BTreeMap::from([(1, 2)]));
    assert_eq!(from_plain::<Vec<Event>>(&plain).unwrap(), [counts(), counts()]);
}
