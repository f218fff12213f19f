//! Budgets: how much an agent and a run may spend, checked before each model call.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graphweft::{Context, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::Usage;
use crate::usage::{ModelUsage, spent};

/// How much may be spent on models. Without a limit, it is none.
///
/// - [`Agent::budget`](crate::Agent::budget): one execution of an agent, from its input to its output. The agents that it calls as
///   tools have their own.
/// - [`Models::run_budget`](crate::Models::run_budget): a run, with all its agents and classifiers.
///
/// It is checked before each model call, and a call that is not covered fails as [`AgentError::OverBudget`](crate::AgentError::OverBudget).
/// What was spent follows from the recorded replies, as in [`spent`](crate::spent()): it outlives a crash, and each completed call
/// counts once, whatever is retried. A reply that was cut off, or is too large to be recorded, counts for the run, and not for the agent that asks again. A recorded reply is returned even if the budget is smaller now. After `OverBudget` the run
/// can be retried with a larger one.
///
/// The number of calls is never exceeded, also by agents that run in parallel. The tokens of a call are known when it has ended:
/// the budget is exceeded by at most the calls that are under way when it is used up. Limit those by
/// [`Agent::max_tokens`](crate::Agent::max_tokens).
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, AgentError, Budget, Models, Scripted};
///
/// #[node]
/// async fn excuse(error: AgentError) -> String {
///     error.to_string()
/// }
///
/// workflow! {
///     pub chat(String) -> String {
///         let talker: Agent<String, String> = Agent::new("You talk.").budget(Budget::new().tokens(10_000));
///         let other: Agent<String, String> = Agent::new("You answer.");
///         START => talker => <ok: other, err: excuse>;
///         other => <ok: END, err: excuse>;
///         excuse => END;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let models = Models::new(Scripted::text("Hello.")).run_budget(Budget::new().calls(1));
/// let engine = Engine::builder().resource(models).build()?;
/// let run = engine.start::<chat>("Hi".into()).await?;
/// assert!(run.result().await?.starts_with("the budget of the run is used up: 1 call and 15 tokens of 1 call;"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
#[must_use = "a budget limits nothing before an agent or `Models` has it"]
pub struct Budget {
    /// The tokens of requests and replies together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

impl Budget {
    /// One without a limit.
    pub fn new() -> Self {
        Budget::default()
    }

    /// Limits the tokens of requests and replies together.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Limits the model calls.
    pub fn calls(mut self, calls: u64) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Whether another call is covered.
    pub(crate) fn check(self, of: BudgetOf, spent: ModelUsage) -> Result<(), OverBudget> {
        let is_used_up = |limit: Option<u64>, spent: u64| limit.is_some_and(|limit| spent >= limit);
        match is_used_up(self.calls, spent.calls) || is_used_up(self.tokens, tokens(spent.usage)) {
            true => Err(OverBudget { of, calls: spent.calls, tokens: tokens(spent.usage), allowed: self }),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.calls, self.tokens) {
            (Some(calls), Some(tokens)) => write!(f, "{} and {}", counted(calls, "call"), counted(tokens, "token")),
            (Some(calls), None) => f.write_str(&counted(calls, "call")),
            (None, Some(tokens)) => f.write_str(&counted(tokens, "token")),
            (None, None) => f.write_str("no limit"),
        }
    }
}

fn counted(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

fn tokens(usage: Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

/// A model call that a budget does not cover. It was not made.
///
/// A run that has spent its budget is not lost: with a larger one it is retried, and what it has is not paid again.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, AgentError, Budget, BudgetOf, Models, Scripted};
///
/// workflow! {
///     pub chat(String) -> String {
///         let talker: Agent<String, String> = Agent::new("You talk.");
///         START => talker;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let models = Models::new(Scripted::text("Hello.")).run_budget(Budget::new().calls(0));
/// let engine = Engine::builder().resource(models).build()?;
/// let Outcome::Failed(failure) = engine.start::<chat>("Hi".into()).await?.outcome().await? else { panic!("no call is covered") };
/// let Some(AgentError::OverBudget(over)) = failure.error_as() else { panic!("{failure}") };
/// assert_eq!((over.of, over.calls, over.allowed.calls), (BudgetOf::Run, 0, Some(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("the budget of {of} is used up: {} and {} of {allowed}; allow more with {}", counted(*calls, "call"), counted(*tokens, "token"), of.setter())]
#[non_exhaustive]
pub struct OverBudget {
    /// Whose budget it is.
    pub of: BudgetOf,
    /// The calls that were made, those under way included.
    pub calls: u64,
    /// The tokens of the completed calls.
    pub tokens: u64,
    /// The budget.
    pub allowed: Budget,
}

/// Whose budget it is.
///
/// Who has to allow more:
///
/// ```
/// use graphweft_agents::{BudgetOf, OverBudget};
///
/// fn advice(over: &OverBudget) -> &'static str {
///     match over.of {
///         BudgetOf::Run => "ask the operator",
///         _ => "ask again with a shorter text",
///     }
/// }
///
/// let over: OverBudget = serde_json::from_str(r#"{"of":"run","calls":3,"tokens":900,"allowed":{"calls":3}}"#)?;
/// assert_eq!(advice(&over), "ask the operator");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BudgetOf {
    /// That of an agent.
    Agent,
    /// That of the run.
    Run,
}

impl BudgetOf {
    fn setter(self) -> &'static str {
        match self {
            BudgetOf::Agent => "`Agent::budget`",
            BudgetOf::Run => "`Models::run_budget`",
        }
    }
}

impl fmt::Display for BudgetOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BudgetOf::Agent => "the agent",
            BudgetOf::Run => "the run",
        })
    }
}

/// What a run has spent. It is summed up from the records by the first call in this process, before there are others, and follows the
/// calls from there.
#[derive(Default)]
pub(crate) struct Ledger {
    is_summed_up: futures::lock::Mutex<bool>,
    account: Arc<Mutex<Account>>,
}

#[derive(Default)]
struct Account {
    completed: ModelUsage,
    under_way: u64,
}

/// A call that is under way, until it is dropped.
pub(crate) struct CallUnderWay(Arc<Mutex<Account>>);

impl Ledger {
    /// Counts a call that begins, if the budget covers it.
    ///
    /// # Errors
    /// The fault of a store that cannot be read, or that the budget is used up.
    pub(crate) async fn begin(&self, ctx: &Context, budget: Budget) -> Result<Result<CallUnderWay, OverBudget>, Fault> {
        let mut is_summed_up = self.is_summed_up.lock().await;
        if !*is_summed_up {
            let unread = |error| Fault::Context { message: format!("what the run has spent cannot be read: {error}") };
            let history = ctx.__history().await.map_err(unread)?;
            let mut account = locked(&self.account);
            spent(&history).into_values().for_each(|of_model| account.completed += of_model);
            *is_summed_up = true;
        }
        drop(is_summed_up);
        let mut account = locked(&self.account);
        let mut so_far = account.completed;
        so_far.calls += account.under_way;
        Ok(budget.check(BudgetOf::Run, so_far).map(|()| {
            account.under_way += 1;
            CallUnderWay(Arc::clone(&self.account))
        }))
    }
}

impl CallUnderWay {
    /// It has ended with a reply.
    pub(crate) fn complete(self, usage: Usage) {
        locked(&self.0).completed += ModelUsage { calls: 1, usage };
    }
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        locked(&self.0).under_way -= 1;
    }
}

fn locked(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}
