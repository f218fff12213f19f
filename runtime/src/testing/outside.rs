//! What people and other systems send to a run of the lab.

use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::world::World;
use crate::asked::{Question, name_without_key};
use crate::engine::Engine;
use crate::node::Payload;
use crate::signal::{AwaitedSignal, Signal, SignalError};

/// The id of every run of the lab.
pub(super) const RUN: &str = "lab";

/// An answer to the questions with a name.
pub(super) struct Answer {
    pub(super) name: String,
    pub(super) give: Box<dyn Fn(&Question) -> Json + Send + Sync>,
}

impl Answer {
    /// The answer to a question, of those with its name: the first one to the question that was asked first, and so on. The
    /// last one is for all further questions.
    pub(super) fn to(question: &Question, answers: &[Answer], world: &World) -> Option<Json> {
        let inside = question.id.split_once('/').map_or("", |(_, inside)| inside);
        let without_key = name_without_key(&question.id);
        let names = [question.id.as_str(), inside, &question.name, &*without_key];
        let fitting: Vec<&Answer> = answers.iter().filter(|answer| names.contains(&answer.name.as_str())).collect();
        let last = fitting.last()?;
        let number = world.number_of(&format!("question {}", last.name), &question.id);
        let answer = fitting.get(number).unwrap_or(last);
        Some((answer.give)(question))
    }
}

type Sending = BoxFuture<'static, Result<(), SignalError>>;

/// A signal that is sent when a node waits for it.
pub(super) struct Sent {
    pub(super) name: &'static str,
    send: Box<dyn Fn(&Engine, String) -> Sending + Send + Sync>,
}

impl Sent {
    /// # Errors
    /// If the payload cannot be recorded.
    pub(super) fn of<T: Payload>(signal: Signal<T>, payload: &T) -> Result<Self, String> {
        let written = payload.to_record().map_err(|error| error.to_string())?;
        T::from_record(&written).map_err(|error| error.to_string())?;
        let send = move |engine: &Engine, id: String| -> Sending {
            let engine = engine.clone();
            let payload = T::from_record(&written);
            Box::pin(async move {
                if let Ok(payload) = payload {
                    engine.signal(RUN, signal, payload).id(id).await?;
                }
                Ok(())
            })
        };
        Ok(Sent { name: signal.name(), send: Box::new(send) })
    }

    /// Sends it. A signal of one number that is stored before a crash counts once, however often it is sent.
    ///
    /// # Errors
    /// If it cannot be sent.
    pub(super) fn send(&self, engine: &Engine, number: usize) -> Sending {
        (self.send)(engine, format!("lab-{number}"))
    }

    /// Sends what this wait is to get, if that was not sent before: the first signal with its name to the first wait, and so on.
    /// Returns whether there is one.
    ///
    /// # Errors
    /// If it cannot be sent.
    pub(super) async fn to(
        wait: &AwaitedSignal,
        signals: &[Sent],
        world: &World,
        engine: &Engine,
    ) -> Result<bool, SignalError> {
        let number = world.number_of(&format!("signal {}", wait.name), &wait.path);
        match signals.iter().filter(|sent| sent.name == wait.name).nth(number) {
            Some(sent) => {
                sent.send(engine, number).await?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
