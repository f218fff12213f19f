//! The entries of a session.

use graphweft::store::LogEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::SessionError;
use crate::message::Message;

/// An entry of a session, as it is stored. Entries are only added: what clears a session or shortens it is one as well.
///
/// All that was said in a session, for a user who asks for their data: what was cleared is stored as well.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{SessionEntry, Sessions};
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let session = Sessions::of(&engine)?.get("chat", "ada");
/// session.clear().await?;
/// let mut said = Vec::new();
/// for (_position, entry) in session.entries().await? {
///     if let SessionEntry::Turn { messages, .. } = entry {
///         said.extend(messages);
///     }
/// }
/// assert!(said.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionEntry {
    /// An agent has come, and is at work as soon as those that came before it are not.
    Opened {
        /// Its turn.
        turn: TurnId,
    },
    /// What was said in a turn that is complete. That of an agent that is executed again replaces the one before.
    Turn {
        /// The turn.
        turn: TurnId,
        /// The prompt, the replies of the model, and the results of its tools.
        messages: Vec<Message>,
    },
    /// An agent has failed or was dropped, or the run that it was in is over, and it adds nothing. Its next attempt opens a turn of its own.
    Closed {
        /// Its turn.
        turn: TurnId,
    },
    /// Nothing of what was said before is seen from here on.
    Cleared,
    /// Turns up to a position are seen as this text.
    Summary {
        /// The position.
        until: u64,
        /// The text.
        text: String,
    },
    /// The session has begun with what was said in another one.
    Forked {
        /// The log of the other one.
        from: String,
        /// Up to this position of it.
        until: u64,
        /// What was said.
        messages: Vec<Message>,
    },
}

impl SessionEntry {
    /// Reads an entry of the log of a session.
    ///
    /// # Errors
    /// If another version of this crate, or another program, has written it.
    pub(super) fn read(log: &str, entry: &LogEntry) -> Result<Self, SessionError> {
        SessionEntry::deserialize(&entry.value).map_err(|error| SessionError::Unreadable {
            session: log.to_owned(),
            position: entry.position,
            message: error.to_string(),
        })
    }
}

/// Which turn of a session it is: that of an agent in a run.
///
/// From a turn of a session to the run that it was said in:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Memory, Models, SESSION, Scripted, SessionEntry, Sessions};
///
/// workflow! {
///     #[given(SESSION)]
///     pub chat(String) -> String {
///         let agent: Agent<String, String> = Agent::new("You talk.").memory(Memory::session("chat"));
///         START => agent;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().resource(Models::new(Scripted::text("Good day."))).build()?;
/// engine.start::<chat>("Hi".into()).id("run-1").state(SESSION, "ada".to_owned()).await?.result().await?;
/// let entries = Sessions::of(&engine)?.get("chat", "ada").entries().await?;
/// let turn = entries.iter().find_map(|(_, entry)| match entry {
///     SessionEntry::Turn { turn, .. } => Some(turn),
///     _ => None,
/// });
/// assert_eq!(turn.map(|turn| (&*turn.run, &*turn.path)), Some(("run-1", "chat/agent")));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TurnId {
    /// The run.
    pub run: String,
    /// The path of the node that the agent runs in.
    pub path: String,
    /// Distinguishes the executions of the agent, since a run can execute it again. Not a count: a fork continues the numbers of its
    /// origin.
    #[serde(default)]
    pub again: u32,
}

impl TurnId {
    /// Whether it is the same agent of the same run.
    pub(super) fn is_of(&self, run: &str, path: &str) -> bool {
        self.run == run && self.path == path
    }

    /// The key of an entry of this turn.
    pub(super) fn key(&self, entry: &str) -> String {
        // In quotes, since an id can contain spaces.
        format!("{entry} {:?} {}#{}", self.run, self.path, self.again)
    }
}
