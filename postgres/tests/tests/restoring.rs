//! Backups, and databases that are restored or damaged.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{FeedQuery, Store, StoreError};
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::server::Server;
use graphweft_postgres_tests::{builder, client, fresh_schema, server};

#[node]
async fn review(ctx: &Context) -> bool {
    ctx.ask("approve", "Ship it?").await
}

workflow! { pub publish(()) -> bool { START => review; review => END; } }

fn engine_of(store: &PostgresStore) -> Engine {
    Engine::builder().store(store.clone()).register::<publish>().build().unwrap()
}

/// The settings of an address, for programs of PostgreSQL.
fn program(name: &str, address: &str) -> Command {
    let bin = std::env::var_os("GRAPHWEFT_POSTGRES_BIN").expect("`with_server.sh` sets it");
    let mut command = Command::new(Path::new(&bin).join(name));
    command.args(["--dbname", address]).stdout(Stdio::null());
    command
}

fn back_up(schema: &str, file: &Path) {
    let dump =
        program("pg_dump", &server()).args(["--schema", schema, "--format", "custom", "--file"]).arg(file).status();
    assert!(dump.unwrap().success());
}

fn restore(address: &str, file: &Path) {
    assert!(program("pg_restore", address).arg(file).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_restored_on_another_server_and_its_runs_continue() {
    let (schema, folder) = (fresh_schema(), tempfile::tempdir().unwrap());
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store);
    engine.recover().await.unwrap();
    engine.start::<publish>(()).id("poem").await.unwrap().outcome().await.unwrap();
    back_up(&schema, &folder.path().join("dump"));
    // Work continues, and who follows the feed has seen it.
    for _ in 0..20 {
        engine.start::<publish>(()).await.unwrap().outcome().await.unwrap();
    }
    let end = store.feed_end().await.unwrap();
    let other = Server::start();
    restore(&other.address(), &folder.path().join("dump"));

    let restored = PostgresStore::builder(&other.address()).schema(&schema).connect().await.unwrap();
    let next = engine_of(&restored);
    next.recover().await.unwrap();

    next.answer("poem", "approve", true).await.unwrap();
    let run = next.get_run_of::<publish>("poem").await.unwrap().unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(20), run.result()).await.unwrap().unwrap());
    // They see what is new, and only that.
    let mut query = FeedQuery::default();
    query.after = end;
    let page = restored.feed(query).await.unwrap();
    assert_eq!(page.records.first().unwrap().stored.as_ref().unwrap().record.kind.name(), "answered");
    next.shutdown().await;
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_notice_that_the_database_was_restored_under_them_and_say_what_to_do() {
    let (schema, folder) = (fresh_schema(), tempfile::tempdir().unwrap());
    let stores = [builder(&schema).connect().await.unwrap(), builder(&schema).connect().await.unwrap()];
    let [before, after] = stores.each_ref().map(engine_of);
    before.recover().await.unwrap();
    before.start::<publish>(()).id("poem").await.unwrap().outcome().await.unwrap();
    back_up(&schema, &folder.path().join("dump"));
    // One joins after the backup. The other one is in it, and has lived for some time since.
    after.recover().await.unwrap();
    let client = client(&schema).await;
    client.batch_execute("update owners set renewals = renewals + 3").await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;

    client.batch_execute(&format!("drop schema {schema} cascade")).await.unwrap();
    restore(&server(), &folder.path().join("dump"));

    for store in &stores {
        let noticed = tokio::time::timeout(Duration::from_secs(30), async {
            loop {
                match store.header("poem").await {
                    Err(error @ StoreError::Unusable { .. }) => return error,
                    _ => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        });
        let error = noticed.await.expect("it notices").to_string();
        assert!(error.contains("restored from a backup") && error.contains("end this process"), "{error}");
    }
    assert!(after.start::<publish>(()).await.is_err());
    // As the process that is started again.
    let next = engine_of(&builder(&schema).connect().await.unwrap());
    next.recover().await.unwrap();
    next.answer("poem", "approve", false).await.unwrap();
    let run = next.get_run_of::<publish>("poem").await.unwrap().unwrap();
    assert!(!tokio::time::timeout(Duration::from_secs(20), run.result()).await.unwrap().unwrap());
    next.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_header_and_a_changed_question_are_noticed_and_the_feed_of_the_others_continues() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store);
    for id in ["first", "second"] {
        engine.start::<publish>(()).id(id).await.unwrap().outcome().await.unwrap();
    }
    let client = client(&schema).await;
    client.batch_execute("update questions set body = replace(body, 'Ship', 'Sink')").await.unwrap();
    let error = engine.questions(graphweft::QuestionFilter::default()).await.unwrap_err().to_string();
    assert!(error.contains("an open question does not match its checksum"), "{error}");

    let change = "update runs set header = replace(header, 'publish', 'perish') where id = 'first'";
    assert_eq!(client.execute(change, &[]).await.unwrap(), 1);

    let error = store.header("first").await.unwrap_err().to_string();
    assert!(error.contains("does not match its checksum; restore it from a backup"), "{error}");
    let page = store.feed(FeedQuery::default()).await.unwrap();
    for record in &page.records {
        assert_eq!((record.stored.is_err(), &*record.workflow), (record.id == "first", "publish"));
    }
    let ids: Vec<&str> = page.records.iter().map(|record| &*record.id).collect();
    assert!(ids.contains(&"first") && ids.contains(&"second"), "{ids:?}");
    // Written by a version that knows of no checksums.
    let older = "update runs set header = regexp_replace(header, ',\"checksum\":[0-9]+', '') where id = 'second'";
    client.batch_execute(older).await.unwrap();
    assert_eq!(store.header("second").await.unwrap().unwrap().id, "second");
    engine.shutdown().await;
}
