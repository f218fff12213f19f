//! How an agent fails.

use graphweft::__::UNIQUE_KEY;
use graphweft::scope::ScopeError;
use graphweft::{ChildError, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::OverBudget;
use crate::chat::ChatError;
use crate::memory::SessionError;
use crate::model_call::FailedCall;
use crate::model_error::ModelError;
use crate::output::Misfit;
use crate::usage::MODEL;

/// Why an agent gave no output.
///
/// It is a payload, so it can be routed: `agent => <ok: pay, err: report>`. It is `From<Fault>`, so that a fault of the agent's
/// node takes that route too.
///
/// What the customer gets if there is no answer, and what becomes of the ticket:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, AgentError, ModelError, Models, Scripted};
///
/// #[node]
/// async fn apologise(error: AgentError) -> String {
///     match error {
///         AgentError::Model(ModelError::Overloaded { .. }) => "we are very busy".into(),
///         other => format!("a person will write to you ({other})"),
///     }
/// }
///
/// workflow! {
///     pub desk(String) -> String {
///         let agent: Agent<String, String> = Agent::new("You help.").retry(RetryPolicy::none());
///         START => agent => <ok: END, err: apologise>;
///         apologise => END;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let busy = Scripted::new(|_| Err(ModelError::Overloaded { retry_after: None, message: "try later".into() }));
/// let engine = Engine::builder().resource(Models::new(busy)).build()?;
/// assert_eq!(engine.start::<desk>("Where is my lamp?".into()).await?.result().await?, "we are very busy");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentError {
    /// The model gave no reply, after all attempts at the call.
    #[error("the model gave no reply: {0}")]
    Model(ModelError),
    /// The engine has no model of this name.
    #[error("there is no model `{name}`; the engine has {known}; add it with `Models::with`")]
    UnknownModel {
        /// The name that the agent asks for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Two tools of the agent have one name.
    #[error(
        "two tools are called `{tool}`; give one of them another name with `#[node(name = \"..\")]` or, if it is an agent, with \
         `Tool::by_value`, or the tools of a server a prefix"
    )]
    DuplicateTool {
        /// The name.
        tool: String,
    },
    /// A tool of the agent has an empty name. No model could call it.
    #[error("a tool has no name; give it one in `Tool::by_value`")]
    UnnamedTool,
    /// A budget does not cover another model call. It can be retried with a larger one: the replies so far are recorded.
    #[error(transparent)]
    OverBudget(OverBudget),
    /// There was no output after the last turn. Tools that are called in it are not executed.
    #[error("no output after {turns} turns; allow more with `Agent::max_turns`")]
    TooManyTurns {
        /// How many model calls there were.
        turns: u32,
    },
    /// The output did not fit its type, or the agent's check, after all repairs.
    #[error("the output does not fit after {tries} tries: {misfit}")]
    Misfit {
        /// How many outputs there were.
        tries: u32,
        /// The problem with the last one.
        misfit: Misfit,
    },
    /// A reply ends at the limit of tokens. What is there of it is neither used nor executed. The model is asked again if the run is
    /// retried, with a larger limit.
    #[error("the reply of turn {turn} was cut off after {tokens} tokens; allow more with `Agent::max_tokens`")]
    CutOff {
        /// The turn, from 1.
        turn: u32,
        /// The tokens of the reply.
        tokens: u64,
    },
    /// A reply is larger than a value that the engine records. It is lost, and not asked for again unless the run is retried.
    #[error(
        "the reply of the model takes {size} bytes, and a recorded value may take {limit}; limit it with `Agent::max_tokens`, or allow \
         more with `EngineBuilder::max_value_size`"
    )]
    ReplyTooLarge {
        /// The bytes of the reply as JSON, with what was new in the request.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The session of the agent could not be used.
    #[error(transparent)]
    Session(SessionError),
    /// The state of a session, a user or an application could not be used. No agent returns it: it is for the code of a node around one.
    #[error(transparent)]
    Scope(ScopeError),
    /// A tool ended by a fault, such as a panic or its time limit.
    #[error("tool `{tool}` failed: {fault}")]
    Tool {
        /// The name of the tool.
        tool: String,
        /// The fault.
        fault: Fault,
    },
    /// A model call reached its time limit, or the code of the model panicked.
    #[error("model call `{call}` failed: {fault}")]
    ModelCall {
        /// The call, as in its path: `model:2` of turn 2, or `model:summary`.
        call: String,
        /// The fault.
        fault: Fault,
    },
    /// The agent or a model call ended by another fault.
    #[error(transparent)]
    Fault(Fault),
}

impl From<Fault> for AgentError {
    fn from(fault: Fault) -> Self {
        AgentError::Fault(fault)
    }
}

impl From<SessionError> for AgentError {
    fn from(error: SessionError) -> Self {
        AgentError::Session(error)
    }
}

impl From<ScopeError> for AgentError {
    fn from(error: ScopeError) -> Self {
        match error {
            ScopeError::Fault(fault) => AgentError::Fault(fault),
            error => AgentError::Scope(error),
        }
    }
}

/// The key of the model call that summarizes a session.
pub(crate) const SUMMARY: &str = "summary";

/// Which model call of an agent.
#[derive(Clone, Copy)]
pub(crate) enum CallOf {
    Turn(u32),
    Summary,
}

impl AgentError {
    /// The error of an agent whose model call has failed.
    pub(crate) fn of_model_call(call: CallOf, error: ChildError<FailedCall<ChatError>>) -> Self {
        match error {
            ChildError::Error(FailedCall { error, .. }) => match error {
                ChatError::Model(error) => AgentError::Model(error),
                ChatError::OverBudget(error) => AgentError::OverBudget(error),
                ChatError::CutOff { usage, .. } => AgentError::cut_off(call, usage.output),
                ChatError::TooLarge { size, limit, .. } => AgentError::ReplyTooLarge { size, limit },
            },
            ChildError::Fault(fault @ (Fault::Timeout { .. } | Fault::Panic { .. })) => {
                let call = match call {
                    CallOf::Turn(turn) => format!("{MODEL}:{turn}"),
                    CallOf::Summary => format!("{MODEL}:{SUMMARY}"),
                };
                AgentError::ModelCall { call, fault }
            }
            ChildError::Fault(fault) => AgentError::Fault(advised(fault)),
            other => AgentError::Fault(Fault::Context { message: other.to_string() }),
        }
    }

    pub(crate) fn cut_off(call: CallOf, tokens: u64) -> Self {
        match call {
            CallOf::Turn(turn) => AgentError::CutOff { turn, tokens },
            // The turn continues without it.
            CallOf::Summary => {
                let message = format!("the summary of the session was cut off after {tokens} tokens");
                AgentError::Fault(Fault::Context { message })
            }
        }
    }
}

/// The same error of an agent that was called as a child, so that `?` returns it.
impl From<ChildError<AgentError>> for AgentError {
    fn from(error: ChildError<AgentError>) -> Self {
        match error {
            ChildError::Error(error) => error,
            ChildError::Fault(fault) => AgentError::Fault(fault),
            other => AgentError::Fault(Fault::Context { message: other.to_string() }),
        }
    }
}

/// A second agent in one node makes the requests of the first one again. Their fault advises a key, which [`Agent::run`](crate::Agent::run)
/// does not take.
fn advised(fault: Fault) -> Fault {
    const OF_AGENTS: &str = "an agent has run in it before: call each other one as a child with a name or a key of its own, \
                             `ctx.call_as(\"second\", agent, input).key(..)`";
    match fault {
        Fault::Context { message } => {
            let advice = message.strip_suffix(UNIQUE_KEY).map(|duplicate| format!("{duplicate}{OF_AGENTS}"));
            Fault::Context { message: advice.unwrap_or(message) }
        }
        fault => fault,
    }
}

/// Why a step of an agent's own gives no result: it has no errors.
pub(crate) fn fault_of(error: ChildError<String>) -> Fault {
    match error {
        ChildError::Fault(fault) => fault,
        error => Fault::Context { message: error.to_string() },
    }
}
