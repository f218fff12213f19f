//! Agents on models of providers.

use std::time::Duration;

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, AgentError, Models, Tool, spent};
use graphweft_tests::{Death, OnDisk, failure, life, retried_after};

use crate::dialect::{BOTH, Dialect};
use crate::server::{PATIENCE, Server};

/// Doubles a number.
#[node]
async fn double(number: i64) -> i64 {
    number * 2
}

/// Says what time it is.
#[node]
async fn now() -> String {
    "noon".to_owned()
}

/// Says how long a text is.
#[node]
async fn measure(text: String) -> usize {
    text.len()
}

fn clerk() -> Agent<String, String> {
    Agent::new("You help.").tool(Tool::of::<double>()).tool(Tool::of::<now>()).tool(Tool::of::<measure>())
}

fn hasty() -> Agent<String, String> {
    // Long enough for a busy machine to reach the server.
    Agent::new("You help.").timeout(Duration::from_secs(2)).retry(RetryPolicy::none())
}

fn typed() -> Agent<String, Vec<u32>> {
    Agent::new("You help.")
}

workflow! {
    desk(String) -> String {
        let clerk: Agent<String, String> = clerk();
        START => clerk;
    }
}

workflow! {
    hurry(String) -> String {
        let hasty: Agent<String, String> = hasty();
        START => hasty;
    }
}

workflow! {
    numbers(String) -> Vec<u32> {
        let typed: Agent<String, Vec<u32>> = typed();
        START => typed;
    }
}

fn counter() -> Agent<String, Vec<u32>> {
    Agent::new("You help.").tool(Tool::of::<double>())
}

workflow! {
    count(String) -> Vec<u32> {
        let counter: Agent<String, Vec<u32>> = counter();
        START => counter;
    }
}

fn engine(dialect: Dialect, server: &Server) -> Engine {
    Engine::builder().resource(Models::new(dialect.model(server))).build().unwrap()
}

const TEXT: &str = "Un café, s'il vous plaît ☕.";

#[tokio::test]
async fn the_loop_of_calls_ends_with_the_text() {
    for dialect in BOTH {
        let server = dialect.server(&["one call", "two calls", "text"]);
        let engine = engine(dialect, &server);
        let run = engine.start::<desk>("21 twice?".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), TEXT, "{}", dialect.name);
        let asked = server.asked();
        let sent = |at: usize, text: &str| asked[at].body["messages"].to_string().contains(text);
        assert!(sent(1, "\"42\"") && sent(2, "\"2\"") && sent(2, "noon"), "{:?}", asked[2]);
        let spent = spent(&engine.history(run.id()).await.unwrap().unwrap());
        let (_, of_model) = spent.first_key_value().unwrap();
        assert_eq!((of_model.calls, of_model.usage.input, of_model.usage.cached), (3, 1300, 1024), "{}", dialect.name);
    }
}

#[tokio::test]
async fn nonsense_in_the_arguments_goes_back_to_the_model() {
    for dialect in BOTH {
        let server = dialect.server(&["call with nonsense", "one call", "text"]);
        let run = engine(dialect, &server).start::<desk>("21 twice?".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), TEXT, "{}", dialect.name);
        let said = server.asked()[1].body["messages"].to_string();
        assert!(said.contains("error: `double` does not take this input"), "{said}");
    }
}

#[tokio::test]
async fn huge_arguments_are_taken_whole() {
    let much = "x".repeat(1 << 20);
    for dialect in BOTH {
        let call = dialect.section("call with much").replacing("@MUCH@", &much);
        let server = Server::with([call, dialect.section("text")]);
        let run = engine(dialect, &server).start::<desk>("How long?".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), TEXT, "{}", dialect.name);
        assert!(server.asked()[1].body["messages"].to_string().contains("\"1048576\""), "{}", dialect.name);
    }
}

#[tokio::test]
async fn a_typed_output_is_asked_for_by_its_schema_and_read() {
    for dialect in BOTH {
        let server = dialect.server(&["json"]);
        let run = engine(dialect, &server).start::<numbers>("Two?".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [1, 2], "{}", dialect.name);
        assert!(server.asked()[0].body.to_string().contains("\"json_schema\""), "{:?}", server.asked());
    }
}

#[tokio::test]
async fn a_correction_to_another_server_has_the_tools_and_no_format() {
    for dialect in BOTH {
        let server = dialect.server(&["one call", "text", "json"]);
        let run = engine(dialect, &server).start::<count>("Two?".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [1, 2], "{}", dialect.name);
        let correction = &server.asked()[2].body;
        assert_eq!(correction["tools"].as_array().map(Vec::len), Some(1), "{correction}");
        assert!(!correction.to_string().contains("\"json_schema\""), "{correction}");
    }
}

#[tokio::test]
async fn a_broken_stream_is_asked_for_again_and_its_beginning_is_not_used() {
    for dialect in BOTH {
        let server = dialect.server(&["closed", "text"]);
        let run = engine(dialect, &server).start::<desk>("What?".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), TEXT, "{}", dialect.name);
        assert_eq!(server.asked()[0].body, server.asked()[1].body);
    }
}

#[tokio::test]
async fn a_stalled_stream_ends_at_the_time_limit_and_its_connection_is_closed() {
    for dialect in BOTH {
        let server = dialect.server(&["stalled"]);
        let run = engine(dialect, &server).start::<hurry>("What?".into()).await.unwrap();
        let failure = failure(run.result().await);
        let error = failure.error_as::<AgentError>();
        assert!(matches!(error, Some(AgentError::ModelCall { fault: Fault::Timeout { .. }, .. })), "{failure}");
        assert!(failure.to_string().contains("model call `model:1` failed: timed out after"), "{failure}");
        server.is_closed_by_the_client().await;
    }
}

#[tokio::test]
async fn a_cancelled_run_closes_its_connection() {
    for dialect in BOTH {
        let server = dialect.server(&["stalled"]);
        let run = engine(dialect, &server).start::<desk>("What?".into()).await.unwrap();
        let mut events = run.events();
        while let Some(event) = events.next().await {
            if let EventKind::Progress { data, .. } = &event.kind {
                assert_eq!(data, &json!({ "text": "Well .." }));
                break;
            }
        }
        run.cancel().await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled), "{}", dialect.name);
        server.is_closed_by_the_client().await;
    }
}

/// An engine on the file, whose clock is so far ahead.
async fn process(disk: &OnDisk, dialect: Dialect, server: &Server, ahead: Duration) -> Engine {
    let builder = disk.engine(&Death::default()).await.resource(Models::new(dialect.model(server)));
    builder.clock(move || std::time::SystemTime::now() + ahead).register::<desk>().build().unwrap()
}

#[test]
fn the_delay_of_a_rate_limit_is_recorded_and_does_not_begin_anew_after_a_restart() {
    const HOUR: Duration = Duration::from_secs(3600);
    for dialect in BOTH {
        let (disk, server) = (OnDisk::default(), dialect.server(&["rate limited", "text"]));
        life(async {
            let engine = process(&disk, dialect, &server, Duration::ZERO).await;
            let run = engine.start::<desk>("What?".into()).id("run").await.unwrap();
            let mut events = run.events();
            let delay = loop {
                let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap().expect("the run waits");
                if let Some(delay) = retried_after(&event) {
                    break delay;
                }
            };
            assert_eq!(delay, HOUR);
            engine.shutdown().await;
        });
        assert_eq!(server.asked().len(), 1);
        life(async {
            // The hour has passed while no process was there: a delay from now on would outlast the test.
            let engine = process(&disk, dialect, &server, HOUR).await;
            engine.recover().await.unwrap();
            let run = engine.get_run("run").await.unwrap().unwrap();
            let result = tokio::time::timeout(PATIENCE, run.result()).await.expect("it does not wait an hour");
            assert_eq!(result.unwrap(), TEXT, "{}", dialect.name);
        });
        assert_eq!(server.asked().len(), 2);
    }
}
