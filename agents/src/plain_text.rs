//! Conversations for a model that gets no tools.

use serde_json::json;

use crate::message::{Message, ToolCall};

/// Whether there are calls or results in a conversation.
pub(crate) fn has_calls(messages: &[Message]) -> bool {
    messages.iter().any(|message| match message {
        Message::Assistant { calls, .. } => !calls.is_empty(),
        Message::Tool { .. } => true,
        Message::User { .. } => false,
    })
}

/// The conversation without calls and results. Results that follow each other are one message: many templates of chats want the
/// user and the model to take turns.
pub(crate) fn in_plain_text(messages: &[Message]) -> Vec<Message> {
    let mut plain: Vec<Message> = Vec::new();
    let mut after_result = false;
    for message in messages {
        let is_result = matches!(message, Message::Tool { .. });
        match message {
            Message::Tool { name, content, .. } => {
                let result = format!("`{name}` returned: {content}");
                match plain.last_mut() {
                    Some(Message::User { text }) if after_result => {
                        text.push('\n');
                        text.push_str(&result);
                    }
                    _ => plain.push(Message::user(result)),
                }
            }
            Message::Assistant { text, calls, .. } if !calls.is_empty() => {
                let step = |call: &ToolCall| json!({ "tool": call.name, "arguments": call.arguments }).to_string();
                let mut lines: Vec<String> = Some(text.clone()).filter(|text| !text.is_empty()).into_iter().collect();
                lines.extend(calls.iter().map(step));
                // What a provider wants back with a call, it may refuse without one.
                plain.push(Message::assistant(lines.join("\n")));
            }
            other => plain.push(other.clone()),
        }
        after_result = is_result;
    }
    plain
}
