//! Loops that are entered at several nodes: agents that hand over to each other.

use graphweft::prelude::*;
use graphweft_tests::{records_of, started};

#[value]
#[derive(Route)]
enum Step {
    Sales(String),
    Support(String),
    Done(String),
}

fn next(text: &str, me: &str) -> Step {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = format!("{rest} {me}").trim().to_owned();
    match first {
        "sales" => Step::Sales(rest),
        "support" => Step::Support(rest),
        _ => Step::Done(rest),
    }
}

#[node]
async fn triage(text: String) -> Step {
    next(&text, "t")
}

#[node]
async fn sales(text: String) -> Step {
    next(&text, "a")
}

#[node]
async fn support(text: String) -> Step {
    next(&text, "u")
}

workflow! {
    desk(String) -> String {
        START => triage => <sales: sales, support: support, done: END>;
        sales => <sales: sales, support: support, done: END>;
        support => <sales: sales, support: support, done: END>;
    }
}

#[tokio::test]
async fn it_may_be_entered_at_one_agent() {
    assert_eq!(desk("sales end".to_owned()).await.unwrap(), "t a");
}

#[tokio::test]
async fn it_may_be_entered_at_the_other() {
    assert_eq!(desk("support end".to_owned()).await.unwrap(), "t u");
}

#[tokio::test]
async fn it_may_not_be_entered_at_all() {
    assert_eq!(desk("end".to_owned()).await.unwrap(), "t");
}

#[tokio::test]
async fn agents_hand_over_as_often_as_they_like() {
    let script = "sales support sales sales support end".to_owned();
    assert_eq!(desk(script).await.unwrap(), "t a u a a u");
}

#[tokio::test]
async fn each_step_is_a_turn() {
    let events = records_of::<desk>("support sales support end".to_owned()).await;
    assert_eq!(started(&events), ["desk/triage", "desk/support", "desk/sales#2", "desk/support#3"]);
}

#[tokio::test]
async fn what_comes_after_the_last_step_runs_once() {
    #[node]
    async fn sign(text: String) -> String {
        format!("signed {text}")
    }
    let flow = workflow! {
        START => triage => <sales: sales, support: support, done: sign>;
        sales => <sales: sales, support: support, done: sign>;
        support => <sales: sales, support: support, done: sign>;
        sign => END;
    };
    assert_eq!(flow.run("sales support end".to_owned()).await.unwrap(), "signed t a u");
}
