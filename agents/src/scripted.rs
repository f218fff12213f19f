//! A model for tests.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use graphweft::Json;

use crate::message::{Message, Reply, ToolCall, Usage};
use crate::model::{ChatModel, Delta, Request};
use crate::model_error::ModelError;

type Respond = dyn Fn(&Request) -> Result<Reply, ModelError> + Send + Sync;

/// A model for tests: replies as it is programmed to, and remembers the requests.
///
/// It replies by what is in the request, so it replies the same after a restart.
///
/// ```
/// use graphweft::json;
/// use graphweft_agents::{Message, Models, Scripted};
///
/// let model = Scripted::turns([Scripted::calls([("orders", json!({ "customer": "Ada" }))]), Message::assistant("Two.")]);
/// let models = Models::new(model.clone());
/// // run an agent in an engine with `.resource(models)`, then:
/// assert!(model.requests().is_empty());
/// ```
#[derive(Clone)]
#[must_use = "a model does nothing before it is one of `Models`"]
pub struct Scripted {
    respond: Arc<Respond>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Scripted {
    /// Replies by a function of the request.
    pub fn new(respond: impl Fn(&Request) -> Result<Message, ModelError> + Send + Sync + 'static) -> Self {
        Scripted::replies(move |request| Ok(Scripted::reply(request, respond(request)?)))
    }

    /// The same with the whole reply, which may be cut off.
    pub fn replies(respond: impl Fn(&Request) -> Result<Reply, ModelError> + Send + Sync + 'static) -> Self {
        Scripted { respond: Arc::new(respond), requests: Arc::default() }
    }

    /// Always the same text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Scripted::new(move |_| Ok(Message::assistant(text.clone())))
    }

    /// These replies in turn: the first to a conversation without a reply, the second to one with one reply. A request after
    /// the last of them is [`ModelError::Rejected`].
    pub fn turns(replies: impl IntoIterator<Item = Message>) -> Self {
        let replies: Vec<Message> = replies.into_iter().collect();
        Scripted::new(move |request| {
            let turn = turn_of(request);
            let rejected =
                || ModelError::Rejected { message: format!("the script has no reply for turn {}", turn + 1) };
            replies.get(turn).cloned().ok_or_else(rejected)
        })
    }

    /// A reply that calls these tools with these arguments.
    pub fn calls<'n>(calls: impl IntoIterator<Item = (&'n str, Json)>) -> Message {
        let call = |(at, (name, arguments)): (usize, (&str, Json))| ToolCall {
            id: format!("call-{at}"),
            name: name.to_owned(),
            arguments,
        };
        let calls = calls.into_iter().enumerate().map(call).collect();
        Message::Assistant { text: String::new(), calls, opaque: Vec::new() }
    }

    /// The whole reply to a request with this message: 10 tokens for each message of the request and 5 for the reply.
    pub fn reply(request: &Request, message: Message) -> Reply {
        let usage = Usage { input: 10 * request.messages.len() as u64, output: 5, cached: 0 };
        Reply { message, model: "scripted".to_owned(), usage, is_cut_off: false }
    }

    /// The requests so far, those of all clones.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How many replies are in the conversation.
fn turn_of(request: &Request) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

impl ChatModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        show: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            let reply = (self.respond)(request)?;
            if let Message::Assistant { text, .. } = &reply.message {
                text.split_inclusive(' ').for_each(|word| show(Delta::Text(word.to_owned())));
            }
            Ok(reply)
        })
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").finish_non_exhaustive()
    }
}
