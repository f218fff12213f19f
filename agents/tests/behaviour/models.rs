//! Model calls: retries, records, what they cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{
    Agent, AgentError, ChatModel, Delta, Message, ModelError, Models, Reply, Request, Scripted, Tool, ToolCall, spent,
};
use graphweft_tests::{failure, retried_after};

use crate::scene::run;

/// Says a thing of some length.
#[node]
async fn recite(number: u32) -> String {
    number.to_string().repeat(1000).chars().take(500).collect()
}

fn talker() -> Agent<String, String> {
    Agent::new("You talk.").tool(Tool::of::<recite>()).max_turns(50).timeout(Duration::from_secs(30))
}

workflow! {
    talk(String) -> String {
        let talker: Agent<String, String> = talker();
        START => talker;
    }
}

/// Fails so many times with an error, then replies.
fn failing(times: u32, error: ModelError) -> (Scripted, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let model = Scripted::new(move |_| match counted.fetch_add(1, Ordering::Relaxed) < times {
        true => Err(error.clone()),
        false => Ok(Message::assistant("At last.")),
    });
    (model, calls)
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_retried_after_the_delay_that_the_provider_asks_for() {
    let limited = ModelError::RateLimited { retry_after: Some(Duration::from_secs(1234)), message: "slow".into() };
    let (model, calls) = failing(2, limited);
    let engine = Engine::builder().resource(Models::new(model)).build().unwrap();
    let run = engine.start::<talk>("Go".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "At last.");
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let delays: Vec<(&str, Duration)> =
        history.iter().filter_map(|event| Some((event.path.as_str(), retried_after(event)?))).collect();
    let delay = ("talk/talker/model:1", Duration::from_secs(1234));
    assert_eq!(delays, [delay, delay]);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_delay_beyond_the_longest_one_fails_the_agent_at_once_with_the_error_of_the_provider() {
    for of_day in [
        ModelError::RateLimited { retry_after: Some(Duration::from_secs(86_400)), message: "slow".into() },
        ModelError::Overloaded { retry_after: Some(Duration::from_secs(3601)), message: "busy".into() },
    ] {
        let (model, calls) = failing(1, of_day.clone());
        let failure = failure(run::<talk>(model, "Go".into()).await);
        assert_eq!(failure.error_as::<AgentError>(), Some(AgentError::Model(of_day)));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_passing_error_is_retried_and_ends_as_what_it_is() {
    let overloaded = ModelError::Overloaded { retry_after: None, message: "busy".into() };
    let (model, calls) = failing(9, overloaded.clone());
    let failure = failure(run::<talk>(model, "Go".into()).await);
    assert_eq!(failure.error_as::<AgentError>(), Some(AgentError::Model(overloaded)));
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn an_error_that_does_not_pass_is_not_retried() {
    let (model, calls) = failing(1, ModelError::Unauthorised { message: "no key".into() });
    let failure = failure(run::<talk>(model, "Go".into()).await);
    assert_eq!(failure.cause.to_string(), "the model gave no reply: unauthorised: no key");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// Replies only to its second request.
struct Stalling(AtomicU32);

impl ChatModel for Stalling {
    fn name(&self) -> &str {
        "stalling"
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        show: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            show(Delta::Text("Well ..".into()));
            if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
                std::future::pending::<()>().await;
            }
            Ok(Scripted::reply(request, Message::assistant("Well then.")))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_call_ends_at_its_time_limit_and_is_retried() {
    assert_eq!(run::<talk>(Stalling(AtomicU32::new(0)), "Go".into()).await.unwrap(), "Well then.");
}

#[tokio::test]
async fn the_pieces_of_a_reply_are_progress_of_the_call() {
    let engine = Engine::builder().resource(Models::new(Scripted::text("Two words."))).build().unwrap();
    let run = engine.start::<talk>("Go".into()).await.unwrap();
    let mut events = run.events();
    let mut pieces = Vec::new();
    while let Some(event) = futures::StreamExt::next(&mut events).await {
        if let EventKind::Progress { data, .. } = event.kind {
            assert_eq!(event.path, "talk/talker/model:1");
            pieces.push(data["text"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(pieces, ["Two ", "words."]);
}

/// The bytes of the records of a run with so many turns, of 1,000 bytes each.
async fn record_size(turns: u32) -> usize {
    let text: String = "word ".repeat(100);
    let model = Scripted::new(move |request| {
        let turn = request.messages.len() as u32 / 2;
        if turn + 1 == turns {
            return Ok(Message::assistant("Done."));
        }
        let call = ToolCall::new("call", "recite", json!({ "number": turn }));
        Ok(Message::assistant(text.clone()).with_calls([call]))
    });
    let engine = Engine::builder().resource(Models::new(model)).build().unwrap();
    let run = engine.start::<talk>("Go".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Done.");
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let spent = spent(&history);
    assert_eq!(spent["scripted"].calls, u64::from(turns));
    assert_eq!(spent["scripted"].usage.output, 5 * u64::from(turns));
    let recorded = |event: &graphweft::Event| serde_json::to_value(&event.kind).unwrap().to_string().len();
    history.iter().filter(|event| !event.derived).map(recorded).sum()
}

#[tokio::test]
async fn the_records_grow_by_the_turn_and_not_by_the_conversation() {
    let (ten, twenty, forty) = (record_size(10).await, record_size(20).await, record_size(40).await);
    assert!(forty <= 60_000, "40 turns of 1 kB take {forty} bytes");
    let (first, second) = (twenty - ten, forty - twenty);
    assert!(second.abs_diff(2 * first) < first / 10, "{ten}, {twenty}, {forty}");
}
