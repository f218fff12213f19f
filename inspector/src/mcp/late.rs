//! Answers that a person gives after the call has been cancelled.
//!
//! A client cancels a call after a time limit of its own, often of a minute, and a person takes longer than that. Cancelling a call does
//! nothing to its run, so the question stays open, and not every client takes the form away. Without this, an answer that is sent a
//! moment later would be lost without a word.

use std::time::Duration;

use graphweft::{Engine, Run};
use rmcp::RoleServer;
use rmcp::model::{ClientResult, CustomNotification, ServerNotification};
use rmcp::service::RequestHandle;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::answers::{Answered, answer, closed};
use super::form::{Filled, Form};

/// How long an answer is taken after the call.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// An elicitation whose call was cancelled while its question is open.
pub(super) struct Late {
    pub(super) engine: Engine,
    pub(super) asking: Run<Value>,
    pub(super) question: String,
    pub(super) form: Form,
    pub(super) by: Option<String>,
    /// Cancelled when the client has closed its stream.
    pub(super) gone: CancellationToken,
}

impl Late {
    /// Withdraws the form. An answer that was under way then, or that the person gives since the client still shows the form, is
    /// recorded if the question is open: the person has decided, and would be asked for the same again.
    pub(super) async fn withdraw(self, mut asked: RequestHandle<RoleServer>) {
        let reason = "the call was cancelled; the question is still open";
        let params = json!({"requestId": asked.id, "reason": reason});
        // `asked.cancel` sends the same, and drops the response.
        let cancelled = CustomNotification::new("notifications/cancelled", Some(params));
        let sent = asked.peer.send_notification(ServerNotification::CustomNotification(cancelled)).await;
        if sent.is_err() {
            return;
        }
        tokio::spawn(async move {
            let response = tokio::select! {
                response = &mut asked.rx => response,
                _ = closed(&self.asking, &self.question) => {
                    _ = asked.cancel(Some("the question is not open any more".to_owned())).await;
                    return;
                }
                () = sleep(PATIENCE) => {
                    _ = asked.cancel(Some(reason.to_owned())).await;
                    return;
                }
                () = self.gone.cancelled() => return,
            };
            if let Ok(Ok(ClientResult::ElicitResult(result))) = response {
                self.take(self.form.read(result)).await;
            }
        });
    }

    /// There is no response that could say what has become of it.
    async fn take(&self, filled: Filled) {
        let (run, question) = (self.asking.id(), self.question.as_str());
        let given = match filled {
            Filled::Answer(given) => given,
            Filled::Unusable(why) => return tracing::warn!(run, question, why, "a late answer was not taken"),
            Filled::Declined => return,
        };
        match answer(&self.engine, &self.asking, question, given, self.by.clone()).await {
            Ok(Answered::Recorded) => {
                tracing::info!(run, question, "an answer was recorded after its call was cancelled")
            }
            Ok(Answered::NotTaken(why) | Answered::Rejected(why)) => {
                tracing::warn!(run, question, why, "a late answer was not taken");
            }
            Err(error) => tracing::warn!(run, question, %error, "a late answer was not recorded"),
        }
    }
}
