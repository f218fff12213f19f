//! Spans of agents, model calls and tools, by the names of OpenTelemetry. A program of its own: `tracing` caches for all threads of a
//! process whether a span has a subscriber.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};
use graphweft_tests::{Death, OnDisk};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// A span, with its name as `otel.name` says it.
#[derive(Clone, Debug, Default)]
struct Seen {
    fields: Fields,
    parent: Option<u64>,
    handles: usize,
}

/// Keeps the spans of agents.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Seen>>>);

struct Into<'f>(&'f mut Fields);

impl Visit for Into<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

thread_local! {
    static ENTERED: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Spans {
    fn with<T>(&self, id: &Id, change: impl FnOnce(&mut Seen) -> T) -> T {
        change(&mut self.0.lock().unwrap()[id.into_u64() as usize - 1])
    }

    /// The names of all spans, in the order in which they began, each behind that of the one around it.
    fn names(&self) -> Vec<String> {
        let spans = self.0.lock().unwrap();
        let name = |seen: &Seen| seen.fields["otel.name"].clone();
        let parent = |seen: &Seen| seen.parent.map(|id| name(&spans[id as usize - 1]) + " > ").unwrap_or_default();
        spans.iter().map(|seen| parent(seen) + &name(seen)).collect()
    }

    /// The names of those that have not ended.
    fn open(&self) -> Vec<String> {
        let spans = self.0.lock().unwrap();
        spans.iter().filter(|seen| seen.handles > 0).map(|seen| seen.fields["otel.name"].clone()).collect()
    }

    fn fields(&self, name: &str) -> Fields {
        let spans = self.0.lock().unwrap();
        let found = spans.iter().find(|seen| seen.fields["otel.name"] == name);
        found.unwrap_or_else(|| panic!("there is no span {name}: {spans:?}")).fields.clone()
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && ["invoke_agent", "chat", "execute_tool"].contains(&metadata.name())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut seen = Seen { handles: 1, ..Seen::default() };
        seen.parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if span.is_contextual() => ENTERED.with_borrow(|entered| entered.last().copied()),
            None => None,
        };
        span.record(&mut Into(&mut seen.fields));
        let mut spans = self.0.lock().unwrap();
        spans.push(seen);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.with(span, |seen| values.record(&mut Into(&mut seen.fields)));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, _: &Id) {
        ENTERED.with_borrow_mut(Vec::pop);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.with(span, |seen| seen.handles += 1);
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        self.with(&span, |seen| {
            seen.handles -= 1;
            seen.handles == 0
        })
    }
}

/// Looks up a word.
#[node]
async fn look_up(word: String) -> Result<String, String> {
    if word == "void" { Err("there is no such word".to_owned()) } else { Ok(word) }
}

/// Pays.
#[node]
async fn pay(cents: u32) -> Result<u32, String> {
    Ok(cents)
}

fn clerk() -> Agent<String, String> {
    Agent::new("clerk").tool(Tool::of::<pay>().approve())
}

fn boss() -> Agent<String, String> {
    Agent::new("boss").temperature(0.5).tool(Tool::of::<look_up>()).tool(Tool::by_value("clerk", clerk()))
}

workflow! {
    office(String) -> String {
        let boss: Agent<String, String> = boss();
        START => boss;
    }
}

/// The boss looks up two words, and lets the clerk pay.
fn models() -> Models {
    Models::new(Scripted::new(|request| {
        let turn = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
        Ok(match (&*request.instructions, turn) {
            ("boss", 0) => {
                let word = |word| ("look_up", json!({ "word": word }));
                Scripted::calls([word("ant"), word("void")])
            }
            ("boss", 1) => Scripted::calls([("clerk", json!({ "input": "Pay." }))]),
            ("clerk", 0) => Scripted::calls([("pay", json!({ "cents": 5 }))]),
            _ => Message::assistant("Done."),
        })
    }))
}

const UNTIL_THE_QUESTION: [&str; 8] = [
    "invoke_agent boss",
    "invoke_agent boss > chat scripted",
    "invoke_agent boss > execute_tool look_up",
    "invoke_agent boss > execute_tool look_up",
    "invoke_agent boss > chat scripted",
    "invoke_agent boss > execute_tool clerk",
    "execute_tool clerk > invoke_agent clerk",
    "invoke_agent clerk > chat scripted",
];

const AFTER_THE_ANSWER: [&str; 6] = [
    "invoke_agent boss",
    "invoke_agent boss > execute_tool clerk",
    "execute_tool clerk > invoke_agent clerk",
    "invoke_agent clerk > execute_tool pay",
    "invoke_agent clerk > chat scripted",
    "invoke_agent boss > chat scripted",
];

#[tokio::test]
async fn spans_have_the_names_of_opentelemetry_and_none_is_open_while_a_person_is_waited_for() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let engine = Engine::builder().resource(models()).build().unwrap();
    let run = engine.start::<office>("Go".into()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    assert_eq!(questions[0].id, "office/boss/clerk:2.0/pay:1.0/approve");
    assert_eq!(spans.names(), UNTIL_THE_QUESTION);
    assert_eq!(spans.open(), [""; 0]);

    run.answer("approve", "approve").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Done.");
    assert_eq!(spans.names().split_off(UNTIL_THE_QUESTION.len()), AFTER_THE_ANSWER);
    assert_eq!(spans.open(), [""; 0]);

    let has = |name: &str, expected: &[(&str, &str)]| {
        let fields = spans.fields(name);
        for (field, value) in expected {
            assert_eq!(fields.get(*field).map(String::as_str), Some(*value), "{name}: {field}");
        }
    };
    has(
        "chat scripted",
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "scripted"),
            ("gen_ai.request.temperature", "0.5"),
            ("gen_ai.usage.input_tokens", "10"),
            ("gen_ai.usage.output_tokens", "5"),
        ],
    );
    has(
        "invoke_agent clerk",
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "clerk"),
            ("gen_ai.agent.id", "office/boss/clerk:2.0"),
        ],
    );
    has("execute_tool pay", &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "pay")]);
    let failed = spans.0.lock().unwrap().iter().filter(|seen| seen.fields.contains_key("error.type")).count();
    assert_eq!(failed, 1, "the word that there is not");
}

#[tokio::test]
async fn a_resumed_agent_has_spans_of_what_is_done_again_and_of_nothing_else() {
    let disk = OnDisk::default();
    let engine = disk.engine(&Death::default()).await.resource(models()).register::<office>().build().unwrap();
    let run = engine.start::<office>("Go".into()).id("run").await.unwrap();
    let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    engine.shutdown().await;

    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let engine = disk.engine(&Death::default()).await.resource(models()).register::<office>().build().unwrap();
    engine.recover().await.unwrap();
    engine.answer("run", "approve", "approve").await.unwrap();
    let run = engine.get_run("run").await.unwrap().unwrap();
    run.result().await.unwrap();
    let done: Vec<String> =
        spans.names().into_iter().filter(|name| name.contains("chat") || name.contains("pay")).collect();
    let expected = AFTER_THE_ANSWER.iter().filter(|name| name.contains("chat") || name.contains("pay"));
    assert_eq!(done, expected.copied().collect::<Vec<_>>());
    assert!(!spans.names().iter().any(|name| name.contains("look_up")), "{:?}", spans.names());
}
