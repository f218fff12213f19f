//! What agents and their models have said: a fold of the events of a run, beside its view.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use graphweft::{AfterFailure, Event, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::gen_ai::{FailedCall, ModelCall, ToolResult, is_error_of_tool, name_and_key};
use super::said::{Said, ToolCall, What, cut_json, cut_text};
use crate::model::millis;

/// What was said below a node: the calls of models and of the tools that they ask for, in the order of the events.
///
/// It is what `GET /api/runs/{id}/conversation` responds with, so a client in Rust reads it so:
///
/// ```
/// use graphweft_inspector::view::Conversation;
///
/// let response = r#"{"path": "greet/greeter", "said": [
///     {"seq": 4, "time": 1764150000000, "path": "greet/greeter/model:0", "type": "asked", "text": "Ada"}
/// ]}"#;
/// let conversation: Conversation = serde_json::from_str(response)?;
/// assert_eq!(conversation.said[0].seq, 4); // the number of the event, for a link to this moment
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Conversation {
    /// The path of the node: an agent, or a node that runs one.
    pub path: String,
    /// What was said.
    pub said: Vec<Said>,
}

/// The conversations of a run. What a retry has voided is not in them.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Models, Scripted};
/// use graphweft_inspector::view::{Conversations, SaidWhat};
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
/// run.result().await?;
///
/// let mut conversations = Conversations::default();
/// for event in engine.history(run.id()).await?.expect("it was started") {
///     conversations.apply(&event);
/// }
/// let [conversation] = &conversations.all()[..] else { panic!("there is one") };
/// assert_eq!(conversation.path, "greet/greeter");
/// assert!(matches!(&conversation.said[0].what, SaidWhat::Asked { text, .. } if text == "Ada"));
/// assert!(matches!(&conversation.said[1].what, SaidWhat::Replied { text, .. } if text == "Good day."));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Conversations {
    by_path: BTreeMap<String, Talk>,
    /// Failed attempts at children of which it is not known yet whether they call a model.
    failed: HashMap<String, Vec<Said>>,
}

/// A conversation under way.
#[derive(Debug, Default)]
struct Talk {
    said: Vec<Said>,
    /// The name of its model calls, as children.
    model: String,
    /// The tool calls that a reply has asked for, by their keys.
    calls: BTreeMap<String, Call>,
}

#[derive(Debug)]
struct Call {
    tool: String,
    /// The event of the reply.
    seq: u64,
    /// That of its last start.
    begun: Option<u64>,
    /// That of its result.
    ended: Option<u64>,
    /// The event by which it is known that there will be no result.
    left: Option<u64>,
}

impl Conversations {
    /// Adds the next event of the run. Returns what was said by it, but for the [calls that were not made](super::SaidWhat::NotCalled): those are
    /// known at the end of a node, and belong behind its replies. They are returned again when the reason is known.
    pub fn apply(&mut self, event: &Event) -> &[Said] {
        if let EventKind::RunRetried { voids, .. } = &event.kind {
            self.forget(voids);
            return &[];
        }
        let path = event.path.as_str();
        let is_over = match &event.kind {
            EventKind::NodeCompleted { .. } => true,
            // The next attempt makes the calls that are left.
            EventKind::NodeFailed { then, .. } => !matches!(then, AfterFailure::RetryAt { .. }),
            _ => false,
        };
        if is_over && let Some(talk) = self.by_path.get_mut(path) {
            // The node is over, and with it the calls that were not made. It may be a tool of another one.
            talk.leave_calls(event, u64::MAX, |call| call.begun.is_none());
        }
        let Some((around, _)) = path.rsplit_once('/') else { return &[] };
        if is_error_of_tool(path) {
            let EventKind::NodeCompleted { output: Some(Value::String(why)), .. } = &event.kind else { return &[] };
            return self.by_path.get_mut(around).map_or(&[], |talk| talk.explain(path, why));
        }
        match &event.kind {
            EventKind::NodeStarted { .. } => {
                if let Some(call) = self.by_path.get_mut(around).and_then(|talk| talk.call(path)) {
                    (call.begun, call.ended) = (Some(event.seq), None);
                }
                &[]
            }
            EventKind::NodeCompleted { output, .. } => {
                let failed = self.failed.remove(path).unwrap_or_default();
                let nothing = Value::Null;
                let output = output.as_ref().unwrap_or(&nothing);
                if let Some(call) = ModelCall::of(output) {
                    let talk = self.by_path.entry(around.to_owned()).or_default();
                    let from = talk.said.len();
                    talk.said.extend(failed);
                    talk.replied(event, call);
                    return &talk.said[from..];
                }
                if let Some(call) = self.by_path.get_mut(around).and_then(|talk| talk.call(path)) {
                    call.ended = Some(event.seq);
                }
                self.say(around, path, event, |tool| match ToolResult::of(output) {
                    ToolResult::Output(output) => {
                        let (output, cut) = cut_json(output);
                        What::Returned { tool, output, cut }
                    }
                    ToolResult::Refused(why) => {
                        let (why, cut) = cut_text(why);
                        What::Refused { tool, why, cut }
                    }
                })
            }
            EventKind::NodeFailed { attempt, cause, then, error, .. } => {
                let (message, cut) = cut_text(&cause.to_string());
                let (attempt, again) = (*attempt, matches!(then, AfterFailure::RetryAt { .. }));
                if let Some(call) = self.by_path.get_mut(around).and_then(|talk| talk.call(path)) {
                    call.ended = (!again).then_some(event.seq);
                    return self.say(around, path, event, |tool| What::Failed {
                        tool: Some(tool),
                        attempt,
                        message,
                        cut,
                        again,
                    });
                }
                let Some((name, _)) = name_and_key(path) else { return &[] };
                let failed = said(event, path, What::Failed { tool: None, attempt, message, cut, again });
                if let Some(call) = error.as_ref().and_then(FailedCall::of) {
                    let before = self.failed.remove(path).unwrap_or_default();
                    let talk = self.by_path.entry(around.to_owned()).or_default();
                    let from = talk.said.len();
                    talk.said.extend(before);
                    talk.asked(event, call.asked);
                    name.clone_into(&mut talk.model);
                    talk.said.push(failed);
                    return &talk.said[from..];
                }
                match self.by_path.get_mut(around).filter(|talk| talk.model == name) {
                    Some(talk) => talk.say(failed),
                    None => {
                        self.failed.entry(path.to_owned()).or_default().push(failed);
                        &[]
                    }
                }
            }
            EventKind::QuestionAsked { prompt, again: false, .. } => {
                let Some((agent, _)) = around.rsplit_once('/') else { return &[] };
                let (prompt, cut) = cut_text(prompt);
                self.say(agent, around, event, |tool| What::PersonAsked { tool, prompt, cut })
            }
            EventKind::Answered { answer, by, .. } => {
                let Some((agent, _)) = around.rsplit_once('/') else { return &[] };
                let ((answer, cut), by) = (cut_json(answer), by.clone());
                self.say(agent, around, event, |tool| What::PersonAnswered { tool, answer, cut, by })
            }
            EventKind::AnswerRejected { .. } => {
                // The question is open again, as if nothing had been said.
                let talk = around.rsplit_once('/').and_then(|(agent, _)| self.by_path.get_mut(agent));
                if let Some(talk) = talk {
                    let is_answer = |said: &Said| said.path == path && matches!(said.what, What::PersonAnswered { .. });
                    if let Some(at) = talk.said.iter().rposition(is_answer) {
                        talk.said.remove(at);
                    }
                }
                &[]
            }
            _ => &[],
        }
    }

    /// What is said of a tool call of an agent, if it is one.
    fn say(&mut self, agent: &str, call: &str, event: &Event, what: impl FnOnce(String) -> What) -> &[Said] {
        let Some(talk) = self.by_path.get_mut(agent) else { return &[] };
        let Some(tool) = talk.call(call).map(|call| call.tool.clone()) else { return &[] };
        talk.say(said(event, &event.path, what(tool)))
    }

    /// Drops what these events have said.
    fn forget(&mut self, voids: &[Range<u64>]) {
        let is_void = |seq: u64| voids.iter().any(|range| range.contains(&seq));
        for talk in self.by_path.values_mut() {
            talk.said.retain(|said| !is_void(said.seq));
            talk.calls.retain(|_, call| !is_void(call.seq));
            for call in talk.calls.values_mut() {
                for seq in [&mut call.begun, &mut call.ended, &mut call.left] {
                    *seq = seq.filter(|seq| !is_void(*seq));
                }
            }
        }
        for failed in self.failed.values_mut() {
            failed.retain(|said| !is_void(said.seq));
        }
    }

    /// All of them, by the order in which they began.
    pub fn all(&self) -> Vec<Conversation> {
        let begun = self.by_path.iter().filter(|(_, talk)| !talk.said.is_empty());
        let mut all: Vec<_> =
            begun.map(|(path, talk)| Conversation { path: path.clone(), said: talk.said.clone() }).collect();
        all.sort_by_key(|conversation| conversation.said.first().map(|first| first.seq));
        all
    }
}

impl Talk {
    /// The call that a child with this path is.
    fn call(&mut self, path: &str) -> Option<&mut Call> {
        let (_, key) = name_and_key(path)?;
        self.calls.get_mut(key)
    }

    fn say(&mut self, said: Said) -> &[Said] {
        self.said.push(said);
        self.said.last().map_or(&[], std::slice::from_ref)
    }

    fn replied(&mut self, event: &Event, call: ModelCall) {
        // An agent asks its model again when all calls have a result, so one that has begun without an end was withdrawn.
        self.leave_calls(event, event.seq, |call| call.ended.is_none());
        let ModelCall { asked, message, model, usage, is_cut_off, .. } = call;
        self.asked(event, asked);
        let (name, turn) = name_and_key(&event.path).unwrap_or_default();
        name.clone_into(&mut self.model);
        for (at, call) in message.assistant.calls.iter().enumerate() {
            let call = Call { tool: call.name.clone(), seq: event.seq, begun: None, ended: None, left: None };
            self.calls.insert(format!("{turn}.{at}"), call);
        }
        let calls = message.assistant.calls.into_iter().map(|call| {
            let (arguments, cut) = cut_json(&call.arguments);
            ToolCall { tool: call.name, arguments, cut }
        });
        let (text, cut) = cut_text(&message.assistant.text);
        let what = What::Replied {
            model,
            text,
            cut,
            calls: calls.collect(),
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cached,
            cut_off: is_cut_off,
        };
        self.said.push(said(event, &event.path, what));
    }

    fn asked(&mut self, event: &Event, texts: Vec<String>) {
        for text in texts {
            let (text, cut) = cut_text(&text);
            self.said.push(said(event, &event.path, What::Asked { text, cut }));
        }
    }

    /// Calls of replies before an event that are `open` by then have no result.
    fn leave_calls(&mut self, event: &Event, before: u64, open: impl Fn(&Call) -> bool) {
        let left = self.calls.values_mut().filter(|call| call.left.is_none() && call.seq < before && open(call));
        for call in left {
            call.left = Some(event.seq);
            let begun = call.begun.is_some();
            let what = What::NotCalled { tool: call.tool.clone(), begun, why: None, cut: false };
            self.said.push(said(event, &event.path, what));
        }
    }

    /// Adds why a call has no result. An agent records that when its model has replied to it, call by call.
    fn explain(&mut self, path: &str, why: &str) -> &[Said] {
        let Some((tool, Some(left))) = self.call(path).map(|call| (call.tool.clone(), call.left)) else { return &[] };
        for at in 0..self.said.len() {
            let said = &mut self.said[at];
            let What::NotCalled { tool: of, why: reason @ None, cut, .. } = &mut said.what else { continue };
            if said.seq == left && *of == tool {
                let (text, is_cut) = cut_text(why);
                (*reason, *cut) = (Some(text), is_cut);
                return std::slice::from_ref(&self.said[at]);
            }
        }
        &[]
    }
}

fn said(event: &Event, path: &str, what: What) -> Said {
    Said { seq: event.seq, time: millis(event.time), path: path.to_owned(), what }
}
