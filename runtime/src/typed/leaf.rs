//! A node's body behind [`AnyNode`].

use std::any::TypeId;
use std::cell::Cell;
use std::future::{Future, poll_fn, ready};
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use super::arrival::{JoinTable, take, take_one};
use super::edge::Edge;
use super::exit::{Exit, Unrouted, exit_one};
use super::mention::{Target, show};
use super::scope::NestedScope;
use crate::box_value::BoxValue;
use crate::context::Context;
use crate::draft::Part;
use crate::error_text::is_too_deep;
use crate::executor::{NodeOutcome, NodeResult};
use crate::fault::{Cause, Fault};
use crate::field::{Unreadable, at_field};
use crate::node::{Collector, Node, Payload, read_whole, reread};
use crate::node_facts::WriteError;
use crate::node_info::NodeInfo;
use crate::options::{NodeOptions, Retryable};
use crate::pool::{executor_of, send_away, take_result};
use crate::replacement::Replacement;
use crate::table::{
    AnyNode, AnyScope, Arrived, AttemptBody, Emitted, Entry, Error, Finished, Hand, Moment, Routed, Token, Tokens,
    no_body,
};
use crate::value::{MaxSize, drop_refused};

/// Converts a node's output to the value for its edges: the output itself, or the collected value of a collecting node.
pub trait Yields<N: Node>: Send + Sync + 'static {
    /// The value for its edges, which is recorded.
    type Given: Payload;
    /// Whether it runs for each arrival.
    const COLLECTS: bool;
    /// The value; `None` if there is none yet.
    fn give(output: N::Output) -> Option<Self::Given>;
}

/// An ordinary node.
pub struct Once;

/// A collecting node.
pub struct OnceEnough;

impl<N: Node> Yields<N> for Once {
    type Given = N::Output;
    const COLLECTS: bool = false;

    fn give(output: N::Output) -> Option<N::Output> {
        Some(output)
    }
}

impl<N: Collector> Yields<N> for OnceEnough {
    type Given = N::Collected;
    const COLLECTS: bool = true;

    fn give(output: N::Output) -> Option<N::Collected> {
        output
    }
}

/// A node with its ways in and out.
pub struct Leaf<N: Node, Y: Yields<N>> {
    node: N,
    joins: JoinTable,
    exit: Exit<Y::Given, N::Error>,
    explain: Explain<N::Error>,
    yields: PhantomData<Y>,
}

/// Functions that a workflow may set in place of the node's own methods.
pub struct Explain<E> {
    /// `let a = a(retry(when = ..))`
    pub when: Option<fn(&E) -> bool>,
    /// `let a = a(retry(after = ..))`
    pub after: Option<fn(&E) -> Option<Duration>>,
    /// An error as text, if the node's own method knows only its type.
    pub words: Option<fn(&E) -> Vec<String>>,
    /// How an error is recorded, if the node's own method does not know.
    pub write: Option<WriteError<E>>,
}

impl<E> Default for Explain<E> {
    fn default() -> Self {
        Explain { when: None, after: None, words: None, write: None }
    }
}

impl<N: Node, Y: Yields<N>> Leaf<N, Y> {
    /// One future and not several nested ones, each of which would move its input and its output. It gets its node from
    /// its context, so that no reference is counted.
    #[allow(clippy::manual_async_fn, reason = "an `async fn` has room for its arguments twice")]
    fn attempt(
        input: impl FnOnce(&Self) -> Result<N::Input, Fault> + Send + 'static,
        context: Context,
    ) -> impl Future<Output = Finished> + Send + 'static {
        async move {
            let Some(leaf) = context.0.body::<Self>() else { return Finished::from(no_body(context.path())) };
            let input = match input(leaf) {
                Ok(input) => input,
                Err(fault) => return Finished::from(fault),
            };
            let result = match Replacement::<N>::of(&context) {
                Some(replacement) => {
                    let mut body = replacement.run(input, context.clone());
                    poll_fn(|waker| or_fault(body.as_mut().poll(waker), &context)).await
                }
                None => {
                    let mut body = pin!(leaf.node.run(input, &context));
                    poll_fn(|waker| match or_fault(body.as_mut().poll(waker), &context) {
                        // As in `run_at_once`, so that it is seen wherever the node is in the graph.
                        Poll::Pending if N::FACTS.says_never_waits::<N>() => Poll::Ready(Err(waits::<N>(&context))),
                        polled => polled,
                    })
                    .await
                }
            };
            match result {
                Ok(result) => match leaf.given(result, &context) {
                    Ok((given, output)) => {
                        let emitted = leaf.exit.value(given, Moment::of(&context));
                        Finished::Emitted { emitted, output, holder: Some(context.into_holder()) }
                    }
                    Err(finished) => finished,
                },
                Err(fault) => Finished::from(fault),
            }
        }
    }

    /// What an attempt that returns this gives, and what is recorded of that; or how else it has ended.
    #[inline]
    fn given(
        &self,
        result: Result<N::Output, N::Error>,
        context: &Context,
    ) -> Result<(Y::Given, Option<Box<serde_json::Value>>), Finished> {
        let output = result.map_err(|error| self.fail(error, context.__records(), Moment::of(context)))?;
        let given = Y::give(output).ok_or(Finished::Waiting)?;
        if !N::STATE.writes.is_empty() {
            context.0.has_written(N::STATE.writes, Y::COLLECTS)?;
        }
        let Some(max) = context.__records() else { return Ok((given, None)) };
        match given.__to_json(max) {
            Ok(output) => Ok((given, Some(Box::new(output)))),
            Err(error) => {
                drop_refused(given);
                Err(Finished::from(Fault::unrecordable("output", error)))
            }
        }
    }

    fn attempt_body(
        input: impl FnOnce(&Self) -> Result<N::Input, Fault> + Send + 'static,
        context: Context,
    ) -> AttemptBody<'static> {
        // Known before code is made: no node has the code for both.
        if const { N::FACTS.pool.is_some() } {
            AttemptBody::new(Self::attempt_of_pool(input, context))
        } else {
            AttemptBody::new(Self::attempt(input, context))
        }
    }

    /// In the pool, unless this process executes what it would do.
    async fn attempt_of_pool(
        input: impl FnOnce(&Self) -> Result<N::Input, Fault> + Send + 'static,
        context: Context,
    ) -> Finished {
        let pool = N::FACTS.pool.filter(|_| Replacement::<N>::of(&context).is_none());
        let executor = pool.and_then(|pool| Some((pool, executor_of(&context, pool)?)));
        let Some((pool, executor)) = executor else { return Self::attempt(input, context).await };
        let Some(leaf) = context.0.body::<Self>() else { return Finished::from(no_body(context.path())) };
        let input = match input(leaf) {
            Ok(input) => input,
            Err(fault) => return Finished::from(fault),
        };
        let sent = match input.__to_json(context.0.run.env.max_value_size) {
            Ok(input) => send_away(executor, pool, input, &context),
            Err(error) => {
                drop_refused(input);
                return Finished::from(Fault::unrecordable("input", error));
            }
        };
        drop(input);
        match sent.await {
            Ok(result) => leaf.returned(result, &context),
            Err(fault) => Finished::from(fault),
        }
    }

    /// The end of an attempt that was executed elsewhere.
    fn returned(&self, mut result: NodeResult, context: &Context) -> Finished {
        take_result(&mut result, context);
        let unreadable = |what: &str, Unreadable { field, message }: Unreadable| {
            let path = context.path();
            let message = format!(
                "the {what} that `{path}` has returned from its pool cannot be read: {}{message}",
                at_field(&field)
            );
            Finished::from(Fault::Context { message })
        };
        match result.outcome {
            NodeOutcome::Completed { output, state } => match read_whole::<Y::Given>(&output) {
                Ok(given) => {
                    for write in state {
                        context.0.draft().write(Part::Shared, write);
                    }
                    let emitted = self.exit.value(given, Moment::of(context));
                    let output = context.__records().map(|_| Box::new(output));
                    Finished::Emitted { emitted, output, holder: None }
                }
                Err(problem) => unreadable("output", problem),
            },
            NodeOutcome::Failed { cause, retry, error } => {
                let retryable = Retryable::from(retry);
                let (routed, json) = match error {
                    Some(error) if self.exit.takes_errors() => {
                        match self.exit.returned_error(&error, Moment::of(context)) {
                            Ok(emitted) => (Some(Routed { emitted, error: context.__records().map(|_| error) }), None),
                            Err(problem) => return unreadable("error", problem),
                        }
                    }
                    error => (None, error.map(Box::new)),
                };
                Finished::Failed(Box::new(Error { cause, retryable, routed, json }))
            }
            NodeOutcome::Faulted { fault } => Finished::from(fault),
        }
    }

    /// An error that is routed and cannot be recorded is retried like any other. It takes no arm, since a resumed run
    /// would not know the value on it.
    fn fail(&self, error: N::Error, records: Option<MaxSize>, moment: Moment<'_>) -> Finished {
        // What a node that is written by hand says comes before what its type can say by itself.
        let own = N::FACTS.words.filter(|_| N::FACTS.is_by_hand);
        let chain = match own.or(self.explain.words) {
            Some(words) => words(&error),
            None => N::FACTS.explain(&error),
        };
        let when = self.explain.when.map_or_else(|| self.node.retry_when(&error), |when| when(&error));
        let after = || self.explain.after.map_or_else(|| self.node.retry_after(&error), |after| after(&error));
        let retryable = Retryable::of(when, after);
        let mut cause = Cause { chain, fault: None };
        let mut json = None;
        let routed = match self.exit.error(error, records, moment) {
            Ok(routed) => Some(routed),
            Err(Unrouted::NoArm(error)) => {
                json = self.failure_json(&error, records);
                if is_too_deep(&cause.chain) {
                    drop_refused(error);
                }
                None
            }
            Err(Unrouted::NotWritten(error, problem)) => {
                drop_refused(error);
                let message = format!("the error cannot be recorded, so it is not routed ({problem})");
                cause.chain.insert(0, message.clone());
                cause.fault = Some(Fault::Context { message });
                None
            }
        };
        Finished::Failed(Box::new(Error { cause, retryable, routed, json }))
    }

    /// The recorded form of an error with which the run may fail; `None` if it has none, or one that is too large.
    fn failure_json(&self, error: &N::Error, records: Option<MaxSize>) -> Option<Box<serde_json::Value>> {
        let write = self.explain.write.or(N::FACTS.write_error)?;
        write(error, records.unwrap_or(MaxSize::DEFAULT)).ok().map(Box::new)
    }
}

impl<N: Node, Y: Yields<N>> AnyNode for Leaf<N, Y> {
    fn type_name(&self) -> &'static str {
        std::any::type_name::<N>()
    }

    fn uses(&self) -> Vec<NodeInfo> {
        self.node.uses()
    }

    fn prepare(&self, arrived: Arrived) -> Result<BoxValue, Fault> {
        Ok(BoxValue::new(take::<N::Input>(arrived, &self.joins)?))
    }

    fn copy(&self, input: &BoxValue) -> Result<BoxValue, Fault> {
        copy_input::<N>(input)
    }

    fn show(&self, input: &BoxValue, max: MaxSize) -> Result<serde_json::Value, Fault> {
        show::<N>(input, max)
    }

    fn read_input(&self, input: &serde_json::Value) -> Result<BoxValue, Unreadable> {
        Ok(BoxValue::new(read_whole::<N::Input>(input)?))
    }

    fn run(&self, mut input: BoxValue, context: Context) -> AttemptBody<'static> {
        match input.take::<N::Input>() {
            Some(input) => Self::attempt_body(taken(input), context),
            None => AttemptBody::new(ready(Finished::from(wrong_input::<N>()))),
        }
    }

    fn run_once(&self, arrived: Arrived, context: Context) -> AttemptBody<'static> {
        Self::attempt_body(|leaf| take(arrived, &leaf.joins), context)
    }

    fn go_on(
        &self,
        mut value: BoxValue,
        hand: Hand,
        context: Context,
        spare: Option<AttemptBody<'static>>,
    ) -> AttemptBody<'static> {
        let input = match take_one(&mut value, hand) {
            Ok(input) => taken(input),
            Err(fault) => return AttemptBody::new(ready(Finished::from(fault))),
        };
        match spare {
            Some(mut body) if const { N::FACTS.pool.is_none() } => {
                body.set(Self::attempt(input, context));
                body
            }
            _ => Self::attempt_body(input, context),
        }
    }

    fn run_at_once(
        &self,
        token: &mut Token,
        output: &mut Option<Box<serde_json::Value>>,
        context: &Context,
    ) -> Result<usize, Finished> {
        // Known before code is made: only nodes that never wait have the code for it.
        if const { N::FACTS.never_waits.is_none() } {
            return Err(Finished::from(no_body(context.path())));
        }
        let input = take_one(&mut token.value, token.hand)?;
        let polled = {
            let body = pin!(self.node.run(input, context));
            body.poll(&mut Waker::from_waker(std::task::Waker::noop()))
        };
        let Poll::Ready(result) = or_fault(polled, context) else { return Err(Finished::from(waits::<N>(context))) };
        let (given, recorded) = self.given(result?, context)?;
        *output = recorded;
        if let Exit::One(hand) = &self.exit {
            token.value.put(given);
            token.hand = *hand;
            return Ok(0);
        }
        let spare = Cell::new(Some(std::mem::replace(&mut token.value, BoxValue::empty())));
        match self.exit.value(given, Moment::of(context).with_box(&spare)) {
            Emitted { choice, tokens: Tokens::One(emitted) } => {
                *token = emitted;
                Ok(choice)
            }
            emitted => Err(Finished::Emitted { emitted, output: output.take(), holder: None }),
        }
    }

    fn route_fault(
        &self,
        fault: &Fault,
        input: Option<BoxValue>,
        records: Option<MaxSize>,
        moment: Moment<'_>,
    ) -> Option<Routed> {
        self.exit.fault(fault, input, records, moment)
    }

    fn keeps_input(&self) -> bool {
        self.exit.wants_input()
    }

    fn restore(&self, output: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        Ok(self.exit.value(Y::Given::__from_json(output)?, Moment::recorded(choice)))
    }

    fn restore_error(&self, error: &serde_json::Value, choice: usize) -> Result<Emitted, Unreadable> {
        self.exit.recorded_error(error, choice)
    }
}

/// Runs a node until it ends, or until one of its requests fails it.
pub(crate) async fn until_fault<T>(node: impl Future<Output = T>, context: &Context) -> Result<T, Fault> {
    let mut node = pin!(node);
    poll_fn(|waker| or_fault(node.as_mut().poll(waker), context)).await
}

fn or_fault<T>(polled: Poll<T>, context: &Context) -> Poll<Result<T, Fault>> {
    match polled {
        Poll::Ready(result) => Poll::Ready(Ok(result)),
        Poll::Pending => context.__take_fault().map_or(Poll::Pending, |fault| Poll::Ready(Err(fault))),
    }
}

/// The conversion of an input that exists already.
fn taken<N, I>(input: I) -> impl FnOnce(&N) -> Result<I, Fault> {
    |_| Ok(input)
}

fn waits<N: Node>(context: &Context) -> Fault {
    let message = format!(
        "`{}` waits, and its function, `{}`, shows no `.await`: a macro in it has one, under the name of a macro of the \
         standard library, or of `json!`. Give that macro another name",
        context.path(),
        std::any::type_name::<N>()
    );
    Fault::Context { message }
}

fn wrong_input<N: Node>() -> Fault {
    Fault::Context { message: format!("a kept input does not have the type `{}`", std::any::type_name::<N::Input>()) }
}

fn copy_input<N: Node>(input: &BoxValue) -> Result<BoxValue, Fault> {
    let input = input.get::<N::Input>().ok_or_else(wrong_input::<N>)?;
    Ok(BoxValue::new(N::copy(input)?))
}

/// The name of an entry.
#[derive(Clone, Copy)]
pub enum Name {
    /// The node's own name (`#[node(name = ..)]`), or else the written one.
    Own(&'static str),
    /// The name of a `let`.
    Given(&'static str),
    /// The name in a `let` that sets options and keeps the name.
    Kept(&'static str),
    /// The name of a `let`, with its former names.
    Renamed(&'static str, &'static [&'static str]),
}

impl Name {
    fn of<N: Node>(self) -> String {
        match self {
            Name::Own(written) => N::OWN_NAME.unwrap_or(written).to_owned(),
            Name::Given(name) | Name::Kept(name) | Name::Renamed(name, _) => name.to_owned(),
        }
    }

    /// Its former names. A node under a second name never had those of the first.
    fn renamed_from<N: Node>(self) -> &'static [&'static str] {
        match self {
            Name::Own(_) | Name::Kept(_) => N::RENAMED_FROM,
            Name::Given(_) => &[],
            Name::Renamed(_, former) => former,
        }
    }
}

/// "A workflow can make this node, of which it names the type alone." `#[node]` and `workflow!` write the `Default` that this takes,
/// as `ctx.call` does.
#[diagnostic::on_unimplemented(
    message = "node `{Self}` is named by its type, and there is no `Default` by which to make it",
    label = "derive `Default` for `{Self}`, or make the node in a `let`: `let name: {Self} = ..;`"
)]
pub trait MadeByType: Default {}

#[diagnostic::do_not_recommend]
impl<N: Default> MadeByType for N {}

/// An entry for a node that the workflow names as it is: by its type alone, since rustc takes longer for a value.
pub fn node<N: Node + MadeByType>(name: &'static str, joins: JoinTable, exit: Exit<N::Output, N::Error>) -> Entry {
    entry(Name::Own(name), N::default(), joins, exit, None, Explain::default())
}

/// The entries of a table, each made by a function of its own.
pub fn made_by(functions: &[fn() -> Entry]) -> Vec<Entry> {
    functions.iter().map(|make| make()).collect()
}

/// The same for a node that is no join, and leads to one other.
pub fn step<N: Node + MadeByType>(name: &'static str, edge: Edge<N::Output>) -> Entry {
    node::<N>(name, JoinTable::new(), exit_one(edge))
}

/// The same for the target of `a | b => node`.
pub fn collector<N: Collector + MadeByType>(
    name: &'static str,
    joins: JoinTable,
    exit: Exit<N::Collected, N::Error>,
) -> Entry {
    collecting_entry(Name::Own(name), N::default(), joins, exit, None, Explain::default())
}

/// An entry for a node; for a nested workflow, with the graph inside.
pub fn entry<N: Node>(
    name: Name,
    node: N,
    joins: JoinTable,
    exit: Exit<N::Output, N::Error>,
    options: Option<NodeOptions>,
    explain: Explain<N::Error>,
) -> Entry {
    let options = options.unwrap_or_else(|| node.options());
    let nested = |inside| Arc::new(NestedScope::<N>::new(inside, joins.clone(), exit.clone())) as Arc<dyn AnyScope>;
    let scope = N::nested().map(nested);
    let leaf = Leaf::<N, Once> { node, joins, exit, explain, yields: PhantomData };
    Entry { scope, ..describe(name, options, leaf) }
}

/// The same for the target of `a | b => node`.
pub fn collecting_entry<N: Collector>(
    name: Name,
    node: N,
    joins: JoinTable,
    exit: Exit<N::Collected, N::Error>,
    options: Option<NodeOptions>,
    explain: Explain<N::Error>,
) -> Entry {
    let options = options.unwrap_or_else(|| node.options());
    let leaf = Leaf::<N, OnceEnough> { node, joins, exit, explain, yields: PhantomData };
    Entry {
        collects: true,
        output_schema: N::Collected::__schema,
        output: reread::<N::Collected>(),
        ..describe(name, options, leaf)
    }
}

fn describe<N: Node, Y: Yields<N>>(name: Name, options: NodeOptions, leaf: Leaf<N, Y>) -> Entry {
    Entry {
        name: name.of::<N>(),
        renamed_from: name.renamed_from::<N>(),
        doc: N::FACTS.doc,
        parameters: N::FACTS.parameters,
        type_id: TypeId::of::<N>(),
        options,
        collects: false,
        pool: N::FACTS.pool,
        never_waits: N::FACTS.says_never_waits::<N>(),
        resources: leaf.node.resources(),
        node: Some(Arc::new(leaf)),
        scope: None,
        state: N::STATE,
        input_schema: N::Input::__schema,
        output_schema: N::Output::__schema,
        output: reread::<N::Output>(),
    }
}
