//! An agent that is dropped while it is in a session: what comes behind it, in its run and in others.

use std::time::Duration;

use futures::future::BoxFuture;
use graphweft::json;
use graphweft::prelude::*;
use graphweft::{Payload, Workflow};
use graphweft_agents::{
    Agent, AgentError, ChatModel, Delta, Message, ModelError, Models, Overlap, Reply, Request, SESSION, Scripted,
    SessionError, Sessions, Tool,
};
use graphweft_tests::{Death, OnDisk, failure, life};

use crate::overlap::{come, guest, queued, rejected};
use crate::scene::{last_text, results, texts};

/// Never replies to `stall`, calls two tools at `both`, and otherwise says how many messages it has seen.
struct Stalling;

impl ChatModel for Stalling {
    fn name(&self) -> &str {
        "stalling"
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if results(request).is_empty() && last_text(request) == "both" {
                let calls = [("breaks", json!({ "word": "x" })), ("guest", json!({ "input": "stall" }))];
                return Ok(Scripted::reply(request, Scripted::calls(calls)));
            }
            if last_text(request) == "stall" {
                return std::future::pending().await;
            }
            Ok(Scripted::reply(request, Message::assistant(format!("{} seen", request.messages.len()))))
        })
    }
}

/// Longer than this no agent of these tests waits for a model.
const LIMIT: Duration = Duration::from_secs(5);

#[node(timeout = "5s")]
async fn limited(text: String, ctx: &Context) -> Result<String, AgentError> {
    guest(Overlap::Queue).run(text, ctx).await
}

#[node]
async fn instead(_: AgentError, ctx: &Context) -> Result<String, AgentError> {
    guest(Overlap::Queue).run("instead".to_owned(), ctx).await
}

workflow! {
    of_a_node(String) -> String { START => limited => <ok: END, err: instead>; instead => END; }
}

#[node]
async fn calls(text: String, ctx: &Context) -> Result<String, AgentError> {
    match ctx.call_as("first", guest(Overlap::Queue), text).timeout(LIMIT).await {
        Ok(said) => Ok(said),
        Err(_) => Ok(ctx.call_as("second", guest(Overlap::CancelEarlier), "instead".to_owned()).await?),
    }
}

workflow! {
    of_a_call(String) -> String { START => calls; }
}

/// Drops the call of an agent after some time, and calls another one.
async fn drop_after(limit: Duration, text: String, ctx: &Context) -> Result<String, AgentError> {
    let first = ctx.call_as("first", guest(Overlap::Queue), text);
    if let Ok(said) = tokio::time::timeout(limit, first).await {
        return Ok(said?);
    }
    Ok(ctx.call_as("second", guest(Overlap::Reject), "instead".to_owned()).await?)
}

#[node]
async fn drops(text: String, ctx: &Context) -> Result<String, AgentError> {
    drop_after(LIMIT, text, ctx).await
}

workflow! {
    of_a_dropped_call(String) -> String { START => drops; }
}

/// By the clock of the computer.
#[node]
async fn drops_soon(text: String, ctx: &Context) -> Result<String, AgentError> {
    drop_after(Duration::from_millis(20), text, ctx).await
}

workflow! {
    of_a_call_dropped_soon(String) -> String { START => drops_soon; }
}

workflow! {
    of_a_panic(String) -> String {
        let checked: Agent<String, String> = guest(Overlap::Queue).check(|said: &String| panic!("{said}"));
        START => checked => <ok: END, err: instead>;
        instead => END;
    }
}

/// Breaks while the call beside it is under way.
#[node]
async fn breaks(word: String) -> String {
    tokio::time::sleep(LIMIT).await;
    panic!("{word}")
}

workflow! {
    of_a_call_beside_it(String) -> String {
        let boss: Agent<String, String> =
            Agent::new("You ask others.").tool(Tool::of::<breaks>()).tool(Tool::by_value("guest", guest(Overlap::Queue)));
        START => boss => <ok: END, err: instead>;
        instead => END;
    }
}

#[node]
async fn person(_: AgentError, ctx: &Context) -> String {
    ctx.ask("what", "What shall we say?").await
}

workflow! {
    of_a_run_that_continues(String) -> String { START => limited => <ok: END, err: person>; person => END; }
}

#[node]
async fn calls_inside(text: String, ctx: &Context) -> String {
    ctx.call::<queued>(text).await.unwrap()
}

workflow! {
    around(String) -> String { START => calls_inside; }
}

fn engine() -> Engine {
    let builder = Engine::builder().resource(Models::new(Stalling));
    builder.register::<of_a_run_that_continues>().register::<queued>().build().unwrap()
}

async fn start<W: Workflow<Input = String>>(engine: &Engine, text: &str) -> Run<W::Output> {
    engine.start::<W>(text.to_owned()).state(SESSION, "ada".to_owned()).await.unwrap()
}

async fn result<T: Payload>(run: &Run<T>) -> T {
    tokio::time::timeout(Duration::from_secs(600), run.result()).await.expect("the run ends").unwrap()
}

/// What the agent says that comes behind one of the same run which was dropped.
async fn behind<W: Workflow<Input = String, Output = String>>(text: &str) -> (String, Vec<String>) {
    let engine = engine();
    let said = result(&start::<W>(&engine, text).await).await;
    (said, texts(&Sessions::of(&engine).unwrap().get("chat", "ada").messages().await.unwrap()))
}

#[tokio::test(start_paused = true)]
async fn the_next_agent_of_its_run_does_not_wait_for_it() {
    let alone = ("1 seen".to_owned(), vec!["instead".to_owned(), "1 seen".to_owned()]);
    assert_eq!(behind::<of_a_node>("stall").await, alone);
    assert_eq!(behind::<of_a_call>("stall").await, alone);
    assert_eq!(behind::<of_a_dropped_call>("stall").await, alone);
    assert_eq!(behind::<of_a_panic>("hello").await, alone);
    assert_eq!(behind::<of_a_call_beside_it>("both").await, alone);
}

#[tokio::test(start_paused = true)]
async fn nor_does_another_run_while_its_own_continues() {
    let engine = engine();
    let first = start::<of_a_run_that_continues>(&engine, "stall").await;
    come(&engine, 1).await;
    let second = start::<queued>(&engine, "hello").await;
    assert_eq!(result(&second).await, "1 seen");
    let Outcome::Waiting(_) = first.outcome().await.unwrap() else { panic!("a person is asked") };
    first.answer("what", "good day").await.unwrap();
    assert_eq!(result(&first).await, "good day");
}

#[test]
fn its_run_has_recorded_that_it_was_dropped_before_the_next_one_looks() {
    let disk = OnDisk::default();
    life(async {
        let builder = disk.engine(&Death::default()).await.resource(Models::new(Stalling));
        let engine = builder.register::<of_a_call_dropped_soon>().build().unwrap();
        let run = start::<of_a_call_dropped_soon>(&engine, "stall").await;
        assert_eq!(run.result().await.unwrap(), "1 seen");
        engine.shutdown().await;
    });
}

#[tokio::test]
async fn one_in_a_called_workflow_is_there_again_when_its_run_is_retried() {
    let builder = Engine::builder().resource(Models::new(Stalling));
    let engine = builder.register::<around>().register::<rejected>().build().unwrap();
    let first = start::<around>(&engine, "stall").await;
    come(&engine, 1).await;
    first.cancel().await.unwrap();
    assert_eq!(first.outcome().await, Ok(Outcome::Cancelled));

    let retried = engine.retry(first.id()).await.unwrap();
    let failed = failure(start::<rejected>(&engine, "hello").await.result().await);
    let Some(AgentError::Session(SessionError::Busy { run, .. })) = failed.error_as() else { panic!("{failed}") };
    assert_eq!(run, first.id());
    retried.cancel().await.unwrap();
}
