//! Spans of model calls, by the names of OpenTelemetry. A program of its own: `tracing` caches for all threads of a process whether a
//! span has a subscriber.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use graphweft::prelude::*;
use graphweft_agents::{Agent, Models, Scripted};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// Keeps the fields of spans with the name `chat`.
#[derive(Clone, Default)]
struct Chats {
    spans: Arc<Mutex<BTreeMap<u64, Fields>>>,
    ids: Arc<AtomicU64>,
}

struct Into<'f>(&'f mut Fields);

impl Visit for Into<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Chats {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == "chat"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        span.record(&mut Into(self.spans.lock().unwrap().entry(id).or_default()));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut Into(self.spans.lock().unwrap().entry(span.into_u64()).or_default()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn hot() -> Agent<String, String> {
    Agent::new("You talk.").temperature(0.5)
}

workflow! {
    chatting(String) -> String {
        let hot: Agent<String, String> = hot();
        START => hot;
    }
}

#[tokio::test]
async fn a_model_call_has_a_span_with_its_model_and_its_tokens() {
    let chats = Chats::default();
    let _guard = tracing::subscriber::set_default(chats.clone());
    let engine = Engine::builder().resource(Models::new(Scripted::text("Hello."))).build().unwrap();
    engine.start::<chatting>("Go".into()).await.unwrap().result().await.unwrap();
    let spans = chats.spans.lock().unwrap();
    let [span] = &spans.values().collect::<Vec<_>>()[..] else { panic!("one call: {spans:?}") };
    let expected = [
        ("otel.name", "\"chat scripted\""),
        ("gen_ai.operation.name", "\"chat\""),
        ("gen_ai.request.model", "\"scripted\""),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.usage.input_tokens", "10"),
        ("gen_ai.usage.output_tokens", "5"),
    ];
    for (name, value) in expected {
        assert_eq!(span.get(name).map(String::as_str), Some(value), "{name}");
    }
}
