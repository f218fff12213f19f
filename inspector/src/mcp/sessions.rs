//! The sessions of clients over HTTP, of which there are not more than a limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::Instant;

use crate::problem::Problem;

/// How long a session is kept in which nothing is sent. A person may think for a long time about a question.
const SILENCE: Duration = Duration::from_secs(60 * 60);

/// The sessions, and which of them are in use.
pub(super) struct Sessions {
    /// Knows which there are.
    pub(super) manager: Arc<LocalSessionManager>,
    limit: usize,
    /// Held by the one client that initializes.
    opening: tokio::sync::Mutex<()>,
    uses: Mutex<HashMap<String, Usage>>,
}

struct Usage {
    /// The requests whose responses are not read to their end.
    open: usize,
    last: Instant,
}

/// A response of a session that is not read to its end.
pub(super) struct InUse {
    sessions: Arc<Sessions>,
    id: String,
}

impl Sessions {
    pub(super) fn new(limit: usize) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(SILENCE);
        Sessions { manager: Arc::new(manager), limit, opening: Default::default(), uses: Default::default() }
    }

    /// Makes room for one more session, which is opened as long as the guard is held.
    ///
    /// # Errors
    /// If each of the sessions has an open stream.
    pub(super) async fn room(&self) -> Result<tokio::sync::MutexGuard<'_, ()>, Problem> {
        let opening = self.opening.lock().await;
        loop {
            let there_are = self.ids().await;
            self.uses().retain(|id, _| there_are.contains(id));
            if there_are.len() < self.limit {
                return Ok(opening);
            }
            let Some(idle) = self.longest_idle(&there_are) else {
                let detail = format!(
                    "there are {} sessions, each of them with an open stream, and no more may be; close one",
                    self.limit
                );
                return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", detail));
            };
            tracing::debug!(session = idle, "a session is closed: there are too many");
            // It is removed even if this fails, which is the case if it has ended by itself.
            if let Err(error) = self.manager.close_session(&idle.into()).await {
                tracing::debug!(%error, "a session was not closed properly");
            }
        }
    }

    /// Notes that a session is in use.
    pub(super) async fn enter(self: &Arc<Self>, id: &str) -> Option<InUse> {
        // A client may send any id.
        if !self.manager.has_session(&id.to_owned().into()).await.unwrap_or_default() {
            return None;
        }
        let mut uses = self.uses();
        let usage = uses.entry(id.to_owned()).or_insert_with(|| Usage { open: 0, last: Instant::now() });
        usage.open += 1;
        usage.last = Instant::now();
        Some(InUse { sessions: Arc::clone(self), id: id.to_owned() })
    }

    async fn ids(&self) -> Vec<String> {
        self.manager.sessions.read().await.keys().map(|id| id.to_string()).collect()
    }

    fn longest_idle(&self, there_are: &[String]) -> Option<String> {
        let uses = self.uses();
        let idle = there_are.iter().filter(|id| uses.get(*id).is_none_or(|usage| usage.open == 0));
        // One that was never used has come to nothing.
        idle.min_by_key(|id| uses.get(*id).map(|usage| usage.last)).cloned()
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<String, Usage>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(usage) = self.sessions.uses().get_mut(&self.id) {
            usage.open = usage.open.saturating_sub(1);
            usage.last = Instant::now();
        }
    }
}
