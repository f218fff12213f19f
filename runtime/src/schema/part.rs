//! Schemas as parts of larger ones.

use serde_json::{Map, Value, json};

/// A schema as a part of another one, with the definitions that the other one has to have. For the crates that offer nodes and workflows
/// as tools: to a model, and to the clients of a server.
///
/// References are from the root of a document. What this schema defines becomes a definition of the whole, and if it refers to its own
/// root, that becomes a definition too, under the name.
pub fn schema_part(schema: Value, name: &str) -> (Value, Map<String, Value>) {
    let Value::Object(mut root) = schema else { return (schema, Map::new()) };
    root.remove("$schema");
    let mut definitions = match root.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let target = format!("#/$defs/{name}");
    let is_recursive =
        root.values_mut().chain(definitions.values_mut()).fold(false, |any, value| redirect(value, &target) | any);
    if !is_recursive {
        return (Value::Object(root), definitions);
    }
    definitions.insert(name.to_owned(), Value::Object(root));
    (json!({ "$ref": target }), definitions)
}

/// Lets references to the root of a document lead to a definition in it. Whether there are such references.
fn redirect(value: &mut Value, target: &str) -> bool {
    match value {
        Value::Object(map) => map.iter_mut().fold(false, |any, (key, value)| {
            if key == "$ref" && value == "#" {
                *value = Value::from(target);
                return true;
            }
            redirect(value, target) | any
        }),
        Value::Array(values) => values.iter_mut().fold(false, |any, value| redirect(value, target) | any),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_taken_out() {
        let schema = json!({"$schema": "x", "type": "object", "$defs": {"A": {"type": "null"}}});
        let (part, definitions) = schema_part(schema, "Input");
        assert_eq!(part, json!({"type": "object"}));
        assert_eq!(Value::Object(definitions), json!({"A": {"type": "null"}}));
    }

    #[test]
    fn a_root_that_refers_to_itself_becomes_a_definition() {
        let schema = json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}});
        let (part, definitions) = schema_part(schema, "Input");
        assert_eq!(part, json!({"$ref": "#/$defs/Input"}));
        assert_eq!(definitions["Input"]["properties"]["next"]["anyOf"][0], part);
    }
}
