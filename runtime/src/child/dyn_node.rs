//! Nodes that are called by name, with JSON: what a registry of tools holds.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::dyn_input::InputForm;
use super::form::{AsPayload, AsText, ErrorPayload, IntoErrorText};
use super::node::{Request, words_of};
use super::tried::Identity;
use super::{ChildError, ErrorText};
use crate::context::Context;
use crate::fault::Fault;
use crate::field::Unreadable;
use crate::lazy::Lazy;
use crate::node::{Node, Payload, name_of};
use crate::node_info::NodeInfo;
use crate::options::{NodeOptions, RetryPolicy};
use crate::value::{MaxSize, check_json};

/// A node behind a type that is the same for all: it has a name, a description and schemas, and is called with JSON. It can
/// be held in a registry, such as that of the tools of an agent.
///
/// It is made from any `#[node]`, workflow or [`Node`] by hand. Inputs and outputs are plain JSON, as for
/// [`Engine::start_json`](crate::Engine::start_json). A node of a function with several inputs takes an object with the
/// names of its parameters, and so does one with a single input that is no object itself:
///
/// ```
/// use std::collections::BTreeMap;
/// use graphweft::prelude::*;
/// use graphweft::{DynNode, Json, json};
///
/// /// Searches the archive.
/// #[node]
/// async fn search(query: String, limit: Option<u32>) -> Result<Vec<String>, String> {
///     if query.is_empty() { Err("nothing to look for".to_owned()) } else { Ok(vec![format!("{query} {limit:?}")]) }
/// }
///
/// #[node]
/// async fn agent(calls: Vec<(String, Json)>, ctx: &Context) -> Vec<String> {
///     let tools = BTreeMap::from([DynNode::new::<search>()].map(|tool| (tool.name().to_owned(), tool)));
///     let mut said = Vec::new();
///     for (at, (tool, input)) in calls.into_iter().enumerate() {
///         let output = tools[&tool].call(ctx, input).key(at).await;
///         said.push(output.map_or_else(|error| error.to_string(), |output| output.to_string()));
///     }
///     said
/// }
///
/// let search = DynNode::new::<search>();
/// assert_eq!((search.name(), search.description()), ("search", "Searches the archive."));
/// assert_eq!(search.input_schema()["required"], json!(["query"]));
///
/// let call = |input| ("search".to_owned(), input);
/// let calls = vec![call(json!({ "query": "ants" })), call(json!({ "query": "bees", "limit": "many" }))];
/// let flow = workflow! { START => agent };
/// let said = graphweft::block_on(flow.run(calls)).unwrap();
/// assert_eq!(said[0], r#"["ants None"]"#);
/// assert_eq!(said[1], "`search` does not take this input: at `limit`: invalid type: string \"many\", expected u32");
/// ```
#[derive(Clone)]
pub struct DynNode(Arc<Described>);

struct Described {
    info: NodeInfo,
    input: InputForm,
    input_schema: Json,
    output_schema: Json,
    call: Box<Call>,
}

/// Calls the node behind it.
type Call = dyn for<'c> Fn(Called<'c>) -> BoxFuture<'c, Given> + Send + Sync;

type Given = Result<Json, ChildError<DynError>>;

/// A call of it, with the input as its node takes it.
struct Called<'c> {
    context: &'c Context,
    node: DynNode,
    input: Json,
    options: CallOptions,
}

#[derive(Default)]
struct CallOptions {
    key: Option<String>,
    retry: Option<RetryPolicy>,
    timeout: Option<Duration>,
    at_most_once: bool,
    identity: Identity,
}

impl DynNode {
    /// A node whose error is a payload, under its own name: that of the function, of the workflow, or of
    /// `#[node(name = ..)]`.
    pub fn new<N: Node + Default>() -> Self
    where
        N::Error: ErrorPayload,
    {
        DynNode::of_payload(name_of::<N>(), N::default)
    }

    /// The same for a node whose error is no payload; see [`Child::error_as_text`](super::Child::error_as_text).
    pub fn error_as_text<N: Node + Default>() -> Self
    where
        N::Error: IntoErrorText,
    {
        DynNode::of_text(name_of::<N>(), N::default)
    }

    /// A node by value, which can carry configuration, under a name; see [`Context::call_as`].
    pub fn by_value<N: Node + Clone>(name: impl Into<String>, node: N) -> Self
    where
        N::Error: ErrorPayload,
    {
        DynNode::of_payload(name.into(), move || node.clone())
    }

    fn of_payload<N: Node>(name: String, make: impl Fn() -> N + Send + Sync + 'static) -> Self
    where
        N::Error: ErrorPayload,
    {
        let make = Arc::new(make);
        let info = NodeInfo::by_value(name, {
            let make = Arc::clone(&make);
            move || make()
        });
        DynNode::describe::<N>(
            info,
            Box::new(move |called| {
                let node = make();
                Box::pin(async move {
                    let max = called.context.0.run.env.max_value_size;
                    let output = called.request::<N>(node)?.run::<AsPayload>().await;
                    let output = output.map_err(|error| error.map(|error| DynError::of::<N>(&error, max)))?;
                    plain(&output, max)
                })
            }),
        )
    }

    fn of_text<N: Node>(name: String, make: impl Fn() -> N + Send + Sync + 'static) -> Self
    where
        N::Error: IntoErrorText,
    {
        let make = Arc::new(make);
        let info = NodeInfo::by_value(name, {
            let make = Arc::clone(&make);
            move || make()
        });
        DynNode::describe::<N>(
            info,
            Box::new(move |called| {
                let node = make();
                Box::pin(async move {
                    let max = called.context.0.run.env.max_value_size;
                    let output = called.request::<N>(node)?.run::<AsText>().await;
                    let output = output.map_err(|error| error.map(|text| DynError { text, json: None }))?;
                    plain(&output, max)
                })
            }),
        )
    }

    fn describe<N: Node>(info: NodeInfo, call: Box<Call>) -> Self {
        let (input, input_schema) = InputForm::of::<N>();
        let output_schema = N::Output::__schema().to_value();
        DynNode(Arc::new(Described { info, input, input_schema, output_schema, call }))
    }

    /// Its name. A call has the path `agent/search`, or `agent/search:key`.
    pub fn name(&self) -> &str {
        self.0.info.name()
    }

    /// What is known of the node: its resources, and the nodes that it may call.
    pub fn info(&self) -> &NodeInfo {
        &self.0.info
    }

    /// The doc comment of the function or the workflow; empty without one.
    pub fn description(&self) -> &str {
        self.0.info.doc()
    }

    /// The JSON Schema of the input.
    pub fn input_schema(&self) -> &Json {
        &self.0.input_schema
    }

    /// The JSON Schema of the output.
    pub fn output_schema(&self) -> &Json {
        &self.0.output_schema
    }

    /// Runs the node as a child of the one whose context this is, like [`Context::call`]. The records are the same: what a
    /// typed call has recorded is returned by this one, and the other way round.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if the node does not take the input, with the field: nothing has run, and nothing is recorded.
    /// [`ChildError::Error`] is the error of the node, after its last attempt; any other is a [`ChildError::Fault`].
    ///
    /// Cancel safe, as [`Context::call`].
    pub fn call<'c>(&self, context: &'c Context, input: Json) -> DynCall<'c> {
        let node = self.clone();
        DynCall(Lazy::Described(Called { context, node, input, options: CallOptions::default() }))
    }

    /// The input of the node behind it.
    fn read<T: Payload>(&self, input: Json, max: MaxSize) -> Result<T, Fault> {
        let read = || {
            let input = check_json(input, max).map_err(|error| Unreadable::whole(error.to_string()))?;
            let input = self.0.input.read(input)?;
            T::__from_plain(&input).map_err(|error| self.0.input.located(error))
        };
        read().map_err(|Unreadable { field, message }| Fault::InvalidInput {
            node: self.name().into(),
            field: field.into(),
            message: message.into(),
        })
    }
}

impl fmt::Debug for DynNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynNode").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl<'c> Called<'c> {
    fn request<N: Node>(self, node: N) -> Result<Request<'c, N>, Fault> {
        let Called { context, node: described, input, options } = self;
        let input = described.read::<N::Input>(input, context.0.run.env.max_value_size)?;
        let CallOptions { key, retry, timeout, at_most_once, identity } = options;
        let mut request = Request::new(context, described.name().to_owned(), node, input);
        let own = &request.options;
        request.options = NodeOptions {
            retry: retry.unwrap_or_else(|| own.retry.clone()),
            timeout: timeout.or(own.timeout),
            max_parallel: own.max_parallel,
            at_most_once: at_most_once || own.at_most_once,
        };
        request.key = key;
        request.identity = identity;
        Ok(request)
    }
}

fn plain<T: Payload>(output: &T, max: MaxSize) -> Given {
    let unwritten = |problem| Fault::Context { message: format!("the output cannot be written as JSON: {problem}") };
    Ok(output.__to_plain(max).map_err(unwritten)?)
}

/// A call of a [`DynNode`]. Awaiting it runs the node. It is a future, so it works with `join!`.
///
/// Options of a single call, which override those of the node:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
/// use graphweft::{DynError, DynNode, json};
///
/// #[node]
/// async fn search(query: String) -> Result<Vec<String>, String> { Ok(vec![format!("all about {query}")]) }
///
/// #[node]
/// async fn agent(topics: Vec<String>, ctx: &Context) -> Result<usize, ChildError<DynError>> {
///     let tool = DynNode::new::<search>();
///     let mut found = 0;
///     for topic in &topics {
///         let call = tool.call(ctx, json!({ "query": topic })).key(topic).timeout(Duration::from_secs(10));
///         found += call.await?.as_array().map_or(0, Vec::len);
///     }
///     Ok(found)
/// }
///
/// workflow! { pub ask(Vec<String>) -> usize { START => agent; } }
///
/// assert_eq!(graphweft::block_on(ask(vec!["ants".into(), "bees".into()])).unwrap(), 2);
/// ```
#[must_use = "no child runs before it is awaited"]
pub struct DynCall<'c>(Lazy<'c, Called<'c>, Given>);

impl DynCall<'_> {
    fn with(mut self, change: impl FnOnce(&mut CallOptions)) -> Self {
        self.0.describe(|called| change(&mut called.options));
        self
    }

    /// Distinguishes calls of one node; see [`Child::key`](super::Child::key).
    pub fn key(self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.with(|options| options.key = Some(key))
    }

    /// Sets the retries, in place of the node's own; see [`Child::retry`](super::Child::retry).
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|options| options.retry = Some(policy))
    }

    /// Limits the time of one attempt; see [`Child::timeout`](super::Child::timeout).
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|options| options.timeout = Some(limit))
    }

    /// See [`Child::__known_by_path`](super::Child::__known_by_path).
    #[doc(hidden)]
    pub fn __known_by_path(self) -> Self {
        self.with(|options| options.identity = Identity::Path)
    }

    /// See [`Child::at_most_once`](super::Child::at_most_once).
    pub fn at_most_once(self) -> Self {
        self.with(|options| options.at_most_once = true)
    }
}

impl Future for DynCall<'_> {
    type Output = Result<Json, ChildError<DynError>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |called| {
            let node = called.node.clone();
            (node.0.call)(called)
        })
    }
}

impl fmt::Debug for DynCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DynCall");
        if let Some(called) = self.0.description() {
            shown.field("name", &called.node.name()).field("key", &called.options.key);
        }
        shown.finish_non_exhaustive()
    }
}

/// The error of a node that was called by name: its texts, and its JSON if it is a payload.
///
/// The caller does not know the type of the error, but can look at what it is:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{DynNode, json};
///
/// #[value]
/// #[derive(Debug)]
/// struct Declined { limit: u32 }
/// # impl std::fmt::Display for Declined {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "over the limit of {}", self.limit) }
/// # }
///
/// #[node]
/// async fn charge(cents: u32) -> Result<u32, Declined> { Err(Declined { limit: cents / 2 }) }
///
/// #[node]
/// async fn agent(cents: u32, ctx: &Context) -> String {
///     match DynNode::new::<charge>().call(ctx, json!({ "cents": cents })).await {
///         Err(ChildError::Error(error)) => format!("{}; try {}", error.text, error.json.unwrap_or_default()["limit"]),
///         other => format!("{other:?}"),
///     }
/// }
///
/// workflow! { pub pay(u32) -> String { START => agent; } }
///
/// assert_eq!(graphweft::block_on(pay(80)).unwrap(), "over the limit of 40; try 40");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DynError {
    /// Its text and those of its sources.
    pub text: ErrorText,
    /// The error itself as plain JSON; `None` if it is no payload.
    pub json: Option<Json>,
}

impl DynError {
    fn of<N: Node>(error: &N::Error, max: MaxSize) -> Self
    where
        N::Error: Payload,
    {
        let json = error.__to_plain(max).ok();
        let words = words_of::<N>(error, json.as_ref().unwrap_or(&Json::Null));
        DynError { text: ErrorText::of_chain(&words), json }
    }
}

impl fmt::Display for DynError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Error for DynError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.text.source()
    }
}
