//! Answers to runs that are not driven here, by run: all waiting answers to one run go into one append, and the records
//! of the run are read once for all of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::fingerprint::NodeNames;
use crate::question::{AnswerError, Given, Questions};
use crate::store::RunKey;

/// The queues that have answers in them, by run.
#[derive(Default)]
pub(super) struct AnswerQueues(Arc<ByRun>);

type ByRun = Mutex<HashMap<Arc<str>, Weak<AnswerQueue>>>;

/// The answers to one run. Alive as long as one of them is awaited.
pub(super) struct AnswerQueue {
    run: Arc<str>,
    inner: Mutex<Inner>,
    /// It removes itself when it is dropped, so that no other has to look for those that are gone.
    queues: Weak<ByRun>,
}

#[derive(Default)]
struct Inner {
    /// Answers that are not settled, and not part of the look that is under way.
    waiting: Vec<Arc<Answer>>,
    /// A look for answers that were waiting before. Shared: if the caller that began it drops its future, others
    /// continue it.
    in_flight: Option<Shared<BoxFuture<'static, ()>>>,
    /// The questions of the run, as the last look has left them.
    asked: Asked,
}

/// An answer to a question that was named by a caller.
pub(super) struct Answer {
    pub(super) question: String,
    pub(super) given: Given,
    state: Mutex<State>,
}

/// The progress of an answer.
#[derive(Default)]
enum State {
    #[default]
    New,
    Unchecked(Unchecked),
    Settled(Settled),
}

/// An answer that was recorded before it was checked against its type.
#[derive(Clone)]
pub(super) struct Unchecked {
    /// The full id of the question.
    pub(super) id: String,
    /// The number of the first record that is not examined yet.
    pub(super) next: u64,
    /// Whether its own record has been examined.
    pub(super) is_seen: bool,
    /// When the caller stops waiting for it to be read, at the earliest.
    until: Instant,
    /// How often the caller looks for its result at least. An engine that is busy with very many answers looks rarely.
    looks: u32,
}

/// How long an answer may be unread.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(10);

/// How many looks that takes at least.
const LOOKS: u32 = 50;

/// The maximum pause between two looks for the results of answers to one run.
const PAUSE: Duration = Duration::from_millis(20);

/// The same, for each run that has such answers: the looks of all of them leave the store time for the runs.
const PAUSE_PER_RUN: Duration = Duration::from_micros(250);

impl Unchecked {
    /// An answer to the question of this id, whose record is not below this number.
    pub(super) fn new(id: String, next: u64) -> Self {
        Unchecked { id, next, is_seen: false, until: Instant::now() + READ_WITHIN, looks: LOOKS }
    }

    /// Counts a look that has not found its result. Returns `false` if the caller stops waiting now.
    pub(super) fn is_still_awaited(&mut self, now: Instant) -> bool {
        self.looks = self.looks.saturating_sub(1);
        now < self.until || self.looks > 0
    }
}

/// The result of an answer.
pub(super) enum Settled {
    /// It is recorded and has its type, or it was refused.
    Answered(Result<(), AnswerError>),
    /// The run is driven here by now, so it takes its answers itself.
    IsLive,
    /// It does not fit the schema of the question as it is recorded.
    Misfit(AnswerError),
}

/// The questions of a run, from its records up to a number.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) run: Option<RunKey>,
    pub(super) questions: Questions,
    /// The names of nodes that were renamed since the run began: the questions have those of now.
    pub(super) names: Option<NodeNames>,
    /// The number of the next record.
    pub(super) next: u64,
    /// How long to wait before the next look, if there is no new answer.
    pub(super) pause: Duration,
    /// When to check next that a living engine drives the run.
    pub(super) check_at: Option<Instant>,
}

impl Answer {
    pub(super) fn new(question: &str, given: Given) -> Arc<Self> {
        Arc::new(Answer { question: question.to_owned(), given, state: Mutex::default() })
    }

    pub(super) fn settle(&self, settled: Settled) {
        *self.state() = State::Settled(settled);
    }

    /// Marks it as recorded and unchecked, since its type is not known here.
    pub(super) fn set_unchecked(&self, unchecked: Unchecked) {
        *self.state() = State::Unchecked(unchecked);
    }

    pub(super) fn unchecked(&self) -> Option<Unchecked> {
        match &*self.state() {
            State::Unchecked(unchecked) => Some(unchecked.clone()),
            State::New | State::Settled(_) => None,
        }
    }

    pub(super) fn is_new(&self) -> bool {
        matches!(*self.state(), State::New)
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(*self.state(), State::Settled(_))
    }

    fn take_settled(&self) -> Option<Settled> {
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            State::Settled(settled) => Some(settled),
            other => {
                *state = other;
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    /// Begins again with the first record of the run.
    pub(super) fn read_again(&mut self) {
        (self.questions, self.next) = (Questions::default(), 0);
    }

    /// A path with the present names of nodes that were renamed since the run began.
    pub(super) fn current_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        self.names.as_ref().map_or(Cow::Borrowed(path), |names| names.current_path(path))
    }
}

impl AnswerQueues {
    pub(super) fn of(&self, run: &str) -> Arc<AnswerQueue> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(run).and_then(Weak::upgrade) {
            return queue;
        }
        let (run, queues_of) = (Arc::<str>::from(run), Arc::downgrade(&self.0));
        let queue = Arc::new(AnswerQueue { run: Arc::clone(&run), inner: Mutex::default(), queues: queues_of });
        queues.insert(run, Arc::downgrade(&queue));
        queue
    }

    /// The maximum pause between two looks at one run.
    pub(super) fn max_pause(&self) -> Duration {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        PAUSE.max(PAUSE_PER_RUN.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX)))
    }
}

impl AnswerQueue {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until an answer is settled. `look` advances all answers that it is passed; only one is under way at a
    /// time.
    pub(super) async fn settle<F>(
        self: Arc<Self>,
        answer: Arc<Answer>,
        look: impl Fn(Vec<Arc<Answer>>, Asked) -> F,
    ) -> Settled
    where
        F: Future<Output = Asked> + Send + 'static,
    {
        self.inner().waiting.push(Arc::clone(&answer));
        loop {
            let in_flight = {
                let mut inner = self.inner();
                if let Some(settled) = answer.take_settled() {
                    return settled;
                }
                match &inner.in_flight {
                    Some(in_flight) => in_flight.clone(),
                    None => self.begin(&mut inner, &look),
                }
            };
            in_flight.await;
        }
    }

    fn begin<F>(
        self: &Arc<Self>,
        inner: &mut Inner,
        look: impl Fn(Vec<Arc<Answer>>, Asked) -> F,
    ) -> Shared<BoxFuture<'static, ()>>
    where
        F: Future<Output = Asked> + Send + 'static,
    {
        let mut answers = std::mem::take(&mut inner.waiting);
        let looking = look(answers.clone(), std::mem::take(&mut inner.asked));
        let queue = Arc::downgrade(self);
        let in_flight = async move {
            let asked = looking.await;
            // If the queue has the only reference to an answer, no caller waits for it any more.
            answers.retain(|answer| !answer.is_settled() && Arc::strong_count(answer) > 1);
            if let Some(queue) = queue.upgrade() {
                let mut inner = queue.inner();
                inner.waiting.append(&mut answers);
                (inner.asked, inner.in_flight) = (asked, None);
            }
        };
        let in_flight = in_flight.boxed().shared();
        inner.in_flight = Some(in_flight.clone());
        in_flight
    }
}

impl Drop for AnswerQueue {
    fn drop(&mut self) {
        let Some(queues) = self.queues.upgrade() else { return };
        let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
        // The run may have a new queue by now.
        if queues.get(&self.run).is_some_and(|queue| queue.strong_count() == 0) {
            queues.remove(&self.run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(queues: &AnswerQueues) -> Vec<String> {
        queues.0.lock().unwrap().keys().map(|run| run.to_string()).collect()
    }

    #[test]
    fn a_queue_is_forgotten_when_its_last_answer_is_no_longer_awaited() {
        let queues = AnswerQueues::default();
        let (one, same) = (queues.of("one"), queues.of("one"));
        let two = queues.of("two");
        drop(one);
        assert!(Arc::ptr_eq(&same, &queues.of("one")));

        drop(same);

        assert_eq!(runs(&queues), ["two"]);
        drop(two);
        assert_eq!(runs(&queues), [""; 0]);
    }

    #[test]
    fn a_queue_that_is_gone_does_not_take_a_new_one_of_its_run_with_it() {
        let queues = AnswerQueues::default();
        let old = queues.of("run");
        // As if it were dropped while another answer arrives.
        queues.0.lock().unwrap().clear();
        let new = queues.of("run");

        drop(old);

        assert!(Arc::ptr_eq(&new, &queues.of("run")));
    }
}
