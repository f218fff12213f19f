//! Budgets: checked before a call, of an agent and of a run, over restarts.

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{
    Agent, AgentError, Budget, BudgetOf, Message, ModelUsage, Models, OverBudget, Scripted, Tool, Usage, spent,
};
use graphweft_tests::{Death, OnDisk, failure, life};

use crate::scene::{call, run};

/// Asks a person.
#[node]
async fn ask_human(question: String, ctx: &Context) -> String {
    ctx.ask::<String>("human", question).await
}

/// Looks up a word.
#[node]
async fn look_up(word: String) -> String {
    word
}

fn frugal() -> Agent<String, String> {
    Agent::new("frugal").tool(Tool::of::<look_up>()).budget(Budget::new().tokens(40).calls(5))
}

fn spender() -> Agent<String, String> {
    Agent::new("spender").tool(Tool::of::<ask_human>()).tool(Tool::of::<look_up>())
}

workflow! {
    alone(String) -> String {
        let frugal: Agent<String, String> = frugal();
        START => frugal;
    }
}

workflow! {
    in_turn(String) -> String {
        let first: Agent<String, String> = spender();
        let second: Agent<String, String> = spender();
        START => first => second;
    }
}

#[node]
async fn spends(number: u32, ctx: &Context) -> String {
    match ctx.call_as("spender", spender(), number.to_string()).await.map_err(AgentError::from) {
        Ok(text) => text,
        Err(AgentError::OverBudget(_)) => "over".to_owned(),
        Err(other) => other.to_string(),
    }
}

workflow! {
    side_by_side(Vec<u32>) -> Vec<String> {
        START => [spends];
    }
}

fn look_up_again() -> Message {
    call("look_up", json!({ "word": "more" }))
}

#[tokio::test]
async fn an_agent_stops_before_the_call_that_its_budget_does_not_cover() {
    // Turn 1 takes 15 tokens, and turn 2 takes 35.
    let model = Scripted::new(|_| Ok(look_up_again()));
    let failure = failure(run::<alone>(model.clone(), "Go".into()).await);
    let Some(AgentError::OverBudget(over)) = failure.error_as() else { panic!("another error: {failure}") };
    assert_eq!((over.of, over.calls, over.tokens), (BudgetOf::Agent, 2, 50));
    assert_eq!(over.allowed, Budget::new().tokens(40).calls(5));
    assert_eq!(model.requests().len(), 2);
}

fn engine_with(builder: graphweft::EngineBuilder, model: &Scripted, budget: Budget) -> Engine {
    builder.resource(Models::new(model.clone()).run_budget(budget)).register::<in_turn>().build().unwrap()
}

/// The first agent calls its model twice, and the second asks a person between its two calls.
fn two_agents() -> Scripted {
    Scripted::new(|request| {
        let turn = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
        let is_first = request.messages[0] == Message::user("Go");
        Ok(match (is_first, turn) {
            (true, 0) => look_up_again(),
            (false, 0) => call("ask_human", json!({ "question": "More?" })),
            _ => Message::assistant("Done."),
        })
    })
}

/// The run up to the question, in a process that ends there.
fn until_the_question(disk: &OnDisk, model: &Scripted, budget: Budget) {
    life(async {
        let engine = engine_with(disk.engine(&Death::default()).await, model, budget);
        let run = engine.start::<in_turn>("Go".into()).id("run").await.unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        engine.shutdown().await;
    });
}

#[test]
fn the_budget_of_a_run_counts_what_was_spent_before_a_restart_and_by_nodes_that_are_done() {
    let (disk, model) = (OnDisk::default(), two_agents());
    let budget = Budget::new().calls(3);
    until_the_question(&disk, &model, budget);
    assert_eq!(model.requests().len(), 3);
    life(async {
        let engine = engine_with(disk.engine(&Death::default()).await, &model, budget);
        engine.recover().await.unwrap();
        engine.answer("run", "human", "Yes").await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let failure = failure(run.result().await);
        let Some(AgentError::OverBudget(over)) = failure.error_as() else { panic!("another error: {failure}") };
        let OverBudget { of, calls, allowed, .. } = over.clone();
        assert_eq!((of, calls, allowed), (BudgetOf::Run, 3, budget));
        engine.shutdown().await;
    });
    assert_eq!(model.requests().len(), 3, "no call was made beyond the budget");
}

#[test]
fn a_run_that_was_over_its_budget_is_retried_with_a_larger_one_and_makes_the_rest_of_its_calls() {
    let (disk, model) = (OnDisk::default(), two_agents());
    until_the_question(&disk, &model, Budget::new().calls(3));
    life(async {
        let engine = engine_with(disk.engine(&Death::default()).await, &model, Budget::new().calls(3));
        engine.recover().await.unwrap();
        engine.answer("run", "human", "Yes").await.unwrap();
        failure(engine.get_run("run").await.unwrap().unwrap().result().await);
        engine.shutdown().await;
    });
    life(async {
        let engine = engine_with(disk.engine(&Death::default()).await, &model, Budget::new().calls(4));
        let run = engine.retry("run").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "Done.");
        let spent = spent(&engine.history("run").await.unwrap().unwrap());
        assert_eq!(spent["scripted"].calls, 4);
        engine.shutdown().await;
    });
    assert_eq!(model.requests().len(), 4, "each call was made once");
}

#[test]
fn a_recorded_reply_is_returned_whatever_the_budget_is_now() {
    let (disk, model) = (OnDisk::default(), two_agents());
    until_the_question(&disk, &model, Budget::new().calls(10));
    life(async {
        let engine = engine_with(disk.engine(&Death::default()).await, &model, Budget::new().calls(1));
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("it still waits") };
        assert_eq!(questions.len(), 1);
        engine.shutdown().await;
    });
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn agents_that_run_in_parallel_make_no_call_more_than_the_run_may() {
    let model = Scripted::text("Done.");
    let models = Models::new(model.clone()).run_budget(Budget::new().calls(3));
    let engine = Engine::builder().resource(models).build().unwrap();
    let run = engine.start::<side_by_side>((0..8).collect()).await.unwrap();
    let words = run.result().await.unwrap();
    assert_eq!(words.iter().filter(|word| *word == "Done.").count(), 3, "{words:?}");
    assert_eq!(words.iter().filter(|word| *word == "over").count(), 5, "{words:?}");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_call_that_fails_is_no_spent_one() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let model = Scripted::new(move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => Err(graphweft_agents::ModelError::Overloaded { retry_after: None, message: "later".into() }),
        _ => Ok(Message::assistant("Done.")),
    });
    let models = Models::new(model.clone()).run_budget(Budget::new().calls(1));
    let engine = Engine::builder().resource(models).build().unwrap();
    let run = engine.start::<side_by_side>(vec![1]).await.unwrap();
    assert_eq!(run.result().await.unwrap(), ["Done."]);
    assert_eq!(model.requests().len(), 2);
}

fn brief(tokens: u32) -> Agent<String, String> {
    Agent::new("You talk.").tool(Tool::of::<look_up>()).max_tokens(tokens)
}

#[node]
async fn talk(text: String, #[resource] tokens: &u32, ctx: &Context) -> Result<String, AgentError> {
    brief(*tokens).run(text, ctx).await
}

workflow! {
    talks(String) -> String {
        START => talk;
    }
}

/// Calls a tool, and needs more than 5 tokens for the answer.
fn long_winded() -> Scripted {
    Scripted::replies(|request| {
        if request.messages.len() == 1 {
            return Ok(Scripted::reply(request, look_up_again()));
        }
        let reply = Scripted::reply(request, Message::assistant("A long answer."));
        Ok(if request.options.max_tokens == Some(5) { reply.cut_off() } else { reply })
    })
}

#[test]
fn a_reply_that_was_cut_off_is_asked_for_again_by_a_retry_and_each_try_is_spent() {
    let (disk, model) = (OnDisk::default(), long_winded());
    let engine = async |tokens: u32| {
        let builder = disk.engine(&Death::default()).await.resource(Models::new(model.clone())).resource(tokens);
        builder.register::<talks>().build().unwrap()
    };
    life(async {
        let engine = engine(5).await;
        let run = engine.start::<talks>("Go".into()).id("run").await.unwrap();
        let failed = failure(run.result().await);
        assert_eq!(failed.error_as(), Some(AgentError::CutOff { turn: 2, tokens: 5 }), "{failed}");
        engine.shutdown().await;
    });
    assert_eq!(model.requests().len(), 2);
    life(async {
        let engine = engine(500).await;
        let run = engine.retry("run").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "A long answer.");
        let history = engine.history("run").await.unwrap().unwrap();
        let looked_up = |event: &&graphweft::Event| {
            matches!(event.kind, EventKind::NodeCompleted { .. }) && event.path.contains("look_up")
        };
        assert_eq!((spent(&history)["scripted"].calls, history.iter().filter(looked_up).count()), (3, 1));
        engine.shutdown().await;
    });
    assert_eq!(model.requests().len(), 3);
}

workflow! {
    chat(String) -> String {
        let talker: Agent<String, String> = Agent::new("You talk.");
        START => talker;
    }
}

#[test]
fn a_reply_that_is_too_large_is_spent_also_behind_a_restart() {
    let (disk, model) = (OnDisk::default(), Scripted::text("x".repeat(20_000)));
    let engine = async || {
        let models = Models::new(model.clone()).run_budget(Budget::new().calls(1));
        let builder = disk.engine(&Death::default()).await.max_value_size(10_000).resource(models);
        builder.register::<chat>().build().unwrap()
    };
    life(async {
        let engine = engine().await;
        let run = engine.start::<chat>("Go".into()).id("run").await.unwrap();
        let failed = failure(run.result().await);
        assert!(matches!(failed.error_as(), Some(AgentError::ReplyTooLarge { .. })), "{failed}");
        let usage = Usage::new(10, 5);
        assert_eq!(spent(&engine.history("run").await.unwrap().unwrap())["scripted"], ModelUsage::new(1, usage));
        engine.shutdown().await;
    });
    life(async {
        let engine = engine().await;
        let failed = failure(engine.retry("run").await.unwrap().result().await);
        assert!(matches!(failed.error_as(), Some(AgentError::OverBudget(_))), "{failed}");
        engine.shutdown().await;
    });
    assert_eq!(model.requests().len(), 1);
}

/// Returns what looks like the record of a model call.
#[node(name = "model")]
async fn forge(model: String) -> graphweft::Json {
    let usage = json!({ "input": 1_000_000, "output": 7 });
    json!({ "gen_ai": "chat", "message": { "assistant": { "text": "x" } }, "model": model, "usage": usage })
}

workflow! {
    forges(String) -> String {
        let talker: Agent<String, String> = Agent::new("You talk.").tool(Tool::of::<forge>());
        START => talker;
    }
}

#[tokio::test]
async fn what_a_tool_returns_is_not_spent() {
    let replies = [call("model", json!({ "model": "large" })), Message::assistant("Done.")];
    let engine = Engine::builder().resource(Models::new(Scripted::turns(replies))).build().unwrap();
    assert_eq!(engine.start::<forges>("Go".into()).id("run").await.unwrap().result().await.unwrap(), "Done.");
    let spent = spent(&engine.history("run").await.unwrap().unwrap());
    assert_eq!(spent.keys().collect::<Vec<_>>(), ["scripted"]);
}
