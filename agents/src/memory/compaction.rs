//! When the beginning of a session becomes a summary, and how.

use crate::message::Message;

/// When the beginning of a session is replaced by a summary of it ([`Memory::compact`](crate::Memory::compact)).
///
/// The summary is written by a model, before the turn of the agent. The call is recorded as one of the agent (`chat/guest/model:summary`), and the
/// summary is an entry of the session: what it replaces stays stored. Where the model refuses to write one
/// ([`ModelError::Filtered`](crate::ModelError::Filtered), for one), or its summary has no text or was cut off at its limit of tokens, the agent sees all that was
/// said, and another one is asked for before the next turn. A warning of `tracing` says so, and a refusal or a cut is recorded as
/// `chat/guest/session:without_summary`. The limit is that of the agent ([`Agent::max_tokens`](crate::Agent::max_tokens)): give it as many tokens as a summary takes.
///
/// ```
/// use graphweft_agents::{Agent, Compaction, Memory};
///
/// let compaction = Compaction::over_messages(60).keep(20).model("small");
/// let guest: Agent<String, String> = Agent::new("You chat.").memory(Memory::session("chat").compact(compaction));
/// # drop(guest);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a compaction does nothing before a memory has it"]
pub struct Compaction {
    over: Size,
    pub(super) keep: usize,
    pub(super) model: Option<String>,
    pub(super) instructions: String,
}

#[derive(Clone, Copy, Debug)]
enum Size {
    Messages(usize),
    Tokens(usize),
}

impl Compaction {
    /// When the agent would see more messages than this, without its prompt. A tool call and its result are two. The last
    /// quarter stays as it is.
    pub fn over_messages(messages: usize) -> Self {
        Compaction::new(Size::Messages(messages), messages / 4)
    }

    /// When the agent would see more tokens than this, at four bytes each. That is an estimate, for any model. The last 8 messages stay as they are.
    pub fn over_tokens(tokens: usize) -> Self {
        Compaction::new(Size::Tokens(tokens), 8)
    }

    fn new(over: Size, keep: usize) -> Self {
        let instructions = "You summarize the beginning of a conversation, for one who continues it. Keep names, numbers, decisions, and \
                            what is still to be done. Leave out what nobody will need. Answer with the summary alone.";
        Compaction { over, keep, model: None, instructions: instructions.to_owned() }
    }

    /// How many of the last messages stay as they are. Turns are not divided, so it may be fewer.
    pub fn keep(mut self, messages: usize) -> Self {
        self.keep = messages;
        self
    }

    /// Which of the engine's [`Models`](crate::Models) writes the summary; by default that of the agent.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// The instructions of the model that writes the summary.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = instructions.into();
        self
    }

    /// Whether it is time.
    pub(super) fn is_due(&self, messages: &[Message]) -> bool {
        match self.over {
            Size::Messages(most) => messages.len() > most,
            Size::Tokens(most) => messages.iter().map(bytes).sum::<usize>() / 4 > most,
        }
    }
}

fn bytes(message: &Message) -> usize {
    match message {
        Message::User { text } => text.len(),
        Message::Assistant { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.to_string().len()).sum::<usize>()
        }
        Message::Tool { content, .. } => content.len(),
    }
}
