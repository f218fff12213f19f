//! Schemas for OpenAI, which refuses a request whose strict schema has more than [its subset of JSON Schema][subset].
//!
//! genai sends each format as strict. It requires all properties, forbids others and resolves references with siblings, which is not
//! repeated here, and leaves what else is not in the subset.
//!
//! [subset]: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatResponseFormat, JsonSpec};
use graphweft::Json;
use serde_json::{Map, json};

/// Limits and notes that are left out: a reply is checked against its type anyway.
const LEFT_OUT: [&str; 13] = [
    "default",
    "examples",
    "minLength",
    "maxLength",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// What has no form in the subset.
const UNKNOWN: [&str; 9] =
    ["allOf", "not", "if", "then", "else", "patternProperties", "prefixItems", "dependentRequired", "dependentSchemas"];

/// The formats of texts that the subset has. Those of numbers are Rust's, such as `uint32`.
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Puts the format of a request for OpenAI into the subset, or sends it as one that is not strict.
pub(super) fn fit_format(options: &mut ChatOptions, adapter: AdapterKind) {
    let Some(ChatResponseFormat::JsonSpec(spec)) = options.response_format.take() else { return };
    match root(&spec.schema) {
        Some(schema) => options.response_format = Some(ChatResponseFormat::JsonSpec(JsonSpec { schema, ..spec })),
        None => {
            let JsonSpec { name, schema, .. } = spec;
            let format = json!({ "name": name, "strict": false, "schema": schema });
            options.extra_body = Some(match adapter {
                AdapterKind::OpenAIResp => {
                    let mut format = format;
                    format["type"] = json!("json_schema");
                    json!({ "text": { "format": format } })
                }
                _ => json!({ "response_format": { "type": "json_schema", "json_schema": format } }),
            });
        }
    }
}

/// The schema in the subset; `None` if it has no such form.
fn root(schema: &Json) -> Option<Json> {
    strict(schema).filter(|schema| schema["type"] == "object" && schema.get("anyOf").is_none())
}

fn strict(schema: &Json) -> Option<Json> {
    let schema = schema.as_object()?;
    let has = |key: &str| schema.contains_key(key);
    let is_of = |name: &str| schema.get("type").is_some_and(|ty| ty == name || is_in(name, ty));
    let is_union = has("oneOf") || has("anyOf");
    let is_closed = schema.get("additionalProperties").is_none_or(|others| *others == Json::Bool(false));
    let says_something = is_union || ["type", "$ref", "enum", "const"].into_iter().any(has);
    if UNKNOWN.into_iter().any(has)
        || has("oneOf") && has("anyOf")
        || is_union && has("properties")
        || is_of("array") && !has("items")
        || !is_closed
        || !says_something
    {
        return None;
    }
    let mut fitting = Map::new();
    for (key, value) in schema {
        match key.as_str() {
            key if LEFT_OUT.contains(&key) => {}
            "format" if !value.as_str().is_some_and(|format| FORMATS.contains(&format)) => {}
            // The alternatives of an enum exclude one another; for a reply, it is enough that one fits.
            "oneOf" | "anyOf" => {
                let ways: Option<Vec<Json>> = value.as_array()?.iter().map(strict).collect();
                fitting.insert("anyOf".to_owned(), Json::Array(ways?));
            }
            "properties" | "$defs" | "definitions" => {
                let named = |(name, schema): (&String, &Json)| Some((name.clone(), strict(schema)?));
                let all: Option<Map<String, Json>> = value.as_object()?.iter().map(named).collect();
                fitting.insert(key.clone(), Json::Object(all?));
            }
            "items" => {
                fitting.insert(key.clone(), strict(value)?);
            }
            _ => {
                fitting.insert(key.clone(), value.clone());
            }
        }
    }
    if is_of("object") && !is_union {
        fitting.entry("properties").or_insert_with(|| json!({}));
    }
    Some(Json::Object(fitting))
}

fn is_in(name: &str, types: &Json) -> bool {
    types.as_array().is_some_and(|types| types.iter().any(|ty| ty == name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::output::format_of;

    #[derive(Serialize, Deserialize, JsonSchema)]
    enum Next {
        /// Money goes back.
        Refund {
            cents: u32,
        },
        Close,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Opted {
        next: Next,
        #[serde(default)]
        default: String,
        site: Option<Vec<u8>>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Prices {
        by_name: BTreeMap<String, u32>,
    }

    #[test]
    fn an_enum_is_any_of_its_alternatives_and_defaults_are_left_out() {
        let schema = root(&format_of::<Opted>().unwrap().schema).unwrap();
        let text = schema.to_string();
        assert!(!text.contains("oneOf") && !text.contains("uint"), "{text}");
        assert_eq!(schema["$defs"]["Next"]["anyOf"].as_array().map(Vec::len), Some(2), "{text}");
        // A property of that name stays, and has no default of its own.
        assert_eq!(schema["properties"]["default"], json!({ "type": "string" }));
        assert_eq!(root(&format_of::<Next>().unwrap().schema).unwrap()["type"], "object");
    }

    #[test]
    fn a_map_a_tuple_and_any_value_have_no_strict_form() {
        assert_eq!(root(&format_of::<Prices>().unwrap().schema), None);
        assert_eq!(root(&format_of::<(String, u32)>().unwrap().schema), None);
        assert_eq!(root(&format_of::<Json>().unwrap().schema), None);
    }

    #[test]
    fn what_has_no_strict_form_is_sent_as_it_is() {
        let format = format_of::<Prices>().unwrap();
        for (adapter, at) in
            [(AdapterKind::OpenAI, "/response_format/json_schema"), (AdapterKind::OpenAIResp, "/text/format")]
        {
            let spec = JsonSpec::new(&*format.name, format.schema.clone());
            let mut options = ChatOptions::default().with_response_format(ChatResponseFormat::JsonSpec(spec));
            fit_format(&mut options, adapter);
            assert!(options.response_format.is_none());
            let body = options.extra_body.unwrap();
            let sent = body.pointer(at).unwrap();
            assert_eq!((&sent["strict"], &sent["schema"]), (&json!(false), &format.schema), "{body}");
        }
    }
}
