//! Stores behind PgBouncer.

use std::time::Duration;

use graphweft::QuestionFilter;
use graphweft::prelude::*;
use graphweft::store::{Store, StoreError};
use graphweft_postgres::{PostgresStore, PostgresStoreBuilder};
use graphweft_postgres_tests::fresh_schema;
use graphweft_postgres_tests::pooler::Pooler;

#[node]
async fn review(ctx: &Context) -> bool {
    ctx.ask("approve", "Ship it?").await
}

workflow! { pub publish(()) -> bool { START => review; review => END; } }

fn behind(pooler: &Pooler, schema: &str) -> PostgresStoreBuilder {
    PostgresStore::builder(&pooler.address()).schema(schema).max_connections(4)
}

/// Nothing here takes long. What would never come is a failure after this time.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it comes soon")
}

mod in_session_mode {
    use super::*;

    graphweft::store_conformance!(async {
        let pooler = Pooler::start("session", 40);
        let store = behind(&pooler, &fresh_schema()).connect().await.unwrap();
        (store, pooler)
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn in_session_mode_engines_wake_each_other() {
    let (pooler, schema) = (Pooler::start("session", 40), fresh_schema());
    let engine = async || {
        let store = behind(&pooler, &schema).connect().await.unwrap();
        (store.clone(), Engine::builder().store(store).register::<publish>().build().unwrap())
    };
    let ((of_here, here), (_, there)) = (engine().await, engine().await);
    here.recover().await.unwrap();
    let run = here.start::<publish>(()).id("poem").await.unwrap();
    let Outcome::Waiting { .. } = soon(run.outcome()).await.unwrap() else { panic!("it asks") };
    let asked = there.questions(QuestionFilter::default()).await.unwrap().remove(0);
    // Completes by a notification alone.
    let changed = of_here.changed().unwrap();

    there.answer("poem", &asked.question.id, true).await.unwrap();

    soon(changed).await;
    assert!(soon(run.result()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_session_mode_a_process_that_ends_is_noticed_before_its_lease_does() {
    let (pooler, schema) = (Pooler::start("session", 40), fresh_schema());
    let (mine, other) =
        (behind(&pooler, &schema).connect().await.unwrap(), behind(&pooler, &schema).connect().await.unwrap());
    let owner = mine.join(vec!["pay".to_owned()]).await.unwrap();
    assert!(other.is_alive(owner).await.unwrap());
    // As when its process ends: no goodbye, and its connections are closed.
    drop(mine);
    tokio::time::timeout(Duration::from_millis(3500), async {
        while other.is_alive(owner).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("before its lease of four seconds");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_transaction_mode_a_store_is_refused_and_leaves_nothing_behind() {
    let schema = fresh_schema();
    // One connection to the server for all, and several.
    for connections in [1, 10] {
        let pooler = Pooler::start("transaction", connections);
        let error = soon(behind(&pooler, &schema).connect()).await.unwrap_err();
        assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("`pool_mode = session`"), "{error}");
    }
    let client = graphweft_postgres_tests::client("public").await;
    let there = client.query_one("select to_regnamespace($1) is not null", &[&schema]).await.unwrap();
    assert!(!there.get::<_, bool>(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_has_no_connection_left_is_said_in_time() {
    let pooler = Pooler::start("session", 1);
    let address = format!("{} connect_timeout=1", pooler.address());
    let error = soon(PostgresStore::builder(&address).schema(fresh_schema()).connect()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("a pooler before it"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_statement_mode_a_store_is_refused() {
    let pooler = Pooler::start("statement", 10);
    let error = soon(behind(&pooler, &fresh_schema()).connect()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(error.to_string().contains("`pool_mode = session`"), "{error}");
}
