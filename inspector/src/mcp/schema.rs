//! Schemas of inputs and outputs as parts of larger ones.

use serde_json::{Map, Value};

/// A schema as a part of another one, and the definitions that it refers to.
///
/// References are from the root of a document, so what this one defines becomes a definition of the whole; if it refers to its own
/// root, that becomes a definition as well. Formats that only Rust has are left out: clients warn of them, or refuse them.
pub(super) fn part(schema: &Value, name: &str) -> (Value, Map<String, Value>) {
    let Value::Object(mut root) = schema.clone() else { return (schema.clone(), Map::new()) };
    root.remove("$schema");
    let mut definitions = match root.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let target = format!("#/$defs/{name}");
    let mut is_recursive = false;
    remove_format(&mut root);
    for value in root.values_mut().chain(definitions.values_mut()) {
        is_recursive |= adapt(value, &target);
    }
    if !is_recursive {
        return (Value::Object(root), definitions);
    }
    definitions.insert(name.to_owned(), Value::Object(root));
    (serde_json::json!({ "$ref": target }), definitions)
}

/// Lets references to the root of a document lead to a definition in it, and removes formats. Whether there are such references.
fn adapt(value: &mut Value, target: &str) -> bool {
    match value {
        Value::Object(map) => {
            remove_format(map);
            map.iter_mut().fold(false, |any, (key, value)| {
                if key == "$ref" && value == "#" {
                    *value = Value::from(target);
                    return true;
                }
                adapt(value, target) | any
            })
        }
        Value::Array(values) => values.iter_mut().fold(false, |any, value| adapt(value, target) | any),
        _ => false,
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
    fn definitions_are_taken_out() {
        let schema = json!({"$schema": "x", "type": "object", "$defs": {"A": {"type": "null"}}});
        let (part, definitions) = part(&schema, "Input");
        assert_eq!(part, json!({"type": "object"}));
        assert_eq!(Value::Object(definitions), json!({"A": {"type": "null"}}));
    }

    #[test]
    fn formats_of_rust_are_left_out() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "format": "uint32", "minimum": 0},
            "format": {"type": "string", "format": "date-time"}}});
        let properties = part(&schema, "Input").0["properties"].clone();
        assert_eq!(properties["n"], json!({"type": "integer", "minimum": 0}));
        assert_eq!(properties["format"], schema["properties"]["format"]);
        assert_eq!(part(&json!({"type": "number", "format": "double"}), "Input").0, json!({"type": "number"}));
    }

    #[test]
    fn a_root_that_refers_to_itself_becomes_a_definition() {
        let schema = json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}});
        let (part, definitions) = part(&schema, "Input");
        assert_eq!(part, json!({"$ref": "#/$defs/Input"}));
        assert_eq!(definitions["Input"]["properties"]["next"]["anyOf"][0], part);
    }
}
