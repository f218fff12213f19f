//! A tool that asks a person: before a call, and after one that was cut short.

use std::sync::Arc;
use std::time::Duration;

use graphweft::{ChildError, Context, Fault, Json, Node, NodeFacts, Payload, RetryPolicy};
use schemars::JsonSchema;
use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer, Serialize};

use crate::choice::{self, Choice};
use crate::json_payload::JsonPayload;
use crate::trace;

/// The answer to the question `approve`, whether a tool may be called.
///
/// As JSON: `"approve"`, `{"edit": {..}}` with the whole input, `{"reject": "why"}`. Anything else, also `{"approve": null}`, and an edited input
/// that the tool does not take, is refused as an answer, and the question stays open. Of a tool with several parameters the question shows the input with their
/// names, and an edited input is the list of their values in their order, `{"edit": ["7", 4000]}`.
///
/// A person corrects what a model wants to do:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::json;
/// use graphweft_agents::{Agent, Approval, Message, Models, Scripted, Tool};
///
/// #[value]
/// struct Refund { cents: u32 }
///
/// /// Pays money back.
/// #[node]
/// async fn refund(refund: Refund) -> Result<String, String> { Ok(format!("{} cents", refund.cents)) }
///
/// workflow! {
///     pub desk(String) -> String {
///         let agent: Agent<String, String> = Agent::new("You decide on refunds.").tool(Tool::of::<refund>().approve());
///         START => agent;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::turns([Scripted::calls([("refund", json!({ "cents": 9000 }))]), Message::assistant("It is paid.")]);
/// let engine = Engine::builder().resource(Models::new(model.clone())).register::<desk>().build()?;
/// let run = engine.start::<desk>("My lamp is broken".into()).await?;
/// let Outcome::Waiting(questions) = run.outcome().await? else { panic!("a person is asked") };
/// let less = Approval::Edit(Refund { cents: 4000 });
/// run.answer(&questions[0].id, serde_json::to_value(less)?).await?;
///
/// assert_eq!(run.result().await?, "It is paid.");
/// let Some(Message::Tool { content, .. }) = model.requests()[1].messages.last().cloned() else { panic!() };
/// assert_eq!(content, "4000 cents");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(description = "Whether the tool may be called.")]
#[non_exhaustive]
pub enum Approval<In> {
    /// Call it.
    Approve,
    /// Call it with this input instead.
    Edit(In),
    /// Do not call it. The model gets the reason.
    Reject(String),
}

impl<'de, In: Deserialize<'de>> Choice<'de> for Approval<In> {
    const FORMS: &'static str = r#""approve", {"edit": ..} with the whole input, or {"reject": "why"}"#;

    fn alone(word: &str) -> Option<Self> {
        (word == "approve").then_some(Approval::Approve)
    }

    fn with<A: MapAccess<'de>>(word: &str, map: &mut A) -> Result<Self, A::Error> {
        match word {
            "edit" => map.next_value().map(Approval::Edit),
            "reject" => map.next_value().map(Approval::Reject),
            word => Err(choice::is_none_of::<Self, A::Error>(word)),
        }
    }
}

impl<'de, In: Deserialize<'de>> Deserialize<'de> for Approval<In> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice::read(deserializer)
    }
}

/// Whether this answer to the question `approve` has an input.
pub(crate) fn is_edit(answer: &Json) -> bool {
    matches!(Approval::<IgnoredAny>::deserialize(answer), Ok(Approval::Edit(_)))
}

/// The answer to the question `went_through`, whether a call that was cut short, or has no recorded output, has had its effect.
///
/// As JSON: `{"done": ..}` with the output, `"retry"`, `{"fail": "why"}`. Anything else, also `{"retry": null}`, is refused as an answer.
///
/// A person has looked in the books of the bank, and says what has become of the call:
///
/// ```
/// use graphweft::json;
/// use graphweft_agents::Resolution;
///
/// let paid = Resolution::Done("receipt 7".to_owned());
/// assert_eq!(serde_json::to_value(paid)?, json!({ "done": "receipt 7" })); // for `Engine::answer`
/// assert_eq!(serde_json::to_value(Resolution::<String>::Retry)?, "retry");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(description = "Whether the call that was cut short has had its effect.")]
#[non_exhaustive]
pub enum Resolution<Out> {
    /// It went through, and this is its output.
    Done(Out),
    /// It did not: call it again.
    Retry,
    /// It is not called again. The model gets the reason.
    Fail(String),
}

impl<'de, Out: Deserialize<'de>> Choice<'de> for Resolution<Out> {
    const FORMS: &'static str = r#"{"done": ..} with the output, "retry", or {"fail": "why"}"#;

    fn alone(word: &str) -> Option<Self> {
        (word == "retry").then_some(Resolution::Retry)
    }

    fn with<A: MapAccess<'de>>(word: &str, map: &mut A) -> Result<Self, A::Error> {
        match word {
            "done" => map.next_value().map(Resolution::Done),
            "fail" => map.next_value().map(Resolution::Fail),
            word => Err(choice::is_none_of::<Self, A::Error>(word)),
        }
    }
}

impl<'de, Out: Deserialize<'de>> Deserialize<'de> for Resolution<Out> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice::read(deserializer)
    }
}

/// The output of a guarded tool. The names tell its record from that of a tool alone: see `model_call.rs`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum Settled<Out> {
    /// That of the tool.
    #[serde(rename = "gen_ai.output")]
    Output(Out),
    /// A person's reason why there is none.
    #[serde(rename = "gen_ai.refused")]
    Refused(String),
}

/// Why it is asked whether a call went through.
const CUT_SHORT: &str = "was cut short";
const UNRECORDED: &str = "has no recorded output";

/// The names of the questions.
pub(crate) const APPROVE: &str = "approve";
const WENT_THROUGH: &str = "went_through";

/// Of which inputs a person has to approve.
pub(crate) type NeedsApproval<In> = Arc<dyn Fn(&In) -> bool + Send + Sync>;

/// Why it is not known whether a call that ended with this error has had its effect; `None` if it is known.
pub(crate) type Uncertain<E> = fn(&E) -> Option<String>;

/// The node around a tool that asks a person. It has the input of the tool, so an edited input is checked as an answer, and the
/// predicate is typed.
pub(crate) struct Guarded<N: Node> {
    pub(crate) name: String,
    /// The names of its parameters.
    pub(crate) parameters: Arc<[&'static str]>,
    pub(crate) make: Arc<dyn Fn() -> N + Send + Sync>,
    pub(crate) approval: Option<NeedsApproval<N::Input>>,
    pub(crate) at_most_once: bool,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) uncertain: Option<Uncertain<N::Error>>,
}

impl<N: Node> Clone for Guarded<N> {
    fn clone(&self) -> Self {
        Guarded {
            name: self.name.clone(),
            parameters: Arc::clone(&self.parameters),
            make: Arc::clone(&self.make),
            approval: self.approval.clone(),
            at_most_once: self.at_most_once,
            retry: self.retry.clone(),
            timeout: self.timeout,
            uncertain: self.uncertain,
        }
    }
}

impl<N> Node for Guarded<N>
where
    N: Node<Input: JsonPayload, Output: JsonPayload, Error: JsonPayload>,
{
    type Input = N::Input;
    type Output = Settled<N::Output>;
    type Error = N::Error;
    // The names of the parameters, and the texts of the errors.
    const FACTS: NodeFacts<N::Input, N::Error> = N::FACTS;

    async fn run(&self, mut input: N::Input, ctx: &Context) -> Result<Settled<N::Output>, N::Error> {
        let is_answered = ctx.__has_result(APPROVE);
        // A version of the program that did not ask has begun it.
        let has_begun = !is_answered && ctx.__is_cut_short(self.child());
        // If it may not be repeated, a person is asked whether it went through, and says by that whether it is to be called.
        let asks_later = has_begun && self.at_most_once;
        // A person's answer counts, also if the predicate of another version of the program would not have asked.
        if !asks_later && self.approval.as_ref().is_some_and(|needs| is_answered || needs(&input)) {
            let known = if has_begun { begun(&self.name) } else { String::new() };
            let prompt = format!("May `{}` be called with this?{known}", self.name);
            let question = ctx.ask::<Approval<N::Input>>(APPROVE, prompt);
            let question = match by_name(&input, &self.parameters) {
                Some(named) => question.payload(named),
                None => question.payload(&input),
            };
            match question.await {
                Approval::Approve => {}
                Approval::Edit(edited) => input = edited,
                Approval::Reject(why) => {
                    let known = if ctx.__is_cut_short(self.child()) {
                        format!(".{}", begun(&self.name))
                    } else {
                        String::new()
                    };
                    return Ok(Settled::Refused(format!("a person rejected the call: {why}{known}")));
                }
            }
        }
        if self.at_most_once { self.call_once(input, ctx).await } else { self.call(input, ctx).await }
    }
}

impl<N> Guarded<N>
where
    N: Node<Input: JsonPayload, Output: JsonPayload, Error: JsonPayload>,
{
    /// The name of the tool below this node. Questions and children of a node share their names.
    fn child(&self) -> &str {
        child_of(&self.name)
    }

    async fn call(&self, input: N::Input, ctx: &Context) -> Result<Settled<N::Output>, N::Error> {
        let mut call = ctx.call_as(self.child(), (self.make)(), input).__known_by_path();
        if let Some(retry) = &self.retry {
            call = call.retry(retry.clone());
        }
        if let Some(timeout) = self.timeout {
            call = call.timeout(timeout);
        }
        match trace::execute_tool(ctx, &self.name, self.child(), call).await {
            Ok(output) => Ok(Settled::Output(output)),
            Err(ChildError::Error(error)) => Err(error),
            Err(ChildError::Fault(fault)) => ctx.stop(fault).await,
            Err(_) => ctx.stop(unknown_error(&self.name)).await,
        }
    }

    /// Calls it once, and again only if a person says so.
    async fn call_once(&self, input: N::Input, ctx: &Context) -> Result<Settled<N::Output>, N::Error> {
        // An input has no `Clone` here.
        let written = match input.to_record() {
            Ok(written) => written,
            Err(error) => return ctx.stop(self.unwritable(&error.to_string())).await,
        };
        drop(input);
        for number in 1_u32.. {
            let input = match N::Input::from_record(&written) {
                Ok(input) => input,
                Err(error) => return ctx.stop(self.unwritable(&error.to_string())).await,
            };
            let call = ctx.call_as(self.child(), (self.make)(), input).__known_by_path();
            let mut call = call.at_most_once().retry(RetryPolicy::none());
            if let Some(timeout) = self.timeout {
                call = call.timeout(timeout);
            }
            let child = if number > 1 { format!("{}:{number}", self.child()) } else { self.child().to_owned() };
            if number > 1 {
                call = call.key(number);
            }
            let (what, why) = match trace::execute_tool(ctx, &self.name, &child, call).await {
                Ok(output) => return Ok(Settled::Output(output)),
                Err(ChildError::Error(error)) => match self.uncertain.and_then(|uncertain| uncertain(&error)) {
                    Some(why) => (CUT_SHORT, why),
                    None => return Err(error),
                },
                // It has begun, and it is not known how far it got. A retry of the run would call it again, after a panic too.
                Err(ChildError::Fault(
                    fault @ (Fault::Interrupted | Fault::Dropped | Fault::Timeout { .. } | Fault::Panic { .. }),
                )) => (CUT_SHORT, fault.to_string()),
                Err(ChildError::Fault(fault @ Fault::Unrecordable { .. })) => (UNRECORDED, fault.to_string()),
                Err(ChildError::Fault(fault)) => return ctx.stop(fault).await,
                Err(_) => return ctx.stop(unknown_error(&self.name)).await,
            };
            let prompt = format!("A call of `{}` {what} ({why}). Did it go through?", self.name);
            let question = ctx.ask::<Resolution<N::Output>>(WENT_THROUGH, prompt);
            let mut question = match by_name(&written, &self.parameters) {
                Some(named) => question.payload(named),
                None => question.payload(&written),
            };
            if number > 1 {
                question = question.key(number);
            }
            match question.await {
                Resolution::Done(output) => return Ok(Settled::Output(output)),
                Resolution::Retry => {}
                Resolution::Fail(why) => {
                    return Ok(Settled::Refused(format!("the call {what}, and a person gave it up: {why}")));
                }
            }
        }
        ctx.stop(unknown_error(&self.name)).await
    }

    fn unwritable(&self, problem: &str) -> Fault {
        Fault::Context { message: format!("the input of `{}` cannot be recorded: {problem}", self.name) }
    }
}

/// An input of several parameters with their names, for a person; `None` if there is one alone, or not each has a name.
fn by_name<In: JsonPayload>(input: &In, parameters: &[&str]) -> Option<Json> {
    if parameters.len() < 2 || parameters.contains(&"") {
        return None;
    }
    match serde_json::to_value(input) {
        Ok(Json::Array(values)) if values.len() == parameters.len() => {
            Some(parameters.iter().map(|&name| name.to_owned()).zip(values).collect())
        }
        _ => None,
    }
}

fn child_of(name: &str) -> &str {
    match name {
        APPROVE | WENT_THROUGH => "call",
        name => name,
    }
}

/// What is said of a call that was cut short, behind a text; empty if it was not. `call`: the child that it is.
pub(crate) fn may_have_gone_through(ctx: &Context, name: &str, call: &str) -> String {
    let was_asked = [APPROVE, WENT_THROUGH].iter().any(|question| ctx.__was_asked(&format!("{call}/{question}")));
    let inner = format!("{call}/{}", child_of(name));
    // A guarded call has also begun while its approval is open.
    let has_begun = ctx.__is_cut_short(&inner) || !was_asked && ctx.__is_cut_short(call);
    if has_begun { format!(".{}", begun(name)) } else { String::new() }
}

fn begun(name: &str) -> String {
    format!(" An earlier version of the program has begun this call of `{name}`, and it may have gone through.")
}

fn unknown_error(name: &str) -> Fault {
    Fault::Context { message: format!("`{name}` failed in a way that is not known here") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As it is without the feature `json-schema`, which checks an answer against its schema as well.
    fn refusal<T: for<'de> Deserialize<'de>>(answer: Json) -> String {
        serde_json::from_value::<T>(answer.clone()).err().unwrap_or_else(|| panic!("{answer} is accepted")).to_string()
    }

    #[test]
    fn what_is_no_clear_decision_is_refused_with_the_forms_of_one() {
        let approval = r#"expected "approve", {"edit": ..} with the whole input, or {"reject": "why"}"#;
        for answer in [
            json!({ "approve": null }),
            json!({ "approve": true }),
            json!({ "approve": null, "reject": "no" }),
            json!({ "edit": 7, "reject": "no" }),
            json!({ "yes": null }),
            json!({}),
            json!(["approve"]),
            json!("Approve"),
            json!("edit"),
            json!(true),
            json!(null),
        ] {
            let refusal = refusal::<Approval<u32>>(answer.clone());
            assert!(refusal.contains(approval), "{answer}: {refusal}");
        }
        let resolution = r#"expected {"done": ..} with the output, "retry", or {"fail": "why"}"#;
        for answer in [json!({ "retry": null }), json!({ "retry": {} }), json!("done"), json!(false)] {
            let refusal = refusal::<Resolution<u32>>(answer.clone());
            assert!(refusal.contains(resolution), "{answer}: {refusal}");
        }
        assert_eq!(
            refusal::<Approval<u32>>(json!({ "approve": null })),
            r#""approve" has no value, expected "approve", {"edit": ..} with the whole input, or {"reject": "why"}"#
        );
    }

    #[test]
    fn what_is_written_is_read() {
        for approval in
            [Approval::Approve, Approval::Edit(Some(7)), Approval::Edit(None), Approval::Reject("no".into())]
        {
            let written = serde_json::to_value(&approval).unwrap();
            assert_eq!(serde_json::from_value::<Approval<Option<u32>>>(written).unwrap(), approval);
        }
        for resolution in [Resolution::Done(()), Resolution::Retry, Resolution::Fail("no".into())] {
            let written = serde_json::to_value(&resolution).unwrap();
            assert_eq!(serde_json::from_value::<Resolution<()>>(written).unwrap(), resolution);
        }
        assert!(is_edit(&json!({ "edit": 7 })) && !is_edit(&json!("approve")));
    }
}
