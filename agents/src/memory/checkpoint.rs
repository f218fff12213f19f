//! What a session comes to at a position, stored beside its log, so that a turn does not read all that was ever said.
//!
//! A checkpoint is a cache: whatever becomes of it, the log says the same. It is a log of its own, since entries of a session stay.
//! Of that log one entry counts, and those before it are removed. Of two processes that write at once the later one wins, and the next
//! turn reads a little more if that is the older checkpoint. A run whose turn is older than the checkpoint reads the session from its
//! beginning.

use std::time::SystemTime;

use graphweft::Json;
use graphweft::store::{LogAppended, LogStore, LogTrim, NewLogEntry};
use serde::{Deserialize, Serialize};

use super::conversation::Conversation;
use super::session::checkpoints_of;

/// Another version reads the entries of a session otherwise, and does not use what this one made of them.
const VERSION: u32 = 1;

/// How many entries a turn may read without need before there is a checkpoint.
const SPARE: usize = 32;

#[derive(Serialize)]
struct Written<'c> {
    version: u32,
    conversation: &'c Conversation,
}

#[derive(Deserialize)]
struct Stored {
    version: u32,
    conversation: Conversation,
}

/// What the checkpoints of a session are good for.
#[derive(Default)]
pub(super) struct Found {
    /// How far the newest one goes; 0 if there is none.
    pub(super) newest: u64,
    /// The newest one that does not go beyond the position that was asked for. The log may have been deleted since.
    pub(super) conversation: Option<Conversation>,
}

/// Looks for the checkpoint to begin with, for what a session comes to at a position.
pub(super) async fn find(logs: &dyn LogStore, log: &str, until: u64) -> Found {
    let mut found = Found::default();
    let checkpoints = match logs.read(&checkpoints_of(log), 0, u64::MAX).await {
        Ok(checkpoints) => checkpoints,
        Err(error) => {
            tracing::warn!(session = log, %error, "the checkpoint of the session cannot be read; all of it is read");
            return found;
        }
    };
    for entry in checkpoints {
        // One that cannot be read is of another version, or was not completed.
        let Ok(Stored { version: VERSION, conversation }) = Stored::deserialize(&entry.value) else { continue };
        found.newest = found.newest.max(conversation.end);
        let best = found.conversation.as_ref().map_or(0, |best| best.end);
        if conversation.end <= until && conversation.end > best {
            found.conversation = Some(conversation);
        }
    }
    found
}

/// Writes one if a later turn would read much that it does not need. The conversation is that of a turn, so a restart of its run can
/// begin with it too.
pub(super) async fn write_if_due(logs: &dyn LogStore, log: &str, conversation: &Conversation) {
    let needed = conversation.parts_and_turns();
    if !conversation.is_newest() || conversation.entries_read() <= 2 * needed + SPARE {
        return;
    }
    // The turn does not need it.
    if let Err(error) = write(logs, log, conversation).await {
        tracing::warn!(
            session = log,
            error,
            "no checkpoint of the session could be written; the next turn reads it again"
        );
    }
}

async fn write(logs: &dyn LogStore, log: &str, conversation: &Conversation) -> Result<(), String> {
    let checkpoints = checkpoints_of(log);
    let written = Written { version: VERSION, conversation };
    let value = serde_json::to_value(written).map_err(|error| error.to_string())?;
    // It gets its value together with the end of those before it, so that one process after another that dies here leaves no copies.
    let key = format!("until {}", conversation.end);
    let new = NewLogEntry::new(&checkpoints, key, Json::Null, SystemTime::now());
    let position = match logs.append(new).await.map_err(|error| error.to_string())? {
        LogAppended::Added { position } | LogAppended::Existing { position } => position,
        _ => return Ok(()),
    };
    logs.trim(LogTrim::new(&checkpoints, position, value)).await.map_err(|error| error.to_string())?;
    // The session may have been deleted meanwhile, and then nothing of it stays.
    let end = conversation.end;
    if logs.read(log, end.saturating_sub(1), end).await.map_err(|error| error.to_string())?.is_empty() {
        logs.delete(&checkpoints).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}
