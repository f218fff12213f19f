//! Tool calls of OpenAI's dialect, put together from the events of a stream.
//!
//! genai does this too, by the index of each piece: it fills the places before the first index with copies of that call, which would
//! be made twice, and a piece without an index is lost. Servers send both, and one index for several calls.

use genai::adapter::AdapterKind;
use graphweft::Json;
use serde::Deserialize;

use super::reply::arguments;
use crate::message::ToolCall;

/// Whether all of an adapter's streams are of this dialect. Those of others are recognised by their events.
pub(super) fn is_openai(adapter: AdapterKind) -> bool {
    matches!(adapter, AdapterKind::OpenAI | AdapterKind::Custom(_))
}

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// An event, as far as it is of interest here.
#[derive(Deserialize)]
struct Event {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    tool_calls: Vec<Piece>,
}

#[derive(Deserialize)]
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Json>,
}

impl Calls {
    /// Takes what is in an event. Most have nothing.
    pub(super) fn add(&mut self, event: &str) {
        if !event.contains("\"tool_calls\"") {
            return;
        }
        let Ok(Event { choices }) = serde_json::from_str(event) else { return };
        // genai asks for one choice.
        choices.into_iter().take(1).flat_map(|choice| choice.delta.tool_calls).for_each(|piece| self.add_piece(piece));
    }

    fn add_piece(&mut self, piece: Piece) {
        let Piece { index, id, function } = piece;
        let (id, Function { name, arguments }) = (id.unwrap_or_default(), function.unwrap_or_default());
        let name = name.unwrap_or_default();
        let arguments = match arguments {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(text)) => text,
            // Some servers send the object itself.
            Some(other) => other.to_string(),
        };
        let is_begun = |call: &Call| match index {
            Some(_) => call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id),
            None if id.is_empty() => name.is_empty(),
            None => call.id == id,
        };
        match self.0.iter_mut().rev().find(|call| is_begun(call)) {
            Some(call) => {
                call.arguments.push_str(&arguments);
                if call.id.is_empty() {
                    call.id = id;
                }
                if call.name.is_empty() {
                    call.name = name;
                }
            }
            None => self.0.push(Call { index, id, name, arguments }),
        }
    }

    /// The bytes of all arguments so far.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|call| call.arguments.len()).sum()
    }

    /// The calls of the whole reply; `None` if the stream had none of this dialect. `turn` is in the ids of those without one: a
    /// provider to which the conversation goes later may refuse an id that it has had before.
    pub(super) fn into_calls(self, turn: usize) -> Option<Vec<ToolCall>> {
        let call = |(at, call): (usize, Call)| ToolCall {
            id: if call.id.is_empty() { format!("call_{turn}_{at}") } else { call.id },
            name: call.name,
            arguments: arguments(serde_json::from_str(&call.arguments).unwrap_or(Json::String(call.arguments))),
        };
        Some(self.0.into_iter().enumerate().map(call).collect::<Vec<_>>()).filter(|calls| !calls.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(pieces: &[Json]) -> Vec<(String, String, Json)> {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.add(&json!({ "choices": [{ "delta": { "tool_calls": [piece] } }] }).to_string());
        }
        let calls = calls.into_calls(3).unwrap_or_default();
        calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn call(id: &str, name: &str, arguments: Json) -> (String, String, Json) {
        (id.to_owned(), name.to_owned(), arguments)
    }

    #[test]
    fn an_index_that_begins_late_makes_one_call() {
        for index in [1, u64::MAX] {
            let pieces = [
                json!({ "index": index, "id": "a", "function": { "name": "pay", "arguments": "{\"cents\"" } }),
                json!({ "index": index, "function": { "arguments": ": 5}" } }),
            ];
            assert_eq!(calls(&pieces), [call("a", "pay", json!({ "cents": 5 }))]);
        }
    }

    #[test]
    fn calls_with_one_index_are_told_apart_by_their_ids() {
        let pieces = [
            json!({ "index": 0, "id": "a", "function": { "name": "pay", "arguments": "{\"cents\": 5}" } }),
            json!({ "index": 0, "id": "b", "function": { "name": "pay", "arguments": "{\"cents\"" } }),
            json!({ "index": 0, "function": { "arguments": ": 6}" } }),
        ];
        assert_eq!(calls(&pieces), [call("a", "pay", json!({ "cents": 5 })), call("b", "pay", json!({ "cents": 6 }))]);
    }

    #[test]
    fn calls_without_an_index_are_whole_or_go_on_with_the_last() {
        let pieces = [
            json!({ "id": "a", "function": { "name": "pay", "arguments": { "cents": 5 } } }),
            json!({ "function": { "name": "now" } }),
            json!({ "id": "c", "function": { "name": "pay", "arguments": "{\"cents\"" } }),
            json!({ "function": { "arguments": ": 6}" } }),
        ];
        let expected = [
            call("a", "pay", json!({ "cents": 5 })),
            call("call_3_1", "now", json!({})),
            call("c", "pay", json!({ "cents": 6 })),
        ];
        assert_eq!(calls(&pieces), expected);
    }

    #[test]
    fn what_is_no_call_is_left_out() {
        let mut calls = Calls::default();
        for event in ["", "\"tool_calls\"", "{\"choices\": [{\"delta\": {\"tool_calls\": null}}]}", "[DONE]"] {
            calls.add(event);
        }
        assert!(calls.into_calls(3).is_none());
    }
}
