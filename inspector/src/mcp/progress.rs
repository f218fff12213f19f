//! The progress of a run, as notifications of MCP.

use std::convert::Infallible;
use std::time::Duration;

use futures::FutureExt;
use graphweft::{Event, EventKind, Events, Run};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::problem::shown;

/// Between two notifications.
const GAP: Duration = Duration::from_millis(100);

/// After which the last one is repeated, so that the client sees that the run is under way.
const SILENCE: Duration = Duration::from_secs(15);

/// Sends the progress of a run to a client that asks for it.
pub(super) struct Progress {
    /// `None` if the client does not.
    notifier: Option<Notifier>,
}

struct Notifier {
    events: Events,
    is_over: bool,
    client: Peer<RoleServer>,
    token: ProgressToken,
    /// How many notifications were sent: progress has to grow.
    sent: u32,
    last: String,
}

impl Progress {
    pub(super) fn of(run: &Run<Value>, context: &RequestContext<RoleServer>) -> Self {
        let notifier = context.meta.get_progress_token().map(|token| Notifier {
            events: run.events(),
            is_over: false,
            client: context.peer.clone(),
            token,
            sent: 0,
            last: format!("run `{}`", shown(run.id())),
        });
        Progress { notifier }
    }

    /// Sends progress as it comes. Cancel safe.
    pub(super) async fn follow(&mut self) -> Infallible {
        let Some(notifier) = &mut self.notifier else { return std::future::pending().await };
        loop {
            notifier.wait().await;
            notifier.send().await;
            sleep(GAP).await;
        }
    }

    /// Sends what has happened since the last notification.
    pub(super) async fn flush(&mut self) {
        if let Some(notifier) = &mut self.notifier
            && notifier.take_ready()
        {
            notifier.send().await;
        }
    }
}

impl Notifier {
    /// Waits until there is something to send.
    async fn wait(&mut self) {
        let next = async {
            while !self.is_over {
                match self.events.next().await {
                    Some(event) if self.take(&event) => return,
                    Some(_) => {}
                    None => self.is_over = true,
                }
            }
            std::future::pending().await
        };
        // Silence is a reason to send as well.
        _ = timeout(SILENCE, next).await;
        self.take_ready();
    }

    /// Takes the events that there are by now. Whether one is worth a notification.
    fn take_ready(&mut self) -> bool {
        let mut is_news = false;
        while !self.is_over {
            match self.events.next().now_or_never() {
                Some(Some(event)) => is_news |= self.take(&event),
                Some(None) => self.is_over = true,
                None => break,
            }
        }
        is_news
    }

    fn take(&mut self, event: &Event) -> bool {
        let text = text(event);
        let is_news = text.is_some();
        self.last = text.unwrap_or(std::mem::take(&mut self.last));
        is_news
    }

    async fn send(&mut self) {
        self.sent += 1;
        let progress = ProgressNotificationParam::new(self.token.clone(), f64::from(self.sent));
        // A client that is gone is noticed elsewhere.
        _ = self.client.notify_progress(progress.with_message(self.last.clone())).await;
    }
}

/// What has happened, in a line; `None` for what says little to a person.
fn text(event: &Event) -> Option<String> {
    let path = shown(&event.path);
    Some(match &event.kind {
        EventKind::NodeStarted { attempt: 1, .. } => format!("`{path}` started"),
        EventKind::NodeStarted { attempt, .. } => format!("`{path}` started, attempt {attempt}"),
        EventKind::NodeCompleted { .. } => format!("`{path}` completed"),
        EventKind::NodeFailed { cause, .. } => format!("`{path}` failed: {}", shown(&cause.to_string())),
        EventKind::Message { text, .. } => format!("`{path}`: {}", shown(text)),
        EventKind::Progress { data, .. } => format!("`{path}`: {}", shown(&data.to_string())),
        EventKind::QuestionAsked { prompt, .. } => format!("`{path}` asks: {}", shown(prompt)),
        _ => return None,
    })
}
