//! What nodes wait for from outside: `ctx.ask(..)`, the node `AskHuman`, and `ctx.wait(..)`.

mod wait;
mod within;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value as Json;
pub use wait::Wait;
pub use within::{Elapsed, Within};

use crate::catch::caught;
use crate::context::Context;
use crate::core::after;
use crate::event::{EventKind, whole};
use crate::fault::{Fault, Never};
use crate::field::Unreadable;
use crate::lazy::Lazy;
use crate::node::{Node, Payload};
use crate::requests::Held;
use crate::shared::{Fits, Misfit, QuestionHash};
use crate::value::{self, MaxSize, Unrecordable, drop_here, drop_refused};

/// A question. Awaiting it asks and returns the answer. It is a future, so it works with `join!`.
#[must_use = "nothing is asked before it is awaited"]
pub struct Ask<'c, T>(Lazy<'c, Request<'c, T>, T>);

struct Request<'c, T> {
    context: &'c Context,
    name: String,
    key: Option<String>,
    prompt: String,
    payload: Result<Json, Unrecordable>,
    /// How long it waits for an answer.
    within: Option<Duration>,
    /// Asks it. `ask` knows that the answer is a payload; a bound of the future would be a second error for a wrong
    /// type.
    start: fn(Self) -> BoxFuture<'c, T>,
}

impl Context {
    /// Asks a person and waits for the answer, however long that takes. Other branches continue; once none can make
    /// progress, the run is [`Waiting`](crate::Outcome::Waiting). [`Engine::answer`](crate::Engine::answer) or
    /// [`Run::answer`](crate::Run::answer) answers from any process. An answer that is not a `T` is refused.
    ///
    /// A field of the answer that `T` does not read is left out, as with all JSON from outside; with
    /// `#[serde(deny_unknown_fields)]` on `T` such an answer is refused. The answer is recorded as it was given, and
    /// read again after a restart: if `T` has changed since, a field with a default or an `Option` may have been added,
    /// and a field that `T` does not read any more is left out. An answer that cannot be read as a `T` any more is
    /// rejected ([`EventKind::AnswerRejected`] names the field), and the question is open again. A node that asks an
    /// open question with another `T`, text or payload than before, such as under a later version of the program, asks
    /// it again ([`EventKind::QuestionAsked`] with `again`): from then on that is the question.
    ///
    /// `name` identifies the question among those of this node in this turn. Several may be open at once.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn review(text: String, ctx: &Context) -> String {
    ///     let approved = ctx.ask::<bool>("approve", "Ship it?").payload(&text).await;
    ///     if approved { text } else { "nothing".to_owned() }
    /// }
    ///
    /// workflow! {
    ///     pub publish(String) -> String { START => review; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<publish>("a poem".into()).await?;
    /// let Outcome::Waiting(questions) = run.outcome().await? else { panic!("there is a question") };
    /// assert_eq!(questions[0].id, "publish/review/approve");
    /// assert!(run.answer("approve", "perhaps").await.is_err());
    /// run.answer("approve", true).await?;
    /// assert_eq!(run.result().await?, "a poem");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// In a live process the node continues where it waits. After a restart it starts again from the top, and recorded
    /// answers are returned to it immediately. In a run without an engine (`publish(text).await`) no answer can arrive,
    /// so the node fails with a [`Fault::Context`]; so does a node that asks twice under one name and key, and one that
    /// asks under an empty name.
    ///
    /// Cancel safe: if the future is dropped, the question is withdrawn: answering it is an error. Asking again opens
    /// it again.
    pub fn ask<T: Payload>(&self, name: impl Into<String>, prompt: impl Into<String>) -> Ask<'_, T> {
        Ask(Lazy::Described(Request {
            context: self,
            name: name.into(),
            key: None,
            prompt: prompt.into(),
            payload: Ok(Json::Null),
            within: None,
            start: |request| Box::pin(request.ask()),
        }))
    }
}

impl<T> Ask<'_, T> {
    /// Data to show with the question.
    pub fn payload(self, payload: impl Serialize) -> Self {
        self.payload_by(|max| value::to_plain(&payload, max).inspect_err(|why| drop_here(payload, why)))
    }

    fn payload_by(mut self, payload: impl FnOnce(MaxSize) -> Result<Json, Unrecordable>) -> Self {
        self.0.describe(|request| request.payload = payload(request.context.0.run.env.max_value_size));
        self
    }

    /// Distinguishes questions with the same name.
    pub fn key(mut self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.0.describe(|request| request.key = Some(key));
        self
    }
}

impl<'c, T: Payload> Request<'c, T> {
    async fn ask(self) -> T {
        match self.answered().await {
            Ok(answer) => answer,
            Err((context, fault)) => context.stop(fault).await,
        }
    }

    async fn answered(self) -> Result<T, (&'c Context, Fault)> {
        let Request { context, name, key, prompt, payload, within, .. } = self;
        let attempt = &context.0;
        let fault = |message: String| (context, Fault::Context { message });
        let path = attempt.path_of(&name, key.as_deref()).map_err(|fault| (context, fault))?;
        let Some(journal) = &attempt.run.journal else {
            return Err(fault(format!(
                "`{path}` asks a question, which needs an engine to answer it: start the run with `engine.start::<..>(..)`"
            )));
        };
        let payload = payload.map_err(|error| fault(format!("the payload of `{path}` cannot be shown: {error}")))?;
        let (length, max) = (prompt.len(), attempt.run.env.max_value_size.0);
        if length > max {
            return Err(fault(format!("the text of `{path}` has {length} bytes, and `max_value_size` allows {max}")));
        }
        #[cfg(feature = "test-util")]
        attempt
            .check_answer(&path, &name, key.as_deref(), within, |answer| {
                T::__from_plain(answer).map(drop).map_err(|error| error.to_string())
            })
            .map_err(|fault| (context, fault))?;
        let (mut held, item) = Held::ask(attempt, path, Some(fits::<T>())).await.map_err(|fault| (context, fault))?;
        let (path, item) = (held.path().to_owned(), item.unwrap_or_default());
        if item.attempts.number() > 0 {
            held.take();
            return Err(fault(format!(
                "`{path}` is recorded as a child or a step, and is a question now: give the question another name"
            )));
        }
        let was_answered = item.answer.is_some();
        // The record to make next, unless the recorded question is the same as now.
        let asks = |asked: Option<QuestionHash>| {
            let schema = T::__schema().to_value();
            if asked == Some(QuestionHash::of(&prompt, &payload, &schema)) {
                return None;
            }
            let (prompt, payload, again) = (prompt.clone(), payload.clone(), asked.is_some());
            // The time counts from when it was asked first.
            let since_then = asked.and_then(|_| journal.desk.question(&path)?.until);
            let until = within.map(|within| since_then.unwrap_or_else(|| after(journal.clock.now(), within)));
            Some(EventKind::QuestionAsked { prompt, payload, until, schema, again })
        };
        // An answered question is only asked again if the answer is rejected.
        if !was_answered && let Some(question) = asks(item.asked) {
            match item.asked {
                Some(_) => held.asks_again(question),
                None => attempt.requests().push(&path, question),
            }
        }
        loop {
            held.result().await;
            let Some((answer, item)) = held.item().and_then(|mut item| Some((item.answer.take()?, item))) else {
                return Err(fault(format!("`{path}` was answered, and has no answer; this is a mistake in graphweft")));
            };
            match T::__from_plain(&answer) {
                Ok(answer) => {
                    if item.unchecked {
                        journal.accept(&path);
                    }
                    if was_answered {
                        journal.show(|| path.clone(), EventKind::ResultReused);
                    }
                    held.take();
                    return Ok(answer);
                }
                // The answer was recorded unchecked, or by a program that asked for another type.
                Err(error) => {
                    held.again(Some(fits::<T>()));
                    let (field, message) = misfit(&error);
                    attempt.requests().push(&path, EventKind::AnswerRejected { field, message });
                    if let Some(question) = asks(item.asked) {
                        attempt.requests().push(&path, question);
                    }
                }
            }
        }
    }
}

fn misfit(error: &Unreadable) -> Misfit {
    (error.field.clone(), error.message.clone())
}

fn fits<T: Payload>() -> Fits {
    Fits {
        read: |answer| is_read(|| T::__from_plain(answer).map(drop)),
        read_recorded: |payload| is_read(|| T::__from_json(payload).map(drop)),
        schema: || T::__schema().to_value(),
    }
}

/// This runs in the task that answers or sends: a panic of the type must not end that.
fn is_read(read: impl FnOnce() -> Result<(), Unreadable>) -> Result<(), Misfit> {
    match caught(read) {
        Ok(read) => read.map_err(|error| misfit(&error)),
        Err(panic) => Err((whole(), panic.to_string())),
    }
}

impl<T> Future for Ask<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<T> {
        self.get_mut().0.poll(waker, |request| (request.start)(request))
    }
}

impl<T> std::fmt::Debug for Ask<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Ask");
        if let Some(request) = self.0.description() {
            shown.field("name", &request.name).field("prompt", &request.prompt);
        }
        shown.finish_non_exhaustive()
    }
}

/// A node that asks a person. Its input is shown with the question; its output is the answer.
///
/// ```
/// use graphweft::AskHuman;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn draft(topic: String) -> String {
///     format!("all about {topic}")
/// }
///
/// workflow! {
///     pub name_it(String) -> String {
///         let title: AskHuman<String, String> = AskHuman::new("title", "What is it to be called?");
///         START => draft => title;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<name_it>("ants".into()).await?;
/// let Outcome::Waiting(questions) = run.outcome().await? else { panic!("there is a question") };
/// assert_eq!(questions[0].payload, "all about ants");
/// run.answer("title", "Ants").await?;
/// assert_eq!(run.result().await?, "Ants");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct AskHuman<In, Out> {
    name: String,
    prompt: String,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> AskHuman<In, Out> {
    /// A question by its name and its text.
    pub fn new(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        AskHuman { name: name.into(), prompt: prompt.into(), types: PhantomData }
    }
}

impl<In: Payload, Out: Payload> Node for AskHuman<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = Never;

    async fn run(&self, input: In, context: &Context) -> Result<Out, Never> {
        let payload = input.__to_plain(context.0.run.env.max_value_size);
        if payload.is_err() {
            drop_refused(input);
        } else {
            drop(input);
        }
        Ok(context.ask::<Out>(&*self.name, &*self.prompt).payload_by(|_| payload).await)
    }
}

impl<In, Out> std::fmt::Debug for AskHuman<In, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskHuman").field("name", &self.name).field("prompt", &self.prompt).finish()
    }
}
