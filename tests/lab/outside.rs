//! Answers, signals, resources and state.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::testing::Lab;
use graphweft::{Elapsed, Outcome, json};

use crate::{has_line, message, message_of};

#[node]
async fn approve(cents: u32, ctx: &Context) -> bool {
    ctx.ask::<bool>("large", "Pay this back?").payload(cents).await
}

workflow! { refund(u32) -> bool { START => approve; } }

#[tokio::test]
async fn questions_are_answered_by_name_by_id_and_by_what_they_ask() {
    for name in ["large", "approve/large", "refund/approve/large"] {
        assert_eq!(Lab::of::<refund>().answer(name, true).run(1).await.output(), &true);
    }
    let lab = Lab::of::<refund>().answer_with("large", |question| json!(question.payload == 2));
    assert_eq!(lab.run(2).await.output(), &true);
    assert_eq!(lab.run(3).await.output(), &false);
}

#[tokio::test]
async fn a_question_without_an_answer_is_an_outcome() {
    let run = Lab::of::<refund>().answer("small", true).run(1).await;
    let Outcome::Waiting(questions) = run.outcome() else { panic!("{run:?}") };
    assert_eq!(questions[0].id, "refund/approve/large");
    let text = message(|| assert!(run.output()));
    has_line(&text, &["waits for an answer to `refund/approve/large`", ".answer("]);
}

#[tokio::test]
async fn an_answer_of_the_wrong_type_ends_the_test() {
    let text = message_of(Lab::of::<refund>().answer("large", "perhaps").run(1)).await;
    has_line(&text, &["the answer of the lab is refused", "refund/approve/large"]);
}

#[tokio::test]
async fn answers_of_one_name_are_given_in_turn_and_the_last_one_stays() {
    #[node]
    async fn count(n: u32, ctx: &Context) -> Result<u32, u32> {
        let again = ctx.ask::<bool>("again", "Once more?").await;
        if again { Err(n + 1) } else { Ok(n) }
    }
    workflow! { counted(u32) -> u32 { START => count => <ok: END, err: count>; } }
    let lab = Lab::of::<counted>().answer("again", true).answer("again", true).answer("again", false);
    assert_eq!(lab.run(0).await.output(), &2);
}

#[tokio::test(start_paused = true)]
async fn a_question_with_a_time_limit_and_without_an_answer_elapses() {
    #[node]
    async fn ask(n: u32, ctx: &Context) -> u32 {
        match ctx.ask::<u32>("much", "How much?").within(Duration::from_secs(86_400)).await {
            Ok(answer) => answer,
            Err(Elapsed { .. }) => n,
        }
    }
    workflow! { asked(u32) -> u32 { START => ask; } }
    assert_eq!(Lab::of::<asked>().run(7).await.output(), &7);
    assert_eq!(Lab::of::<asked>().answer("much", 8).run(7).await.output(), &8);
}

const PAID: Signal<u64> = Signal::new("paid");

#[node]
async fn ship(order: u64, ctx: &Context) -> u64 {
    order + ctx.wait(PAID).await + ctx.wait(PAID).await
}

workflow! { shipped(u64) -> u64 { START => ship; } }

#[tokio::test]
async fn signals_are_sent_in_turn_and_one_that_is_missing_is_an_outcome() {
    let lab = Lab::of::<shipped>().repeatable::<ship>();
    assert_eq!(lab.run(1).await.outcome(), &Outcome::AwaitingSignals(awaited(&lab).await));
    let lab = lab.signal(PAID, 10).signal(PAID, 200);
    assert_eq!(lab.run(1).await.output(), &211);
    lab.crash_at_every_commit(1).await;
}

async fn awaited(lab: &Lab<shipped>) -> Vec<graphweft::AwaitedSignal> {
    match lab.run(1).await.outcome() {
        Outcome::AwaitingSignals(signals) => signals.clone(),
        other => panic!("{other:?}"),
    }
}

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn who(n: u32, #[state(OWNER)] owner: String, #[resource] pool: &Vec<u32>) -> String {
    format!("{owner} {n} {}", pool.len())
}

workflow! {
    #[given(OWNER)]
    owned(u32) -> String { START => who; }
}

#[tokio::test]
async fn state_and_resources_are_those_of_the_lab() {
    let lab = Lab::of::<owned>().state(OWNER, "Ada".into()).resource(vec![1_u32]).repeatable::<who>();
    assert_eq!(lab.run(1).await.output(), "Ada 1 1");
    lab.crash_at_every_commit(1).await;
}
