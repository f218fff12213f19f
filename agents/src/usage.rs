//! What a run has cost.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use graphweft::{Event, EventKind};
use serde::Deserialize;

use crate::agent_error::SUMMARY;
use crate::chat::ChatError;
use crate::message::Usage;
use crate::model_call::{FailedCall, ModelCall};

/// The name of model calls as children: `help_desk/refunds/model:1` is that of turn 1.
pub(crate) const MODEL: &str = "model";

/// What was spent, by model.
pub type Spent = BTreeMap<String, ModelUsage>;

/// What was spent on one model.
///
/// The bill of a run, by model:
///
/// ```
/// use graphweft_agents::{ModelUsage, Spent, Usage};
///
/// fn lines(spent: &Spent) -> Vec<String> {
///     let tokens = |used: &ModelUsage| used.usage.input + used.usage.output;
///     spent.iter().map(|(model, used)| format!("{model}: {} calls, {} tokens", used.calls, tokens(used))).collect()
/// }
///
/// let mut spent = Spent::new();
/// for usage in [Usage::new(100, 10), Usage::new(80, 10).cached(60)] {
///     *spent.entry("small".to_owned()).or_default() += ModelUsage::new(1, usage);
/// }
/// assert_eq!(lines(&spent), ["small: 2 calls, 200 tokens"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The calls with a reply, also if it was cut off.
    pub calls: u64,
    /// Their tokens.
    pub usage: Usage,
}

impl ModelUsage {
    /// So many calls, with these tokens in all.
    pub const fn new(calls: u64, usage: Usage) -> Self {
        ModelUsage { calls, usage }
    }
}

impl AddAssign for ModelUsage {
    fn add_assign(&mut self, other: ModelUsage) {
        self.calls = self.calls.saturating_add(other.calls);
        self.usage += other.usage;
    }
}

/// What a run has spent, from its records: `spent(&engine.history(run).await?.unwrap_or_default())`.
///
/// Each completed model call counts once, also one of an attempt that failed later, and each whose reply ended at its limit of tokens or
/// was too large to be recorded. A call that broke off is not counted: what its provider bills for it is not known here. A fork has the
/// records of its origin up to its point, so their calls count in both.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Models, Scripted, spent};
///
/// workflow! {
///     pub greet(String) -> String {
///         let greeter: Agent<String, String> = Agent::new("You greet.");
///         START => greeter;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().resource(Models::new(Scripted::text("Good day."))).build()?;
/// let run = engine.start::<greet>("Ada".into()).await?;
/// assert_eq!(run.result().await?, "Good day.");
/// let spent = spent(&engine.history(run.id()).await?.unwrap_or_default());
/// assert_eq!((spent["scripted"].calls, spent["scripted"].usage.input), (1, 10));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub fn spent<'e>(history: impl IntoIterator<Item = &'e Event>) -> Spent {
    let mut spent = Spent::new();
    // A tool may return whatever it likes, also what looks like a reply.
    for event in history.into_iter().filter(|event| is_model_call(&event.path)) {
        let of_call = match &event.kind {
            EventKind::NodeCompleted { output: Some(output), .. } => {
                ModelCall::deserialize(output).ok().map(|call| (call.model, call.usage))
            }
            EventKind::NodeFailed { error: Some(error), .. } => FailedCall::<ChatError>::deserialize(error)
                .ok()
                .and_then(|failed| failed.error.paid().map(|(model, usage)| (model.to_owned(), usage))),
            _ => None,
        };
        if let Some((model, usage)) = of_call {
            *spent.entry(model).or_default() += ModelUsage { calls: 1, usage };
        }
    }
    spent
}

/// Whether a path is that of a model call, `desk/refunds/model:1`, as opposed to a tool of that name, `desk/refunds/model:1.0`.
fn is_model_call(path: &str) -> bool {
    let child = path.rsplit('/').next().and_then(|child| child.strip_prefix(MODEL)?.strip_prefix(':'));
    child.is_some_and(|key| key == SUMMARY || key.parse::<u32>().is_ok())
}
