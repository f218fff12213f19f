//! Sessions as a program sees them from outside of a run.

use std::fmt;
use std::sync::Arc;

use graphweft::Engine;
use graphweft::store::{LogAppended, LogStore};

use super::conversation::Conversation;
use super::entry::SessionEntry;
use super::error::SessionError;
use super::turn::append;
use crate::message::Message;

/// The sessions of an engine: the conversations of its agents that have [`Memory::session`](crate::Memory::session). They are in the
/// store of the engine.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::Sessions;
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let sessions = Sessions::of(&engine)?;
/// assert!(sessions.list("chat").await?.is_empty());
/// let ada = sessions.get("chat", "ada");
/// ada.clear().await?;
/// ada.fork("ada, another time").await?;
/// assert_eq!(sessions.list("chat").await?, ["ada", "ada, another time"]);
/// assert!(ada.delete().await?);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Sessions(Arc<dyn LogStore>);

impl Sessions {
    /// Those of an engine.
    ///
    /// # Errors
    /// [`SessionError::NoLogs`] if the store keeps none.
    pub fn of(engine: &Engine) -> Result<Self, SessionError> {
        Ok(Sessions(engine.logs()?))
    }

    /// A session: `name` is that of [`Memory::session`](crate::Memory::session), `session` the value of
    /// [`SESSION`](crate::SESSION) in its runs, up to 1,024 bytes. It need not be there.
    pub fn get(&self, name: &str, session: &str) -> Session {
        Session { logs: Arc::clone(&self.0), name: name.to_owned(), log: log_of(name, session) }
    }

    /// The sessions of agents that have this name for it, sorted.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list(&self, name: &str) -> Result<Vec<String>, SessionError> {
        let prefix = log_of(name, "");
        let logs = self.0.list(&prefix).await?;
        Ok(logs.into_iter().filter_map(|log| log.strip_prefix(&prefix).map(str::to_owned)).collect())
    }
}

/// A session, from [`Sessions::get`].
///
/// What an agent knows of a user, and what it forgets when they ask for it:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Memory, Models, SESSION, Scripted, Sessions};
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
/// engine.start::<chat>("Hi".into()).state(SESSION, "ada".to_owned()).await?.result().await?;
/// let session = Sessions::of(&engine)?.get("chat", "ada");
/// assert_eq!(session.messages().await?.len(), 2); // "Hi" and "Good day."
/// session.clear().await?;
/// assert!(session.messages().await?.is_empty());
/// assert!(session.delete().await?);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Session {
    logs: Arc<dyn LogStore>,
    name: String,
    log: String,
}

impl Session {
    /// What an agent would see now.
    ///
    /// # Errors
    /// If the store fails, or an entry cannot be read.
    pub async fn messages(&self) -> Result<Vec<Message>, SessionError> {
        Ok(self.now().await?.messages())
    }

    /// All that is stored, with the positions: also what was cleared, replaced or summarized.
    ///
    /// # Errors
    /// If the store fails, or an entry cannot be read.
    pub async fn entries(&self) -> Result<Vec<(u64, SessionEntry)>, SessionError> {
        let entries = self.logs.read(&self.log, 0, u64::MAX).await?.into_iter();
        entries.map(|entry| Ok((entry.position, SessionEntry::read(&self.log, &entry)?))).collect()
    }

    /// From here on, agents see nothing of what was said before. It stays stored; see [`delete`](Self::delete). An agent that
    /// is at work has read it already, and what it says is added behind.
    ///
    /// # Errors
    /// [`SessionError::IdTooLong`]. If the store fails, or an entry cannot be read.
    pub async fn clear(&self) -> Result<(), SessionError> {
        check_id(self.log.split_once('/').map_or("", |(_, session)| session))?;
        loop {
            // The key is of the position, so that only one of two that clear at once does.
            let end = self.now().await?.end;
            let key = format!("clear {end}");
            match append(&*self.logs, &self.log, &key, &SessionEntry::Cleared, Some(end)).await? {
                LogAppended::Conflict { .. } => {}
                _ => return Ok(()),
            }
        }
    }

    /// Begins another session with what an agent would see in this one now. From here on they have nothing to do with each
    /// other: what was said is copied. The same fork of the same session again does nothing.
    ///
    /// # Errors
    /// [`SessionError::NotEmpty`] if there is something else in the other session, [`SessionError::IdTooLong`] if its id is too long. If the store fails, or an entry cannot be
    /// read.
    pub async fn fork(&self, session: &str) -> Result<Session, SessionError> {
        self.fork_at(session, u64::MAX).await
    }

    /// The same with what an agent would have seen at a position, one of [`entries`](Self::entries).
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    pub async fn fork_at(&self, session: &str, position: u64) -> Result<Session, SessionError> {
        check_id(session)?;
        let then = Conversation::read(&*self.logs, &self.log, position).await?;
        let other = Session { log: log_of(&self.name, session), ..self.clone() };
        let key = format!("fork of {} at {}", self.log, then.end);
        let forked = SessionEntry::Forked { from: self.log.clone(), until: then.end, messages: then.messages() };
        match append(&*self.logs, &other.log, &key, &forked, Some(0)).await? {
            LogAppended::Conflict { .. } => Err(SessionError::NotEmpty { session: other.log }),
            _ => Ok(other),
        }
    }

    /// Deletes the session with all that was said in it, for good, and returns whether there was something. Sessions that were forked from it
    /// are others, and stay ([`SessionEntry::Forked`] says where they come from); so do its runs, whose records have the
    /// replies of the models: delete those as well ([`Engine::delete_run`]).
    ///
    /// What is stored beside the session, so that a turn does not read all of it, is deleted as well.
    ///
    /// A run that is in the session at this time adds its turn to an empty one. Cancel it before.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete(&self) -> Result<bool, SessionError> {
        let checkpoints = checkpoints_of(&self.log);
        self.logs.delete(&checkpoints).await?;
        let was_there = self.logs.delete(&self.log).await?;
        // A run may have written one before it could see that the session is deleted.
        self.logs.delete(&checkpoints).await?;
        Ok(was_there)
    }

    async fn now(&self) -> Result<Conversation, SessionError> {
        Conversation::read(&*self.logs, &self.log, u64::MAX).await
    }
}

/// How long the id of a session may be, in bytes: as long as that of a run and of a [scope](graphweft::scope). It is a part of a key of each store,
/// and recorded with each run.
pub(super) use graphweft::__limits::MAX_ID;

/// Whether something may be said in the session of this id. One that is there already may be read and deleted, however long its id is.
pub(super) fn check_id(session: &str) -> Result<(), SessionError> {
    match session.len() {
        length if length > MAX_ID => Err(SessionError::IdTooLong { length }),
        _ => Ok(()),
    }
}

/// The log of a session. What is in front of the first slash is the name, whatever the two are.
pub(super) fn log_of(name: &str, session: &str) -> String {
    format!("{}/{session}", name.replace('%', "%25").replace('/', "%2F"))
}

/// The log of the checkpoints of a session. No name of a session is written with a `%` before another letter.
pub(super) fn checkpoints_of(log: &str) -> String {
    let (name, session) = log.split_once('/').unwrap_or((log, ""));
    format!("{name}%checkpoint/{session}")
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("log", &self.log).finish_non_exhaustive()
    }
}
