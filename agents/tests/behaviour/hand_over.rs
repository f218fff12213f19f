//! Agents that hand over to each other, and what was said in their run.

use graphweft::prelude::*;
use graphweft::state::Append;
use graphweft_agents::{Agent, AgentError, CONVERSATION, Memory, Message, Models, RunAgent, Scripted, Sessions};
use graphweft_tests::failure;

use crate::scene::{last_text, texts};

#[value]
#[derive(Route)]
enum Next {
    /// To the desk for money.
    Billing(String),
    /// To the desk for repairs.
    Repairs(String),
    /// Nothing is left to do.
    Done(String),
}

fn billing() -> RunAgent<String, Next> {
    Agent::new("You do the money.").in_run()
}

fn repairs() -> RunAgent<String, Next> {
    Agent::new("You repair.").in_run()
}

workflow! {
    desks(String) -> String {
        let billing: RunAgent<String, Next> = billing();
        let repairs: RunAgent<String, Next> = repairs();
        START => billing => <billing: billing, repairs: repairs, done: END>;
        repairs => <billing: billing, repairs: repairs, done: END>;
    }
}

#[tokio::test]
async fn each_agent_of_a_hand_over_sees_what_was_said_to_the_others() {
    let model = Scripted::new(|request| {
        let answer = match (&*request.instructions, last_text(request).as_str()) {
            ("You do the money.", "The lamp is broken.") => r#"{"Repairs": "Look at the lamp."}"#,
            ("You repair.", _) => r#"{"Billing": "It cannot be repaired."}"#,
            _ => r#"{"Done": "Here is your money."}"#,
        };
        Ok(Message::assistant(answer))
    });
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<desks>("The lamp is broken.".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Here is your money.");
    let expected = [
        "The lamp is broken.",
        r#"{"Repairs": "Look at the lamp."}"#,
        "Look at the lamp.",
        r#"{"Billing": "It cannot be repaired."}"#,
        "It cannot be repaired.",
    ];
    assert_eq!(texts(&model.requests()[2].messages), expected);
    // What was said is the state of this run, and of no session.
    assert!(Sessions::of(&engine).unwrap().list("").await.unwrap().is_empty());
}

const CASE: StateKey<Vec<Message>, Append> = StateKey::new("case");

#[node]
async fn judge(
    claim: String,
    ctx: &Context,
    #[may_write(CASE)] _case: StateWriter<Vec<Message>, Append>,
) -> Result<String, AgentError> {
    Agent::new("You judge.").memory(Memory::state(CASE)).run(claim, ctx).await
}

#[node]
async fn appeal(
    verdict: String,
    ctx: &Context,
    #[may_write(CASE)] _case: StateWriter<Vec<Message>, Append>,
) -> Result<String, AgentError> {
    Agent::new("You judge again.").memory(Memory::state(CASE)).run(verdict, ctx).await
}

#[node]
async fn undeclared(claim: String, ctx: &Context) -> Result<String, AgentError> {
    Agent::new("You judge.").memory(Memory::state(CASE)).run(claim, ctx).await
}

workflow! {
    court(String) -> String { START => judge => appeal; }
}

workflow! {
    careless(String) -> String { START => undeclared; }
}

#[tokio::test]
async fn agents_in_nodes_share_a_key_that_the_nodes_declare() {
    let model = Scripted::new(|request| Ok(Message::assistant(format!("{} seen", request.messages.len()))));
    let engine = Engine::builder().resource(Models::new(model)).build().unwrap();
    assert_eq!(engine.start::<court>("He did it.".into()).await.unwrap().result().await.unwrap(), "3 seen");
    let run = engine.start::<careless>("He did it.".into()).await.unwrap();
    let failed = failure(run.result().await);
    assert!(failed.to_string().contains("`case`"), "{failed}");
}

#[tokio::test]
async fn an_agent_that_fails_adds_nothing_to_its_run() {
    fn wants_a_number() -> RunAgent<String, u32> {
        Agent::new("You count.").repairs(0).in_run()
    }
    #[node]
    async fn how_many(failed: AgentError, #[state(CONVERSATION)] said: Vec<Message>) -> u32 {
        assert!(matches!(failed, AgentError::Misfit { .. }));
        said.len() as u32
    }
    let flow = workflow! {
        let counter: RunAgent<String, u32> = wants_a_number();
        START => counter => <ok: END, err: how_many>;
        how_many => END
    };
    let engine = Engine::builder().resource(Models::new(Scripted::text("many"))).build().unwrap();
    assert_eq!(engine.start_flow(&flow, "How many?".into()).await.unwrap().result().await.unwrap(), 0);
}
