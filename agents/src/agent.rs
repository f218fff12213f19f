//! The agent: a loop of model calls and tool calls, each a recorded child of the node that it runs in.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use graphweft::{Context, Json, Node, NodeFacts, NodeInfo, ResourceNeed, RetryPolicy};

use crate::agent_error::{AgentError, CallOf, fault_of};
use crate::budget::Budget;
use crate::chat::Chat;
use crate::guarded::may_have_gone_through;
use crate::json_payload::JsonPayload;
use crate::memory::{Memory, Remembered, SessionError};
use crate::message::{Message, ToolCall};
use crate::model::{ChatModel, Format, ModelOptions, Models, Request, ToolSpec};
use crate::model_call::ModelCall;
use crate::names::{listed, shortened};
use crate::output::{Misfit, format_of, read};
use crate::tool::{self, Tool, ToolError};
use crate::trace;
use crate::usage::{MODEL, ModelUsage};

type Prompt<In> = dyn Fn(&In) -> String + Send + Sync;
type Check<Out> = dyn Fn(&Out) -> Result<(), String> + Send + Sync;

/// An agent: a model that takes an `In`, calls tools, and returns an `Out`. It is a node, and cheap to clone.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::json;
/// use graphweft_agents::{Agent, Message, Models, Scripted, Tool};
///
/// #[value]
/// struct Refund {
///     order: String,
///     cents: u32,
/// }
///
/// /// Looks up the orders of a customer.
/// #[node]
/// async fn orders(customer: String) -> Vec<String> {
///     vec![format!("order 7 of {customer}, 1200 cents")]
/// }
///
/// fn refunds() -> Agent<String, Refund> {
///     Agent::new("You decide on refunds.").tool(Tool::of::<orders>()).max_turns(6)
/// }
///
/// workflow! {
///     desk(String) -> Refund {
///         let refunds: Agent<String, Refund> = refunds();
///         START => refunds;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::turns([
///     Scripted::calls([("orders", json!({ "customer": "Ada" }))]),
///     Message::assistant(r#"{"order": "7", "cents": 1200}"#),
/// ]);
/// let engine = Engine::builder().resource(Models::new(model)).build()?;
/// let run = engine.start::<desk>("Ada wants her money back".into()).await?;
/// assert_eq!(run.result().await?.cents, 1200);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// # What is recorded
/// Each reply and each result of a tool, as children of the node: `desk/refunds/model:1`, `desk/refunds/orders:1.0`. A restarted
/// agent gets them again, and makes only the calls that were not completed. The requests are not recorded but built again, so a
/// better prompt or another description of a tool does not invalidate a run that waits. With each reply, what was new in its
/// request is recorded as text, up to 4 kB, for the conversation that the inspector and `graphweft show` have.
///
/// # Limits of time
/// `timeout` on the agent's node also runs while a person is asked. Limit the model calls ([`Agent::timeout`]) and the tools
/// ([`NodeTool::timeout`](crate::NodeTool::timeout)) instead. `at_most_once` belongs to tools too: an agent's node with it could
/// not be resumed.
#[must_use = "an agent does nothing before it is run, or is a node of a graph"]
pub struct Agent<In, Out> {
    instructions: Arc<str>,
    prompt: Arc<Prompt<In>>,
    check: Option<Arc<Check<Out>>>,
    tools: Vec<Tool>,
    model: Arc<str>,
    max_turns: u32,
    max_parallel: Option<NonZeroUsize>,
    repairs: u32,
    options: ModelOptions,
    format: Option<Format>,
    budget: Budget,
    retry: RetryPolicy,
    max_retry_after: Duration,
    timeout: Option<Duration>,
    memory: Option<Memory>,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> Clone for Agent<In, Out> {
    fn clone(&self) -> Self {
        Agent {
            instructions: Arc::clone(&self.instructions),
            prompt: Arc::clone(&self.prompt),
            check: self.check.clone(),
            tools: self.tools.clone(),
            model: Arc::clone(&self.model),
            format: self.format.clone(),
            retry: self.retry.clone(),
            memory: self.memory.clone(),
            ..*self
        }
    }
}

impl<In: JsonPayload, Out: JsonPayload> Agent<In, Out> {
    /// An agent with these instructions, also called the system prompt. The model gets a `String` as it is, and any other input
    /// as JSON, unless there is a [`prompt`](Self::prompt).
    ///
    /// The output is read from the last reply: a `String` is its text, anything else JSON of the type's schema. An agent with tools has
    /// the schema in its instructions, and a [format](crate::Request::format) from the first correction on. Defaults: 16 turns, 2
    /// repairs; a model call has 4 attempts of 2 minutes.
    pub fn new(instructions: impl Display) -> Self {
        Agent {
            instructions: instructions.to_string().into(),
            prompt: Arc::new(shown),
            check: None,
            tools: Vec::new(),
            model: Models::DEFAULT.into(),
            max_turns: 16,
            max_parallel: None,
            repairs: 2,
            options: ModelOptions::default(),
            format: format_of::<Out>(),
            budget: Budget::default(),
            retry: RetryPolicy::with_max_attempts(4),
            max_retry_after: MAX_RETRY_AFTER,
            timeout: Some(Duration::from_secs(120)),
            memory: None,
            types: PhantomData,
        }
    }

    /// How an input is written for the model: a text, or anything else that is `Display`, such as a template.
    pub fn prompt<P: Display>(mut self, prompt: impl Fn(&In) -> P + Send + Sync + 'static) -> Self {
        self.prompt = Arc::new(move |input| prompt(input).to_string());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Into<Tool>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item: Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Which of the engine's [`Models`] it uses; by default [`Models::DEFAULT`].
    pub fn model(mut self, name: &str) -> Self {
        self.model = name.into();
        self
    }

    /// How many model calls there are at most.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = turns;
        self
    }

    /// How many tool calls of one turn run at the same time; by default all of them. The others follow in their order, as soon as one
    /// has ended. A call that waits for a person counts as running.
    pub fn max_parallel(mut self, calls: NonZeroUsize) -> Self {
        self.max_parallel = Some(calls);
        self
    }

    /// How often the model may correct an output that does not fit. It gets the field and the problem, and may call tools before.
    pub fn repairs(mut self, repairs: u32) -> Self {
        self.repairs = repairs;
        self
    }

    /// What has to be true of the output. The model gets the error, and may correct the output, as for one that does not fit its
    /// type.
    pub fn check(mut self, check: impl Fn(&Out) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// How much one execution of the agent may spend on its model calls. By default there is no limit.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The temperature of the model.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options.temperature = Some(temperature);
        self
    }

    /// The longest reply, in tokens. A longer one is an [`AgentError::CutOff`]. Without it, the limit is that of the provider: for most
    /// the longest that the model can give. A small local model may write until its context is full.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.options.max_tokens = Some(tokens);
        self
    }

    /// The retries of a model call. Only passing errors ([`ModelError::is_passing`](crate::ModelError::is_passing)) and faults
    /// such as the time limit are retried. A delay that the provider asks for replaces that of the policy, up to
    /// [`max_retry_after`](Self::max_retry_after).
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// The longest delay that a provider may ask for before the next attempt; by default an hour. If it asks for more, such as a day when a quota is
    /// spent, the call is not retried: the agent fails at once with [`AgentError::Model`], whose [`ModelError::retry_after`](crate::ModelError::retry_after)
    /// has the delay. The run can be retried then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    /// use graphweft_agents::{Agent, AgentError, ModelError, Models, Scripted};
    ///
    /// workflow! {
    ///     pub chat(String) -> String {
    ///         let guest: Agent<String, String> = Agent::new("You chat.").max_retry_after(Duration::from_secs(60));
    ///         START => guest;
    ///     }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let tomorrow = ModelError::RateLimited { retry_after: Some(Duration::from_secs(86_400)), message: "quota".into() };
    /// let limited = tomorrow.clone();
    /// let model = Scripted::new(move |_| Err(limited.clone()));
    /// let engine = Engine::builder().resource(Models::new(model.clone())).build()?;
    /// let Outcome::Failed(failure) = engine.start::<chat>("Hi".into()).await?.outcome().await? else { panic!("it fails") };
    /// assert_eq!(failure.error_as(), Some(AgentError::Model(tomorrow)));
    /// assert_eq!(model.requests().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn max_retry_after(mut self, delay: Duration) -> Self {
        self.max_retry_after = delay;
        self
    }

    /// Limits the time of one attempt at a model call.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// What it remembers from one time to the next; by default nothing.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// A schema for the model that is not that of the output.
    pub(crate) fn format(mut self, schema: Json) -> Self {
        self.format = Some(Format { name: "answer".to_owned(), schema });
        self
    }

    /// Runs the agent within a node. Its calls are children of that node.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft_agents::{Agent, AgentError};
    ///
    /// #[node]
    /// async fn judge(claim: String, ctx: &Context) -> Result<bool, AgentError> {
    ///     Agent::new("You judge claims.").run(claim, ctx).await
    /// }
    /// ```
    ///
    /// A second agent in the same node would have the same paths: call it by `ctx.call_as("second", agent, input)`.
    ///
    /// # Errors
    /// See [`AgentError`].
    ///
    /// Cancel safe, as [`Context::call`].
    pub async fn run(&self, input: In, ctx: &Context) -> Result<Out, AgentError> {
        trace::invoke_agent(ctx, &self.model, self.invoke(input, ctx)).await
    }

    async fn invoke(&self, input: In, ctx: &Context) -> Result<Out, AgentError> {
        let prompt = (self.prompt)(&input);
        drop(input);
        let models = ctx.resource::<Models>().cloned().unwrap_or_default();
        let model = find_model(&models, &self.model)?;
        self.check_tools()?;
        #[cfg(feature = "mcp")]
        crate::served::report_changes(ctx, &self.tools).await?;
        let remembered = self.recall(&models, ctx).await?;
        let (mut messages, spent) = remembered.as_ref().map(Remembered::parts).unwrap_or_default();
        let first = messages.len();
        messages.push(Message::user(prompt));
        let mut messages = Arc::new(messages);
        let talk = Talk { model, spent, run_budget: models.budget_of_runs() };
        match (self.converse(&mut messages, talk, ctx).await, remembered) {
            (Ok(output), Some(remembered)) => {
                remembered.add(messages.get(first..).unwrap_or_default(), ctx).await?;
                Ok(output)
            }
            (Err(error), Some(remembered)) => {
                remembered.close().await;
                Err(error)
            }
            (ended, None) => ended,
        }
    }

    async fn recall(&self, models: &Models, ctx: &Context) -> Result<Option<Remembered>, AgentError> {
        let Some(memory) = &self.memory else { return Ok(None) };
        // Not only when a summary is due, which can be months later.
        memory.model_of_summaries().map_or(Ok(()), |name| find_model(models, name).map(drop))?;
        let chat = |model: Option<&str>, instructions: &str, messages| {
            let request = Request {
                instructions: instructions.into(),
                messages: Arc::new(messages),
                tools: Arc::default(),
                format: None,
                options: self.options,
            };
            let model = Arc::clone(find_model(models, model.unwrap_or(&self.model))?);
            let talk = Talk { model: &model, spent: ModelUsage::default(), run_budget: models.budget_of_runs() };
            Ok(self.chat(request, &talk))
        };
        memory.recall(ctx, chat).await.map(Some)
    }

    fn chat(&self, request: Request, talk: &Talk<'_>) -> Chat {
        Chat {
            model: Arc::clone(talk.model),
            request,
            retry: self.retry.clone(),
            max_retry_after: self.max_retry_after,
            timeout: self.timeout,
            budget: self.budget,
            spent: talk.spent,
            run_budget: talk.run_budget,
        }
    }

    /// The loop: model calls and tool calls, until there is an output.
    async fn converse(
        &self,
        messages: &mut Arc<Vec<Message>>,
        mut talk: Talk<'_>,
        ctx: &Context,
    ) -> Result<Out, AgentError> {
        let specs: Arc<[ToolSpec]> = self.tools.iter().map(|tool| tool.spec().clone()).collect();
        let instructions = self.all_instructions();
        // With a format beside its tools, a model may answer at once and never call one. It has tried once before a correction.
        let mut has_format = self.tools.is_empty();
        let mut tries = 0;
        let mut errors: Vec<(String, String)> = Vec::new();
        for turn in 1..=self.max_turns {
            let request = Request {
                instructions: Arc::clone(&instructions),
                messages: Arc::clone(messages),
                // Also for a correction, which a tool may be needed for. Some providers refuse calls in a conversation without them.
                tools: Arc::clone(&specs),
                format: self.format.clone().filter(|_| has_format),
                options: self.options,
            };
            let chat = self.chat(request, &talk);
            let replied = ctx.call_as(MODEL, chat, ()).key(turn).await;
            let ModelCall { message, usage, is_cut_off, .. } =
                replied.map_err(|error| AgentError::of_model_call(CallOf::Turn(turn), error))?;
            talk.spent += ModelUsage { calls: 1, usage };
            // From here on the model has acted on them.
            for (key, why) in std::mem::take(&mut errors) {
                recorded(ctx, &key, why).await?;
            }
            // Recorded by an earlier version, for which such a call was completed.
            if is_cut_off {
                return Err(AgentError::cut_off(CallOf::Turn(turn), usage.output));
            }
            let (text, calls) = match &message {
                Message::Assistant { text, calls, .. } => (text.clone(), calls.clone()),
                Message::User { text } | Message::Tool { content: text, .. } => (text.clone(), Vec::new()),
            };
            let conversation = Arc::make_mut(messages);
            conversation.push(message);
            if !calls.is_empty() {
                // Nothing would read their results.
                if turn == self.max_turns {
                    break;
                }
                for Called { message, error } in self.call_all(ctx, turn, &calls).await? {
                    conversation.push(message);
                    errors.extend(error);
                }
                continue;
            }
            let misfit = match read::<Out>(&text).and_then(|output| self.checked(output)) {
                Ok(output) => return Ok(output),
                Err(misfit) => misfit,
            };
            tries += 1;
            if tries > self.repairs {
                return Err(AgentError::Misfit { tries, misfit });
            }
            has_format = true;
            conversation.push(Message::user(self.correction(&misfit)));
        }
        Err(AgentError::TooManyTurns { turns: self.max_turns })
    }

    fn check_tools(&self) -> Result<(), AgentError> {
        let mut names = BTreeSet::new();
        if self.tools.iter().any(|tool| tool.spec().name.is_empty()) {
            return Err(AgentError::UnnamedTool);
        }
        match self.tools.iter().map(|tool| &tool.spec().name).find(|name| !names.insert(*name)) {
            Some(tool) => Err(AgentError::DuplicateTool { tool: tool.clone() }),
            None => Ok(()),
        }
    }

    fn checked(&self, output: Out) -> Result<Out, Misfit> {
        match self.check.as_ref().map_or(Ok(()), |check| check(&output)) {
            Ok(()) => Ok(output),
            Err(message) => Err(Misfit::whole(message)),
        }
    }

    /// The instructions, with the schema of the output if no format says it from the first request on.
    fn all_instructions(&self) -> Arc<str> {
        match &self.format {
            Some(Format { schema, .. }) if !self.tools.is_empty() => {
                let end = format!("Call tools as you need them. Then answer with JSON of this schema alone: {schema}");
                format!("{}\n\n{end}", self.instructions).trim_start().into()
            }
            _ => Arc::clone(&self.instructions),
        }
    }

    fn correction(&self, misfit: &Misfit) -> String {
        let schema =
            self.format.as_ref().map(|format| format!(" Answer with JSON of this schema alone: {}", format.schema));
        format!("That does not fit: {misfit}.{}", schema.unwrap_or_default())
    }

    /// The results of the calls of a turn, in their order. A fault fails the agent, which waits for no other call then: these are
    /// dropped, and their questions withdrawn.
    async fn call_all(&self, ctx: &Context, turn: u32, calls: &[ToolCall]) -> Result<Vec<Called>, AgentError> {
        let results = calls.iter().enumerate().map(|(at, call)| async move {
            let called = self.call(ctx, format!("{turn}.{at}"), call).await?;
            Ok::<_, AgentError>((at, called))
        });
        let most = self.max_parallel.map_or(usize::MAX, NonZeroUsize::get).min(calls.len());
        let results = stream::iter(results.collect::<Vec<_>>()).buffer_unordered(most);
        let mut called: Vec<(usize, Called)> = results.try_collect().await?;
        called.sort_by_key(|(at, _)| *at);
        Ok(called.into_iter().map(|(_, called)| called).collect())
    }

    /// The result of a tool call, for the model.
    async fn call(&self, ctx: &Context, key: String, call: &ToolCall) -> Result<Called, AgentError> {
        // The model has acted on that error, so the tool is not called again by a later attempt.
        let is_final = ctx.__has_result(&format!("{ERROR}:{key}"));
        let result = match is_final {
            true => Err(ToolError::ForModel(recorded(ctx, &key, String::new()).await?)),
            false => self.result(ctx, &key, call).await,
        };
        let mut error = None;
        let content = match result {
            Ok(Json::String(text)) => text,
            Ok(output) => output.to_string(),
            Err(ToolError::ForModel(why)) => {
                let content = format!("error: {why}");
                error = (!is_final).then_some((key, why));
                content
            }
            Err(ToolError::Refused(why)) => format!("error: {why}"),
            Err(ToolError::Fault(fault)) => return Err(AgentError::Tool { tool: call.name.clone(), fault }),
        };
        Ok(Called { message: Message::Tool { call_id: call.id.clone(), name: call.name.clone(), content }, error })
    }

    async fn result(&self, ctx: &Context, key: &str, call: &ToolCall) -> Result<Json, ToolError> {
        match self.tools.iter().find(|tool| tool.spec().name == call.name) {
            Some(tool) => tool.call(ctx, &call.arguments, key).await,
            // A tool of an earlier version may have been called by that name.
            None => match ctx.__recorded_output(&format!("{}:{key}", call.name)) {
                Some(output) => tool::result(output),
                None => {
                    let begun = may_have_gone_through(ctx, &call.name, &format!("{}:{key}", call.name));
                    Err(ToolError::ForModel(format!("{}{begun}", self.unknown_tool(&call.name))))
                }
            },
        }
    }

    fn unknown_tool(&self, name: &str) -> String {
        let known = listed(self.tools.iter().map(|tool| tool.spec().name.as_str()));
        format!("there is no tool `{}`; there are {known}", shortened(name.to_owned()))
    }
}

/// The result of a tool call, for the model.
struct Called {
    message: Message,
    /// Its error, by its key, if that is not recorded yet.
    error: Option<(String, String)>,
}

/// The longest delay that a provider may ask for: the limits of providers are by the minute, or by the day.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Under which name an agent records the errors of tools that its model has acted on, each as a step.
const ERROR: &str = "gen_ai.error";

/// The error of a tool as the model gets it, recorded: a failed child would be called again by a later attempt.
async fn recorded(ctx: &Context, key: &str, why: String) -> Result<String, AgentError> {
    let why = move || {
        let why = why.clone();
        async move { Ok::<_, String>(why) }
    };
    Ok(ctx.step(ERROR, why).key(key).await.map_err(fault_of)?)
}

fn find_model<'m>(models: &'m Models, name: &str) -> Result<&'m Arc<dyn ChatModel>, AgentError> {
    models.get(name).ok_or_else(|| AgentError::UnknownModel { name: name.to_owned(), known: listed(models.names()) })
}

/// What the model calls of an agent have in common.
struct Talk<'m> {
    model: &'m Arc<dyn ChatModel>,
    /// What the agent has spent so far.
    spent: ModelUsage,
    run_budget: Option<Budget>,
}

/// A text as it is, anything else as JSON.
pub(crate) fn shown<In: JsonPayload>(input: &In) -> String {
    match serde_json::to_value(input) {
        Ok(Json::String(text)) => text,
        Ok(json) => format!("{json:#}"),
        Err(error) => format!("(the input cannot be written as JSON: {error})"),
    }
}

/// What is known of a node around an agent.
pub(crate) const fn facts<In>(name: &'static str) -> NodeFacts<In, AgentError> {
    NodeFacts::named(name).error_text(|error: &AgentError| vec![error.to_string()]).recorded_error()
}

/// The resource that every agent needs.
pub(crate) fn needs_models() -> Vec<ResourceNeed> {
    vec![ResourceNeed::of::<Models>()]
}

/// Whether another attempt at the node of an agent may succeed. Recorded replies and results are reused, so any other error would
/// come again.
pub fn is_retryable(error: &AgentError) -> bool {
    matches!(error, AgentError::Model(_) | AgentError::Session(SessionError::Store { .. }))
}

impl<In: JsonPayload, Out: JsonPayload> Node for Agent<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = AgentError;
    const FACTS: NodeFacts<In, AgentError> = facts("agent");

    async fn run(&self, input: In, ctx: &Context) -> Result<Out, AgentError> {
        Agent::run(self, input, ctx).await
    }

    fn retry_when(&self, error: &AgentError) -> bool {
        is_retryable(error)
    }

    fn resources(&self) -> Vec<ResourceNeed> {
        needs_models()
    }

    fn uses(&self) -> Vec<NodeInfo> {
        self.tools.iter().map(|tool| tool.info().clone()).collect()
    }
}

impl<In, Out> fmt::Debug for Agent<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Agent { instructions, model, tools, .. } = self;
        let mut shown = f.debug_struct("Agent");
        shown.field("instructions", instructions).field("model", model).field("tools", tools).finish_non_exhaustive()
    }
}
