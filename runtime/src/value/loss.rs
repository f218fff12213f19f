//! The loss when a type reads a recorded value: a type that has changed since may read less than was recorded.
//!
//! The value is read with the type and written again. The written value has to contain every recorded field, item,
//! number and text. A missing field may still have been read, under another name (`#[serde(alias = "..")]`), or by a
//! type that does not write all that it reads. So the recorded field is replaced by another value: if the whole can
//! then still be read, and is written the same, the type does not read the field.
//!
//! The name of a variant may be read as another one as well, by `#[serde(alias = "..")]`, which loses nothing, or by
//! `#[serde(other)]`, which does. So the type is asked what it makes of a name that it cannot know.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value as Json};

use super::form::{Part, written};
use crate::field::Unreadable;

/// What is compared with a recorded value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// Fields and values: the type is another one than that which recorded the value.
    Values,
    /// Fields alone. The type may be the one that recorded the value, and write a value in another way each time.
    Fields,
}

/// The first part of a recorded value that a type loses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loss {
    /// As in `lines[2].price`; `.` is the whole.
    pub(crate) field: String,
    recorded: Json,
    /// The value that the type writes in its place; `None` if it does not read it.
    now: Option<Json>,
}

impl Loss {
    /// A description of the loss.
    pub(crate) fn what(&self) -> String {
        let recorded = shortened(&self.recorded);
        match &self.now {
            Some(now) => format!("{recorded} would become {}", shortened(now)),
            None => format!("nothing reads this field, which is {recorded}"),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at `{}`: {}", self.field, self.what())
    }
}

/// JSON for a message.
pub(crate) fn shortened(json: &Json) -> String {
    let mut text = json.to_string();
    if let Some((at, _)) = text.char_indices().nth(200) {
        text.truncate(at);
        text.push_str("..");
    }
    text
}

/// Reads a value, and writes it again.
type Rewrite<'r> = dyn Fn(&Json) -> Result<Json, Unreadable> + 'r;

/// The first part of a recorded value that a type loses, which it has written again as `now`. `rewrite` does the same
/// with another value.
pub(crate) fn loss(recorded: &Json, now: &Json, rewrite: &Rewrite<'_>, against: Against) -> Option<Loss> {
    if now == recorded {
        return None;
    }
    let mut comparison = Comparison {
        whole: recorded,
        now: in_order(now),
        rewrite,
        against,
        way: Vec::new(),
        read: BTreeSet::new(),
        variants: BTreeSet::new(),
        sorted_in_vain: 0,
    };
    comparison.compare(recorded, now).err()
}

struct Comparison<'r> {
    whole: &'r Json,
    /// The whole as it is written now, sorted.
    now: Json,
    rewrite: &'r Rewrite<'r>,
    against: Against,
    way: Vec<Part>,
    /// Fields that are known to be read: their path without the numbers of items, and the fields beside them.
    read: BTreeSet<(String, Vec<String>)>,
    /// Texts that are known to be the names of variants: their path without the numbers of items, the recorded name, and
    /// that of now.
    variants: BTreeSet<(String, String, String)>,
    sorted_in_vain: usize,
}

/// Lists in lists would otherwise be compared twice for each level.
const MAX_SORTED_IN_VAIN: usize = 16;

impl Comparison<'_> {
    fn compare(&mut self, recorded: &Json, now: &Json) -> Result<(), Loss> {
        match (recorded, now) {
            (Json::Object(recorded), Json::Object(now)) => {
                for (name, value) in recorded {
                    self.way.push(Part::Field(name.clone()));
                    match now.get(name) {
                        Some(now) => self.compare(value, now)?,
                        None if is_empty(value) || self.is_read(recorded) => {}
                        None => return Err(self.lost(value, None)),
                    }
                    self.way.pop();
                }
                Ok(())
            }
            (Json::Array(recorded), Json::Array(now)) if recorded.len() == now.len() => {
                let depth = self.way.len();
                let recorded: Vec<(usize, &Json)> = recorded.iter().enumerate().collect();
                let now: Vec<&Json> = now.iter().collect();
                self.compare_items(&recorded, &now).or_else(|loss| {
                    if loss.now.is_none() || self.sorted_in_vain >= MAX_SORTED_IN_VAIN {
                        return Err(loss);
                    }
                    // A set is written in another order each time.
                    self.way.truncate(depth);
                    let (mut recorded, mut now) = (recorded, now);
                    recorded.sort_by_cached_key(|(_, item)| Ordered(in_order(item)));
                    now.sort_by_cached_key(|item| Ordered(in_order(item)));
                    self.compare_items(&recorded, &now).map_err(|in_order| {
                        self.sorted_in_vain += 1;
                        // A field that is not read is lost in any order.
                        if in_order.now.is_none() { in_order } else { loss }
                    })
                })
            }
            (Json::Number(recorded), Json::Number(now)) if is_same_number(recorded, now) => Ok(()),
            _ if recorded == now || self.against == Against::Fields => Ok(()),
            (Json::String(recorded), Json::String(now)) if self.is_alias(recorded, now) => Ok(()),
            _ => Err(self.lost(recorded, Some(now))),
        }
    }

    fn compare_items(&mut self, recorded: &[(usize, &Json)], now: &[&Json]) -> Result<(), Loss> {
        for ((at, recorded), now) in recorded.iter().zip(now) {
            self.way.push(Part::Item(*at));
            self.compare(recorded, now)?;
            self.way.pop();
        }
        Ok(())
    }

    fn lost(&self, recorded: &Json, now: Option<&Json>) -> Loss {
        Loss { field: written(self.way.iter()), recorded: recorded.clone(), now: now.cloned() }
    }

    /// Whether another value in place of the field would make a difference.
    fn is_read(&mut self, beside: &Map<String, Json>) -> bool {
        let known = (self.place(), beside.keys().cloned().collect());
        if self.read.contains(&known) {
            return true;
        }
        let text = || Json::from(UNEXPECTED);
        let is_read = [text(), Json::Array(vec![text()])].into_iter().any(|other| !self.is_written_the_same(other));
        if is_read {
            self.read.insert(known);
        }
        is_read
    }

    /// Whether a text is the name of a variant that has another name now, and knows this one.
    fn is_alias(&mut self, recorded: &str, now: &str) -> bool {
        let known = (self.place(), recorded.to_owned(), now.to_owned());
        if self.variants.contains(&known) {
            return true;
        }
        let is_alias = match self.with(Json::from(UNEXPECTED)) {
            // Other texts that are read as one value, such as times, do not say so.
            Some(Err(error)) if error.message.starts_with(&format!("unknown variant `{UNEXPECTED}`")) => true,
            // Of all names, `other` makes one variant: it was not that. What is no variant is not read in this form.
            Some(other) => {
                other.ok().is_none_or(|other| in_order(&other) != self.now)
                    && self.is_written_the_same(Json::Object(Map::from_iter([(recorded.to_owned(), Json::Null)])))
            }
            None => false,
        };
        if is_alias {
            self.variants.insert(known);
        }
        is_alias
    }

    /// The path without the numbers of items.
    fn place(&self) -> String {
        let fields = self.way.iter().map(|part| match part {
            Part::Field(name) => Part::Field(name.clone()),
            Part::Item(_) => Part::Item(0),
        });
        written(fields.collect::<Vec<_>>().iter())
    }

    /// Whether the whole is read and written the same with another part here.
    fn is_written_the_same(&self, part: Json) -> bool {
        // A part that is not in the whole makes no difference.
        self.with(part).is_none_or(|now| now.is_ok_and(|now| in_order(&now) == self.now))
    }

    /// The whole with another part here, as it is written again; `None` if there is no such part.
    fn with(&self, part: Json) -> Option<Result<Json, Unreadable>> {
        let mut whole = self.whole.clone();
        *place_in(&mut whole, &self.way)? = part;
        Some((self.rewrite)(&whole))
    }
}

/// A text that no type knows.
const UNEXPECTED: &str = "something that no type expects";

fn place_in<'j>(whole: &'j mut Json, way: &[Part]) -> Option<&'j mut Json> {
    way.iter().try_fold(whole, |json, part| match part {
        Part::Field(name) => json.get_mut(name),
        Part::Item(item) => json.get_mut(item),
    })
}

/// Whether it contains fields, which a type may not read.
pub(crate) fn has_fields(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.iter().any(has_fields),
        Json::Object(fields) => !fields.is_empty(),
        _ => false,
    }
}

/// Whether it is empty, so that its absence is no loss: a type may leave it out (`#[serde(skip_serializing_if =
/// "..")]`).
fn is_empty(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether two numbers are the same, also an integer that is a float of the same value now.
fn is_same_number(recorded: &serde_json::Number, now: &serde_json::Number) -> bool {
    let integer = |number: &serde_json::Number| number.as_i128();
    let exact = |float: Option<f64>| float.filter(|float| float.fract() == 0.0).map(|float| float as i128);
    match (integer(recorded), integer(now)) {
        (Some(recorded), Some(now)) => recorded == now,
        (Some(recorded), None) => exact(now.as_f64()) == Some(recorded),
        (None, Some(now)) => exact(recorded.as_f64()) == Some(now),
        (None, None) => recorded == now,
    }
}

/// Whether two values differ in nothing but the order of items: they may be one set, written twice.
pub(crate) fn differ_in_order(one: &Json, other: &Json) -> bool {
    one != other && in_order(one) == in_order(other)
}

/// The same value with the items of every list, and the fields of every object, sorted.
fn in_order(json: &Json) -> Json {
    match json {
        Json::Array(items) => {
            let mut items: Vec<Json> = items.iter().map(in_order).collect();
            items.sort_by(order);
            Json::Array(items)
        }
        Json::Object(fields) => {
            let mut fields: Vec<(&String, &Json)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            Json::Object(fields.into_iter().map(|(name, value)| (name.clone(), in_order(value))).collect())
        }
        scalar => scalar.clone(),
    }
}

#[derive(PartialEq)]
struct Ordered(Json);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

/// An order of values that does not change if a field with one value is added to all of them.
fn order(one: &Json, other: &Json) -> Ordering {
    match (one, other) {
        (Json::Array(one), Json::Array(other)) => {
            let items = one.iter().zip(other).map(|(one, other)| order(one, other));
            items.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
        }
        (Json::Object(one), Json::Object(other)) => {
            let fields =
                one.iter().zip(other).map(|(one, other)| one.0.cmp(other.0).then_with(|| order(one.1, other.1)));
            fields.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
        }
        (Json::Number(one), Json::Number(other)) => {
            let float = |number: &serde_json::Number| number.as_f64().unwrap_or_default();
            float(one).total_cmp(&float(other)).then_with(|| one.to_string().cmp(&other.to_string()))
        }
        (Json::String(one), Json::String(other)) => one.cmp(other),
        (one, other) => kind(one).cmp(&kind(other)),
    }
}

fn kind(json: &Json) -> u8 {
    match json {
        Json::Null => 0,
        Json::Bool(false) => 1,
        Json::Bool(true) => 2,
        Json::Number(_) => 3,
        Json::String(_) => 4,
        Json::Array(_) => 5,
        Json::Object(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::value::{MaxSize, decode, encode};

    fn lost<T: Serialize + DeserializeOwned>(recorded: &Json, against: Against) -> Option<String> {
        let rewrite = |json: &Json| Ok(encode(&decode::<T>(json)?, MaxSize::NONE).expect("it can be written"));
        let now = rewrite(recorded).unwrap_or_else(|error| panic!("{recorded} cannot be read: {error}"));
        loss(recorded, &now, &rewrite, against).map(|loss| loss.to_string())
    }

    #[derive(Serialize, Deserialize, PartialEq, Eq, Hash)]
    struct Line {
        #[serde(default, alias = "price")]
        cents: u32,
        note: Option<String>,
    }

    #[derive(Serialize, Deserialize)]
    struct Order {
        lines: Vec<Line>,
    }

    #[test]
    fn what_was_added_loses_nothing() {
        assert_eq!(lost::<Order>(&json!({"lines": [{"cents": 1}, {}]}), Against::Values), None);
    }

    #[test]
    fn a_field_that_nothing_reads_is_lost() {
        let recorded = json!({"lines": [{"cents": 1}, {"cents": 2, "weight": 7}]});
        let message = "at `lines[1].weight`: nothing reads this field, which is 7";
        for against in [Against::Values, Against::Fields] {
            assert_eq!(lost::<Order>(&recorded, against).as_deref(), Some(message));
        }
    }

    #[test]
    fn a_field_that_is_read_under_another_name_is_not_lost() {
        // Also where it has the value that a missing one has.
        let recorded = json!({"lines": [{"price": 0}, {"price": 5}]});
        assert_eq!(lost::<Order>(&recorded, Against::Values), None);
    }

    #[test]
    fn a_field_that_holds_nothing_is_not_lost() {
        let recorded = json!({"lines": [{"cents": 1, "tags": [], "size": null, "more": {}}]});
        assert_eq!(lost::<Order>(&recorded, Against::Values), None);
    }

    #[derive(Serialize, Deserialize)]
    #[expect(dead_code, reason = "it is read, and nothing else")]
    struct Secret {
        #[serde(skip_serializing)]
        text: String,
        #[serde(skip_serializing)]
        any: Vec<String>,
    }

    #[test]
    fn a_field_that_is_read_and_not_written_is_not_lost() {
        assert_eq!(lost::<Secret>(&json!({"text": "x", "any": ["y"]}), Against::Values), None);
    }

    #[derive(Serialize, Deserialize)]
    struct Whole {
        id: u32,
        #[serde(flatten)]
        order: Order,
    }

    #[test]
    fn a_field_beside_flattened_ones_is_lost_too() {
        let recorded = json!({"id": 1, "lines": [{"price": 3}], "sent": true});
        let message = "at `sent`: nothing reads this field, which is true";
        assert_eq!(lost::<Whole>(&recorded, Against::Values).as_deref(), Some(message));
    }

    #[test]
    fn a_number_that_becomes_another_is_lost() {
        let message = |recorded: Json| lost::<f32>(&recorded, Against::Values);
        assert_eq!(message(json!(0.5)), None);
        assert_eq!(message(json!(16_777_216)), None, "an integer is a float of the same value");
        assert_eq!(message(json!(16_777_217)).as_deref(), Some("at `.`: 16777217 would become 16777216.0"));
        assert_eq!(message(json!(0.1)).as_deref(), Some("at `.`: 0.1 would become 0.10000000149011612"));
        assert_eq!(lost::<f32>(&json!(0.1), Against::Fields), None);
    }

    #[derive(Serialize, Deserialize)]
    enum Stage {
        Open,
        #[serde(other)]
        Unknown,
    }

    #[test]
    fn a_variant_that_becomes_another_is_lost() {
        assert_eq!(lost::<Stage>(&json!("Open"), Against::Values), None);
        let message = lost::<Stage>(&json!("Paid"), Against::Values);
        assert_eq!(message.as_deref(), Some("at `.`: \"Paid\" would become \"Unknown\""));
    }

    /// Variants that have other names now.
    #[derive(Serialize, Deserialize, PartialEq, Eq, Hash)]
    enum Size {
        #[serde(alias = "S")]
        Small,
        #[serde(alias = "L")]
        Large,
    }

    /// The same, where all other names are read too.
    #[derive(Serialize, Deserialize)]
    enum AnySize {
        #[serde(alias = "S")]
        Small,
        #[serde(other)]
        Other,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        #[serde(alias = "S")]
        Small,
        #[serde(alias = "W")]
        Wide { width: u32 },
    }

    #[derive(Serialize, Deserialize)]
    #[serde(tag = "kind", content = "of")]
    enum Adjacent {
        #[serde(alias = "S")]
        Small,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u32),
        Size(Size),
    }

    #[test]
    fn a_unit_variant_that_is_read_by_an_alias_is_not_lost() {
        assert_eq!(lost::<Size>(&json!("S"), Against::Values), None);
        assert_eq!(lost::<Vec<Size>>(&json!(["S", "Small", "L", "Large"]), Against::Values), None);
        assert_eq!(lost::<HashSet<Size>>(&json!(["S", "L"]), Against::Values), None);
        assert_eq!(lost::<Untagged>(&json!("S"), Against::Values), None);
        assert_eq!(lost::<Tagged>(&json!({"kind": "S"}), Against::Values), None);
        assert_eq!(lost::<Tagged>(&json!({"kind": "W", "width": 1}), Against::Values), None);
        assert_eq!(lost::<Adjacent>(&json!({"kind": "S"}), Against::Values), None);
    }

    #[test]
    fn a_variant_that_becomes_another_is_lost_beside_one_with_an_alias() {
        assert_eq!(lost::<AnySize>(&json!("S"), Against::Values), None);
        let message = lost::<Vec<AnySize>>(&json!(["S", "L"]), Against::Values);
        assert_eq!(message.as_deref(), Some("at `[1]`: \"L\" would become \"Other\""));
    }

    /// A time without the part of a second that the recorded one has.
    struct Second(String);

    impl Serialize for Second {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Second {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            let second = text.split('.').next().filter(|second| second.bytes().all(|byte| !byte.is_ascii_alphabetic()));
            second.map(|second| Second(second.to_owned())).ok_or_else(|| serde::de::Error::custom("it is no time"))
        }
    }

    #[test]
    fn a_text_that_is_no_variant_and_becomes_another_is_lost() {
        let message = lost::<Second>(&json!("12:30:01.250"), Against::Values);
        assert_eq!(message.as_deref(), Some("at `.`: \"12:30:01.250\" would become \"12:30:01\""));
    }

    #[test]
    fn aliases_in_a_long_list_are_asked_for_once_each() {
        let recorded = Json::from(vec!["S"; 20_000]);
        let asked = std::cell::Cell::new(0);
        let rewrite = |json: &Json| {
            asked.set(asked.get() + 1);
            Ok(encode(&decode::<Vec<Size>>(json)?, MaxSize::NONE).expect("it can be written"))
        };
        let now = rewrite(&recorded).expect("it can be read");
        assert_eq!(loss(&recorded, &now, &rewrite, Against::Values), None);
        assert!(asked.get() <= 3, "{}", asked.get());
    }

    #[derive(Serialize, Deserialize)]
    struct Bag {
        all: HashSet<Line>,
        more: Option<u32>,
    }

    #[test]
    fn the_order_of_a_set_is_nothing() {
        let line = |cents: usize| json!({"cents": cents});
        let mut recorded = json!({"all": (0..50).map(line).collect::<Vec<_>>()});
        assert_eq!(lost::<Bag>(&recorded, Against::Values), None);
        recorded["all"][7]["weight"] = json!(1);
        let message = lost::<Bag>(&recorded, Against::Values).expect("it is lost");
        assert!(message.contains("weight"), "{message}");
    }

    #[test]
    fn a_loss_deep_in_lists_is_found_at_once() {
        let nested = |leaf: Json| (0..90).fold(leaf, |inner, _| json!([inner, 0]));
        let (recorded, now) = (nested(json!(1)), nested(json!(2)));
        assert!(loss(&recorded, &now, &|_| Err(Unreadable::whole("")), Against::Values).is_some());
    }

    #[test]
    fn items_that_are_one_now_are_lost() {
        let message = lost::<HashSet<u32>>(&json!([1, 1]), Against::Values);
        assert_eq!(message.as_deref(), Some("at `.`: [1,1] would become [1]"));
    }
}
