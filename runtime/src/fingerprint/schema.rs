//! The hash of a JSON Schema, only of its constraints on values: not of its titles, its texts, the names of its types,
//! or the order in which they were written.

use std::collections::HashMap;

use schemars::Schema;
use serde_json::{Map, Value as Json, json};

use super::{canonical, fnv1a};

/// Keywords that do not constrain values.
const ANNOTATIONS: [&str; 11] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$defs",
];

/// Sixteen hexadecimal digits: a number of 64 bits is more than some readers of JSON can hold.
pub(crate) fn hash(schema: &Schema) -> String {
    let mut types = Types::default();
    let whole = types.plain(schema.as_value(), &[]);
    let mut named = Vec::new();
    while let Some((definition, around)) = types.found.get(named.len()).cloned() {
        named.push(types.plain(definition, &around));
    }
    format!("{:016x}", fnv1a(canonical(&json!([whole, named])).as_bytes()))
}

/// The objects of definitions around a place, the innermost last.
type Around<'s> = Vec<&'s Map<String, Json>>;

/// The types that a schema names, each with the definitions around it, by the order in which they are met.
#[derive(Default)]
struct Types<'s> {
    found: Vec<(&'s Json, Around<'s>)>,
    numbers: HashMap<*const Json, usize>,
}

impl<'s> Types<'s> {
    fn plain(&mut self, schema: &'s Json, around: &[&'s Map<String, Json>]) -> Json {
        let Some(fields) = schema.as_object() else { return schema.clone() };
        let mut around = around.to_vec();
        around.extend(fields.get("$defs").and_then(Json::as_object));
        let mut keys: Vec<&'s String> = fields.keys().collect();
        keys.sort();
        let mut plain = Map::new();
        for key in keys.into_iter().filter(|key| !ANNOTATIONS.contains(&key.as_str())) {
            let value = &fields[key];
            let value = match key.as_str() {
                "$ref" => self.reference(value, &around),
                "const" => value.clone(),
                "enum" | "required" | "type" => sorted(value.clone()),
                "properties" | "patternProperties" | "dependentSchemas" => self.each_field(value, &around),
                _ => self.any(value, &around),
            };
            plain.insert(key.clone(), value);
        }
        one_of_each(plain)
    }

    fn any(&mut self, value: &'s Json, around: &[&'s Map<String, Json>]) -> Json {
        match value {
            Json::Array(items) => items.iter().map(|item| self.plain(item, around)).collect(),
            value => self.plain(value, around),
        }
    }

    fn each_field(&mut self, value: &'s Json, around: &[&'s Map<String, Json>]) -> Json {
        let Some(fields) = value.as_object() else { return value.clone() };
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_by_key(|(name, _)| *name);
        Json::Object(fields.into_iter().map(|(name, schema)| (name.clone(), self.plain(schema, around))).collect())
    }

    /// A type by the order in which it is met, in place of its name.
    fn reference(&mut self, reference: &Json, around: &[&'s Map<String, Json>]) -> Json {
        let name = reference.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
        let definition = name.and_then(|name| around.iter().rev().find_map(|types| types.get(name)));
        let Some(definition) = definition else { return reference.clone() };
        let next = self.found.len();
        let number = *self.numbers.entry(std::ptr::from_ref(definition)).or_insert(next);
        if number == next {
            self.found.push((definition, around.to_vec()));
        }
        json!(number)
    }
}

/// Normalizes an enum. Without doc comments it is a list of values, with them a choice of schemas with a value each,
/// and if only some variants have one it is both: here it is always the choice.
fn one_of_each(mut schema: Map<String, Json>) -> Json {
    if let Some(Json::Array(values)) = schema.remove("enum") {
        let ty = schema.remove("type");
        let one = |value: Json| match &ty {
            Some(ty) => json!({ "const": value, "type": ty }),
            None => json!({ "const": value }),
        };
        let values = values.into_iter().map(one).collect();
        schema.insert("oneOf".to_owned(), values);
    }
    if let Some(Json::Array(choices)) = schema.remove("oneOf") {
        let mut flat = Vec::new();
        for choice in choices {
            match choice.get("oneOf").and_then(Json::as_array) {
                Some(inner) if choice.as_object().is_some_and(|fields| fields.len() == 1) => flat.extend(inner.clone()),
                _ => flat.push(choice),
            }
        }
        schema.insert("oneOf".to_owned(), sorted(Json::Array(flat)));
    }
    Json::Object(schema)
}

fn sorted(value: Json) -> Json {
    match value {
        Json::Array(mut items) => {
            items.sort_by_key(canonical);
            Json::Array(items)
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};

    use super::*;

    mod before {
        use super::*;

        /// An order.
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        pub(super) struct Order {
            pub(super) id: u32,
            /// What was bought.
            pub(super) lines: Vec<Line>,
            pub(super) state: State,
        }

        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        pub(super) struct Line {
            pub(super) cents: u32,
            pub(super) parts: Vec<Line>,
        }

        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        pub(super) enum State {
            Open,
            Paid,
            Sent(u32),
        }
    }

    mod after {
        use super::*;

        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        pub(super) struct Purchase {
            pub(super) state: Stage,
            pub(super) lines: Vec<Item>,
            pub(super) id: u32,
        }

        /// What was bought, with its parts.
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        pub(super) struct Item {
            pub(super) parts: Vec<Item>,
            pub(super) cents: u32,
        }

        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        pub(super) enum Stage {
            Sent(u32),
            /// Not a cent yet.
            Open,
            Paid,
        }
    }

    #[test]
    fn names_of_types_and_texts_and_order_are_nothing() {
        assert_eq!(hash(&schema_for!(before::Order)), hash(&schema_for!(after::Purchase)));
    }

    #[test]
    fn another_type_of_a_field_is_another_schema() {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        struct Line {
            cents: i64,
            parts: Vec<Line>,
        }
        assert_ne!(hash(&schema_for!(before::Line)), hash(&schema_for!(Line)));
    }

    #[test]
    fn a_field_may_be_called_as_an_annotation_is() {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        struct WithTitle {
            title: String,
        }
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        struct WithCount {
            title: u32,
        }
        assert_ne!(hash(&schema_for!(WithTitle)), hash(&schema_for!(WithCount)));
    }

    #[test]
    fn a_variant_more_is_another_schema() {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "a schema")]
        enum State {
            Open,
            Paid,
            Lost,
            Sent(u32),
        }
        assert_ne!(hash(&schema_for!(before::State)), hash(&schema_for!(State)));
    }

    #[test]
    fn a_hash_is_the_same_in_every_process() {
        assert_eq!(hash(&schema_for!(String)), "76044a4714873c80");
    }
}
