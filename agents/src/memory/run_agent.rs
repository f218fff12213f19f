//! An agent that remembers what was said in its run.

use graphweft::state::{Append, StateFacts};
use graphweft::{Context, Node, NodeFacts, NodeInfo, ResourceNeed, StateKey};

use super::Memory;
use crate::agent::{Agent, is_retryable};
use crate::agent_error::AgentError;
use crate::json_payload::JsonPayload;
use crate::message::Message;

/// What was said in a run to its [`RunAgent`]s, in the order in which they have ended.
pub const CONVERSATION: StateKey<Vec<Message>, Append> = StateKey::new("graphweft_agents.conversation");

/// An agent that sees what was said to the agents of its run that are of this type, and adds what it says: [`Agent::in_run`]. Each
/// agent of a hand-over loop records its own part, and edges carry a few words.
///
/// It is a node of its own type, since the type says what a node writes: it may write [`CONVERSATION`]. A node that calls it
/// declares that key, and it is no tool.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Models, RunAgent, Scripted, Message};
///
/// workflow! {
///     pub write(String) -> String {
///         let draft: RunAgent<String, String> = Agent::new("You write.").in_run();
///         let review: RunAgent<String, String> = Agent::new("You review what was written.").in_run();
///         START => draft => review;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::new(|request| Ok(Message::assistant(format!("{} messages", request.messages.len()))));
/// let engine = Engine::builder().resource(Models::new(model)).build()?;
/// // The reviewer sees the order and the draft, and its own prompt.
/// assert_eq!(engine.start::<write>("A poem".into()).await?.result().await?, "3 messages");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "an agent does nothing before it is a node of a graph"]
pub struct RunAgent<In, Out>(Agent<In, Out>);

impl<In: JsonPayload, Out: JsonPayload> Agent<In, Out> {
    /// The same as a node that sees what was said in this run to agents that are made so, and adds what it says. It replaces
    /// another [`memory`](Self::memory).
    pub fn in_run(self) -> RunAgent<In, Out> {
        RunAgent(self.memory(Memory::state(CONVERSATION)))
    }
}

impl<In: JsonPayload, Out: JsonPayload> Node for RunAgent<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = AgentError;
    const STATE: StateFacts = StateFacts { may_write: &[CONVERSATION.fact()], ..StateFacts::NONE };
    const FACTS: NodeFacts<In, AgentError> = Agent::<In, Out>::FACTS;

    async fn run(&self, input: In, ctx: &Context) -> Result<Out, AgentError> {
        self.0.run(input, ctx).await
    }

    fn retry_when(&self, error: &AgentError) -> bool {
        is_retryable(error)
    }

    fn resources(&self) -> Vec<ResourceNeed> {
        self.0.resources()
    }

    fn uses(&self) -> Vec<NodeInfo> {
        self.0.uses()
    }
}

impl<In, Out> Clone for RunAgent<In, Out> {
    fn clone(&self) -> Self {
        RunAgent(self.0.clone())
    }
}

impl<In, Out> std::fmt::Debug for RunAgent<In, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
