//! What the tests share.

use graphweft::prelude::*;
use graphweft::{Json, Workflow};
use graphweft_agents::{ChatModel, Message, Models, Request};

/// Runs a workflow with this model, in memory.
pub(crate) async fn run<W: Workflow>(model: impl ChatModel, input: W::Input) -> Result<W::Output, RunError> {
    let engine = Engine::builder().resource(Models::new(model)).build().unwrap();
    engine.start::<W>(input).await.unwrap().result().await
}

/// The results of tools in a request, in order.
pub(crate) fn results(request: &Request) -> Vec<String> {
    let content = |message: &Message| match message {
        Message::Tool { content, .. } => Some(content.clone()),
        _ => None,
    };
    request.messages.iter().filter_map(content).collect()
}

/// The last message of a request, if it is to the model.
pub(crate) fn last_text(request: &Request) -> String {
    match request.messages.last() {
        Some(Message::User { text, .. }) => text.clone(),
        other => panic!("the last message is not to the model: {other:?}"),
    }
}

/// A reply that calls one tool.
pub(crate) fn call(tool: &str, arguments: Json) -> Message {
    graphweft_agents::Scripted::calls([(tool, arguments)])
}

/// The texts of messages, without those of tools.
pub(crate) fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { text, .. } | Message::Assistant { text, .. } => Some(text.clone()),
        _ => None,
    };
    messages.iter().filter_map(text).collect()
}
