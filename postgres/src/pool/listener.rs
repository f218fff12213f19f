//! What executors and workers tell each other.
//!
//! Notifications save time, and nothing else depends on them: both sides look at the table from time to time, and after each new
//! connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_postgres::Client;

use crate::connections::Connections;
use crate::trouble::Trouble;

/// How often the table is looked at, whatever was heard.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// As long as the lease of a worker.
const SETTLED: Duration = Duration::from_secs(4);

/// How many bytes a notification may have: PostgreSQL refuses 8,000.
const MOST: usize = 7_900;

/// A task is free.
pub(super) const FREE: &str = "free";

/// A task is cancelled.
pub(super) const CANCELLED: &str = "cancelled";

/// Some task has a result.
pub(super) const DONE: &str = "done";

/// The notification that this task has a result.
pub(super) fn task_done(run: &str, task: &str) -> String {
    let text = json!([run, task]).to_string();
    if text.len() <= MOST { text } else { DONE.to_owned() }
}

/// The run and the task of such a notification.
pub(super) fn read_task_done(payload: &str) -> Option<(String, String)> {
    payload.starts_with('[').then(|| serde_json::from_str(payload).ok()).flatten()
}

/// The notification of the progress of a task; `None` if it is too long.
pub(super) fn progress(run: &str, task: &str, data: &Value) -> Option<String> {
    let text = json!([run, task, data]).to_string();
    (text.len() <= MOST).then_some(text)
}

/// The run, the task and the data of such a notification.
pub(super) fn read_progress(payload: &str) -> Option<(String, String, Value)> {
    payload.starts_with('[').then(|| serde_json::from_str(payload).ok()).flatten()
}

/// A connection that listens.
pub(super) struct Listener {
    connections: Connections,
    hears: Arc<dyn Fn(&str) + Send + Sync>,
    client: Option<Client>,
    since: Instant,
    woken: watch::Receiver<()>,
}

impl Listener {
    /// One that wakes at these words, and passes all payloads on.
    pub(super) fn new(
        connections: &Connections,
        words: &'static [&'static str],
        others: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let (wakes, woken) = watch::channel(());
        let hears = move |payload: &str| match words.contains(&payload) {
            true => wakes.send_replace(()),
            false => others(payload),
        };
        Listener {
            connections: connections.clone(),
            hears: Arc::new(hears),
            client: None,
            since: Instant::now(),
            woken,
        }
    }

    /// Resolves when something was heard, or [`LOOK`] has passed.
    pub(super) async fn heard(&mut self) {
        if self.listens().await {
            // There was no listener until now.
            return;
        }
        drop(tokio::time::timeout(LOOK, self.woken.changed()).await);
    }

    /// Has it listen. Returns whether it begins to.
    pub(super) async fn listens(&mut self) -> bool {
        if self.client.as_ref().is_some_and(|client| !client.is_closed()) {
            return false;
        }
        match self.listen().await {
            Ok(client) => (self.client, self.since) = (Some(client), Instant::now()),
            Err(error) => {
                self.client = None;
                let error = error.for_caller(&self.connections.server);
                tracing::warn!(%error, "the notifications of pools cannot be heard; the table is looked at instead");
            }
        }
        self.client.is_some()
    }

    /// Whether it has had its connection for so long that a worker which has lost its own at the same time has another one by now.
    pub(super) fn is_settled(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_closed()) && self.since.elapsed() > SETTLED
    }

    async fn listen(&self) -> Result<Client, Trouble> {
        let client = self.connections.listening(Arc::clone(&self.hears)).await?;
        let channel = client.query_one("select owner_locks()", &[]).await?.try_get::<_, i32>(0)?;
        client.batch_execute(&format!("listen \"graphweft_pools_{channel}\"")).await?;
        Ok(client)
    }
}
