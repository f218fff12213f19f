//! Messages of JSON-RPC that cannot be read.

use std::fmt;

use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcError, RequestId};
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::brief::brief;

/// Reads a message.
///
/// # Errors
/// The response to what cannot be read; `None` to a notification, which has no response.
pub(super) fn read(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Option<JsonRpcError>> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    // A string that is skipped is not checked.
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Some(JsonRpcError::new(None, ErrorData::parse_error(format!("the message is not UTF-8: byte {at}"), None)))
    })?;
    serde_json::from_str(text).map_err(|_| refusal(text))
}

/// The response to a message that is no message.
fn refusal(text: &str) -> Option<JsonRpcError> {
    // What is skipped may be nested without limit.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let message = format!("the message is not JSON: {error}");
        return Some(JsonRpcError::new(None, ErrorData::parse_error(message, None)));
    }
    let Head { id, has_id, is_called } = Head::of(text);
    if is_called && !has_id {
        return None;
    }
    let message = match serde_json::from_str::<Value>(text) {
        Err(error) => format!("the message cannot be read: {error}; arrays and objects may be nested 127 levels deep"),
        Ok(_) => {
            "this is not a message of JSON-RPC 2.0: an object with `jsonrpc`, an `id` that is an integer or a text, \
                  `method`, and `params` that are an object"
                .to_owned()
        }
    };
    // The id of a response is one of this server.
    Some(JsonRpcError::new(id.filter(|_| is_called), ErrorData::invalid_request(brief(&message), None)))
}

/// The response to a message that is longer than it may be, of which this is the start.
pub(super) fn too_long(start: &[u8], limit: usize) -> JsonRpcError {
    let Head { id, is_called, .. } = Head::of(&String::from_utf8_lossy(start));
    let message = format!("the message has more than {limit} bytes, and is not read");
    JsonRpcError::new(id.filter(|_| is_called), ErrorData::invalid_request(message, None))
}

/// What of a message can be read even if the rest cannot.
#[derive(Default)]
struct Head {
    id: Option<RequestId>,
    /// It has an id, which may be none.
    has_id: bool,
    /// It has a method: it is a request, or a notification.
    is_called: bool,
}

impl Head {
    /// What is read before an error counts.
    fn of(text: &str) -> Self {
        let mut head = Head::default();
        _ = serde_json::Deserializer::from_str(text).deserialize_map(HeadVisitor(&mut head));
        head
    }
}

struct HeadVisitor<'h>(&'h mut Head);

impl<'de> Visitor<'de> for HeadVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => {
                    self.0.has_id = true;
                    self.0.id = map.next_value()?;
                }
                "method" => {
                    self.0.is_called = true;
                    map.next_value::<IgnoredAny>()?;
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &[u8]) -> (i32, Option<RequestId>) {
        let refused = read(message).unwrap_err().unwrap();
        (refused.error.code.0, refused.id)
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn what_is_not_json_has_no_id() {
        for message in [&b"{"[..], b"x", b"", b"{\"id\": 1, \"method\": \"ping\"", b"{\"id\": 1, \"a\": \"\xFF\"}"] {
            assert_eq!(refused(message), (-32700, None), "{}", String::from_utf8_lossy(message));
        }
    }

    #[test]
    fn a_request_that_is_nested_too_deeply_is_refused_by_its_id() {
        for depth in [130, 1_000_000] {
            let before = format!(
                r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"a": {}}}}}"#,
                nested(depth)
            );
            let after = format!(r#"{{"params": {{"a": {}}}, "method": "tools/call", "id": "x"}}"#, nested(depth));
            assert_eq!(refused(before.as_bytes()), (-32600, Some(RequestId::Number(7))));
            assert_eq!(refused(after.as_bytes()), (-32600, Some(RequestId::String("x".into()))));
        }
    }

    #[test]
    fn what_has_no_form_of_a_message_is_refused() {
        let odd_ids = [
            r#"{"jsonrpc": "2.0", "id": [1], "method": "tools/call", "params": [1]}"#,
            r#"{"jsonrpc": "2.0", "method": "tools/call", "params": [1], "id": 1.5}"#,
        ];
        for message in ["[]", "7", "{}"].into_iter().chain(odd_ids) {
            assert_eq!(refused(message.as_bytes()), (-32600, None), "{message}");
        }
        let request = br#"{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": []}"#;
        assert_eq!(refused(request), (-32600, Some(RequestId::Number(3))));
    }

    /// Its id would be taken for that of a request of the client.
    #[test]
    fn a_response_is_refused_without_its_id() {
        let response = format!(r#"{{"jsonrpc": "2.0", "id": 7, "result": {}}}"#, nested(200));
        assert_eq!(refused(response.as_bytes()), (-32600, None));
    }

    #[test]
    fn a_notification_has_no_response() {
        let notification = format!(r#"{{"jsonrpc": "2.0", "method": "notifications/x", "params": {}}}"#, nested(200));
        assert!(read(notification.as_bytes()).unwrap_err().is_none());
    }

    #[test]
    fn of_a_long_message_the_start_has_the_id() {
        let start = br#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"a": "AAAA"#;
        assert_eq!(too_long(start, 9).id, Some(RequestId::Number(7)));
        assert_eq!(too_long(&start[..20], 9).id, None);
    }
}
