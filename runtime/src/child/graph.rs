//! A child that is a workflow.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Map;

use super::form::FormOf;
use super::kept::Kept;
use super::retries::Retries;
use super::tried::{self, Attempted, Begun, GivenError, Moves, Start, Work, fails};
use crate::around::CallKind;
use crate::attempt::Attempt;
use crate::box_value::BoxValue;
use crate::compile;
use crate::driver::{Ending, Job, Part};
use crate::fault::{Failure, Fault};
use crate::halt::Halt;
use crate::node::Node;
use crate::run_error::RunError;
use crate::shared::Within;
use crate::table::{AttemptBody, Definition};
use crate::typed::cast;
use crate::value::MaxSize;

pub(super) struct GraphWork<N: Node, F> {
    pub(super) node: N,
    pub(super) input: Kept<N>,
    pub(super) inside: &'static Arc<Definition>,
    pub(super) retries: Retries<N::Error>,
    pub(super) form: PhantomData<fn() -> F>,
}

impl<N: Node, F: FormOf<N::Error>> Work for GraphWork<N, F> {
    type Output = N::Output;
    type Error = N::Error;
    type Form = F;

    fn kind(&self) -> Option<CallKind> {
        None
    }

    fn graph(&self) -> Option<&'static Arc<Definition>> {
        Some(self.inside)
    }

    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, N::Output, GivenError<Self>> {
        let Start { parent, path, may_repeat, history, moving, work, .. } = start;
        if parent.run.records() {
            parent.run.env.has_called(compile::fingerprint(self.inside).hash, || Arc::<Definition>::clone(self.inside));
        }
        let (state, seen) = match parent.view() {
            Ok(view) => view,
            Err(fault) => return Begun { body: fails(fault), attempt: None, moves: Moves::Always(moving) },
        };
        let within = Arc::new(Within::new(moving, parent.items_around(), work));
        let job = Job {
            definition: Arc::clone(self.inside),
            shared: Arc::clone(&parent.run),
            cancel: Some(parent.token().child_token()),
            state: Map::clone(&state),
            part: Part::Child(path.to_owned(), Arc::clone(&within)),
            // The time limit is that of the attempt at the child.
            limit: None,
            history,
            snapshot: None,
        };
        let moves = Moves::Graph(Arc::clone(&within));
        let GraphWork { node, input, retries, .. } = self;
        let retries = *retries;
        let max = parent.run.env.max_value_size;
        let body = async move {
            let input = match input.take(may_repeat) {
                Ok(input) => input,
                Err(fault) => return Attempted::Fault(fault),
            };
            match job.run(BoxValue::new(input)).await {
                Ending::Completed(mut output) => match output.take::<N::Output>() {
                    Some(output) => Attempted::output(output, within.take_writes(), Some(seen), max),
                    None => fault("the workflow gave an output of another type"),
                },
                Ending::Failed(failure) => failed::<N, F>(node, retries, failure, within.is_cut(), max),
                Ending::Cancelled | Ending::StartsOver(_) | Ending::StartedOver(_) => fault("cancelled"),
                Ending::Halted(halt) => halted(halt, parent).await,
            }
        };
        Begun { body: AttemptBody::new(body), attempt: None, moves }
    }
}

fn fault<T, E>(message: impl Into<String>) -> Attempted<T, E> {
    Attempted::Fault(Fault::Context { message: message.into() })
}

fn failed<N: Node, F: FormOf<N::Error>>(
    node: &N,
    retries: Retries<N::Error>,
    failure: Failure,
    is_cut: bool,
    max: MaxSize,
) -> Attempted<N::Output, F::Error<N::Error>> {
    let own = failure.cause.fault.clone().filter(Fault::is_cut_short);
    let cut_short = own.or_else(|| is_cut.then_some(Fault::Dropped));
    match cast::<Failure, N::Error>(failure) {
        Some(error) => {
            let retryable = retries.retryable(node, &error).unless(cut_short.is_some());
            let mut failed = tried::failed::<_, _, F>(error, |error, _| N::FACTS.explain(error), retryable, max);
            // No other attempt may follow, by whatever retry.
            match &mut failed {
                Attempted::Error { fault, .. } => *fault = cut_short,
                Attempted::Unrecordable { fault, .. } if cut_short.is_some() => *fault = fault.clone().at_most_once(),
                _ => {}
            }
            failed
        }
        None => fault("the workflow failed with an error of another type"),
    }
}

/// Halts the whole run in this process.
async fn halted<T, E>(halt: Halt, parent: &Attempt) -> Attempted<T, E> {
    let Some(journal) = &parent.run.journal else { return fault(RunError::from(halt).to_string()) };
    journal.halt(halt);
    parent.run.pulse.say();
    std::future::pending().await
}
