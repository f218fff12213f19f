//! The fast path from one node to the next: the attempt that has ended is reused for the next node, with its
//! allocations. See [`Walk`]. If the run is recorded, each step pushes the two records of its events. The next node
//! begins when they are durable, or before that if the store is lost with the process ([`Driver::may_lag`]).

use std::sync::Arc;
use std::task::{Context as Waker, Poll};

use serde_json::Value;

use super::attempt::{Advanced, Running};
use super::run::{ATTEMPTS_IN_A_COMMIT, Driver, UnderWay};
use crate::attempt::Attempt;
use crate::catch::caught;
use crate::context::Context;
use crate::core::{Place, Walk};
use crate::fault::Fault;
use crate::meter;
use crate::shared::{Journal, Step};
use crate::table::{Definition, Emitted, Finished, Token, Tokens, no_body};
use crate::trace;

impl Driver {
    /// Whether the step from the lone attempt to the next node may be recorded as one.
    fn may_record_in_place(&self) -> bool {
        let is_plain = self.within.is_none()
            && self.permits.is_none()
            && !self.has_recorded_values
            && self.shared.env.around.is_empty();
        let is_only = self.ready.is_empty() && self.retained.is_empty();
        is_plain && is_only && self.may_record_steps() && self.shared.known_desk().is_none_or(|desk| desk.is_empty())
    }

    /// Reuses the lone attempt, whose node has ended like this, for the next node, and for the one after that.
    pub(super) fn advance_in_place(&mut self, finished: Finished, waker: &mut Waker<'_>) -> Advanced {
        // Each attempt has a span of its own.
        let is_traced = trace::is_wanted() || meter::IS_ON;
        let may_record = !self.is_bare && self.may_record_in_place();
        let Driver { run, definition, executable, shared, alone: Some(alone), until_yield, lag, .. } = self else {
            return Advanced::Ended(finished);
        };
        let UnderWay { task, running, attempt, beat, .. } = alone;
        let (true, false, Some(layout)) = (self.is_bare || may_record, is_traced, attempt.layout()) else {
            return Advanced::Ended(finished);
        };
        let definition = executable.definition(definition, layout);
        let Some(walk) = run.walk(*task) else { return Advanced::Ended(finished) };
        let record = match shared.journal.as_ref().filter(|_| may_record) {
            Some(journal) => {
                let Some(origin) = attempt.origin() else { return Advanced::Ended(finished) };
                let is_durable = !journal.may_lag();
                Some(Recording { journal, lag, origin, has_begun: false, is_durable })
            }
            None => None,
        };
        // References by its driver, and by its beat, which only an attempt of a recorded run has.
        let held = 1 + usize::from(beat.is_some());
        let may_be_replaced = shared.env.has_replacements();
        match record {
            Some(_) => Lane::<true> { walk, definition, running, attempt, held, until_yield, may_be_replaced, record }
                .advance(finished, waker),
            None => Lane::<false> { walk, definition, running, attempt, held, until_yield, may_be_replaced, record }
                .advance(finished, waker),
        }
    }
}

/// The borrowed parts of the driver while nodes follow one another in place. `RECORDS`: whether the run is recorded; one
/// that is not pays nothing for that.
struct Lane<'d, const RECORDS: bool> {
    walk: Walk<'d, Token>,
    definition: &'d Definition,
    running: &'d mut Running<'static, Finished>,
    attempt: &'d mut Arc<Attempt>,
    /// How many references to the attempt exist besides that of its context.
    held: usize,
    until_yield: &'d mut u32,
    /// Whether the engine replaces nodes.
    may_be_replaced: bool,
    /// `Some` if the run is recorded.
    record: Option<Recording<'d>>,
}

/// The recording of the steps.
struct Recording<'d> {
    journal: &'d Journal,
    /// How many attempts have begun since everything was durable.
    lag: &'d mut u32,
    /// Where the attempt began.
    origin: Place,
    /// Whether there was a step.
    has_begun: bool,
    /// Whether each step is recorded before the next node begins.
    is_durable: bool,
}

impl Recording<'_> {
    /// Whether a step to this node may be recorded later than it is made.
    #[inline]
    fn may_go_on(&self, node: usize, definition: &Definition) -> bool {
        let is_once_only = definition.entry(node).is_none_or(|entry| entry.options.at_most_once);
        *self.lag < ATTEMPTS_IN_A_COMMIT && !is_once_only
    }

    /// Records that a node is completed, and that the next one has started.
    fn push_step(&mut self, step: Step) {
        self.journal.push_step(step, !self.has_begun, &self.origin);
        self.has_begun = true;
        *self.lag += 1;
    }
}

impl<const RECORDS: bool> Lane<'_, RECORDS> {
    fn advance(&mut self, finished: Finished, waker: &mut Waker<'_>) -> Advanced {
        // Caught once for all of them: a panic always comes from the node that the attempt is at.
        let advanced = caught(|| self.go_on(finished, waker));
        match advanced {
            Ok(Advanced::Ended(finished)) => Advanced::Ended(self.finish(finished)),
            Ok(advanced) => advanced,
            Err(fault) => Advanced::Ended(self.finish(Finished::from(fault))),
        }
    }

    fn go_on(&mut self, mut finished: Finished, waker: &mut Waker<'_>) -> Advanced {
        let is_durable = self.record.as_ref().is_some_and(|record| record.is_durable);
        loop {
            let (mut choice, mut token, mut output, holder) = match finished {
                Finished::Emitted { emitted: Emitted { choice, tokens: Tokens::One(token) }, output, holder }
                    if output.is_some() == RECORDS =>
                {
                    (choice, token, output, holder)
                }
                finished => return Advanced::Ended(finished),
            };
            let mut context = holder.map(Context::of_holder);
            // Neither the token nor the context is moved from one node that never waits to the next. A move reads as one
            // what was just written in two parts, which the processor cannot forward from its stores to its loads.
            let (node, context) = loop {
                let Some(node) = self.step(choice, &mut output, &mut context) else {
                    let emitted = Emitted { choice, tokens: Tokens::One(token) };
                    return Advanced::Ended(Finished::Emitted { emitted, output, holder: None });
                };
                let Some((entry, node)) = self.definition.with_body(node) else {
                    return Advanced::Ended(Finished::from(no_body(self.attempt.place())));
                };
                *self.until_yield = self.until_yield.saturating_sub(1);
                let needs_body = is_durable || *self.until_yield == 0 || !entry.never_waits || self.may_be_replaced;
                match context {
                    Some(context) if needs_body => break (node, context),
                    Some(ref context) => match node.run_at_once(&mut token, &mut output, context) {
                        Ok(next) => choice = next,
                        Err(finished) => return Advanced::Ended(finished),
                    },
                    None => {
                        let message = "an attempt has lost its context; this is a mistake in graphweft".to_owned();
                        return Advanced::Ended(Finished::from(Fault::Context { message }));
                    }
                }
            };
            let Token { value, hand } = token;
            let body = self.running.go_on_as(|spare| node.go_on(value, hand, context, spare));
            if is_durable || *self.until_yield == 0 {
                return Advanced::Later;
            }
            finished = match body.poll(waker) {
                Poll::Ready(finished) => finished,
                Poll::Pending => {
                    return match self.running.go_on_after_first_poll(Some(self.attempt), waker) {
                        Poll::Ready(finished) => Advanced::Ended(finished),
                        Poll::Pending => Advanced::Pending,
                    };
                }
            };
        }
    }

    /// The node that follows this choice. `None` if the fast path is not possible, for example if a node has kept its
    /// context or has used it. `output`: the output to record, which is taken then. `context`: that of the attempt, as
    /// the node has left it; with a node it is there, and is that of the attempt at it.
    #[inline]
    fn step(&mut self, choice: usize, output: &mut Option<Box<Value>>, context: &mut Option<Context>) -> Option<u32> {
        let Lane { walk, definition, attempt, record, .. } = self;
        if RECORDS
            && let Some(recording) = record
            && !recording.may_go_on(walk.next_node(choice)?, definition)
        {
            return None;
        }
        if context.is_some() && !walk.has_newer() && attempt.may_go_on(self.held) {
            let from = attempt.stand();
            let step = walk.step(choice)?;
            attempt.go_on(step.node, step.begins_turn.then(|| walk.turn()));
            if RECORDS && let Some(recording) = record {
                let label = definition.labels.get(from.node as usize).and_then(|labels| labels.get(choice)).copied();
                let output = output.take().map(|output| *output);
                recording.push_step(Step { from, to: attempt.stand(), label, output });
            }
            return Some(step.node);
        }
        *context = None;
        if RECORDS {
            return None;
        }
        let unused = Arc::get_mut(attempt).and_then(|attempt| attempt.is_unused().then_some(attempt))?;
        let step = walk.step(choice)?;
        unused.start_anew(walk.take_newer());
        unused.go_on(step.node, step.begins_turn.then(|| walk.turn()));
        *context = Some(Context::new(attempt));
        Some(step.node)
    }

    fn finish(&mut self, finished: Finished) -> Finished {
        self.running.finish(Some(self.attempt), finished)
    }
}
