//! Nodes that complete before the core knows of them: the only nodes of items of `[..]`, or branches that meet at one
//! join.
//!
//! The only effect of such a node is its value, and the core uses that only when all of them are done. So if nothing
//! else is under way, the core lends them out ([`LentNodes`]). Lanes take one after another and poll it once. An
//! attempt and the box of a body, which a node that never waits does without, are reused from node to node, and all of
//! them are reported to the core together.
//!
//! ```text
//!   pending ──> polled by a lane ──> done ──────────────────────────────────> reported to the core with all others
//!      │             │     \ waits, fails, panics, or does something that is seen ──> left: an attempt like any other
//!      │             └ taken back while it is polled ──────────────────────────────> an attempt like any other
//!      └ taken back ───────────────────────────────────────────────────────────────> begins as nodes do
//! ```
//!
//! The first one that is left ends the batch, and so does whatever else happens in the run: the driver takes it back.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::task::{Context as Waker, Poll};
use std::time::{Duration, Instant};

use super::attempt::Running;
use crate::attempt::{At, Attempt};
use crate::catch::caught;
use crate::context::Context;
use crate::core::{Lent, LentNodes, LentOf, TaskId};
use crate::shared::Shared;
use crate::sync::{Mutex, MutexGuard};
use crate::table::{Definition, Emitted, Finished, Token, Tokens, no_body};

pub(super) struct Batch {
    run: Arc<Shared>,
    definition: Arc<Definition>,
    lent: LentNodes,
    nodes: Mutex<Nodes>,
}

struct Nodes {
    pending: VecDeque<Lent<Token>>,
    /// The nodes that are done: index and output.
    done: Vec<(usize, Token)>,
    left: Vec<Left>,
    /// The node that each lane polls, by the number of the lane.
    polled: Vec<Option<Polled>>,
    /// Whether no lane takes any more: something is left, or it was taken back.
    is_closed: bool,
    /// Whether the driver has taken it back, or is gone.
    is_over: bool,
}

/// One that a lane polls.
struct Polled {
    at: usize,
    attempt: Arc<Attempt>,
    /// Its task, once the driver has taken the batch back.
    task: Option<TaskId>,
}

/// A node that did not complete at its only poll.
pub(super) struct Left {
    pub(super) at: usize,
    pub(super) attempt: Arc<Attempt>,
    pub(super) state: LeftState,
}

pub(super) enum LeftState {
    /// It was polled once, and waits.
    Waits(Running<'static, Finished>),
    Ended(Finished),
}

/// The state of a batch when it is taken back.
pub(super) struct TakenBack {
    pub(super) done: Vec<(usize, Token)>,
    pub(super) pending: VecDeque<Lent<Token>>,
    pub(super) left: Vec<Left>,
}

/// What the lane has to do after its turn.
pub(super) enum AfterTurn {
    Nothing,
    /// The batch is done, or something of it is left: the driver is to take it back.
    TakeBack,
    /// One was taken back while it was polled.
    Goes(TaskId, Left),
}

/// How many references to an attempt a lane has while it polls it: its own, and that of [`Polled`].
const HELD_BY_LANE: usize = 2;

/// How many nodes are polled before the clock is read, which takes as long as a quick node.
const POLLS_BETWEEN_LOOKS: u32 = 4;

impl Batch {
    pub(super) fn new(
        run: &Arc<Shared>,
        definition: &Arc<Definition>,
        lent: LentNodes,
        pending: VecDeque<Lent<Token>>,
    ) -> Self {
        let nodes = Nodes {
            done: Vec::with_capacity(pending.len()),
            pending,
            left: Vec::new(),
            polled: Vec::new(),
            is_closed: false,
            is_over: false,
        };
        Batch { run: Arc::clone(run), definition: Arc::clone(definition), lent, nodes: Mutex::new(nodes) }
    }

    /// The items or branches that were lent.
    pub(super) fn of(&self) -> &LentOf {
        &self.lent.of
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a lane would find something to do.
    pub(super) fn has_pending(&self) -> bool {
        let nodes = self.nodes();
        !nodes.is_closed && !nodes.pending.is_empty()
    }

    /// Takes it back. `begin` gives each node that is polled just now its task.
    ///
    /// # Errors
    /// The first error of `begin`.
    pub(super) fn take_back<E>(
        &self,
        mut begin: impl FnMut(usize, &Arc<Attempt>) -> Result<TaskId, E>,
    ) -> Result<TakenBack, E> {
        let mut nodes = self.nodes();
        (nodes.is_closed, nodes.is_over) = (true, true);
        for polled in nodes.polled.iter_mut().flatten() {
            polled.task = Some(begin(polled.at, &polled.attempt)?);
        }
        Ok(nodes.take())
    }

    /// The driver is gone: drops the rest, including the user's values.
    pub(super) fn close(&self) {
        let rest = {
            let mut nodes = self.nodes();
            (nodes.is_closed, nodes.is_over) = (true, true);
            nodes.take()
        };
        let _ = caught(|| drop(rest));
    }

    /// Polls one node after another, each once, until none is left or the turn is over.
    pub(super) fn take_turn(&self, turn: Duration) -> AfterTurn {
        let Some((mut lane, first)) = self.begin_lane() else { return AfterTurn::Nothing };
        let began = Instant::now();
        // Caught once for all of them: a panic always comes from the node that the lane is at.
        match caught(|| lane.go_on(first, || began.elapsed() >= turn)) {
            Ok(Stopped::NoMore(after)) => after,
            Ok(Stopped::Waits) => lane.leave(None),
            Ok(Stopped::Ended(finished)) => lane.leave(Some(finished)),
            Err(fault) => lane.leave(Some(Finished::from(fault))),
        }
    }

    fn begin_lane(&self) -> Option<(Lane<'_>, Lent<Token>)> {
        let attempt = self.attempt();
        let mut nodes = self.nodes();
        let next = if nodes.is_closed { None } else { nodes.pending.pop_front() }?;
        self.stands_at(&attempt, &next);
        let polled = Some(Polled { at: next.at, attempt: Arc::clone(&attempt), task: None });
        let lane = match nodes.polled.iter().position(Option::is_none) {
            Some(free) => {
                nodes.polled[free] = polled;
                free
            }
            None => {
                nodes.polled.push(polled);
                nodes.polled.len() - 1
            }
        };
        Some((Lane { batch: self, lane, attempt, running: Running::without_body() }, next))
    }

    /// An attempt that a lane takes from node to node.
    fn attempt(&self) -> Arc<Attempt> {
        let (run, place, state) = (Arc::clone(&self.run), self.lent.place.clone(), Arc::clone(&self.lent.sees));
        let mut attempt = Attempt::new(run, At::Node(place), 1, state, None);
        attempt.set_bodies(&self.definition);
        Arc::new(attempt)
    }

    fn stands_at(&self, attempt: &Attempt, lent: &Lent<Token>) {
        match self.lent.of {
            LentOf::Items(_) => attempt.go_on_to_item(lent.at),
            LentOf::Branches(_) => attempt.go_on(lent.node, None),
        }
    }
}

impl Nodes {
    fn take(&mut self) -> TakenBack {
        let Nodes { pending, done, left, .. } = self;
        TakenBack { done: std::mem::take(done), pending: std::mem::take(pending), left: std::mem::take(left) }
    }
}

/// Polls one node after another.
struct Lane<'b> {
    batch: &'b Batch,
    /// Its place among the lanes of the batch.
    lane: usize,
    attempt: Arc<Attempt>,
    running: Running<'static, Finished>,
}

/// Why a lane polls no further node.
enum Stopped {
    NoMore(AfterTurn),
    /// The node waits.
    Waits,
    /// The node has ended like this, and the driver has to process it; or it was taken back.
    Ended(Finished),
}

/// What follows a node that is done.
enum Next {
    Node(Lent<Token>),
    NoMore(AfterTurn),
    /// It was taken back meanwhile, and is not done.
    TakenBack(Token),
}

impl Lane<'_> {
    fn go_on(&mut self, mut lent: Lent<Token>, is_turn_over: impl Fn() -> bool) -> Stopped {
        let batch = self.batch;
        let mut context = Context::new(&self.attempt);
        let may_be_replaced = batch.run.env.has_replacements();
        // A node that waits is polled again by the task that it gets.
        let mut waker = Waker::from_waker(std::task::Waker::noop());
        let mut polls = 0u32;
        loop {
            let Some((entry, node)) = batch.definition.with_body(lent.node) else {
                return Stopped::Ended(Finished::from(no_body(self.attempt.place())));
            };
            let mut token = lent.value;
            let (choice, given, left) = if entry.never_waits && !may_be_replaced {
                match node.run_at_once(&mut token, &mut None, &context) {
                    Ok(choice) => (choice, token, Some(context)),
                    Err(finished) => return Stopped::Ended(finished),
                }
            } else {
                let Token { value, hand } = token;
                let body = self.running.go_on_as(|spare| node.go_on(value, hand, context, spare));
                let polled = match body.poll(&mut waker) {
                    Poll::Pending => self.running.go_on_after_first_poll(Some(&self.attempt), &mut waker),
                    ready => ready,
                };
                match polled {
                    Poll::Pending => return Stopped::Waits,
                    Poll::Ready(Finished::Emitted {
                        emitted: Emitted { choice, tokens: Tokens::One(token) },
                        output: None,
                        holder,
                    }) => (choice, token, holder.map(Context::of_holder)),
                    Poll::Ready(finished) => return Stopped::Ended(finished),
                }
            };
            let emitted = |given| {
                let emitted = Emitted { choice, tokens: Tokens::One(given) };
                Stopped::Ended(Finished::Emitted { emitted, output: None, holder: None })
            };
            let fresh = match left {
                Some(left) if self.attempt.may_go_on(HELD_BY_LANE) => {
                    context = left;
                    None
                }
                _ if self.attempt.has_left_something() => return emitted(given),
                _ => {
                    let fresh = batch.attempt();
                    context = Context::new(&fresh);
                    Some(fresh)
                }
            };
            let may_take = !polls.is_multiple_of(POLLS_BETWEEN_LOOKS) || !is_turn_over();
            polls = polls.wrapping_add(1);
            lent = match self.done(given, fresh.as_ref(), may_take) {
                Next::Node(next) => {
                    if let Some(fresh) = fresh {
                        self.attempt = fresh;
                    }
                    next
                }
                Next::NoMore(after) => return Stopped::NoMore(after),
                Next::TakenBack(given) => return emitted(given),
            };
        }
    }

    /// The node is done. `fresh`: the attempt for the next node, if the old one cannot be reused.
    fn done(&self, given: Token, fresh: Option<&Arc<Attempt>>, may_take: bool) -> Next {
        let nodes = &mut *self.batch.nodes();
        let Some(polled) = nodes.polled[self.lane].as_mut().filter(|_| !nodes.is_over) else {
            return Next::TakenBack(given);
        };
        nodes.done.push((polled.at, given));
        if may_take
            && !nodes.is_closed
            && let Some(next) = nodes.pending.pop_front()
        {
            polled.at = next.at;
            if let Some(fresh) = fresh {
                polled.attempt = Arc::clone(fresh);
            }
            self.batch.stands_at(&polled.attempt, &next);
            return Next::Node(next);
        }
        nodes.polled[self.lane] = None;
        let is_done = nodes.pending.is_empty() && nodes.polled.iter().all(Option::is_none);
        Next::NoMore(if is_done { AfterTurn::TakeBack } else { AfterTurn::Nothing })
    }

    /// The node that the lane is at did not complete. `finished`: its result, if it does not wait.
    fn leave(self, finished: Option<Finished>) -> AfterTurn {
        let Lane { batch, lane, attempt, mut running } = self;
        let state = match finished {
            Some(finished) => LeftState::Ended(running.finish(Some(&attempt), finished)),
            None => LeftState::Waits(running),
        };
        let mut nodes = batch.nodes();
        let polled = nodes.polled.get_mut(lane).and_then(Option::take);
        match polled {
            Some(Polled { at, task: None, .. }) if !nodes.is_over => {
                nodes.is_closed = true;
                nodes.left.push(Left { at, attempt, state });
                AfterTurn::TakeBack
            }
            Some(Polled { at, task: Some(task), .. }) => AfterTurn::Goes(task, Left { at, attempt, state }),
            // The driver is gone.
            _ => {
                drop(nodes);
                let _ = caught(|| drop(state));
                AfterTurn::Nothing
            }
        }
    }
}
