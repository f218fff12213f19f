//! A request, as genai takes it.

use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ChatRole, ContentPart, JsonSpec, MessageContent, Tool,
    ToolResponse,
};
use graphweft::Json;
use serde_json::json;

use super::opaque::Kept;
use crate::message::{Message, OpaquePart, ToolCall};
use crate::model::Request;

/// Sent in place of a reply without text and calls, and of a text of the user that has none. Providers accept no empty message, Anthropic no text
/// of nothing but white space in any, and many no two messages of the user in a row.
const EMPTY: &str = "(empty)";

pub(super) fn of(request: &Request, format: &str) -> (ChatRequest, ChatOptions) {
    let mut chat = ChatRequest::new(messages(&request.messages, format));
    if !request.instructions.is_empty() {
        chat = chat.with_system(&*request.instructions);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            Tool::new(&*tool.name).with_description(&*tool.description).with_schema(tool.parameters.clone())
        });
        chat = chat.with_tools(tools.collect::<Vec<_>>());
    }
    let mut options =
        ChatOptions::default().with_capture_usage(true).with_capture_content(true).with_capture_reasoning_content(true);
    options.temperature = request.options.temperature;
    options.max_tokens = request.options.max_tokens;
    options.response_format = request
        .format
        .as_ref()
        .map(|format| ChatResponseFormat::JsonSpec(JsonSpec::new(&*format.name, format.schema.clone())));
    (chat, options)
}

fn messages(messages: &[Message], format: &str) -> Vec<ChatMessage> {
    let mut chat = Vec::new();
    let mut results = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    for message in messages {
        if let Message::Tool { call_id, name, content } = message {
            end_of_texts(&mut texts, &mut chat);
            results.push(ContentPart::ToolResponse(ToolResponse::new(&**call_id, &**content).with_fn_name(&**name)));
            continue;
        }
        end_of_results(&mut results, &mut chat);
        match message {
            Message::User { text } => texts.push(text),
            Message::Assistant { text, calls, opaque } => {
                end_of_texts(&mut texts, &mut chat);
                chat.push(ChatMessage::assistant(MessageContent::from_parts(parts(text, calls, opaque, format))));
            }
            Message::Tool { .. } => {}
        }
    }
    end_of_results(&mut results, &mut chat);
    end_of_texts(&mut texts, &mut chat);
    chat
}

/// Texts of the user that follow each other, such as the summary of a session and what was said behind it, are one message.
fn end_of_texts(texts: &mut Vec<&str>, chat: &mut Vec<ChatMessage>) {
    if !texts.is_empty() {
        let text = std::mem::take(texts).join("\n\n");
        chat.push(ChatMessage::user(if is_blank(&text) { EMPTY.to_owned() } else { text }));
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The results of one turn are one message: Anthropic wants them together.
fn end_of_results(results: &mut Vec<ContentPart>, chat: &mut Vec<ChatMessage>) {
    if !results.is_empty() {
        chat.push(ChatMessage::new(ChatRole::Tool, MessageContent::from_parts(std::mem::take(results))));
    }
}

fn parts(text: &str, calls: &[ToolCall], opaque: &[OpaquePart], format: &str) -> Vec<ContentPart> {
    let mut signatures = vec![None; calls.len()];
    let mut parts = Vec::new();
    for kept in Kept::all(opaque, format) {
        match kept {
            Kept::Call { at, signatures: own } => {
                if let Some(place) = signatures.get_mut(at) {
                    *place = Some(own);
                }
            }
            other => parts.extend(other.into_content()),
        }
    }
    if !is_blank(text) {
        parts.push(ContentPart::from_text(text));
    } else if calls.is_empty() {
        parts.push(ContentPart::from_text(EMPTY));
    }
    parts.extend(calls.iter().zip(signatures).map(|(call, thought_signatures)| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: arguments(&call.arguments),
            thought_signatures,
        })
    }));
    parts
}

/// Providers refuse a conversation with a call whose arguments are no object, though their own model made it.
fn arguments(arguments: &Json) -> Json {
    if arguments.is_object() { arguments.clone() } else { json!({ "invalid_json": arguments }) }
}
