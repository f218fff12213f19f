//! Answers to runs that are not driven here, by run: all that wait for one run go into one append, and what its records say
//! of its questions is read once for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use serde_json::Value as Json;

use crate::question::{AnswerError, Questions};
use crate::store::RunKey;

/// The queues that have answers in them, by run.
#[derive(Default)]
pub(super) struct AnswerQueues(Mutex<HashMap<String, Weak<AnswerQueue>>>);

/// The answers to one run. Alive as long as one of them is awaited.
#[derive(Default)]
pub(super) struct AnswerQueue(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    waiting: Vec<Arc<Answer>>,
    /// Records what was waiting before. Shared: if the caller that began it drops its future, the others continue it.
    in_flight: Option<Shared<BoxFuture<'static, ()>>>,
    /// What the last append has left.
    asked: Asked,
}

/// An answer to a question that was named by a caller.
pub(super) struct Answer {
    pub(super) question: String,
    pub(super) value: Json,
    settled: Mutex<Option<Settled>>,
}

/// What became of an answer.
pub(super) enum Settled {
    /// It is recorded, or refused.
    Answered(Result<(), AnswerError>),
    /// The run is driven here by now, and takes its answers itself.
    IsLive,
}

/// What a run has asked, by its records up to a number.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) run: Option<RunKey>,
    pub(super) questions: Questions,
    /// The number of the next record.
    pub(super) next: u64,
}

impl Answer {
    pub(super) fn new(question: &str, value: &Json) -> Arc<Self> {
        Arc::new(Answer { question: question.to_owned(), value: value.clone(), settled: Mutex::default() })
    }

    pub(super) fn settle(&self, settled: Settled) {
        *self.settled() = Some(settled);
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled().is_some()
    }

    fn settled(&self) -> MutexGuard<'_, Option<Settled>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnswerQueues {
    pub(super) fn of(&self, run: &str) -> Arc<AnswerQueue> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(run).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(run.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

impl AnswerQueue {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until an answer is settled. `record` settles all that it is passed; only one is under way at a time.
    pub(super) async fn settle<F>(
        self: Arc<Self>,
        answer: Arc<Answer>,
        record: impl Fn(Vec<Arc<Answer>>, Asked) -> F,
    ) -> Settled
    where
        F: Future<Output = Asked> + Send + 'static,
    {
        self.inner().waiting.push(Arc::clone(&answer));
        loop {
            let in_flight = {
                let mut inner = self.inner();
                if let Some(settled) = answer.settled().take() {
                    return settled;
                }
                match &inner.in_flight {
                    Some(in_flight) => in_flight.clone(),
                    None => self.begin(&mut inner, &record),
                }
            };
            in_flight.await;
        }
    }

    fn begin<F>(
        self: &Arc<Self>,
        inner: &mut Inner,
        record: impl Fn(Vec<Arc<Answer>>, Asked) -> F,
    ) -> Shared<BoxFuture<'static, ()>>
    where
        F: Future<Output = Asked> + Send + 'static,
    {
        let recording = record(std::mem::take(&mut inner.waiting), std::mem::take(&mut inner.asked));
        let queue = Arc::downgrade(self);
        let in_flight = async move {
            let asked = recording.await;
            if let Some(queue) = queue.upgrade() {
                let mut inner = queue.inner();
                (inner.asked, inner.in_flight) = (asked, None);
            }
        };
        let in_flight = in_flight.boxed().shared();
        inner.in_flight = Some(in_flight.clone());
        in_flight
    }
}
