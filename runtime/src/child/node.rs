//! A child that is a node without a graph inside, and the request for any child.

use std::marker::PhantomData;
use std::sync::Arc;

use super::error::ChildError;
use super::form::{ErrorForm, FormOf, words_of_json};
use super::graph::GraphWork;
use super::kept::Kept;
use super::retries::Retries;
use super::tried::{Asked, Attempted, Begun, GivenError, Identity, Input, Moves, Start, Work, failed, fails};
use serde_json::Value as Json;

use crate::around::CallKind;
use crate::attempt::{Attempt, Beat};
use crate::compile::check_resources;
use crate::context::Context;
use crate::fault::Fault;
use crate::node::{Node, Payload, reread};
use crate::options::NodeOptions;
use crate::replacement::Replacement;
use crate::requests::Held;
use crate::state::StateKeyFact;
use crate::table::AttemptBody;
use crate::typed::{missing_resource, until_fault};
use crate::value::{MaxSize, drop_refused};

/// The request for a child.
pub(super) struct Request<'c, N: Node> {
    context: &'c Context,
    pub(super) name: String,
    pub(super) key: Option<String>,
    pub(super) options: NodeOptions,
    pub(super) retries: Retries<N::Error>,
    pub(super) identity: Identity,
    node: N,
    input: N::Input,
}

/// The text of an error. A node that is written by hand says nothing of it.
pub(super) fn words_of<N: Node>(error: &N::Error, json: &Json) -> Vec<String> {
    if N::FACTS.words.is_some() { N::FACTS.explain(error) } else { words_of_json(json) }
}

/// The result of a child.
pub(super) type Given<N, F> = Result<<N as Node>::Output, ChildError<<F as ErrorForm>::Error<<N as Node>::Error>>>;

impl<'c, N: Node> Request<'c, N> {
    pub(super) fn new(context: &'c Context, name: String, node: N, input: N::Input) -> Self {
        const {
            assert!(
                N::FACTS.pool.is_none(),
                "a node with a `pool` is not called by another node: write a workflow around it, and call that"
            );
        }
        let options = node.options();
        let (retries, identity) = (Retries::default(), Identity::default());
        Request { context, name, key: None, options, retries, identity, node, input }
    }

    pub(super) async fn run<F: FormOf<N::Error>>(self) -> Given<N, F> {
        let Request { context, name, key, options, retries, identity, node, input } = self;
        let parent = &context.0;
        let path = parent.path_of(&name, key.as_deref())?;
        parent.run.env.check_nesting(path.matches('/').count(), &path)?;
        let recorded = match recorded::<N>(&path, &input, context.0.run.env.max_value_size) {
            Ok(recorded) => Input { identity, ..recorded },
            Err(fault) => {
                drop_refused(input);
                return Err(fault.into());
            }
        };
        let asked = Asked { parent: Arc::clone(parent), path: path.clone(), input: Some(recorded), options };
        let inside = N::nested().map_or_else(Vec::new, |inside| inside().written());
        check_declared(parent, &path, N::STATE.written().copied().chain(inside))?;
        let inside = N::nested().filter(|_| Replacement::<N>::of(context).is_none());
        match inside {
            Some(inside) => {
                check_resources(&parent.run.env, inside()).map_err(|missing| without(missing.to_string()))?;
                let (held, item) = Held::ask(parent, path, None).await?;
                let form = PhantomData::<fn() -> F>;
                asked
                    .child(held, item, GraphWork { node, input: Kept::new(input), inside: inside(), retries, form })
                    .await
            }
            None => {
                let is_missing = |context: &Context| {
                    let missing = |type_id| context.0.run.env.resource(type_id).is_none();
                    node.resources().into_iter().find(|need| missing(need.type_id))
                };
                if Replacement::<N>::of(context).is_none()
                    && let Some(need) = is_missing(context)
                {
                    return Err(missing_resource(need.type_name).into());
                }
                let (held, item) = Held::ask(parent, path, None).await?;
                let form = PhantomData::<fn() -> F>;
                asked.child(held, item, NodeWork { node, input: Kept::new(input), retries, attempt: None, form }).await
            }
        }
    }
}

/// Checks that the caller declares the keys of a child: the writes of a child are those of its caller.
fn check_declared(parent: &Attempt, child: &str, mut keys: impl Iterator<Item = StateKeyFact>) -> Result<(), Fault> {
    match keys.find(|key| !parent.declares(key.name)) {
        Some(key) => {
            Err(Fault::StateNotDeclared { node: parent.path().into(), key: key.name.into(), child: Some(child.into()) })
        }
        None => Ok(()),
    }
}

fn without(message: String) -> Fault {
    Fault::Context { message }
}

fn recorded<N: Node>(path: &str, input: &N::Input, max: MaxSize) -> Result<Input, Fault> {
    let json = input
        .__to_json(max)
        .map_err(|error| Fault::Context { message: format!("the input of `{path}` cannot be recorded: {error}") })?;
    Ok(Input { json, reread: reread::<N::Input>(), parameters: N::FACTS.parameters.len(), identity: Identity::Input })
}

struct NodeWork<N: Node, F> {
    node: N,
    input: Kept<N>,
    retries: Retries<N::Error>,
    /// The last attempt that began.
    attempt: Option<Arc<Attempt>>,
    form: PhantomData<fn() -> F>,
}

impl<N: Node, F: FormOf<N::Error>> Work for NodeWork<N, F> {
    type Output = N::Output;
    type Error = N::Error;
    type Form = F;

    fn kind(&self) -> Option<CallKind> {
        Some(CallKind::Child)
    }

    fn is_last(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.is_last())
    }

    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, N::Output, GivenError<Self>> {
        let Start { parent, path, number, may_repeat, once_only, moving, work, .. } = start;
        let (state, seen) = match parent.view() {
            Ok(view) => view,
            Err(fault) => return Begun { body: fails(fault), attempt: None, moves: Moves::Always(moving) },
        };
        let attempt = Arc::new(Attempt::child(parent, path, number, once_only, state, N::STATE));
        if let Some(work) = work {
            attempt.work.get_or_init(|| work);
        }
        let beat = Beat::of(&attempt, false);
        drop(moving);
        self.attempt = Some(Arc::clone(&attempt));
        let NodeWork { node, input, retries, .. } = self;
        let (node, retries) = (&*node, *retries);
        let max = parent.run.env.max_value_size;
        let context = Context::new(&attempt);
        let body = async move {
            match input.take(may_repeat) {
                Ok(input) => attempted::<N, F>((node, retries), input, &context, seen, max).await,
                Err(fault) => Attempted::Fault(fault),
            }
        };
        Begun { body: AttemptBody::new(body), attempt: Some(attempt), moves: Moves::Attempt(beat) }
    }
}

async fn attempted<N: Node, F: FormOf<N::Error>>(
    (node, retries): (&N, Retries<N::Error>),
    input: N::Input,
    context: &Context,
    seen: usize,
    max: MaxSize,
) -> Attempted<N::Output, F::Error<N::Error>> {
    let result = match Replacement::<N>::of(context) {
        Some(replacement) => until_fault(replacement.run(input, context.clone()), context).await,
        None => until_fault(node.run(input, context), context).await,
    };
    match result {
        Ok(Ok(value)) => match context.0.has_written(N::STATE.writes, false).and_then(|()| context.0.take_writes()) {
            Ok(writes) => {
                let writes = writes.0.map(|set| set.shared).unwrap_or_default();
                Attempted::output(value, writes, Some(seen), max)
            }
            Err(fault) => Attempted::Fault(fault),
        },
        Ok(Err(error)) => {
            let retryable = retries.retryable(node, &error);
            failed::<_, _, F>(error, words_of::<N>, retryable, max)
        }
        Err(fault) => Attempted::Fault(fault),
    }
}
