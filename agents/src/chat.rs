//! A model call, as a node: its reply is recorded.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use graphweft::{Context, Node, NodeFacts, NodeOptions, RetryPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::field::{Empty, display};

use crate::budget::{Budget, BudgetOf, Ledger, OverBudget};
use crate::message::{Reply, Usage};
use crate::model::{ChatModel, Request};
use crate::model_call::{FailedCall, ModelCall};
use crate::model_error::ModelError;
use crate::plain_text::{has_calls, in_plain_text};
use crate::trace::{kind, within};
use crate::usage::{MODEL, ModelUsage};

/// One model call. The request is configuration and not the input: an input is compared with the recorded one, and a better
/// prompt would invalidate all runs that wait.
pub(crate) struct Chat {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) request: Request,
    pub(crate) retry: RetryPolicy,
    /// The longest delay that the provider may ask for.
    pub(crate) max_retry_after: Duration,
    pub(crate) timeout: Option<Duration>,
    /// What the agent may spend, and has spent.
    pub(crate) budget: Budget,
    pub(crate) spent: ModelUsage,
    /// What the run may spend.
    pub(crate) run_budget: Option<Budget>,
}

/// How a model call fails.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatError {
    #[error(transparent)]
    Model(ModelError),
    #[error(transparent)]
    OverBudget(OverBudget),
    /// It fails, so that it is asked for again if the run is retried, with a larger limit.
    #[error("the reply was cut off after {} tokens", usage.output)]
    CutOff { model: String, usage: Usage },
    #[error("the reply takes {size} bytes")]
    TooLarge { model: String, usage: Usage, size: u64, limit: u64 },
}

impl ChatError {
    /// The model whose reply is of no use, and what it has cost; `None` if there is no reply.
    pub(crate) fn paid(&self) -> Option<(&str, Usage)> {
        match self {
            ChatError::CutOff { model, usage } | ChatError::TooLarge { model, usage, .. } => Some((model, *usage)),
            ChatError::Model(_) | ChatError::OverBudget(_) => None,
        }
    }

    /// Whether there is a reply, or a refusal, that leaves a session without the summary that was asked for. A turn can do without.
    pub(crate) fn is_no_summary(&self) -> bool {
        match self {
            ChatError::Model(error) => !error.is_passing(),
            ChatError::CutOff { .. } => true,
            ChatError::OverBudget(_) | ChatError::TooLarge { .. } => false,
        }
    }
}

impl Node for Chat {
    type Input = ();
    type Output = ModelCall;
    type Error = FailedCall<ChatError>;
    const FACTS: NodeFacts<(), FailedCall<ChatError>> =
        NodeFacts::named(MODEL).error_text(|failed: &Self::Error| vec![failed.to_string()]).recorded_error();

    async fn run(&self, (): (), ctx: &Context) -> Result<ModelCall, Self::Error> {
        self.call(ctx).await.map_err(|error| FailedCall::new(&self.request, error))
    }

    fn options(&self) -> NodeOptions {
        let mut options = NodeOptions::default();
        options.retry = self.retry.clone();
        options.timeout = self.timeout;
        options
    }

    fn retry_when(&self, failed: &Self::Error) -> bool {
        let is_soon = |error: &ModelError| error.retry_after().is_none_or(|delay| delay <= self.max_retry_after);
        matches!(&failed.error, ChatError::Model(error) if error.is_passing() && is_soon(error))
    }

    fn retry_after(&self, failed: &Self::Error) -> Option<Duration> {
        match &failed.error {
            ChatError::Model(error) => error.retry_after(),
            ChatError::OverBudget(_) | ChatError::CutOff { .. } | ChatError::TooLarge { .. } => None,
        }
    }
}

impl Chat {
    async fn call(&self, ctx: &Context) -> Result<ModelCall, ChatError> {
        // Here, since a recorded reply is returned whatever the budget is.
        self.budget.check(BudgetOf::Agent, self.spent).map_err(ChatError::OverBudget)?;
        let under_way = match self.run_budget {
            Some(budget) => match ctx.__of_run::<Ledger>().begin(ctx, budget).await {
                Ok(begun) => Some(begun.map_err(ChatError::OverBudget)?),
                Err(fault) => return ctx.stop(fault).await,
            },
            None => None,
        };
        let replied = self.chat(ctx).await.map(|mut reply| {
            reply.message.replace_deep_arguments();
            reply
        });
        if let (Ok(reply), Some(under_way)) = (&replied, under_way) {
            under_way.complete(reply.usage);
        }
        let reply = replied.map_err(ChatError::Model)?;
        if reply.is_cut_off {
            return Err(ChatError::CutOff { model: reply.model, usage: reply.usage });
        }
        let call = ModelCall::new(&self.request, reply);
        // Otherwise it would be lost, and not known what it was.
        match (ctx.__records(), call.size()) {
            (Some(limit), size) if size > limit.bytes() => {
                let ModelCall { model, usage, .. } = call;
                Err(ChatError::TooLarge { model, usage, size: size as u64, limit: limit.bytes() as u64 })
            }
            _ => Ok(call),
        }
    }

    /// The request as the model gets it. Without tools, such as for a summary, it has no calls in its conversation: several providers
    /// refuse them there.
    fn sent(&self) -> Cow<'_, Request> {
        let Request { tools, messages, .. } = &self.request;
        if !tools.is_empty() || !has_calls(messages) {
            return Cow::Borrowed(&self.request);
        }
        Cow::Owned(Request { messages: Arc::new(in_plain_text(messages)), ..self.request.clone() })
    }

    async fn chat(&self, ctx: &Context) -> Result<Reply, ModelError> {
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
        let replied = within(&span, self.model.chat(&self.sent(), &show)).await;
        match &replied {
            Ok(reply) => {
                span.record("gen_ai.response.model", display(&reply.model));
                span.record("gen_ai.usage.input_tokens", reply.usage.input);
                span.record("gen_ai.usage.output_tokens", reply.usage.output);
            }
            Err(error) => {
                span.record("error.type", kind(error));
            }
        }
        replied
    }
}
