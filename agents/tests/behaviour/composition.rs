//! Agents and workflows as tools, agents in plain code.

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, AgentError, Message, ModelError, Models, Scripted, Tool};
use graphweft_tests::{failure, paths};

use crate::scene::{call, results, run};

#[node]
async fn add(left: i64, right: i64) -> i64 {
    left + right
}

#[node]
async fn double(number: i64) -> Result<i64, String> {
    number.checked_mul(2).ok_or_else(|| "too large".to_owned())
}

workflow! {
    /// Multiplies by four.
    quadruple(i64) -> i64 {
        let again = double();
        START => double => again;
    }
}

fn expert() -> Agent<String, String> {
    Agent::new("You calculate.").tool(Tool::of::<add>()).max_turns(2)
}

fn boss() -> Agent<String, String> {
    let expert = Tool::by_value("expert", expert()).description("Knows numbers.");
    Agent::new("You decide.").tool(expert).tool(Tool::of::<quadruple>())
}

workflow! {
    office(String) -> String {
        let boss: Agent<String, String> = boss();
        START => boss;
    }
}

/// One model for both agents.
fn two(boss: Vec<Message>, expert: Vec<Message>) -> Scripted {
    Scripted::new(move |request| {
        let replies = if &*request.instructions == "You decide." { &boss } else { &expert };
        let turn = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
        Ok(replies[turn].clone())
    })
}

/// Runs an agent for each text.
#[node]
async fn each(texts: Vec<String>, ctx: &Context) -> Result<Vec<String>, AgentError> {
    let mut said = Vec::new();
    for text in texts {
        said.push(expert().run(text, ctx).await?);
    }
    Ok(said)
}

/// The same with a child for each.
#[node]
async fn each_as_child(texts: Vec<String>, ctx: &Context) -> Result<Vec<String>, AgentError> {
    let mut said = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        said.push(ctx.call_as("second", expert(), text).key(at).await?);
    }
    Ok(said)
}

workflow! {
    repeated(Vec<String>) -> Vec<String> { START => each; }
}

workflow! {
    repeated_as_child(Vec<String>) -> Vec<String> { START => each_as_child; }
}

#[tokio::test]
async fn a_second_agent_in_one_node_is_an_error_with_advice_that_works() {
    let texts = || vec!["one".to_owned(), "two".to_owned()];
    let error = run::<repeated>(Scripted::text("Yes."), texts()).await.unwrap_err().to_string();
    let advice = "duplicate request `repeated/each/model:1` in one node; an agent has run in it before: call each other one as a \
                  child with a name or a key of its own, `ctx.call_as(\"second\", agent, input).key(..)`";
    assert!(error.contains(advice), "{error}");
    assert_eq!(run::<repeated_as_child>(Scripted::text("Yes."), texts()).await.unwrap(), ["Yes.", "Yes."]);
}

#[tokio::test]
async fn an_agent_is_a_tool_of_another_with_paths_below_it() {
    let model = two(
        vec![call("expert", json!({ "input": "2 and 3?" })), Message::assistant("It is five.")],
        vec![call("add", json!({ "left": 2, "right": 3 })), Message::assistant("5")],
    );
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<office>("What is it?".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "It is five.");
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let completed = paths(&history, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    let expected = [
        "office/boss/model:1",
        "office/boss/expert:1.0/model:1",
        "office/boss/expert:1.0/add:1.0",
        "office/boss/expert:1.0/model:2",
        "office/boss/expert:1.0",
        "office/boss/model:2",
        "office/boss",
    ];
    assert_eq!(completed, expected);
    let tool = &model.requests()[0].tools[0];
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("expert", "Knows numbers."));
}

#[tokio::test]
async fn the_error_of_an_agent_goes_to_the_agent_that_has_called_it() {
    let again = || call("add", json!({ "left": 2, "right": 3 }));
    let model =
        two(vec![call("expert", json!({ "input": "?" })), Message::assistant("Nobody knows.")], vec![again(), again()]);
    assert_eq!(run::<office>(model.clone(), "What?".into()).await.unwrap(), "Nobody knows.");
    let last = model.requests().pop().unwrap();
    assert_eq!(results(&last), ["error: no output after 2 turns; allow more with `Agent::max_turns`"]);
}

#[tokio::test]
async fn a_workflow_is_a_tool_and_its_failure_goes_to_the_model() {
    let calls = [("quadruple", json!({ "input": 3 })), ("quadruple", json!({ "input": i64::MAX }))];
    let model = two(vec![Scripted::calls(calls), Message::assistant("12.")], vec![]);
    assert_eq!(run::<office>(model.clone(), "What?".into()).await.unwrap(), "12.");
    let requests = model.requests();
    let [first, second] = &results(&requests[1])[..] else { panic!("two results") };
    assert_eq!(first, "12");
    assert!(second.starts_with("error: ") && second.contains("too large"), "{second}");
    assert_eq!(requests[0].tools[1].description, "Multiplies by four.");
}

#[node]
async fn judge(claim: String, ctx: &Context) -> Result<String, AgentError> {
    let first = Agent::<String, bool>::new("You judge.").run(claim.clone(), ctx).await?;
    let second: Agent<String, bool> = Agent::new("You judge again.");
    let second = ctx.call_as("second", second, claim).await?;
    Ok(format!("{first} {second}"))
}

workflow! { court(String) -> String { START => judge; } }

#[tokio::test]
async fn an_agent_runs_in_plain_code_and_its_error_is_that_of_the_node() {
    let model = Scripted::text("{\"answer\": true}");
    assert_eq!(run::<court>(model, "It rains".into()).await.unwrap(), "true true");
    let failure = failure(run::<court>(Scripted::text("perhaps"), "It rains".into()).await);
    assert!(matches!(failure.error_as(), Some(AgentError::Misfit { tries: 3, .. })), "{failure}");
}

#[node]
async fn insist(claim: String, ctx: &Context) -> Result<bool, AgentError> {
    let agent: Agent<String, bool> = Agent::new("You judge.").retry(RetryPolicy::none());
    let retry = RetryPolicy::with_max_attempts(3).initial_delay(std::time::Duration::from_millis(1));
    Ok(ctx.call_as("judge", agent, claim).retry(retry).await?)
}

workflow! { insisting(String) -> bool { START => insist; } }

/// How many attempts of the agent failed.
async fn failed_attempts(model: Scripted) -> usize {
    let engine = Engine::builder().resource(Models::new(model)).build().unwrap();
    let run = engine.start::<insisting>("It rains".into()).await.unwrap();
    failure(run.result().await);
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let failed = paths(&history, |kind| matches!(kind, EventKind::NodeFailed { .. }));
    failed.iter().filter(|path| *path == "insisting/insist/judge").count()
}

#[tokio::test]
async fn an_agent_is_tried_again_after_an_error_of_the_model_and_after_no_other() {
    let broken = Scripted::new(|_| Err(ModelError::Filtered { message: "not that".into() }));
    assert_eq!(failed_attempts(broken).await, 3);
    assert_eq!(failed_attempts(Scripted::text("perhaps")).await, 1);
}

fn sums() -> Agent<(i64, i64), i64> {
    Agent::new("You add.").prompt(|(left, right): &(i64, i64)| format!("{left} + {right} = ?"))
}

#[node]
async fn excuse(error: AgentError) -> i64 {
    if matches!(error, AgentError::Misfit { .. }) { -1 } else { -2 }
}

workflow! {
    sum((i64, i64)) -> i64 {
        let sums: Agent<(i64, i64), i64> = sums();
        START => sums => <ok: END, err: excuse>;
        excuse => END;
    }
}

#[tokio::test]
async fn the_error_of_an_agent_is_routed() {
    let model = Scripted::text("5");
    assert_eq!(run::<sum>(model.clone(), (2, 3)).await.unwrap(), 5);
    assert_eq!(crate::scene::last_text(&model.requests()[0]), "2 + 3 = ?");
    assert_eq!(run::<sum>(Scripted::text("five"), (2, 3)).await.unwrap(), -1);
}
