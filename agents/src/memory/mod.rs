//! What an agent remembers: nothing, what was said in its run, or what was said in all runs of a session.

mod changes;
mod checkpoint;
mod compaction;
mod conversation;
mod entry;
mod error;
mod presence;
mod remembered;
mod run_agent;
mod session;
mod turn;

/// The session of a run, for agents with [`Memory::session`]: `engine.start::<chat>(text).state(SESSION, "ada".to_owned())`.
#[doc(inline)]
pub use graphweft::scope::SESSION;
use graphweft::state::Append;
use graphweft::{Context, StateKey};

pub use compaction::Compaction;
pub use entry::{SessionEntry, TurnId};
pub use error::SessionError;
pub(crate) use remembered::Remembered;
pub use run_agent::{CONVERSATION, RunAgent};
pub use session::{Session, Sessions};
pub use turn::Overlap;

use crate::agent_error::AgentError;
use crate::chat::Chat;
use crate::message::Message;

/// What an agent remembers from one time to the next ([`Agent::memory`](crate::Agent::memory)). Without one, each time is its first.
///
/// | | what it sees |
/// | --- | --- |
/// | no memory | its prompt |
/// | [`Agent::in_run`](crate::Agent::in_run) | what was said to the agents of this run that are made so: each of a hand-over loop adds its part |
/// | [`Memory::state`] | the same with a key of the run's state that the node declares |
/// | [`Memory::session`] | what was said in all runs of one [`SESSION`], by agents with the same name for it |
///
/// A memory is written when the agent has its output, all at once: an agent that fails adds nothing.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Memory, Message, Models, SESSION, Scripted, Sessions};
///
/// workflow! {
///     pub chat(String) -> String {
///         let guest: Agent<String, String> = Agent::new("You chat.").memory(Memory::session("chat"));
///         START => guest;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::new(|request| Ok(Message::assistant(format!("{} messages so far", request.messages.len()))));
/// // With `.store(SqliteStore::open("runs.db").await?)` the session is in that file, beside the runs.
/// let engine = Engine::builder().resource(Models::new(model)).build()?;
/// for expected in ["1 messages so far", "3 messages so far"] {
///     let run = engine.start::<chat>("Hello".into()).state(SESSION, "ada".to_owned()).await?;
///     assert_eq!(run.result().await?, expected);
/// }
/// assert_eq!(Sessions::of(&engine)?.get("chat", "ada").messages().await?.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a memory does nothing before an agent has it"]
pub struct Memory(Kind);

#[derive(Clone, Debug)]
enum Kind {
    State(StateKey<Vec<Message>, Append>),
    Session { name: String, overlap: Overlap, compaction: Option<Compaction> },
}

impl Memory {
    /// What was said in this run to all agents with the same key. It is in the run's state, so the node that the agent runs in
    /// has to declare that it may write the key; [`Agent::in_run`](crate::Agent::in_run) is an agent that does.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::state::Append;
    /// use graphweft_agents::{Agent, AgentError, Memory, Message};
    ///
    /// const CASE: StateKey<Vec<Message>, Append> = StateKey::new("case");
    ///
    /// #[node]
    /// async fn judge(
    ///     claim: String,
    ///     ctx: &Context,
    ///     #[may_write(CASE)] _case: StateWriter<Vec<Message>, Append>,
    /// ) -> Result<bool, AgentError> {
    ///     Agent::new("You judge claims.").memory(Memory::state(CASE)).run(claim, ctx).await
    /// }
    /// ```
    pub const fn state(key: StateKey<Vec<Message>, Append>) -> Self {
        Memory(Kind::State(key))
    }

    /// What was said in all runs of one [`SESSION`], to all agents that have the same name for it here. It is a log beside
    /// the runs ([`Engine::logs`](graphweft::Engine::logs)).
    ///
    /// A run records how far it has read the log, and not what it has read: so it reads the same again after a crash, and many
    /// runs do not hold many copies. What it adds has a key, so that it is added once, whatever happens to the process.
    ///
    /// A turn reads what is still seen of the session: what was replaced by a [summary](Self::compact) or
    /// [cleared](crate::Session::clear) stays stored, and is not read again.
    ///
    /// If a second run comes while the first is at work, it waits ([`Overlap::Queue`]).
    ///
    /// # Tools that start runs
    /// A tool is a part of the turn of its agent. If it starts a run in the same session, with the same name here, and awaits the end of that
    /// run, both wait for ever: the run for the turn, the agent for its tool. An agent that is called within the same run fails with [`SessionError::Nested`]
    /// instead. Of a run it is not known whether the tool awaits it, so there is a warning in the log when a run waits for the agent whose tool
    /// has started it by [`Context::start`]; of one that was started by [`Engine::start`](graphweft::Engine::start) it is not known either what has
    /// started it. Give that run another [`SESSION`] or its agent another name here, start it and do not await it, or let its agent fail at once
    /// ([`Overlap::Reject`]). Cancelling the run lets the tool continue.
    pub fn session(name: impl Into<String>) -> Self {
        Memory(Kind::Session { name: name.into(), overlap: Overlap::default(), compaction: None })
    }

    /// What happens if another run is in the same session at that time. Of no effect without a session.
    pub fn overlap(mut self, wanted: Overlap) -> Self {
        if let Kind::Session { overlap, .. } = &mut self.0 {
            *overlap = wanted;
        }
        self
    }

    /// Replaces the beginning of a long session by a summary. Of no effect without a session.
    pub fn compact(mut self, wanted: Compaction) -> Self {
        if let Kind::Session { compaction, .. } = &mut self.0 {
            *compaction = Some(wanted);
        }
        self
    }

    /// The model that writes summaries, if it is not that of the agent.
    pub(crate) fn model_of_summaries(&self) -> Option<&str> {
        match &self.0 {
            Kind::Session { compaction: Some(compaction), .. } => compaction.model.as_deref(),
            Kind::Session { .. } | Kind::State(_) => None,
        }
    }

    /// What is remembered. `chat` makes a call of the agent's model, or of the one with this name.
    pub(crate) async fn recall<C>(&self, ctx: &Context, chat: C) -> Result<Remembered, AgentError>
    where
        C: Fn(Option<&str>, &str, Vec<Message>) -> Result<Chat, AgentError>,
    {
        match &self.0 {
            Kind::State(key) => Remembered::in_state(*key, ctx),
            Kind::Session { name, overlap, compaction } => {
                Remembered::in_session(name, *overlap, compaction.as_ref(), ctx, chat).await
            }
        }
    }
}
