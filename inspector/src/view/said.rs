//! What is said in a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Something that was said in a conversation.
///
/// ```
/// use graphweft_inspector::view::{Said, SaidWhat};
///
/// let said: Said = serde_json::from_str(
///     r#"{"seq": 4, "time": 1764150000000, "path": "greet/greeter/model:0", "type": "asked", "text": "Ada"}"#,
/// )?;
/// assert_eq!(said.what, SaidWhat::Asked { text: "Ada".into(), cut: false });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Said {
    /// The number of the event.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// The path of the model call, the tool call or the question.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub what: What,
}

/// What was said. Texts and values are cut after 4 kB; `cut` says so, and a value is its text then. The whole is among the values of the
/// path, but for a prompt: its first 4 kB are what is recorded.
///
/// A line for each, as a terminal would show it:
///
/// ```
/// use graphweft_inspector::view::SaidWhat;
///
/// fn line(what: &SaidWhat) -> String {
///     match what {
///         SaidWhat::Asked { text, .. } => format!("> {text}"),
///         SaidWhat::Replied { model, text, calls, .. } => format!("{model}: {text} ({} calls)", calls.len()),
///         _ => "..".into(),
///     }
/// }
///
/// let asked = SaidWhat::Asked { text: "Ada".into(), cut: false };
/// assert_eq!(line(&asked), "> Ada");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = SaidWhat)]
#[non_exhaustive]
pub enum What {
    /// What the program asks the model: a prompt, or why its last output does not fit.
    Asked {
        /// The text.
        text: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// The reply of a model.
    Replied {
        /// The model, as its provider names it.
        model: String,
        /// The text; empty if it only calls tools.
        text: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// The tools that it calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// The tokens of the request.
        input_tokens: u64,
        /// The tokens of the reply.
        output_tokens: u64,
        /// Those of the request that came from the provider's cache.
        #[serde(default)]
        cached_tokens: u64,
        /// Whether the reply ends at the limit of tokens.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_off: bool,
    },
    /// The output of a tool.
    Returned {
        /// Its name.
        tool: String,
        /// The output.
        #[schema(value_type = Value)]
        output: Value,
        /// Whether the output is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A person has refused a tool call. The model gets the reason.
    Refused {
        /// The name of the tool.
        tool: String,
        /// The reason.
        why: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A tool was not called: there is none of this name, it does not take the arguments, or the turn was the last one.
    NotCalled {
        /// The name, as the model wrote it.
        tool: String,
        /// Whether a call had begun, which may have had its effect: the program of now has no such tool, or it takes other arguments.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begun: bool,
        /// The reason, as the model gets it; none if it got none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Whether the reason is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// An attempt at a model call or a tool call has failed. The model gets the error of a tool.
    Failed {
        /// The name of the tool; none for a model call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// Which attempt.
        attempt: u32,
        /// The error.
        message: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Whether another attempt follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A person is asked about a tool call.
    PersonAsked {
        /// The name of the tool.
        tool: String,
        /// The text of the question.
        prompt: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A person has answered.
    PersonAnswered {
        /// The name of the tool.
        tool: String,
        /// The answer.
        #[schema(value_type = Value)]
        answer: Value,
        /// Whether the answer is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Who has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

/// A tool call, as a model asks for it.
///
/// ```
/// use graphweft_inspector::view::ToolCall;
///
/// let call: ToolCall = serde_json::from_str(r#"{"tool": "refund", "arguments": {"cents": 900}}"#)?;
/// assert_eq!(call.arguments["cents"], 900);
/// assert!(!call.cut); // these are all of the arguments
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The arguments.
    #[schema(value_type = Value)]
    pub arguments: Value,
    /// Whether the arguments are longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// How many bytes of a text or a value are in a conversation.
const MOST: usize = 4096;

pub(super) fn cut_text(text: &str) -> (String, bool) {
    let end = text.floor_char_boundary(MOST.min(text.len()));
    (text[..end].to_owned(), end < text.len())
}

/// The value, or the beginning of its text if that is too long.
pub(super) fn cut_json(value: &Value) -> (Value, bool) {
    struct Beginning(Vec<u8>);
    impl std::io::Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.extend_from_slice(bytes);
            if self.0.len() > MOST { Err(std::io::Error::other("enough")) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    if let Value::String(text) = value {
        let (text, cut) = cut_text(text);
        return (text.into(), cut);
    }
    let mut written = Beginning(Vec::new());
    match serde_json::to_writer(&mut written, value) {
        Ok(()) => (value.clone(), false),
        Err(_) => (cut_text(&String::from_utf8_lossy(&written.0)).0.into(), true),
    }
}
