//! Schemas of inputs and outputs as parts of larger ones.

use graphweft::schema_part;
use serde_json::{Map, Value};

/// A schema as a part of another one, and the definitions that it refers to. Formats that only Rust has are left out: clients warn of
/// them, or refuse them.
pub(super) fn part(schema: &Value, name: &str) -> (Value, Map<String, Value>) {
    let (mut part, mut definitions) = schema_part(schema.clone(), name);
    remove_formats(&mut part);
    definitions.values_mut().for_each(remove_formats);
    (part, definitions)
}

fn remove_formats(value: &mut Value) {
    match value {
        Value::Object(map) => {
            remove_format(map);
            map.values_mut().for_each(remove_formats);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_formats),
        _ => {}
    }
}

/// Removes the format of a number. The limits of its type are in other keywords.
fn remove_format(schema: &mut Map<String, Value>) {
    let is_of_a_number = |format: &str| {
        let name = format.strip_prefix('u').unwrap_or(format);
        ["int", "float", "double"].iter().any(|it| name.starts_with(it))
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_of_a_number) {
        schema.remove("format");
    }
}

/// The definition that a schema is a reference to, or itself.
pub(super) fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/$defs/"));
    name.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_of_rust_are_left_out() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "format": "uint32", "minimum": 0},
            "format": {"type": "string", "format": "date-time"}}});
        let properties = part(&schema, "Input").0["properties"].clone();
        assert_eq!(properties["n"], json!({"type": "integer", "minimum": 0}));
        assert_eq!(properties["format"], schema["properties"]["format"]);
        assert_eq!(part(&json!({"type": "number", "format": "double"}), "Input").0, json!({"type": "number"}));
    }
}
