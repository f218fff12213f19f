//! The attempt of a context that a test has made, around which there is no workflow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::Attempt;
use crate::fault::Fault;

/// What such a context has in the place of people and other systems; the one of its run.
#[derive(Default)]
pub(crate) struct WithoutWorkflow(Mutex<Given>);

#[derive(Default)]
struct Given {
    /// Whether the run is that of a context of a test: every run could have this.
    is_without: bool,
    /// By the name of the question, with its key or without.
    answers: HashMap<String, Vec<Value>>,
    /// The questions, by their paths in the order in which they were asked, for each list of answers.
    asked: HashMap<String, Vec<String>>,
    /// How many signals are left for further waits, by name.
    signals: HashMap<&'static str, usize>,
}

impl WithoutWorkflow {
    fn given(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// States what the context is given.
    pub(crate) fn give(&self, answers: HashMap<String, Vec<Value>>, signals: impl IntoIterator<Item = &'static str>) {
        let mut given = self.given();
        (given.is_without, given.answers) = (true, answers);
        for name in signals {
            *given.signals.entry(name).or_default() += 1;
        }
    }

    /// The answer to the question at a path: of those to its name with its key, or else to its name, the first one to the question that
    /// was asked first, and so on. The last one is for all further questions. A question keeps its answer.
    pub(crate) fn answer(&self, path: &str, name: &str, key: Option<&str>) -> Option<Value> {
        let Given { answers, asked, .. } = &mut *self.given();
        let with_key = key.map(|key| format!("{name}:{key}")).filter(|with_key| answers.contains_key(with_key));
        let listed = with_key.unwrap_or_else(|| name.to_owned());
        let answers = answers.get(&listed)?;
        let asked = asked.entry(listed).or_default();
        let number = asked.iter().position(|known| known == path).unwrap_or_else(|| {
            asked.push(path.to_owned());
            asked.len() - 1
        });
        answers.get(number).or(answers.last()).cloned()
    }
}

impl Attempt {
    /// Whether it belongs to a context that a test has made, and not to a node that the test calls by that.
    pub(crate) fn is_without_workflow(&self) -> bool {
        self.parent.is_none() && self.run.companion::<WithoutWorkflow>().given().is_without
    }

    /// Ends the test, which would wait for ever where a workflow ends the attempt.
    #[expect(clippy::panic, reason = "it is how a test fails")]
    pub(crate) fn panic_without_workflow(&self, fault: &Fault) {
        if self.is_without_workflow() {
            panic!("the context of the test ends its node: {fault}");
        }
    }

    /// Checks that a question will be answered.
    ///
    /// # Errors
    /// If there is no answer, or one that cannot be read.
    pub(crate) fn check_answer(
        &self,
        path: &str,
        name: &str,
        key: Option<&str>,
        within: Option<Duration>,
        read: impl FnOnce(&Value) -> Result<(), String>,
    ) -> Result<(), Fault> {
        let without = self.run.companion::<WithoutWorkflow>();
        if !without.given().is_without {
            return Ok(());
        }
        let message = match without.answer(path, name, key).as_ref().map(read) {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) => {
                format!("the answer that the context of the test has to `{name}` cannot be read: {error}")
            }
            // Then the time passes.
            None if within.is_some() => return Ok(()),
            None => format!("the context of the test has no answer to `{name}`: add `.answer(\"{name}\", ..)` to it"),
        };
        Err(Fault::Context { message })
    }

    /// Reserves a signal for a wait. If the wait is dropped without it, it is for another one.
    ///
    /// # Errors
    /// If there is no further one.
    pub(crate) fn reserve_signal(
        &self,
        name: &'static str,
        within: Option<Duration>,
    ) -> Result<Option<ReservedSignal>, Fault> {
        let without = self.run.companion::<WithoutWorkflow>();
        let mut given = without.given();
        if !given.is_without {
            return Ok(None);
        }
        if let Some(left) = given.signals.get_mut(name).filter(|left| **left > 0) {
            *left -= 1;
            drop(given);
            return Ok(Some(ReservedSignal { without, name, is_taken: false }));
        }
        // Then the time passes.
        if within.is_some() {
            return Ok(None);
        }
        let message =
            format!("the context of the test has no further signal `{name}`: add `.signal(..)` to it for each wait");
        Err(Fault::Context { message })
    }
}

/// A signal that is meant for one wait.
pub(crate) struct ReservedSignal {
    without: Arc<WithoutWorkflow>,
    name: &'static str,
    is_taken: bool,
}

impl ReservedSignal {
    /// The wait has got it.
    pub(crate) fn take(mut self) {
        self.is_taken = true;
    }
}

impl Drop for ReservedSignal {
    fn drop(&mut self) {
        if !self.is_taken {
            *self.without.given().signals.entry(self.name).or_default() += 1;
        }
    }
}
