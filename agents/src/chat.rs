//! A model call, as a node: its reply is recorded.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use graphweft::{Context, Node, NodeFacts, NodeOptions, RetryPolicy};
use tracing::Span;
use tracing::field::{Empty, display};

use crate::message::Reply;
use crate::model::{ChatModel, Request};
use crate::model_error::ModelError;

/// The name of model calls as children: `help_desk/refunds/model:1` is that of turn 1.
pub(crate) const MODEL: &str = "model";

/// One model call. The request is configuration and not the input: an input is compared with the recorded one, and a better
/// prompt would invalidate all runs that wait.
pub(crate) struct Chat {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) request: Request,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Option<Duration>,
}

impl Node for Chat {
    type Input = ();
    type Output = Reply;
    type Error = ModelError;
    const FACTS: NodeFacts<(), ModelError> =
        NodeFacts::named(MODEL).error_text(|error: &ModelError| vec![error.to_string()]).recorded_error();

    async fn run(&self, (): (), ctx: &Context) -> Result<Reply, ModelError> {
        let span = tracing::info_span!(
            "chat",
            otel.name = format!("chat {}", self.model.name()),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.request.model = self.model.name(),
            gen_ai.request.temperature = self.request.options.temperature,
            gen_ai.request.max_tokens = self.request.options.max_tokens,
            gen_ai.response.model = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            error.type = Empty,
        );
        let show = |delta| ctx.progress(delta);
        let replied = within(&span, self.model.chat(&self.request, &show)).await;
        match &replied {
            Ok(reply) => {
                span.record("gen_ai.response.model", display(&reply.model));
                span.record("gen_ai.usage.input_tokens", reply.usage.input);
                span.record("gen_ai.usage.output_tokens", reply.usage.output);
            }
            Err(error) => {
                span.record("error.type", display(error));
            }
        }
        replied
    }

    fn options(&self) -> NodeOptions {
        let mut options = NodeOptions::default();
        options.retry = self.retry.clone();
        options.timeout = self.timeout;
        options
    }

    fn retry_when(&self, error: &ModelError) -> bool {
        error.is_passing()
    }

    fn retry_after(&self, error: &ModelError) -> Option<Duration> {
        error.retry_after()
    }
}

/// Polls a future within a span.
async fn within<F: Future>(span: &Span, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|waker| span.in_scope(|| future.as_mut().poll(waker))).await
}
