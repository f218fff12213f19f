//! Models of providers, by the crate `genai`. None of its types is public here.

mod calls;
mod error;
mod finish;
mod opaque;
mod reply;
mod request;
mod strict;

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use genai::adapter::AdapterKind;
use genai::chat::ChatStreamEvent;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ServiceTarget};

use self::calls::Calls;
use self::finish::Finish;
use crate::message::Reply;
use crate::model::{ChatModel, Delta, Request};
use crate::model_error::ModelError;

/// The longest reply that is read, in bytes of its text and reasoning, or of the arguments of its calls. A provider that sends more
/// is out of order, and what it sends would be held in memory and recorded.
const MAX_BYTES: usize = 8 << 20;

/// Prefixes that genai knows beside the names of its adapters.
const OTHER_PREFIXES: [&str; 3] = ["zai_coding", "baidu-coding-openai", "baidu-coding-anthropic"];

/// A model of a provider or of a local server. Needs the feature `genai`, and runs within a tokio runtime.
///
/// The name decides who serves it: `claude-..` Anthropic, `gpt-..` OpenAI, `gemini-..` Google, and so on. A prefix says it
/// expressly: `groq::llama-3.3-70b`, `open_router::..`, `ollama::qwen3`. A name that says nothing is a model of the local Ollama.
/// The prefixes are [those of genai](https://docs.rs/genai).
///
/// The key is read from the provider's environment variable, such as `ANTHROPIC_API_KEY`, at each call, unless [`key`](Self::key)
/// sets it.
///
/// ```
/// use graphweft_agents::{GenaiModel, Models};
///
/// # fn main() -> Result<(), graphweft_agents::ModelError> {
/// let models = Models::new(GenaiModel::new("claude-sonnet-5")?)
///     .with("small", GenaiModel::new("openai::smollm2")?.endpoint("http://127.0.0.1:8080/v1"));
/// assert!(GenaiModel::new("no_such_provider::model").is_err());
/// # Ok(()) }
/// ```
///
/// # Replies
/// They are streamed. What the provider wants back unchanged, such as signatures of its reasoning, is kept as
/// [`OpaquePart`](crate::OpaquePart)s with the provider's name and the version of the format, and goes to the same provider only. A
/// stream that ends before the provider has said so is [`ModelError::Unreachable`], never a short reply; in OpenAI's dialect, a reason for
/// which the reply has ended says so, also without `[DONE]`. Arguments of a tool that
/// are no JSON become a text, which no tool takes, so the model gets an error and can correct them.
///
/// # Formats
/// OpenAI gets a schema as a strict one where that is possible: without defaults, and with `anyOf` for `oneOf`. A schema with a map or a
/// tuple is sent as one that is not strict. A format beside tools is sent to Anthropic and OpenAI only. Other providers, and another [`endpoint`](Self::endpoint), get the tools.
///
/// # Tokens
/// Anthropic, Bedrock and Fireworks want a limit for each reply. If the agent has none ([`Agent::max_tokens`](crate::Agent::max_tokens)),
/// they get one that genai chooses by the name of the model, up to the longest reply that it can give: 64,000 tokens for
/// `claude-sonnet-5`, 4,096 for a model of Bedrock that it does not know. Other providers get none.
///
/// # Time
/// There is no time limit here: the agent has one for each call ([`Agent::timeout`](crate::Agent::timeout)). Dropping the call closes
/// its connection.
#[derive(Clone)]
#[must_use = "a model does nothing before it is one of `Models`"]
pub struct GenaiModel {
    client: Client,
    name: String,
    endpoint: Option<String>,
    key: Option<String>,
}

impl GenaiModel {
    /// A model by its name, with or without the prefix of a provider. Nothing is sent.
    ///
    /// # Errors
    /// [`ModelError::Rejected`] if no provider has this prefix, or the HTTP client cannot be built.
    pub fn new(name: impl Into<String>) -> Result<Self, ModelError> {
        let name = name.into();
        check_prefix(&name)?;
        // A redirect would take the key to another server.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        let http =
            http.map_err(|error| ModelError::Rejected { message: format!("there is no HTTP client: {error}") })?;
        let client = Client::builder().with_reqwest(http).build().map_err(error::of)?;
        Ok(GenaiModel { client, name, endpoint: None, key: None })
    }

    /// Another server that speaks the provider's dialect: with the prefix `openai::` each that is compatible with OpenAI, such as
    /// llama.cpp, vLLM or LM Studio. The URL is that before `chat/completions`: `http://127.0.0.1:8080/v1`.
    ///
    /// It does not get the key of the environment, which is the provider's: give it one by [`key`](Self::key) if it wants one.
    /// Redirects are not followed, so that a key stays with its server.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        let mut url = url.into();
        if !url.ends_with('/') {
            url.push('/');
        }
        self.endpoint = Some(url);
        self
    }

    /// The key, in place of that of the environment.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    async fn target(&self) -> Result<ServiceTarget, ModelError> {
        let mut target = self.client.resolve_service_target(&*self.name).await.map_err(error::of)?;
        if let Some(url) = &self.endpoint {
            if !url.starts_with("http://") && !url.starts_with("https://") {
                let message = format!("the endpoint `{url}` does not begin with `http://` or `https://`");
                return Err(ModelError::Rejected { message });
            }
            target.endpoint = Endpoint::from_owned(url.as_str());
            // Most dialects need one to build a request.
            target.auth = AuthData::from_single("none");
        }
        if let Some(key) = &self.key {
            target.auth = AuthData::from_single(key);
        }
        Ok(target)
    }

    /// Other providers, and servers that speak the dialect of one of these, refuse the two together or hold each reply to the format, so
    /// that no tool is called.
    fn takes_format_beside_tools(&self, adapter: AdapterKind) -> bool {
        self.endpoint.is_none()
            && matches!(adapter, AdapterKind::OpenAI | AdapterKind::OpenAIResp | AdapterKind::Anthropic)
    }

    async fn exchange(&self, request: &Request, show: &(dyn Fn(Delta) + Send + Sync)) -> Result<Reply, ModelError> {
        let target = self.target().await?;
        let adapter = target.model.adapter_kind;
        let format = opaque::format_of(adapter);
        let (chat, mut options) = request::of(request, &format);
        options.capture_tool_calls = Some(!calls::is_openai(adapter));
        if !request.tools.is_empty() && !self.takes_format_beside_tools(adapter) {
            options.response_format = None;
        }
        if matches!(adapter, AdapterKind::OpenAI | AdapterKind::OpenAIResp) {
            strict::fit_format(&mut options, adapter);
        }
        let (calls, finish): (Arc<Mutex<Calls>>, Arc<Mutex<Finish>>) = Default::default();
        let of_events = (Arc::clone(&calls), Arc::clone(&finish));
        let options = options.with_raw_frame_fn(move |_, event| {
            locked(&of_events.0).add(event.data);
            locked(&of_events.1).add(event.data);
        });
        let begun = caught(self.client.exec_chat_stream(target, chat, Some(&options))).await?;
        let response = begun.map_err(error::of)?;
        let model = response.model_iden.model_name.namespace_and_name().1.to_owned();
        let mut stream = response.stream;
        let (mut text, mut reasoning, mut bytes) = (String::new(), String::new(), 0);
        let end = loop {
            // A connection that breaks behind the end of the reply takes nothing from it.
            let at_close = |text, reasoning, error| locked(&finish).end(text, reasoning).ok_or(error);
            let event = match caught(stream.next()).await? {
                Some(Ok(event)) => event,
                Some(Err(error)) => match error::of(error) {
                    error @ ModelError::Unreachable { .. } => break at_close(text, reasoning, error)?,
                    error => return Err(error),
                },
                None => break at_close(text, reasoning, reply::unreachable("the stream ended before the reply did"))?,
            };
            match event {
                ChatStreamEvent::Chunk(chunk) => {
                    bytes += chunk.content.len();
                    text.push_str(&chunk.content);
                    show(Delta::Text(chunk.content));
                }
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    bytes += chunk.content.len();
                    reasoning.push_str(&chunk.content);
                    show(Delta::Reasoning(chunk.content));
                }
                ChatStreamEvent::ToolCallChunk(chunk) => {
                    // It has the arguments so far.
                    let arguments = chunk.tool_call.fn_arguments.as_str().map_or(0, str::len);
                    bytes = bytes.max(arguments).max(locked(&calls).bytes());
                }
                ChatStreamEvent::End(end) => break end,
                _ => {}
            }
            if bytes > MAX_BYTES {
                return Err(ModelError::Rejected { message: format!("the reply is longer than {MAX_BYTES} bytes") });
            }
        };
        let calls = std::mem::take(&mut *locked(&calls)).into_calls(request.messages.len());
        reply::read(end, calls, model, &format)
    }
}

impl ChatModel for GenaiModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        show: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.exchange(request, show))
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Awaits something of genai, which adds up the numbers that a provider sends without a check.
async fn caught<F: Future>(work: F) -> Result<F::Output, ModelError> {
    let rejected = |_| ModelError::Rejected { message: "the reply cannot be read: its reader panicked".to_owned() };
    AssertUnwindSafe(work).catch_unwind().await.map_err(rejected)
}

/// genai takes a prefix that it does not know for a part of the name of a model of Ollama.
fn check_prefix(name: &str) -> Result<(), ModelError> {
    let Some((prefix, _)) = name.split_once("::") else { return Ok(()) };
    let is_custom = prefix.strip_prefix("genai_").is_some_and(|number| number.parse::<u8>().is_ok());
    if is_custom || OTHER_PREFIXES.contains(&prefix) || AdapterKind::from_lower_str(prefix).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = AdapterKind::all().iter().map(AdapterKind::as_lower_str).collect();
    let message = format!("no provider has the prefix `{prefix}::`; there are {}", known.join(", "));
    Err(ModelError::Rejected { message })
}

impl fmt::Debug for GenaiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GenaiModel { name, endpoint, .. } = self;
        f.debug_struct("GenaiModel").field("name", name).field("endpoint", endpoint).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_beside_tools_goes_only_to_the_providers_that_take_both() {
        let openai = GenaiModel::new("openai::gpt-5").unwrap();
        assert!(openai.takes_format_beside_tools(AdapterKind::OpenAI));
        assert!(openai.takes_format_beside_tools(AdapterKind::Anthropic));
        assert!(!openai.takes_format_beside_tools(AdapterKind::Groq));
        let local = openai.endpoint("http://127.0.0.1:8080/v1");
        assert!(!local.takes_format_beside_tools(AdapterKind::OpenAI));
    }
}
