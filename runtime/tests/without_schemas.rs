//! Answers and signals in programs without the feature `json-schema`: only code knows their types.
#![cfg(not(feature = "json-schema"))]

use std::error::Error;

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{AnswerError, Signal, SignalError, json};

const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn approve(order: u32, ctx: &Context) -> u32 {
    order + ctx.ask::<u32>("discount", "How much less?").await
}

#[node]
async fn ship(order: u32, ctx: &Context) -> u32 {
    order + ctx.wait(PAID).await
}

workflow! { pub approval(u32) -> u32 { START => approve; } }
workflow! { pub shipping(u32) -> u32 { START => ship; } }

#[tokio::test]
async fn an_answer_is_checked_by_its_type_where_the_workflow_is_registered_and_refused_elsewhere()
-> Result<(), Box<dyn Error>> {
    let store = MemoryStore::new();
    let drives = Engine::builder().store(store.clone()).register::<approval>().build()?;
    let knows = Engine::builder().store(store.clone()).register::<approval>().build()?;
    let knows_nothing = Engine::builder().store(store).build()?;
    let run = drives.start::<approval>(7).id("order").await?;
    assert!(matches!(run.outcome().await?, Outcome::Waiting(_)));

    let refused = knows_nothing.answer("order", "discount", json!(3)).await.unwrap_err();
    let named = AnswerError::NotRegistered { run: "order".into(), workflow: "approval".into() };
    assert_eq!(refused, named, "{refused}");
    for engine in [&knows, &drives] {
        let refused = engine.answer("order", "discount", json!(4_294_967_296_u64)).await;
        assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{refused:?}");
    }
    knows.answer("order", "discount", json!(3)).await?;
    assert_eq!(run.result().await?, 10);
    // What there is to know without the code is said.
    let late = knows_nothing.answer("order", "discount", json!(3)).await.unwrap_err();
    assert!(matches!(late, AnswerError::AlreadyAnswered { .. }), "{late:?}");
    let unknown = knows_nothing.answer("order", "price", json!(3)).await.unwrap_err();
    assert!(matches!(unknown, AnswerError::UnknownQuestion { .. }), "{unknown:?}");
    Ok(())
}

#[tokio::test]
async fn json_for_a_signal_that_a_node_waits_for_is_refused_where_the_workflow_is_not_registered()
-> Result<(), Box<dyn Error>> {
    let store = MemoryStore::new();
    let drives = Engine::builder().store(store.clone()).register::<shipping>().build()?;
    let knows_nothing = Engine::builder().store(store).build()?;
    let run = drives.start::<shipping>(7).id("order").await?;
    assert!(matches!(run.outcome().await?, Outcome::AwaitingSignals(_)));

    let refused = knows_nothing.signal_json("order", "paid", json!("a lot")).await.unwrap_err();
    assert!(matches!(&refused, SignalError::NotRegistered { workflow, .. } if workflow == "shipping"), "{refused:?}");
    knows_nothing.signal("order", PAID, 3).await?;
    assert_eq!(run.result().await?, 10);
    Ok(())
}
