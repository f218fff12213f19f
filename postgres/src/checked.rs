//! JSON with a checksum.
//!
//! It is the last field of the object, of all that is before it. A program that knows of none ignores it, and what that writes has none
//! and is read as it is: engines of both kinds share a database.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::trouble::Trouble;

/// What the field begins with.
const FIELD: &str = ",\"checksum\":";

/// An object as text.
pub(crate) fn to_text(object: &impl Serialize) -> Result<String, Trouble> {
    let mut text = serde_json::to_string(object)?;
    if text.ends_with('}') && text.len() > "{}".len() {
        text.pop();
        let checksum = crc32fast::hash(text.as_bytes());
        text.push_str(&format!("{FIELD}{checksum}}}"));
    }
    Ok(text)
}

/// An object of its text; `what` it is, for the message.
pub(crate) fn from_text<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T, Trouble> {
    if let Some((before, checksum)) = text.strip_suffix('}').and_then(|text| text.rsplit_once(FIELD))
        && let Ok(checksum) = checksum.parse::<u32>()
        && checksum != crc32fast::hash(before.as_bytes())
    {
        return Err(Trouble::damaged(format!("{} does not match its checksum", what())));
    }
    serde_json::from_str(text).map_err(|error| Trouble::damaged(format!("{} cannot be read: {error}", what())))
}

/// The same as JSON, without the field, which a type would ignore.
pub(crate) fn value_from_text(text: &str, what: impl FnOnce() -> String) -> Result<Value, Trouble> {
    let mut value: Value = from_text(text, what)?;
    if let Some(object) = value.as_object_mut() {
        object.remove(FIELD.trim_matches([',', '"', ':']));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use graphweft::store::StoreError;

    use super::*;

    type Object = std::collections::BTreeMap<String, String>;

    #[test]
    fn a_changed_object_is_noticed_and_one_without_a_checksum_is_read() {
        let object = Object::from([("id".to_owned(), "a,\"checksum\":7".to_owned())]);
        let text = to_text(&object).unwrap();
        let what = || "it".to_owned();
        let read: serde_json::Value = from_text(&text, what).unwrap();
        assert_eq!(read["id"], "a,\"checksum\":7");
        let changed = from_text::<serde_json::Value>(&text.replace('7', "8"), what).unwrap_err();
        assert!(
            matches!(changed, Trouble::Store(StoreError::Other { message }) if message.contains("it does not match"))
        );
        assert_eq!(value_from_text(&text, what).unwrap(), serde_json::to_value(&object).unwrap());
        let older = serde_json::to_string(&object).unwrap();
        assert_eq!(from_text::<Object>(&older, what).unwrap(), object);
    }
}
