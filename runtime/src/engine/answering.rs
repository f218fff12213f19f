//! An answer, as a program gives it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};

use futures_util::FutureExt;
use serde_json::Value as Json;

use super::inner::Engine;
use crate::lazy::Lazy;
use crate::question::{AnswerError, Given};

/// An answer to a question of a run. Awaiting it gives the answer; see [`Engine::answer`]. It is a future, so it works
/// with `join!`.
///
/// Who has answered, and why, is in the history of the run:
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().build()?;
/// # let run = engine.start::<publish>(()).id("poem").await?;
/// # run.outcome().await?;
/// engine.answer("poem", "approve", true).by("ada").comment("it rhymes").await?;
///
/// let history = engine.history("poem").await?.ok_or("it was started")?;
/// let answered = history.iter().find_map(|event| match &event.kind {
///     EventKind::Answered { by, comment, .. } => Some((by.as_deref(), comment.as_deref())),
///     _ => None,
/// });
/// assert_eq!(answered, Some((Some("ada"), Some("it rhymes"))));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is answered before it is awaited"]
pub struct Answering<'a>(Lazy<'a, Giving<'a>, Result<(), AnswerError>>);

struct Giving<'a> {
    engine: &'a Engine,
    run: &'a str,
    question: &'a str,
    given: Given,
}

impl Engine {
    /// Answers a question of a run, in this process or in any other with the same store. `Ok` means that the answer is
    /// recorded, and that it is a `T` as `ctx.ask::<T>` asks for it: its own `Deserialize` has read it.
    ///
    /// An answer is first validated against the question's JSON Schema, with the exact range of each integer type. An
    /// invalid answer is not recorded. If no living engine has the run, its node may ask for another type under this
    /// version of the program: then the run is resumed, and the answer is validated against the question as it is asked
    /// now. The type itself is known only to the engine that has the asking node in memory. If that is this engine, an
    /// answer that is no `T` is not recorded either. If another engine executes the run, or if the run waits outside of
    /// the memory, the answer is recorded, and this waits until the node, or the engine that has it, has read it:
    /// [`EventKind::AnswerAccepted`](crate::EventKind::AnswerAccepted) or
    /// [`EventKind::AnswerRejected`](crate::EventKind::AnswerRejected) is recorded then. That takes up to 250 ms if
    /// another engine executes the run, some 10 ms for each further answer while answers follow one another, and as
    /// long as the node needs to ask again if it begins anew: after a restart, or because the run was unloaded. Many
    /// answers at once wait together.
    ///
    /// A node that waits for something else beside the question (`tokio::select!`) takes what is recorded first: an answer that is
    /// recorded behind a timer which has just fired is `Ok`, and is not used. [`history`](Engine::history) has both in their order.
    ///
    /// If an answer is not read within 10 s, or somewhat longer while very many are awaited, this returns
    /// [`AnswerError::Unread`].
    ///
    /// `question` is the id of a [`Question`](crate::Question), or its name if only one open question has it. If the run has
    /// [started over](crate::Context::start_over), it is one of the last run that follows it.
    ///
    /// Cancel safe: if the future is dropped, the answer may or may not have been recorded.
    ///
    /// # Errors
    /// [`AnswerError`], for a question that does not exist, is already answered or was withdrawn, and for an invalid
    /// answer. [`AnswerError::NotRegistered`] if this engine does not drive the run and has not registered its workflow, unless
    /// the feature `json-schema` is on. [`AnswerError::Run`] if no living engine can tell whether the answer is a `T`: this program cannot
    /// resume the run, or this engine is shut down.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn review(text: String, ctx: &Context) -> String {
    /// #     if ctx.ask::<bool>("approve", "Ship it?").await { text } else { "nothing".to_owned() }
    /// # }
    /// # workflow! { pub publish(String) -> String { START => review; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<publish>("a poem".into()).id("poem").await?;
    /// # run.outcome().await?;
    /// engine.answer("poem", "approve", true).by("ada").comment("it rhymes").await?;
    /// assert_eq!(run.result().await?, "a poem");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn answer<'a>(&'a self, run: &'a str, question: &'a str, answer: impl Into<Json>) -> Answering<'a> {
        let given = Given { answer: answer.into(), by: None, comment: None };
        Answering(Lazy::Described(Giving { engine: self, run, question, given }))
    }
}

impl Answering<'_> {
    /// Who gives the answer, as [`EventKind::Answered`](crate::EventKind::Answered) then says. It is not checked.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        let who = who.into();
        self.0.describe(|giving| giving.given.by = Some(who));
        self
    }

    /// A comment on the answer, which is recorded with it. The node that asks does not see it.
    pub fn comment(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.0.describe(|giving| giving.given.comment = Some(text));
        self
    }
}

impl Future for Answering<'_> {
    type Output = Result<(), AnswerError>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        let give = |Giving { engine, run, question, given }| engine.give_answer(run, question, given).boxed();
        self.get_mut().0.poll(waker, give)
    }
}

impl fmt::Debug for Answering<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Answering");
        if let Some(giving) = self.0.description() {
            shown.field("run", &giving.run).field("question", &giving.question);
        }
        shown.finish_non_exhaustive()
    }
}
