//! Questions to people: `ctx.ask(..)`, and a node that does nothing else.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};

use serde::Serialize;
use serde_json::Value as Json;

use crate::attempt::{Attempt, Wait};
use crate::child::Lazy;
use crate::context::Context;
use crate::driver::{Journal, Misfit};
use crate::event::EventKind;
use crate::fault::{Fault, Never};
use crate::node::{Node, Travels};

/// A question that is asked when this is awaited, which gives the answer. It is a future, so that `join!` takes it.
#[must_use = "nothing is asked before it is awaited"]
pub struct Ask<'c, T>(Lazy<'c, Request<'c, T>, T>);

struct Request<'c, T> {
    context: &'c Context,
    name: String,
    key: Option<String>,
    prompt: String,
    payload: Result<Json, serde_json::Error>,
    gives: PhantomData<fn() -> T>,
}

impl Context {
    /// Asks a person, and waits for the answer as long as it takes: the run is then
    /// [`Waiting`](crate::Outcome::Waiting), other branches go on, and [`Engine::answer`](crate::Engine::answer) or
    /// [`Run::answer`](crate::Run::answer) brings the answer from any process. An answer that is not a `T` is refused
    /// before it is recorded.
    ///
    /// `name` tells the question from all others of this node in this turn; several at once are fine:
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
    /// In a living process the node goes on where it waits; after a restart it runs again from its top, and an answer that
    /// is on record is given back at once. In a run without an engine (`publish(text).await`) nobody can answer, and the
    /// node fails with a [`Fault::Context`]; so it does where it asks twice under one name and key.
    ///
    /// Cancel safe: a question whose future is dropped stays open until its node is done, and asking it again waits for
    /// the same answer.
    pub fn ask<T: Travels>(&self, name: impl Into<String>, prompt: impl Into<String>) -> Ask<'_, T> {
        Ask(Lazy::Described(Request {
            context: self,
            name: name.into(),
            key: None,
            prompt: prompt.into(),
            payload: Ok(Json::Null),
            gives: PhantomData,
        }))
    }
}

impl<T: Travels> Ask<'_, T> {
    /// What there is to see with the question.
    pub fn payload(self, payload: impl Serialize) -> Self {
        self.payload_as(serde_json::to_value(payload))
    }

    fn payload_as(mut self, payload: Result<Json, serde_json::Error>) -> Self {
        self.0.describe(|request| request.payload = payload);
        self
    }

    /// Tells questions of one name apart.
    pub fn key(mut self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.0.describe(|request| request.key = Some(key));
        self
    }
}

impl<'c, T: Travels> Request<'c, T> {
    async fn ask(self) -> T {
        match self.answered().await {
            Ok(answer) => answer,
            Err((context, fault)) => context.stop(fault).await,
        }
    }

    async fn answered(self) -> Result<T, (&'c Context, Fault)> {
        let Request { context, name, key, prompt, payload, .. } = self;
        let attempt = &context.0;
        let fault = |message: String| (context, Fault::Context { message });
        let path = attempt.claim(&name, key.as_deref()).map_err(|fault| (context, fault))?;
        let Some(journal) = &attempt.run.journal else {
            return Err(fault(format!(
                "`{path}` asks a question, and this run has nobody to answer it: start it with `engine.start::<..>(..)`"
            )));
        };
        let payload = payload.map_err(|error| fault(format!("the payload of `{path}` is not JSON: {error}")))?;
        let _asked = Asked { journal, path: &path };
        loop {
            let (answer, is_open) = journal.desk.ask(&path, fits::<T>);
            let was_there = journal.desk.item(&path).is_some_and(|item| item.answer.is_some());
            if !is_open && !was_there {
                let schema = T::__schema().to_value();
                journal
                    .push(path.clone(), EventKind::Asked { prompt: prompt.clone(), payload: payload.clone(), schema });
                attempt.recorded(journal).await;
            }
            journal.desk.park(&path, Wait::of(attempt));
            let Ok((answer, _woken)) = answer.await else { return std::future::pending().await };
            match T::__from_json(&answer) {
                Ok(answer) => {
                    if was_there {
                        journal.show(|| path.clone(), EventKind::StepReused);
                    }
                    return Ok(answer);
                }
                // It was recorded by a program that asked for something else.
                Err(error) => {
                    journal.desk.refuse(&path);
                    journal.push(path.clone(), EventKind::AnswerRefused { message: error.to_string() });
                    attempt.recorded(journal).await;
                }
            }
        }
    }
}

/// Nobody waits for the answer any more when this is dropped.
struct Asked<'a> {
    journal: &'a Journal,
    path: &'a str,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.journal.desk.stop_asking(self.path);
    }
}

impl Attempt {
    /// Waits until what was pushed is recorded. Where nothing can be recorded any more, for ever: the run stops.
    pub(crate) async fn recorded(&self, journal: &Arc<Journal>) {
        if journal.flush().await.is_err() {
            self.run.pulse.say();
            std::future::pending::<()>().await;
        }
    }
}

fn fits<T: Travels>(answer: &Json) -> Result<(), Misfit> {
    match T::__from_json(answer) {
        Ok(_) => Ok(()),
        Err(error) => Err((error.path().to_string(), error.inner().to_string())),
    }
}

impl<T: Travels> Future for Ask<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<T> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.ask()))
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

/// A node that asks a person, shows what it is given with the question, and gives the answer.
///
/// ```
/// use graphweft::Human;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn draft(topic: String) -> String {
///     format!("all about {topic}")
/// }
///
/// workflow! {
///     pub name_it(String) -> String {
///         let title: Human<String, String> = Human::new("title", "What is it to be called?");
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
pub struct Human<In, Out> {
    name: String,
    prompt: String,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> Human<In, Out> {
    /// A question by its name and its text.
    pub fn new(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        Human { name: name.into(), prompt: prompt.into(), types: PhantomData }
    }
}

impl<In: Travels, Out: Travels> Node for Human<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = Never;

    async fn run(&self, input: In, context: &Context) -> Result<Out, Never> {
        let ask = context.ask::<Out>(&*self.name, &*self.prompt).payload_as(input.__to_json());
        drop(input);
        Ok(ask.await)
    }
}

impl<In, Out> std::fmt::Debug for Human<In, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Human").field("name", &self.name).field("prompt", &self.prompt).finish()
    }
}
