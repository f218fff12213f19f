//! What a worker has been given, as it says in its log.

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::workflows::note;

/// In the place of the path where an attempt is one at a whole run.
pub const WHOLE_RUN: &str = "-";

/// Has this process leave a line in the ledger for each attempt that it is given.
///
/// # Panics
/// If the process has another subscriber.
pub fn leave_in_ledger() {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Attempts))
        .expect("there is no other one");
}

struct Attempts;

impl<S: Subscriber> Layer<S> for Attempts {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        let mut words = Words::default();
        event.record(&mut words);
        if about.target().starts_with("graphweft_restate") && *about.level() == Level::DEBUG && !words.run.is_empty() {
            note("attempt", &words.run, words.path.as_deref().unwrap_or(WHOLE_RUN));
        }
    }
}

#[derive(Default)]
struct Words {
    run: String,
    path: Option<String>,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "run" => value.clone_into(&mut self.run),
            "path" => self.path = Some(value.to_owned()),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
