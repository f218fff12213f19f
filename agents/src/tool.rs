//! Tools: nodes that a model can call.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use graphweft::{ChildError, Context, DynNode, Fault, Json, Node, NodeInfo, Payload, RetryPolicy};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[cfg(feature = "mcp")]
use crate::fingerprint::Fingerprint;
#[cfg(feature = "mcp")]
use crate::guarded::Uncertain;
use crate::guarded::{APPROVE, Guarded, NeedsApproval, Settled, is_edit};
use crate::json_payload::JsonPayload;
use crate::message::too_deep;
use crate::model::ToolSpec;
use crate::names::shortened;
use crate::output::{for_model, in_object, is_object};
use crate::trace;

/// The property that holds an input whose schema is no object.
const INPUT: &str = "input";

/// A tool of an agent: a node, a workflow or another agent, which a model calls by its name.
///
/// Name, description and parameters are those of the function. The arguments are checked before anything runs. The model gets
/// the output, or as text: why its arguments do not fit, the error of the tool, a person's rejection. Arguments do not fit if they are
/// no JSON, or if a parameter is missing or of another type: the text names the parameter and the problem, nothing runs, and the model may
/// call again, within [`max_turns`](crate::Agent::max_turns) and the [budget](crate::Agent::budget) of its agent. A
/// [`Fault`], such as a panic or a time limit, fails the agent. Other calls of that turn are not waited for: they are dropped, and a question to a person is
/// withdrawn.
///
/// A call is a child of the agent, with the path `desk/agent/orders:2.0` for the first call of turn 2. A completed one is not
/// made again after a restart. One that was cut short is made again, unless the tool says
/// [`at_most_once`](NodeTool::at_most_once).
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Tool};
///
/// /// Pays money back.
/// #[node]
/// async fn refund(order: String, cents: u32) -> Result<String, String> {
///     Ok(format!("{cents} cents for {order}"))
/// }
///
/// let refund = Tool::of::<refund>().approve_when(|(_, cents)| *cents > 5_000).at_most_once();
/// let agent: Agent<String, String> = Agent::new("You decide on refunds.").tool(refund);
/// # drop(agent);
/// ```
#[derive(Clone)]
#[must_use = "an agent has no tool before it is given to `Agent::tool`"]
pub struct Tool {
    node: DynNode,
    spec: ToolSpec,
    /// Whether the node takes no object, and the model gives it as the property `input` of one.
    is_wrapped: bool,
    /// If the node asks a person around the tool, and its output is a [`Settled`]: what is known of the tool itself.
    guarded: Option<NodeInfo>,
    retry: Option<RetryPolicy>,
    timeout: Option<Duration>,
    /// That of its schema, if it comes from a server.
    #[cfg(feature = "mcp")]
    fingerprint: Option<Fingerprint>,
}

/// How a call of a tool ends without an output.
pub(crate) enum ToolError {
    /// The model gets this text.
    ForModel(String),
    /// A person's reason why it is not called, which is recorded as its output.
    Refused(String),
    /// The agent fails.
    Fault(Fault),
}

impl Tool {
    /// A node by its type: a `#[node]` or a workflow whose error is a payload.
    pub fn of<N: Node<Error: Payload> + Default>() -> NodeTool<N> {
        let plain = DynNode::new::<N>();
        NodeTool::new(plain.name().to_owned(), plain, Arc::new(N::default))
    }

    /// A node by value under a name, such as an agent: it can carry configuration. One that is written by hand has no
    /// [`description`](NodeTool::description) of its own.
    pub fn by_value<N: Node<Error: Payload> + Clone>(name: impl Into<String>, node: N) -> NodeTool<N> {
        let name = name.into();
        let plain = DynNode::by_value(name.clone(), node.clone());
        NodeTool::new(name, plain, Arc::new(move || node.clone()))
    }

    /// A node by its type whose error is no payload, such as `std::io::Error` or `anyhow::Error`. Its text is recorded.
    ///
    /// It has no `approve` and no `at_most_once`: for those, give the node an error with `#[value]`, and use [`Tool::of`].
    /// If the node itself says `#[node(at_most_once)]`, a call that was cut short fails the agent.
    pub fn error_as_text<N: Node + Default>() -> Tool
    where
        N::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        Tool::around(DynNode::error_as_text::<N>(), None)
    }

    fn around(node: DynNode, description: Option<String>) -> Tool {
        let is_wrapped = !is_object(node.input_schema());
        let schema = node.input_schema().clone();
        let spec = ToolSpec {
            name: node.name().to_owned(),
            description: description.unwrap_or_else(|| node.description().to_owned()),
            parameters: if is_wrapped { in_object(INPUT, schema) } else { for_model(schema) },
        };
        Tool {
            node,
            spec,
            is_wrapped,
            guarded: None,
            retry: None,
            timeout: None,
            #[cfg(feature = "mcp")]
            fingerprint: None,
        }
    }

    /// What a model knows of it.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// What is known of its node.
    pub(crate) fn info(&self) -> &NodeInfo {
        self.guarded.as_ref().unwrap_or_else(|| self.node.info())
    }

    /// Calls it as a child of a node, with the arguments of a model.
    pub(crate) async fn call(&self, ctx: &Context, arguments: &Json, key: &str) -> Result<Json, ToolError> {
        let recorded = || ctx.__recorded_output(&self.child(key));
        if let Some(output) = recorded().filter(|output| is_settled(output) != self.guarded.is_some()) {
            return result(output);
        }
        let called = match self.input(arguments) {
            Ok(input) => self.call_with(ctx, input, key).await,
            Err(misfit) => Err(misfit),
        };
        match called {
            // An earlier version of the tool took these arguments, and has been called.
            Err(ToolError::ForModel(why)) => recorded().map_or(Err(ToolError::ForModel(why)), result),
            called => called,
        }
    }

    /// The name of the child that a call of it is.
    fn child(&self, key: &str) -> String {
        format!("{}:{key}", self.node.name())
    }

    /// Calls it as a child of a node, with its input.
    pub(crate) async fn call_with(&self, ctx: &Context, input: Json, key: &str) -> Result<Json, ToolError> {
        let mut call = self.node.call(ctx, input).key(key);
        if self.is_known_by_path(ctx, key) {
            call = call.__known_by_path();
        }
        if let Some(retry) = &self.retry {
            call = call.retry(retry.clone());
        }
        if let Some(timeout) = self.timeout {
            call = call.timeout(timeout);
        }
        let ended = match self.guarded.is_some() {
            // Its span begins behind the questions.
            true => call.await,
            false => trace::execute_tool(ctx, &self.spec.name, &self.child(key), call).await,
        };
        match ended {
            Ok(output) if self.guarded.is_some() => settled(&output),
            Ok(output) => Ok(output),
            Err(ChildError::Error(error)) => Err(ToolError::ForModel(format!("{:#}", error.text))),
            Err(ChildError::Fault(misfit @ Fault::InvalidInput { .. })) => {
                Err(ToolError::ForModel(shortened(misfit.to_string())))
            }
            Err(ChildError::Fault(fault)) => Err(ToolError::Fault(fault)),
            Err(error) => Err(ToolError::Fault(Fault::Context { message: error.to_string() })),
        }
    }

    /// Whether a record of this call counts, however its input is encoded. The arguments are in the recorded reply of the model, by
    /// name, so a later version of the tool can only encode them differently. What a person has edited is encoded as it was then:
    /// a version that encodes it differently may read another input from it.
    fn is_known_by_path(&self, ctx: &Context, key: &str) -> bool {
        let child = self.child(key);
        let is_edited = || ctx.__recorded_answer(&format!("{child}/{APPROVE}")).is_some_and(|answer| is_edit(&answer));
        ctx.__has_result(&child) || !is_edited()
    }

    fn input(&self, arguments: &Json) -> Result<Json, ToolError> {
        // A model has written them so: what is no JSON is a text.
        if let Json::String(text) = arguments {
            let why = match serde_json::from_str::<Json>(text) {
                _ if *text == too_deep() => text.trim_matches(['(', ')']).to_owned(),
                Ok(_) => "they are a text that has JSON in it".to_owned(),
                Err(error) => format!("they are no JSON: {error}"),
            };
            let misfit = format!(
                "`{}` does not take this input: its arguments have to be a JSON object, and {why}",
                self.spec.name
            );
            return Err(ToolError::ForModel(misfit));
        }
        if !self.is_wrapped {
            return Ok(arguments.clone());
        }
        let input = arguments.as_object().filter(|object| object.len() == 1).and_then(|object| object.get(INPUT));
        let misfit =
            || format!("`{}` does not take this input: it takes an object with `{INPUT}` alone", self.spec.name);
        input.cloned().ok_or_else(|| ToolError::ForModel(misfit()))
    }
}

/// The result of a call that is recorded, whether or not the tool was guarded then.
pub(crate) fn result(output: Json) -> Result<Json, ToolError> {
    if is_settled(&output) { settled(&output) } else { Ok(output) }
}

/// Whether it is the output of a guarded tool.
fn is_settled(output: &Json) -> bool {
    Settled::<IgnoredAny>::deserialize(output).is_ok()
}

/// The output of a guarded tool.
fn settled(output: &Json) -> Result<Json, ToolError> {
    match Settled::<Json>::deserialize(output) {
        Ok(Settled::Output(output)) => Ok(output),
        Ok(Settled::Refused(why)) => Err(ToolError::Refused(why)),
        Err(error) => Err(ToolError::Fault(Fault::Context { message: error.to_string() })),
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

/// A node as a tool, with its options. It converts into a [`Tool`].
///
/// A function with effects, as a tool that a model may call only so:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft_agents::{NodeTool, Tool};
///
/// #[node]
/// async fn wire(cents: u32) -> Result<String, String> { Ok(format!("{cents} cents")) }
///
/// let wire: NodeTool<wire> = Tool::of::<wire>()
///     .description("Sends money to the customer. Say the amount in cents.")
///     .approve_when(|cents| *cents > 5_000)
///     .timeout(Duration::from_secs(30))
///     .at_most_once();
/// assert_eq!(Tool::from(wire).spec().description, "Sends money to the customer. Say the amount in cents.");
/// ```
#[must_use = "an agent has no tool before it is given to `Agent::tool`"]
pub struct NodeTool<N: Node> {
    plain: DynNode,
    description: Option<String>,
    guarded: Guarded<N>,
    /// The schema of its arguments, if it is not that of the type.
    #[cfg(feature = "mcp")]
    parameters: Option<Json>,
}

impl<N: Node> NodeTool<N> {
    fn new(name: String, plain: DynNode, make: Arc<dyn Fn() -> N + Send + Sync>) -> Self {
        let at_most_once = make().options().at_most_once;
        let parameters = plain.info().parameters().into();
        let guarded = Guarded {
            name,
            parameters,
            make,
            approval: None,
            at_most_once,
            retry: None,
            timeout: None,
            uncertain: None,
        };
        NodeTool {
            plain,
            description: None,
            guarded,
            #[cfg(feature = "mcp")]
            parameters: None,
        }
    }

    /// A tool of a server, with the schema of the server. `uncertain` says of which errors it is not known whether the call had its
    /// effect.
    #[cfg(feature = "mcp")]
    pub(crate) fn of_server(name: String, node: N, parameters: Json, uncertain: Uncertain<N::Error>) -> Self
    where
        N: Clone,
        N::Error: Payload,
    {
        let mut tool = Tool::by_value(name, node);
        tool.parameters = Some(parameters);
        tool.guarded.uncertain = Some(uncertain);
        tool
    }

    /// What the tool does, in place of the node's doc comment.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// A call that was cut short by the end of its process is made again. This is the default. A node that itself says
    /// `#[node(at_most_once)]` stays [`at_most_once`](Self::at_most_once).
    pub fn repeatable(mut self) -> Self {
        self.guarded.at_most_once = (self.guarded.make)().options().at_most_once;
        self
    }

    /// A call that was cut short is not made again: a person is asked whether it went through, and answers with a
    /// [`Resolution`](crate::Resolution). The question is `went_through`, below the call. It is asked if the process ended, the
    /// call was dropped, its time limit was reached or it panicked, and if its output cannot be recorded, since it is too large
    /// or too deep ([`Fault::Unrecordable`](graphweft::Fault::Unrecordable)). There are no retries. A workflow is resumed instead:
    /// there, its own nodes say `at_most_once`.
    pub fn at_most_once(mut self) -> Self {
        self.guarded.at_most_once = true;
        self
    }

    /// A person is asked before each call, and answers with an [`Approval`](crate::Approval). The question is `approve`, below
    /// the call; its payload is the input, several parameters with their names. No text of a model or a tool answers it, only
    /// [`Run::answer`](graphweft::Run::answer) and [`Engine::answer`](graphweft::Engine::answer). An approved call that is cut short is made
    /// again, unless the tool is [`at_most_once`](Self::at_most_once). If a version of the program without `approve` has begun the call, the
    /// question says so; for a tool that is `at_most_once`, `went_through` is asked in its place.
    pub fn approve(self) -> Self {
        self.approve_when(|_| true)
    }

    /// A person is asked before the calls of which this is true. It has to say the same of an input each time. If another version of
    /// the program resumes the run, a recorded answer counts whatever its predicate says; an open question is asked only if it still
    /// applies.
    pub fn approve_when(mut self, needs_approval: impl Fn(&N::Input) -> bool + Send + Sync + 'static) -> Self {
        let needs_approval: NeedsApproval<N::Input> = Arc::new(needs_approval);
        self.guarded.approval = Some(needs_approval);
        self
    }

    /// Sets the retries after an error or a fault, in place of the node's own. Without effect on a tool that is
    /// [`at_most_once`](Self::at_most_once).
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.guarded.retry = Some(policy);
        self
    }

    /// Limits the time of one attempt, in place of the node's own limit. It does not run while a person is asked.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.guarded.timeout = Some(limit);
        self
    }
}

impl<N> From<NodeTool<N>> for Tool
where
    N: Node<Input: JsonPayload, Output: JsonPayload, Error: JsonPayload>,
{
    fn from(tool: NodeTool<N>) -> Tool {
        #[cfg(feature = "mcp")]
        let parameters = tool.parameters;
        let NodeTool { plain, description, guarded, .. } = tool;
        let tool = Tool::of_node(plain, description, guarded);
        #[cfg(feature = "mcp")]
        let tool = tool.with_parameters(parameters);
        tool
    }
}

impl Tool {
    fn of_node<N>(plain: DynNode, description: Option<String>, guarded: Guarded<N>) -> Tool
    where
        N: Node<Input: JsonPayload, Output: JsonPayload, Error: JsonPayload>,
    {
        if guarded.approval.is_none() && !guarded.at_most_once {
            let (retry, timeout) = (guarded.retry, guarded.timeout);
            return Tool { retry, timeout, ..Tool::around(plain, description) };
        }
        let description = description.unwrap_or_else(|| plain.description().to_owned());
        let tool = plain.info().clone();
        let guarded = DynNode::by_value(guarded.name.clone(), guarded);
        Tool { guarded: Some(tool), ..Tool::around(guarded, Some(description)) }
    }

    #[cfg(feature = "mcp")]
    fn with_parameters(mut self, parameters: Option<Json>) -> Self {
        if let Some(parameters) = parameters {
            self.fingerprint = Some(Fingerprint::of(&parameters));
            self.spec.parameters = for_model(parameters);
            self.is_wrapped = false;
        }
        self
    }
}

impl<N: Node> fmt::Debug for NodeTool<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeTool").field("name", &self.guarded.name).finish_non_exhaustive()
    }
}
