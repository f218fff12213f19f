//! Schemas in a short form.

use std::collections::BTreeMap;

use graphweft::Json;
use serde_json::Map;

/// A short form of a schema, by which it is compared. The order of its properties does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn of(schema: &Json) -> Self {
        // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/.
        let hash = sorted(schema)
            .to_string()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Fingerprint(format!("{hash:016x}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// With its keys in order, whatever order serde_json keeps.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(object) => {
            let by_key: BTreeMap<&String, Json> = object.iter().map(|(key, value)| (key, sorted(value))).collect();
            Json::Object(by_key.into_iter().map(|(key, value)| (key.clone(), value)).collect::<Map<_, _>>())
        }
        Json::Array(items) => Json::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_properties_does_not_change_a_fingerprint_and_a_type_does() {
        let of = |text: &str| Fingerprint::of(&serde_json::from_str(text).unwrap());
        let one = of(r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}}"#);
        assert_eq!(one, of(r#"{"properties": {"b": {"type": "number"}, "a": {"type": "string"}}, "type": "object"}"#));
        assert_ne!(one, of(r#"{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}"#));
    }
}
