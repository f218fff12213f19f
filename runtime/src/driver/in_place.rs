//! The fast path from one node to the next, if nothing is recorded or watched: the attempt that has ended is reused for
//! the next node, with its allocations. See [`Walk`].

use std::sync::Arc;
use std::task::{Context as Waker, Poll};

use tracing::level_filters::LevelFilter;

use super::attempt::{Advanced, Running};
use super::catch::caught;
use super::run::{Driver, UnderWay};
use crate::attempt::{Attempt, Holder};
use crate::context::Context;
use crate::core::Walk;
use crate::table::{Definition, Emitted, Finished, Token, Tokens, no_body};

impl Driver {
    /// Reuses the lone attempt, whose node has ended like this, for the next node, and for the one after that.
    pub(super) fn advance_in_place(&mut self, finished: Finished, waker: &mut Waker<'_>) -> Advanced {
        // Each attempt has a span of its own.
        let is_traced = LevelFilter::current() >= LevelFilter::DEBUG;
        let Driver { run, definition, executable, alone: Some(alone), until_yield, .. } = self else {
            return Advanced::Ended(finished);
        };
        let UnderWay { task, running, attempt, .. } = alone;
        let (true, false, Some(layout)) = (self.is_bare, is_traced, attempt.layout()) else {
            return Advanced::Ended(finished);
        };
        let definition = executable.definition(definition, layout);
        let Some(walk) = run.walk(*task) else { return Advanced::Ended(finished) };
        let mut lane = Lane { walk, definition, running, attempt, until_yield };
        // Caught once for all of them: a panic always comes from the node that the attempt is at.
        let advanced = caught(|| lane.go_on(finished, waker));
        match advanced {
            Ok(Advanced::Ended(finished)) => Advanced::Ended(lane.finish(finished)),
            Ok(advanced) => advanced,
            Err(fault) => Advanced::Ended(lane.finish(Finished::from(fault))),
        }
    }
}

/// The borrowed parts of the driver while nodes follow one another in place.
struct Lane<'d> {
    walk: Walk<'d, Token>,
    definition: &'d Definition,
    running: &'d mut Running<'static, Finished>,
    attempt: &'d mut Arc<Attempt>,
    until_yield: &'d mut u32,
}

impl Lane<'_> {
    fn go_on(&mut self, mut finished: Finished, waker: &mut Waker<'_>) -> Advanced {
        loop {
            let (choice, token, holder) = match finished {
                Finished::Emitted { emitted: Emitted { choice, tokens: Tokens::One(token) }, output: None, holder } => {
                    (choice, token, holder)
                }
                finished => return Advanced::Ended(finished),
            };
            let Some((node, context)) = self.step(choice, holder) else {
                let emitted = Emitted { choice, tokens: Tokens::One(token) };
                return Advanced::Ended(Finished::Emitted { emitted, output: None, holder: None });
            };
            let Some(node) = self.definition.entry(node as usize).and_then(|entry| entry.node.as_ref()) else {
                return Advanced::Ended(Finished::from(no_body(self.attempt.place())));
            };
            let Token { value, hand } = token;
            let body = self.running.go_on_as(|spare| node.go_on(value, hand, context, spare));
            *self.until_yield = self.until_yield.saturating_sub(1);
            if *self.until_yield == 0 {
                return Advanced::TurnOver;
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

    /// The node that follows this choice, and the context of the attempt at it. `None` if the fast path is not
    /// possible, for example if a node has kept its context or has used it.
    #[inline]
    fn step(&mut self, choice: usize, holder: Option<Holder>) -> Option<(u32, Context)> {
        let Lane { walk, attempt, .. } = self;
        if let Some(holder) = holder
            && !walk.has_newer()
            && attempt.may_go_on(1, &holder)
        {
            let step = walk.step(choice)?;
            attempt.go_on(step.node, step.begins_turn.then(|| walk.turn()));
            return Some((step.node, Context::of_holder(holder)));
        }
        let unused = Arc::get_mut(attempt).and_then(|attempt| attempt.is_unused().then_some(attempt))?;
        let step = walk.step(choice)?;
        unused.start_anew(walk.take_newer());
        unused.go_on(step.node, step.begins_turn.then(|| walk.turn()));
        Some((step.node, Context::new(attempt)))
    }

    fn finish(&mut self, finished: Finished) -> Finished {
        self.running.finish(Some(self.attempt), finished)
    }
}
