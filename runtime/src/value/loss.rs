//! The loss when a type reads a recorded value: a type that has changed since may read less than was recorded.
//!
//! The value is read with the type and written again. The written value has to contain every recorded field, item,
//! number and text. A missing field may still have been read, under another name (`#[serde(alias = "..")]`), or by a
//! type that does not write all that it reads. So the recorded field is replaced by another value: if the whole can
//! then still be read, and is written the same, the type does not read the field.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value as Json};

use super::form::{Part, written};

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

/// The first part of a recorded value that a type loses, which it has written again as `now`. `rewrite` does the same
/// with another value.
pub(crate) fn loss(
    recorded: &Json,
    now: &Json,
    rewrite: &dyn Fn(&Json) -> Option<Json>,
    against: Against,
) -> Option<Loss> {
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
        sorted_in_vain: 0,
    };
    comparison.compare(recorded, now).err()
}

struct Comparison<'r> {
    whole: &'r Json,
    /// The whole as it is written now, sorted.
    now: Json,
    rewrite: &'r dyn Fn(&Json) -> Option<Json>,
    against: Against,
    way: Vec<Part>,
    /// Fields that are known to be read: their path without the numbers of items, and the fields beside them.
    read: BTreeSet<(String, Vec<String>)>,
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
        let fields = self.way.iter().map(|part| match part {
            Part::Field(name) => Part::Field(name.clone()),
            Part::Item(_) => Part::Item(0),
        });
        let known = (written(fields.collect::<Vec<_>>().iter()), beside.keys().cloned().collect());
        if self.read.contains(&known) {
            return true;
        }
        let text = || Json::from("something that no type expects");
        let is_read = [text(), Json::Array(vec![text()])].into_iter().any(|other| {
            let mut whole = self.whole.clone();
            let Some(place) = place_in(&mut whole, &self.way) else { return false };
            *place = other;
            (self.rewrite)(&whole).is_none_or(|now| in_order(&now) != self.now)
        });
        if is_read {
            self.read.insert(known);
        }
        is_read
    }
}

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
        let rewrite = |json: &Json| encode(&decode::<T>(json).ok()?, MaxSize::NONE).ok();
        let now = rewrite(recorded).unwrap_or_else(|| panic!("{recorded} cannot be read"));
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
        assert!(loss(&recorded, &now, &|_| None, Against::Values).is_some());
    }

    #[test]
    fn items_that_are_one_now_are_lost() {
        let message = lost::<HashSet<u32>>(&json!([1, 1]), Against::Values);
        assert_eq!(message.as_deref(), Some("at `.`: [1,1] would become [1]"));
    }
}
