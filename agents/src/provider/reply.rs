//! The end of a stream, as a reply.

use genai::chat::{ContentPart, MessageContent, StopReason, StreamEnd};
use graphweft::Json;
use serde_json::Map;

use super::opaque::Kept;
use crate::message::{Message, Reply, ToolCall, Usage};
use crate::model_error::ModelError;

/// `calls` are those that were read apart from genai, if there are any.
///
/// # Errors
/// A reply that is not whole, or that a filter has ended.
pub(super) fn read(
    end: StreamEnd,
    calls: Option<Vec<ToolCall>>,
    model: String,
    format: &str,
) -> Result<Reply, ModelError> {
    let StreamEnd { captured_usage, captured_stop_reason, captured_content, captured_reasoning_content, .. } = end;
    let content = captured_content.unwrap_or_default();
    let (text, calls) = (content.texts().concat(), calls.unwrap_or_else(|| calls_of(&content)));
    let is_empty = text.is_empty() && calls.is_empty();
    match &captured_stop_reason {
        // Some adapters make an end of a connection that has ended.
        None => return Err(unreachable("the stream ended before the reply did")),
        Some(StopReason::ContentFilter(reason)) => {
            return Err(ModelError::Filtered { message: format!("the provider ended the reply by `{reason}`") });
        }
        Some(StopReason::Other(reason)) if is_failure(reason) => {
            return Err(unreachable(&format!("the provider broke the reply off by `{reason}`")));
        }
        Some(StopReason::ToolCall(_)) if calls.is_empty() => {
            return Err(ModelError::Rejected { message: "the tool calls of the reply cannot be read".to_owned() });
        }
        Some(StopReason::Other(reason)) if is_empty => {
            return Err(ModelError::Rejected { message: format!("the reply is empty and ends by `{reason}`") });
        }
        Some(_) => {}
    }
    let is_cut_off = captured_stop_reason.is_some_and(|reason| reason.is_max_tokens());
    // Reasoning without a signature is wanted back only beside the calls that it led to.
    let reasoning = captured_reasoning_content.filter(|_| !calls.is_empty());
    let opaque = kept(&content, reasoning).filter_map(|kept| kept.into_part(format)).collect();
    let usage = captured_usage.unwrap_or_default();
    let count = |tokens: Option<i32>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let usage = Usage {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        cached: count(usage.prompt_tokens_details.and_then(|details| details.cached_tokens)),
    };
    Ok(Reply { message: Message::Assistant { text, calls, opaque }, model, usage, is_cut_off })
}

pub(super) fn unreachable(message: &str) -> ModelError {
    ModelError::Unreachable { message: message.to_owned() }
}

/// Reasons for which there is no whole reply, by the names of OpenAI's responses, Gemini and Anthropic.
fn is_failure(reason: &str) -> bool {
    ["failed", "cancelled", "error", "pause_turn"].iter().any(|failure| reason.eq_ignore_ascii_case(failure))
}

fn calls_of(content: &MessageContent) -> Vec<ToolCall> {
    let call = |call: &genai::chat::ToolCall| ToolCall {
        id: call.call_id.clone(),
        name: call.fn_name.clone(),
        arguments: arguments(call.fn_arguments.clone()),
    };
    content.tool_calls().into_iter().map(call).collect()
}

/// Tools without parameters are called with nothing. Anything else stays as it is: a text if it is no JSON.
pub(super) fn arguments(arguments: Json) -> Json {
    match arguments {
        Json::Null => Json::Object(Map::new()),
        Json::String(text) if text.trim().is_empty() => Json::Object(Map::new()),
        other => other,
    }
}

/// What the provider gets back.
fn kept(content: &MessageContent, reasoning: Option<String>) -> impl Iterator<Item = Kept> {
    let has_reasoning = content.contains_reasoning_content();
    let part = |part: &ContentPart| match part {
        ContentPart::ThoughtSignature(signature) => Some(Kept::Signature(signature.clone())),
        ContentPart::ReasoningContent(reasoning) => Some(Kept::Reasoning(reasoning.clone())),
        ContentPart::Custom(custom) => Some(Kept::Custom(custom.data.clone())),
        _ => None,
    };
    let mut kept: Vec<Kept> = content.iter().filter_map(part).collect();
    if !has_reasoning {
        // With signed reasoning, those of the first call are copies of the signatures above.
        for (at, call) in content.tool_calls().into_iter().enumerate() {
            if let Some(signatures) = call.thought_signatures.clone() {
                kept.push(Kept::Call { at, signatures });
            }
        }
        kept.extend(reasoning.map(Kept::Reasoning));
    }
    kept.into_iter()
}
