//! What an event means for the things of a run.

use graphweft::{AfterFailure, Cause, Event, EventKind};

use super::detail::{What, beginning};
use super::gen_ai::{FailedCall, ModelCall};
use super::run_view::{RUN, RunView};
use super::shapes::{END, START};
use super::{Kind, State};
use crate::model::millis;

impl RunView {
    pub(super) fn fold_event(&mut self, event: &Event) {
        if self.is_of_run(event) {
            self.fold_of_run(event);
        } else if !self.fold_of_attempt(event) {
            self.fold_of_request(event);
        }
    }

    /// Events of the whole run.
    fn fold_of_run(&mut self, event: &Event) {
        let seq = event.seq;
        match &event.kind {
            EventKind::RunStarted { begins, limit, .. } => {
                if let Some(limit) = limit {
                    self.note(seq, RUN, What::Limit { until: millis(limit.until) });
                }
                if let Some(begins) = begins {
                    self.note(seq, RUN, What::Begins { at: millis(begins.at) });
                }
                self.things.set(RUN, seq, if begins.is_some() { State::Sleeping } else { State::Running }, 0);
                self.start_taken(RUN, None, seq);
            }
            EventKind::RunResumed { owner, .. } => {
                // What has progressed, and has no recorded start, begins anew.
                self.early.clear();
                self.note(seq, RUN, What::Resumed { owner: *owner });
            }
            EventKind::GraphChanged { .. } => self.note(seq, RUN, What::GraphChanged),
            EventKind::RunRetried { voids, from_nodes, rerun, .. } => {
                let (from_nodes, rerun) = (from_nodes.clone(), rerun.clone());
                self.voids.extend(voids.iter().cloned());
                let voided = std::mem::take(&mut self.voids);
                self.things.restore(|seq| !voided.iter().any(|range| range.contains(&seq)));
                self.voids = voided;
                // A run that has begun is under way, whatever has come of it before.
                self.things.set(RUN, seq, State::Running, 0);
                self.note(seq, RUN, What::Retried { voids: voids.clone(), from_nodes, rerun });
            }
            EventKind::SignalReceived { name, id, by, .. } => {
                self.note(seq, RUN, What::Signal { name: name.clone(), id: id.clone(), by: by.clone() });
            }
            EventKind::CancelRequested => self.note(seq, RUN, What::CancelRequested),
            EventKind::RunCancelling => self.note(seq, RUN, What::Cancelling),
            EventKind::RunTimedOut => self.note(seq, RUN, What::TimedOut),
            EventKind::RunCompleted { .. } => {
                self.end_of_start(RUN, seq);
                self.things.complete_inside(RUN, seq);
                self.things.set(RUN, seq, State::Completed, 0);
            }
            EventKind::RunFailed { failure, .. } => {
                let thing = self.things.at(&failure.path).unwrap_or(RUN);
                self.fail_around(thing, seq);
                self.things.stop_inside(RUN, seq);
                self.things.set(RUN, seq, State::Failed, 0);
                let (message, cut) = first_of(&failure.cause);
                let (path, attempts) = (failure.path.clone(), failure.attempts);
                self.note(seq, thing, What::RunFailed { path, attempts, message, cut });
            }
            EventKind::RunCancelled => {
                self.things.stop_inside(RUN, seq);
                self.things.set(RUN, seq, State::Cancelled, 0);
            }
            EventKind::RunStartedOver { next, .. } => {
                self.things.stop_inside(RUN, seq);
                self.things.set(RUN, seq, State::StartedOver, 0);
                self.note(seq, RUN, What::Next { run: next.clone() });
            }
            EventKind::Message { text, .. } => self.message(seq, RUN, text),
            EventKind::Note { name, .. } => self.note(seq, RUN, What::Note { name: name.clone() }),
            EventKind::Progress { data, .. } => self.has_progressed(seq, RUN, data),
            _ => {}
        }
    }

    /// Events of attempts at nodes, children and steps. Returns whether it was one.
    fn fold_of_attempt(&mut self, event: &Event) -> bool {
        let (seq, path) = (event.seq, event.path.as_str());
        match &event.kind {
            EventKind::NodeStarted { attempt, inside, input, began, .. } => {
                let otherwise = if input.is_some() { Kind::Child } else { Kind::Step };
                let thing = self.resolve(path, otherwise);
                if let Some(data) = self.early.remove(path) {
                    self.has_progressed(seq, thing, &data);
                }
                self.started(thing, seq);
                if let Some(began) = began {
                    let before = millis(event.time).saturating_sub(millis(*began));
                    self.began.push([u64::from(thing), seq, before]);
                }
                if let Some(entered) = inside {
                    let until = entered.limit.as_ref().map(|limit| millis(limit.until));
                    let (items, bounded) = (entered.items, entered.bounded);
                    let kind = self.things.get(thing).kind;
                    if kind != Kind::Workflow || until.is_some() {
                        let graph = entered.graph.map(|hash| format!("{hash:016x}"));
                        self.note(seq, thing, What::Entered { items, bounded, until, graph });
                    }
                    let child = entered.graph.and_then(|hash| self.child_graphs.get(&hash).copied());
                    let around = self.things.get_mut(thing);
                    around.is_entered = true;
                    // What is inside of it is numbered by the first one.
                    around.inside = around.inside.or(child);
                    self.things.reset_inside(thing, seq);
                    self.enter(thing, seq, entered.items, &entered.labels);
                }
                self.things.set(thing, seq, State::Running, *attempt);
            }
            EventKind::ItemStarted { item, .. } => {
                let each = self.resolve(path, Kind::Each);
                if !self.has_single_body(each) {
                    let (thing, _) = self.inside_of(each, *item);
                    self.things.set(thing, seq, State::Running, 0);
                }
            }
            EventKind::ItemCancelled { item, .. } => {
                let each = self.resolve(path, Kind::Each);
                let thing = match self.has_single_body(each) {
                    true => self.single_visit(each, *item),
                    false => Some(self.inside_of(each, *item).0),
                };
                if let Some(thing) = thing {
                    self.things.stop_inside(thing, seq);
                    self.things.set_state(thing, seq, State::Cancelled);
                }
            }
            EventKind::NodeCompleted { label, output, .. } => {
                let thing = self.resolve(path, Kind::Step);
                if let Some(call) = output.as_ref().and_then(ModelCall::of) {
                    let (input_tokens, output_tokens) = (call.usage.input, call.usage.output);
                    let (model, calls) = (beginning(&call.model).0, call.message.assistant.calls.len() as u64);
                    self.note(seq, thing, What::Replied { model, input_tokens, output_tokens, calls });
                }
                self.end_of_start(thing, seq);
                self.things.complete_inside(thing, seq);
                self.things.set_state(thing, seq, State::Completed);
                self.leave(thing, seq, label.as_deref());
            }
            EventKind::NodeCollecting { .. } => {
                let thing = self.resolve(path, Kind::Node);
                self.things.stop_inside(thing, seq);
                self.things.set_state(thing, seq, State::Collecting);
            }
            EventKind::NodeFailed { attempt, cause, then, error, .. } => {
                let thing = self.resolve(path, Kind::Step);
                let model_call = error.as_ref().and_then(FailedCall::of).is_some();
                self.failed(thing, seq, *attempt, cause, then, model_call);
            }
            EventKind::NodeSkipped => {
                let thing = self.resolve(path, Kind::Node);
                self.things.set(thing, seq, State::Skipped, 0);
            }
            EventKind::RunStartingOver { .. } => {
                let thing = self.resolve(path, Kind::Node);
                self.things.complete_inside(thing, seq);
                self.things.set_state(thing, seq, State::Completed);
                self.note(seq, thing, What::StartsOver);
            }
            EventKind::NodeCancelled => {
                let thing = self.resolve(path, Kind::Step);
                self.things.stop_inside(thing, seq);
                self.things.set_state(thing, seq, State::Cancelled);
            }
            _ => return false,
        }
        true
    }

    /// Events of questions, timers and waits, and what is said of any thing.
    fn fold_of_request(&mut self, event: &Event) {
        let (seq, path) = (event.seq, event.path.as_str());
        match &event.kind {
            EventKind::QuestionAsked { prompt, until, again, .. } => {
                let thing = self.resolve(path, Kind::Question);
                let ((prompt, cut), until) = (beginning(prompt), until.map(millis));
                self.note(seq, thing, What::Asked { prompt, cut, until });
                if !again {
                    self.things.set(thing, seq, State::Waiting, 0);
                }
            }
            EventKind::Answered { by, comment, unchecked, .. } => {
                let thing = self.resolve(path, Kind::Question);
                let (by, comment) = (by.clone(), comment.as_deref().map(|text| beginning(text).0));
                self.note(seq, thing, What::Answered { by, comment, unchecked: *unchecked });
                self.things.set(thing, seq, State::Completed, 0);
            }
            EventKind::AnswerRejected { field, message, .. } => {
                let thing = self.resolve(path, Kind::Question);
                self.rejected(seq, thing, field, message);
            }
            EventKind::SignalRejected { field, message, .. } => {
                let thing = self.resolve(path, Kind::Wait);
                self.rejected(seq, thing, field, message);
            }
            EventKind::TimerSet { until, .. } => {
                let thing = self.resolve(path, Kind::Timer);
                self.note(seq, thing, What::Timer { until: millis(*until) });
                self.things.set(thing, seq, State::Sleeping, 0);
            }
            EventKind::TimerFired => {
                let thing = self.resolve(path, Kind::Timer);
                match (self.things.get(thing).kind, self.things.get(thing).own()) {
                    (Kind::Timer, _) => self.things.set(thing, seq, State::Completed, 0),
                    // The delay before another attempt is over.
                    (_, State::WaitsToRetry) => self.things.set_state(thing, seq, State::Queued),
                    _ => {}
                }
            }
            EventKind::SignalAwaited { name, until, .. } => {
                let thing = self.resolve(path, Kind::Wait);
                self.note(seq, thing, What::Awaits { signal: name.clone(), until: until.map(millis) });
                // One that has got its signal between two programs says only how it waits in the second.
                if self.things.get(thing).own() != State::Completed {
                    self.things.set(thing, seq, State::Waiting, 0);
                }
            }
            EventKind::SignalDelivered { signal, .. } => {
                let thing = self.resolve(path, Kind::Wait);
                self.note(seq, thing, What::Delivered { signal: *signal });
                self.things.set(thing, seq, State::Completed, 0);
            }
            EventKind::RequestWithdrawn => {
                let thing = self.resolve(path, Kind::Step);
                self.things.stop_inside(thing, seq);
                self.things.set_state(thing, seq, State::Cancelled);
            }
            EventKind::RequestReopened => {
                let thing = self.resolve(path, Kind::Step);
                let state = match (self.things.before_last(thing), self.things.get(thing).kind) {
                    // Its result is recorded.
                    (Some(State::Completed), _) => State::Completed,
                    (_, Kind::Question | Kind::Wait) => State::Waiting,
                    (_, Kind::Timer) => State::Sleeping,
                    _ => State::NotReached,
                };
                self.things.set_state(thing, seq, state);
            }
            EventKind::ResultReused => {
                let thing = self.resolve(path, Kind::Step);
                self.note(seq, thing, What::Reused);
            }
            EventKind::Message { text, .. } => {
                let thing = self.resolve(path, Kind::Step);
                self.message(seq, thing, text);
            }
            EventKind::Note { name, .. } => {
                let thing = self.resolve(path, Kind::Step);
                self.note(seq, thing, What::Note { name: name.clone() });
            }
            EventKind::Progress { data, .. } => match self.things.at(path) {
                Some(thing) => self.has_progressed(seq, thing, data),
                // It is not known yet what it is of.
                None => drop(self.early.insert(path.to_owned(), data.clone())),
            },
            _ => {}
        }
    }

    fn rejected(&mut self, seq: u64, thing: u32, field: &str, message: &str) {
        let ((message, cut), field) = (beginning(message), beginning(field).0);
        self.note(seq, thing, What::Rejected { field, message, cut });
        self.things.set(thing, seq, State::Waiting, 0);
    }

    fn message(&mut self, seq: u64, thing: u32, text: &str) {
        let (text, cut) = beginning(text);
        self.note(seq, thing, What::Message { text, cut });
    }

    /// An attempt has started.
    fn started(&mut self, thing: u32, seq: u64) {
        if self.things.get(RUN).own() == State::Sleeping {
            self.things.set(RUN, seq, State::Running, 0);
        }
        self.begin_item(thing, seq);
        self.came_from_start(thing, seq);
    }

    fn failed(&mut self, thing: u32, seq: u64, attempt: u32, cause: &Cause, then: &AfterFailure, model_call: bool) {
        let (message, cut) = first_of(cause);
        let (mut retry_at, mut routed) = (None, None);
        let is_scope = self.things.get(thing).is_scope();
        match then {
            AfterFailure::RetryAt { time } => {
                retry_at = Some(millis(*time));
                if is_scope {
                    self.things.stop_inside(thing, seq);
                } else {
                    self.things.stop_calls(thing, seq);
                }
                self.things.set(thing, seq, State::WaitsToRetry, attempt);
            }
            AfterFailure::Routed { label, .. } => {
                routed = Some(label.clone());
                self.things.stop_inside(thing, seq);
                self.things.set(thing, seq, State::Failed, attempt);
                self.leave(thing, seq, Some(label));
            }
            _ => {
                self.things.stop_inside(thing, seq);
                self.things.set(thing, seq, State::Failed, attempt);
                if let Some(item) = self.item_around(thing) {
                    self.things.stop_inside(item, seq);
                    self.things.set(item, seq, State::Failed, 0);
                }
            }
        }
        self.note(seq, thing, What::Error { attempt, message, cut, retry_at, routed, model_call });
    }

    /// What is around a thing that has failed the run has failed as well.
    fn fail_around(&mut self, thing: u32, seq: u64) {
        let mut at = self.things.get(thing).within;
        while let Some(around) = at.filter(|around| *around != RUN) {
            if self.things.get(around).own().is_open() {
                self.things.stop_inside(around, seq);
                self.things.set_state(around, seq, State::Failed);
            }
            at = self.things.get(around).within;
        }
    }

    /// A node is left along the edges of its arm.
    fn leave(&mut self, thing: u32, seq: u64, label: Option<&str>) {
        let node = self.things.get(thing).node;
        let taken = node.and_then(|node| Some(self.shape_around(thing)?.taken(node, label)));
        let Some(taken) = taken else {
            if let Some(label) = label {
                self.note(seq, thing, What::Label { label: beginning(label).0 });
            }
            return;
        };
        let Some(scope) = self.things.get(thing).within else { return };
        self.take(scope, seq, &taken);
        if let Some(item) = self.item_around(thing) {
            self.leave_item(item, seq, &taken);
        }
    }

    /// An item is done when a value has arrived at its END, or can arrive nowhere, and nothing in it is under way.
    fn leave_item(&mut self, item: u32, seq: u64, taken: &[usize]) {
        let Some(body) = self.things.get(item).inside.and_then(|body| self.shapes.get(body)) else { return };
        let arrives = taken.is_empty() || taken.iter().any(|edge| body.edges[*edge].0 == END);
        let members = self.things.get(item).members();
        let is_quiet = !members.iter().any(|member| self.things.get(*member).own().is_open());
        let has_output = self.things.get(item).has_output || arrives;
        self.things.get_mut(item).has_output = has_output;
        if has_output && is_quiet {
            self.things.set(item, seq, State::Completed, 0);
        }
    }

    fn take(&mut self, scope: u32, seq: u64, edges: &[usize]) {
        // Right in a `[..]` there is a single node.
        if self.things.get(scope).kind != Kind::Each {
            self.taken.extend(edges.iter().map(|edge| [u64::from(scope), seq, *edge as u64]));
        }
    }

    /// A node with a graph inside has started, and so has START there.
    fn enter(&mut self, thing: u32, seq: u64, items: u64, labels: &[String]) {
        match self.things.get(thing).kind {
            Kind::Workflow | Kind::Child => self.start_taken(thing, labels.first().map(String::as_str), seq),
            Kind::Each if !self.has_single_body(thing) => {
                for item in 0..items.min(MAX_ITEMS) {
                    let (at, _) = self.inside_of(thing, item);
                    let label = usize::try_from(item).ok().and_then(|item| labels.get(item));
                    self.start_taken(at, label.map(String::as_str), seq);
                    self.things.set(at, seq, State::Queued, 0);
                }
            }
            _ => {}
        }
    }

    /// START of a scope was left. For the run and for children it is not recorded by which arm.
    fn start_taken(&mut self, scope: u32, label: Option<&str>, seq: u64) {
        let Some(shape) = self.things.get(scope).inside.and_then(|shape| self.shapes.get(shape)) else { return };
        let Some(start) = shape.nodes.get(START) else { return };
        if matches!(self.things.get(scope).kind, Kind::Run | Kind::Child) && !start.labels().is_empty() {
            self.start_arms.insert(scope, (0..start.labels().len()).collect());
            return;
        }
        let taken = shape.taken(START, label);
        self.take(scope, seq, &taken);
    }

    /// The arm of START by which a node has started, if that is not known yet.
    fn came_from_start(&mut self, thing: u32, seq: u64) {
        let at = self.things.get(thing);
        if let (Some(scope), Some(node), false) = (at.within, at.node, self.start_arms.is_empty()) {
            self.start_leads_to(scope, node, seq);
        }
    }

    /// The output of the run, or of a child, is what came by START.
    fn end_of_start(&mut self, scope: u32, seq: u64) {
        self.start_leads_to(scope, END, seq);
    }

    fn start_leads_to(&mut self, scope: u32, node: usize, seq: u64) {
        let Some(possible) = self.start_arms.get(&scope) else { return };
        let Some(shape) = self.things.get(scope).inside.and_then(|shape| self.shapes.get(shape)) else { return };
        let leads = |arm: &usize| {
            let mut edges = shape.nodes[START].out.iter().map(|edge| &shape.edges[*edge]);
            edges.any(|(to, arms)| *to == node && arms.contains(arm))
        };
        let arms: Vec<usize> = possible.iter().copied().filter(leads).collect();
        if let [arm] = arms[..] {
            let label = shape.nodes[START].labels().get(arm).cloned();
            let taken = shape.taken(START, label.as_deref());
            self.start_arms.remove(&scope);
            self.take(scope, seq, &taken);
        } else if !arms.is_empty() {
            self.start_arms.insert(scope, arms);
        }
    }
}

/// How many items of a `[..]` around several nodes are shown before they begin.
const MAX_ITEMS: u64 = 10_000;

/// The error itself, without its sources.
fn first_of(cause: &Cause) -> (String, bool) {
    beginning(cause.chain.first().map_or("", String::as_str))
}
