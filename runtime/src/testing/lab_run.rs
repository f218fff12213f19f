//! A run of a lab, for the assertions of a test.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use super::process::Rests;
use super::repeatable::Named;
use super::steps::took;
use super::world::Call;
use crate::engine::Outcome;
use crate::event::{Event, EventKind};
use crate::fault::Failure;
use crate::node::{Node, Payload, name_of};
use crate::workflow::Workflow;

/// A run that has ended, or that waits for what the lab does not send. See [`Lab::run`](super::Lab::run).
pub struct LabRun<W: Workflow> {
    /// That of the version that it was begun under.
    workflow: &'static str,
    /// An error if it has an output that is none of `W`, as that of an earlier version may be.
    outcome: Result<Outcome<W::Output>, String>,
    events: Vec<Event>,
    calls: Vec<Call>,
    mocked: Vec<Named>,
}

impl<W: Workflow> LabRun<W> {
    pub(super) fn new(workflow: &'static str, rests: Rests, calls: Vec<Call>, mocked: Vec<Named>) -> Self {
        let Rests { outcome, events } = rests;
        let outcome = match outcome {
            Outcome::Completed(output) => W::Output::from_record(&output)
                .map(Outcome::Completed)
                .map_err(|error| format!("the output cannot be read as that of `{}`: {error}", W::NAME)),
            Outcome::Failed(failure) => Ok(Outcome::Failed(failure)),
            Outcome::Cancelled => Ok(Outcome::Cancelled),
            Outcome::Waiting(questions) => Ok(Outcome::Waiting(questions)),
            Outcome::AwaitingSignals(signals) => Ok(Outcome::AwaitingSignals(signals)),
        };
        LabRun { workflow, outcome, events, calls, mocked }
    }

    /// # Errors
    /// If it has an output that cannot be read.
    pub(super) fn checked(self) -> Result<Self, String> {
        match &self.outcome {
            Ok(_) => Ok(self),
            Err(problem) => Err(problem.clone()),
        }
    }

    #[track_caller]
    fn readable(&self) -> &Outcome<W::Output> {
        self.outcome.as_ref().unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// How it has ended, or what it waits for.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn approve(cents: u32, ctx: &Context) -> bool { ctx.ask("large", "Pay this back?").payload(cents).await }
    /// workflow! { pub refund(u32) -> bool { START => approve; } }
    ///
    /// # graphweft::block_on(async {
    /// let run = Lab::of::<refund>().run(25_000).await;
    /// let Outcome::Waiting(questions) = run.outcome() else { panic!("no answer was given") };
    /// assert_eq!(questions[0].payload, 25_000);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If it has an output that cannot be read as that of the workflow.
    #[track_caller]
    pub fn outcome(&self) -> &Outcome<W::Output> {
        self.readable()
    }

    /// Its output. An example is at [`Lab`](super::Lab).
    ///
    /// # Panics
    /// If it has none: the message has its error, or what it waits for.
    #[track_caller]
    pub fn output(&self) -> &W::Output {
        match self.readable() {
            Outcome::Completed(output) => output,
            other => panic!("`{}` has no output: {}", W::NAME, described(other)),
        }
    }

    /// The failure of a run that has failed: which node, after how many attempts, and why. An example is at
    /// [`Lab::mock_fn`](super::Lab::mock_fn).
    ///
    /// # Panics
    /// If it has not failed.
    #[track_caller]
    pub fn error(&self) -> &Failure {
        match self.readable() {
            Outcome::Failed(failure) => failure,
            other => panic!("`{}` has not failed: {}", W::NAME, described(other)),
        }
    }

    /// Its recorded events, and those of the runs that follow it.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::testing::Lab;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { pub doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let run = Lab::of::<doubled>().run(4).await;
    /// assert!(matches!(run.journal().last().unwrap().kind, EventKind::RunCompleted { .. }));
    /// # });
    /// ```
    pub fn journal(&self) -> &[Event] {
        &self.events
    }

    /// Asserts which nodes have completed, or taken the arm `err`, in this order, by their paths without the name of the workflow:
    /// `"validate"`, `"delivery/pack"` in a nested workflow, `"search[3]"` for an item. `"charge#3"` has begun three times when it
    /// completes: in a third attempt, or in a third turn of its loop. A node that has a graph inside, one whose failure ends the run, and children of nodes are not listed. There is an example at [`Lab`](super::Lab).
    ///
    /// # Panics
    /// If they are others: the message has both lists.
    #[track_caller]
    pub fn took<S: AsRef<str>>(&self, nodes: impl IntoIterator<Item = S>) {
        let expected: Vec<String> = nodes.into_iter().map(|node| node.as_ref().to_owned()).collect();
        let records: Vec<(&str, &EventKind)> =
            self.events.iter().map(|event| (event.path.as_str(), &event.kind)).collect();
        let took = took(self.workflow, &records);
        if took == expected {
            return;
        }
        let at = took.iter().zip(&expected).take_while(|(took, expected)| took == expected).count();
        let shown = |nodes: &[String]| nodes.get(at).map_or("its end".to_owned(), |node| format!("`{node}`"));
        panic!(
            "`{}` took another way\n  expected: {expected:?}\n  took:     {took:?}\n  differs:  at {at}, where {} was expected and {} \
             came\n  the run:  {}",
            self.workflow,
            shown(&expected),
            shown(&took),
            self.described()
        );
    }

    fn described(&self) -> String {
        self.outcome.as_ref().map_or_else(String::clone, described)
    }

    /// The calls of a mock.
    ///
    /// # Panics
    /// If the node is not mocked: calls of others are not counted.
    #[track_caller]
    pub fn called<N: Node>(&self) -> Calls<N> {
        let is_mocked = self.mocked.iter().any(|mocked| mocked.type_id == TypeId::of::<N>());
        assert!(is_mocked, "calls of `{0}` are not counted: mock it, by `.mock::<{0}>(..)`", name_of::<N>());
        let calls = self.calls.iter().filter(|call| call.node == TypeId::of::<N>());
        Calls { calls: calls.cloned().collect(), node: PhantomData }
    }
}

/// The calls of a mock in a run, in the order in which they began. Each attempt is one.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::{Lab, fails};
///
/// #[node(retry(max_attempts = 2))]
/// async fn charge(cents: u64) -> String { panic!("{cents} for real") }
/// workflow! { pub pay(u64) -> String { START => charge; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let calls = Lab::of::<pay>().mock::<charge>(fails(1).then(String::new())).run(4000).await.called::<charge>();
/// assert_eq!(calls.count(), 2);
/// assert_eq!(calls.inputs(), [4000, 4000]);
/// assert_eq!(calls.paths(), ["pay/charge", "pay/charge"]);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Calls<N> {
    calls: Vec<Call>,
    node: PhantomData<fn() -> N>,
}

impl<N: Node> Calls<N> {
    /// How many there were.
    pub fn count(&self) -> usize {
        self.calls.len()
    }

    /// The input of each.
    ///
    /// # Panics
    /// If one could not be recorded.
    #[track_caller]
    pub fn inputs(&self) -> Vec<N::Input> {
        let read = |call: &Call| {
            let input = call.input.as_ref().map_err(String::clone);
            input.and_then(|input| N::Input::from_record(input).map_err(|error| error.to_string()))
        };
        let inputs: Result<Vec<_>, String> = self.calls.iter().map(read).collect();
        inputs.unwrap_or_else(|error| panic!("an input of `{}` cannot be read back: {error}", name_of::<N>()))
    }

    /// The path of each.
    pub fn paths(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.path.as_str()).collect()
    }
}

/// An outcome in a few words.
pub(super) fn described<T>(outcome: &Outcome<T>) -> String {
    match outcome {
        Outcome::Completed(_) => "it has completed".to_owned(),
        Outcome::Failed(failure) => format!("it has failed: {failure}"),
        Outcome::Cancelled => "it was cancelled".to_owned(),
        Outcome::Waiting(questions) => {
            let ids: Vec<String> = questions.iter().map(|question| format!("`{}`", question.id)).collect();
            format!("it waits for an answer to {}; give it by `.answer(..)`", ids.join(", "))
        }
        Outcome::AwaitingSignals(signals) => {
            let names: Vec<String> = signals.iter().map(|signal| format!("`{}`", signal.name)).collect();
            format!("it waits for the signal {}; give it by `.signal(..)`", names.join(", "))
        }
    }
}

impl<W: Workflow> fmt::Debug for LabRun<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabRun")
            .field("workflow", &self.workflow)
            .field("outcome", &self.described())
            .finish_non_exhaustive()
    }
}

impl<N: Node> fmt::Debug for Calls<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("node", &name_of::<N>()).field("paths", &self.paths()).finish()
    }
}
