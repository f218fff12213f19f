//! What people and other systems send to a run of the lab.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::BoxFuture;
use serde_json::Value as Json;

use super::world::World;
use crate::asked::{Question, name_without_key};
use crate::engine::Engine;
use crate::event::{Event, EventKind};
use crate::node::Payload;
use crate::signal::{AwaitedSignal, Signal, SignalError, Signalled};

/// The id of every run of the lab.
pub(super) const RUN: &str = "lab";

/// An answer to the questions with a name, or none.
pub(super) struct Answer {
    pub(super) name: String,
    pub(super) give: Box<Give>,
}

type Give = dyn Fn(&Question) -> Option<Json> + Send + Sync;

impl Answer {
    /// The answer to a question: of those with its id, or else with its name, the first one to the question that was asked first,
    /// and so on. The last one is for all further questions.
    pub(super) fn to(question: &Question, answers: &[Answer], world: &World) -> Option<Json> {
        let inside = question.id.split_once('/').map_or("", |(_, inside)| inside);
        let without_key = name_without_key(&question.id);
        let named = |name: &str| answers.iter().filter(|answer| answer.name == name).collect::<Vec<&Answer>>();
        let mut by_name = [question.id.as_str(), inside, &question.name, &*without_key].into_iter().map(named);
        let fitting = by_name.find(|fitting| !fitting.is_empty())?;
        let last = fitting.last()?;
        let number = world.number_of(&format!("question {}", last.name), &question.id);
        let answer = fitting.get(number).unwrap_or(last);
        (answer.give)(question)
    }
}

type Delivery = BoxFuture<'static, Result<Signalled, SignalError>>;

/// Sends under an id.
type Deliver = Box<dyn Fn(&Engine, String) -> Delivery + Send + Sync>;

/// What the lab has sent to a run that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sending {
    Nothing,
    /// What it had sent before is on its way.
    SentBefore,
    Sent,
}

/// A signal that is sent when a node waits for it.
pub(super) struct Sent {
    pub(super) name: &'static str,
    send: Deliver,
}

impl Sent {
    /// # Errors
    /// If the payload cannot be recorded.
    pub(super) fn of<T: Payload>(signal: Signal<T>, payload: &T) -> Result<Self, String> {
        let written = payload.to_record().map_err(|error| error.to_string())?;
        T::from_record(&written).map_err(|error| error.to_string())?;
        let send = move |engine: &Engine, id: String| -> Delivery {
            let engine = engine.clone();
            let payload = T::from_record(&written);
            Box::pin(async move {
                match payload {
                    Ok(payload) => engine.signal(RUN, signal, payload).id(id).await,
                    // It was read once already.
                    Err(error) => {
                        let (signal, message) = (signal.name().to_owned(), error.to_string());
                        Err(SignalError::NotRecordable { signal, message })
                    }
                }
            })
        };
        Ok(Sent { name: signal.name(), send: Box::new(send) })
    }

    /// Sends it. A signal of one number that is stored before a crash counts once, however often it is sent.
    ///
    /// # Errors
    /// If it cannot be sent.
    pub(super) fn send(&self, engine: &Engine, number: usize) -> Delivery {
        (self.send)(engine, format!("lab-{number}"))
    }

    /// Sends what these waits are to get, and have not been sent: of the signals with a name the first one, and so on. What was
    /// sent is known from the records of the run, so that a signal that a crash has lost is sent again.
    ///
    /// # Errors
    /// If one cannot be sent.
    pub(super) async fn to(
        waits: &[AwaitedSignal],
        signals: &[Sent],
        records: &[Event],
        engine: &Engine,
    ) -> Result<Sending, SignalError> {
        let mut sending = Sending::Nothing;
        let names: BTreeSet<&str> = waits.iter().map(|wait| wait.name.as_str()).collect();
        for name in names {
            let waits = waits.iter().filter(|wait| wait.name == name).count();
            let (sent, delivered) = traffic(name, records);
            // Some are on their way to a wait.
            let missing = waits.saturating_sub(sent.saturating_sub(delivered));
            if missing < waits {
                sending = sending.max(Sending::SentBefore);
            }
            for (number, signal) in signals.iter().filter(|sent| sent.name == name).enumerate().skip(sent).take(missing)
            {
                signal.send(engine, number).await?;
                sending = Sending::Sent;
            }
        }
        Ok(sending)
    }
}

/// How many signals with a name were received, and how many of them were delivered: by their ids, since one that is free when
/// its run starts over is received by the next run as well.
fn traffic(name: &str, records: &[Event]) -> (usize, usize) {
    let (mut received, mut delivered) = (BTreeMap::<(&str, u64), &String>::new(), BTreeSet::<&String>::new());
    for event in records {
        match &event.kind {
            EventKind::SignalReceived { name: of, id: Some(id), .. } if of == name => {
                received.insert((event.run_id.as_str(), event.seq), id);
            }
            EventKind::SignalDelivered { signal } => delivered.extend(received.get(&(event.run_id.as_str(), *signal))),
            _ => {}
        }
    }
    let sent: BTreeSet<&String> = received.into_values().collect();
    (sent.len(), delivered.len())
}
