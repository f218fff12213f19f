//! The end of a reply in OpenAI's dialect, read apart from genai.
//!
//! genai ends a reply at `data: [DONE]`. Some servers and proxies close the connection without it, when the reply is whole and paid.

use genai::chat::{MessageContent, StopReason, StreamEnd, Usage};
use graphweft::Json;
use serde::Deserialize;

/// What is known of the reply so far.
#[derive(Debug, Default)]
pub(super) struct Finish {
    reason: Option<String>,
    usage: Option<Usage>,
}

/// An event, as far as it is of interest here.
#[derive(Deserialize)]
struct Event {
    choices: Vec<Choice>,
    usage: Option<Json>,
}

#[derive(Deserialize)]
struct Choice {
    finish_reason: Option<String>,
}

impl Finish {
    /// Takes what is in an event. Most have nothing.
    pub(super) fn add(&mut self, event: &str) {
        let Ok(Event { choices, usage }) = serde_json::from_str(event) else { return };
        // genai asks for one choice.
        let reason = choices.into_iter().next().and_then(|choice| choice.finish_reason);
        self.reason = reason.or(self.reason.take());
        self.usage = usage.and_then(|usage| Usage::deserialize(usage).ok()).or(self.usage.take());
    }

    /// The end of a stream that was closed; `None` if the reply was not whole by then.
    pub(super) fn end(&mut self, text: String, reasoning: String) -> Option<StreamEnd> {
        let reason = self.reason.take()?;
        Some(StreamEnd {
            captured_usage: self.usage.take(),
            captured_stop_reason: Some(StopReason::from(reason)),
            captured_content: Some(MessageContent::from_text(text)),
            captured_reasoning_content: Some(reasoning).filter(|reasoning| !reasoning.is_empty()),
            captured_response_id: None,
        })
    }
}
