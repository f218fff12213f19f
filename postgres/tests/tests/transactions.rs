//! Steps and starts in transactions of the program.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use graphweft::prelude::*;
use graphweft::store::{FeedQuery, Store};
use graphweft::{ChildError, ErrorText, Signal, StartError};
use graphweft_postgres::tokio_postgres::Client;
use graphweft_postgres::{PostgresContext, PostgresStart, PostgresStore, Transaction};
use graphweft_postgres_tests::{builder, client, client_of, fresh_schema, server};

type Booked<T = i64> = Result<T, ChildError<ErrorText>>;

/// A table of the program, in a schema of its own.
async fn tables(schema: &str) -> Client {
    let client = client(schema).await;
    let accounts = format!(
        "create schema {schema}_shop;
         create table {schema}_shop.accounts (owner text primary key, cents bigint not null check (cents >= 0));
         create table {schema}_shop.entries (run text not null, step text not null);
         create table {schema}_shop.orders (id bigint primary key, item bigint references {schema}_shop.orders deferrable initially deferred);
         insert into {schema}_shop.accounts values ('me', 1000)"
    );
    client.batch_execute(&accounts).await.unwrap();
    client
}

fn shop(ctx: &Context) -> String {
    format!("{}_shop", ctx.run_id().split('/').next().unwrap())
}

async fn engine(schema: &str) -> Engine {
    let store = builder(schema).connect().await.unwrap();
    Engine::builder()
        .store(store)
        .register::<pay>()
        .register::<fan>()
        .register::<odd>()
        .register::<races>()
        .register::<clashes>()
        .build()
        .unwrap()
}

async fn cents(client: &Client, schema: &str) -> i64 {
    client.query_one(&format!("select cents from {schema}_shop.accounts"), &[]).await.unwrap().get(0)
}

async fn entries(client: &Client, schema: &str) -> i64 {
    client.query_one(&format!("select count(*) from {schema}_shop.entries"), &[]).await.unwrap().get(0)
}

async fn take(tx: Transaction, shop: String, cents: i64) -> Result<i64, graphweft_postgres::tokio_postgres::Error> {
    let update = format!("update {shop}.accounts set cents = cents - $1 returning cents");
    tx.query_one(&update, &[&cents]).await?.try_get(0)
}

const MESSAGE: Signal<u32> = Signal::new("message");

static TAKEN: AtomicU32 = AtomicU32::new(0);

#[node]
async fn book(amount: i64, ctx: &Context) -> Booked {
    ctx.transaction("book", async |tx| {
        TAKEN.fetch_add(1, Ordering::Relaxed);
        take(tx, shop(ctx), amount).await
    })
    .error_as_text()
    .await
}

#[node]
async fn approve(left: i64, ctx: &Context) -> i64 {
    ctx.ask::<bool>("approve", "Is it right?").await;
    left
}

workflow! { pub pay(i64) -> i64 { START => book => approve; approve => END; } }

#[node]
async fn split(n: i64) -> Vec<i64> {
    (0..n).collect()
}

#[node]
async fn each(n: i64, ctx: &Context) -> Booked {
    let shop = shop(ctx);
    ctx.transaction("enter", async |tx| {
        tx.execute(&format!("insert into {shop}.entries values ($1, $2)"), &[&ctx.run_id(), &ctx.path()]).await?;
        // Others add records meanwhile.
        tokio::time::sleep(Duration::from_millis(u64::try_from(n % 7).unwrap() * 5)).await;
        Ok::<_, graphweft_postgres::tokio_postgres::Error>(n)
    })
    .error_as_text()
    .await
}

#[node]
async fn sum(all: Vec<i64>) -> i64 {
    all.iter().sum()
}

workflow! { pub fan(i64) -> i64 { START => split => [each] => sum; sum => END; } }

/// A body that does what it must not, by name.
#[node]
async fn misbehave(how: String, ctx: &Context) -> Booked<()> {
    let shop = shop(ctx);
    let insert = format!("insert into {shop}.entries values ('odd', 'odd')");
    ctx.transaction("odd", async |tx| {
        match &*how {
            "commits" => tx.batch_execute(&format!("{insert}; rollback")).await?,
            "swallows" => {
                tx.batch_execute(&insert).await?;
                drop(tx.batch_execute("select 1 / 0").await);
            }
            "isolates" => tx.batch_execute("set transaction isolation level serializable").await?,
            "reads" => tx.batch_execute("set transaction read only").await?,
            "keeps" => {
                tx.batch_execute(&insert).await?;
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    drop(tx)
                });
            }
            "defers" => tx.batch_execute(&format!("insert into {shop}.orders values (1, 2)")).await?,
            "fails" => {
                tx.batch_execute(&insert).await?;
                return Err("it is to fail".into());
            }
            "ends" => {
                tx.batch_execute("rollback").await?;
                return Err("and it fails".into());
            }
            // What it sets for itself is not in the way of the record.
            "sets" => {
                let sets = format!("create role {shop}; set role {shop}; set session authorization {shop}");
                tx.batch_execute(&format!("{insert}; set search_path to nowhere; {sets}")).await?
            }
            _ => return Err("no such thing".into()),
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    })
    .error_as_text()
    .await
}

workflow! { pub odd(String) -> () { START => misbehave; misbehave => END; } }

static CLASHES: AtomicU32 = AtomicU32::new(0);

/// Its record cannot be written, so often.
#[node]
async fn clash(often: u32, ctx: &Context) -> Booked<u32> {
    let shop = shop(ctx);
    ctx.message("it clashes");
    ctx.transaction("clash", async |tx| {
        let clashes = CLASHES.fetch_add(1, Ordering::Relaxed);
        tx.execute(&format!("insert into {shop}.entries values ('clash', 'clash')"), &[]).await?;
        if clashes < often {
            tx.batch_execute("set local shop.clashes = 'yes'").await?;
        }
        Ok::<_, graphweft_postgres::tokio_postgres::Error>(clashes)
    })
    .error_as_text()
    .await
}

workflow! { pub clashes(u32) -> u32 { START => clash; clash => END; } }

#[node]
async fn race(_: (), ctx: &Context) -> Booked {
    let shop = shop(ctx);
    ctx.transaction("race", async |tx| {
        let read = format!("select cents from {shop}.accounts for update");
        let cents: i64 = tx.query_one(&read, &[]).await?.try_get(0)?;
        // Longer than a step takes that is not slow, so that its start is recorded meanwhile.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let left = cents - 1;
        tx.execute(&format!("update {shop}.accounts set cents = $1"), &[&left]).await?;
        Ok::<_, graphweft_postgres::tokio_postgres::Error>(left)
    })
    .error_as_text()
    .await
}

workflow! { pub races(()) -> i64 { START => race; race => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn what_a_step_writes_and_its_record_are_one_commit() {
    let schema = fresh_schema();
    let first = engine(&schema).await;
    let client = tables(&schema).await;
    let run = first.start::<pay>(40).id(format!("{schema}/pay")).await.unwrap();
    let Outcome::Waiting { .. } = run.outcome().await.unwrap() else { panic!("it asks") };
    assert_eq!(cents(&client, &schema).await, 960);
    first.shutdown().await;

    let taken = TAKEN.load(Ordering::Relaxed);
    let second = engine(&schema).await;
    second.recover().await.unwrap();
    second.answer(run.id(), "approve", true).await.unwrap();
    let run = second.get_run_of::<pay>(run.id()).await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 960);
    assert_eq!((cents(&client, &schema).await, TAKEN.load(Ordering::Relaxed)), (960, taken));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_body_is_that_of_the_step_and_undoes_what_it_wrote() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let client = tables(&schema).await;
    let run = engine.start::<pay>(2000).id(format!("{schema}/pay")).await.unwrap();
    let error = run.result().await.unwrap_err().to_string();
    assert!(error.contains("violates check constraint"), "{error}");
    let run = engine.start::<odd>("fails".to_owned()).id(format!("{schema}/odd")).await.unwrap();
    let error = run.result().await.unwrap_err().to_string();
    assert!(error.contains("it is to fail"), "{error}");
    assert_eq!((cents(&client, &schema).await, entries(&client, &schema).await), (1000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_side_by_side_commit_in_the_order_of_their_records() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let client = tables(&schema).await;
    let runs = (0..4).map(|n| engine.start::<fan>(30).id(format!("{schema}/fan-{n}")));
    let runs = futures::future::join_all(runs.map(IntoFuture::into_future)).await;
    let follower = async {
        let store = builder(&schema).connect().await.unwrap();
        let mut seen = std::collections::HashMap::<String, u64>::new();
        let mut query = FeedQuery::default();
        let mut over = 0;
        while over < 4 {
            let page = store.feed(query.clone()).await.unwrap();
            for record in page.records {
                over +=
                    u32::from(matches!(record.stored.as_ref().unwrap().record.kind, EventKind::RunCompleted { .. }));
                let next = seen.entry(record.id).or_default();
                assert_eq!(record.stored.unwrap().seq, *next, "the records of a run come in their order, each once");
                *next += 1;
            }
            query.after = page.place;
        }
        seen
    };
    let ended = async {
        for run in runs {
            assert_eq!(run.unwrap().result().await.unwrap(), 435);
        }
    };
    let (seen, ()) =
        tokio::time::timeout(Duration::from_secs(60), futures::future::join(follower, ended)).await.unwrap();
    assert_eq!(entries(&client, &schema).await, 120);
    for (run, records) in seen {
        assert_eq!(engine.get_run(&run).await.unwrap().unwrap().events().count().await as u64, records);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_commits_behind_what_another_engine_has_recorded_meanwhile() {
    let schema = fresh_schema();
    let (engine, other) = (engine(&schema).await, engine(&schema).await);
    let client = tables(&schema).await;
    let run = engine.start::<fan>(28).id(format!("{schema}/fan")).await.unwrap();
    let mut sent = 0;
    // Each is a conflict for what is committed next.
    while entries(&client, &schema).await < 28 {
        if other.signal(run.id(), MESSAGE, sent).await.is_err() {
            break;
        }
        sent += 1;
    }
    assert_eq!(run.result().await.unwrap(), 378);
    assert_eq!(entries(&client, &schema).await, 28);
    assert!(sent > 2, "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_what_it_must_not_is_undone_and_told() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let client = tables(&schema).await;
    for (how, said) in [
        ("commits", "has ended it by a statement of its own"),
        ("ends", "has ended it by a statement of its own"),
        ("swallows", "current transaction is aborted"),
        ("isolates", "another isolation level than `read committed`"),
        ("reads", "has made it read only"),
        ("keeps", "still has the transaction"),
        ("defers", "violates foreign key constraint"),
    ] {
        let run = engine.start::<odd>(how.to_owned()).id(format!("{schema}/{how}")).await.unwrap();
        let error = run.result().await.unwrap_err().to_string();
        assert!(error.contains(said), "{how}: {error}");
        assert_eq!(entries(&client, &schema).await, 0, "{how}");
    }
    engine.start::<odd>("sets".to_owned()).id(format!("{schema}/sets")).await.unwrap().result().await.unwrap();
    assert_eq!(entries(&client, &schema).await, 1);
    // The connections that they had are as new.
    for n in 0..8 {
        engine.start::<fan>(4).id(format!("{schema}/fan-{n}")).await.unwrap().result().await.unwrap();
    }
    client.batch_execute(&format!("drop role {schema}_shop")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_steps_of_several_runs_wait_for_each_others_locks() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let client = tables(&schema).await;
    let runs = (0..6).map(|n| engine.start::<races>(()).id(format!("{schema}/race-{n}")).into_future());
    let mut left = Vec::new();
    for run in futures::future::join_all(runs).await {
        left.push(run.unwrap().result().await.unwrap());
    }
    left.sort_unstable();
    assert_eq!(left, (994..1000).collect::<Vec<_>>());
    assert_eq!(cents(&client, &schema).await, 994);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_needs_the_store_that_it_is_of() {
    let run = Engine::builder().register::<odd>().build().unwrap().start::<odd>("fails".to_owned()).await.unwrap();
    let error = run.result().await.unwrap_err().to_string();
    assert!(
        error.contains("a transaction of `PostgresStore` was to begin, and the engine has another store"),
        "{error}"
    );
    let error = odd("fails".to_owned()).await.unwrap_err().to_string();
    assert!(error.contains("a transaction in a run without an engine"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_started_within_a_transaction_is_there_if_that_is_committed() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let mut client = tables(&schema).await;
    client.batch_execute(&format!("set search_path to {schema}_shop")).await.unwrap();
    let id = |name: &str| format!("{schema}/{name}");

    let tx = client.transaction().await.unwrap();
    tx.execute("insert into orders values (7, null)", &[]).await.unwrap();
    let run = engine.start::<fan>(5).id(id("undone")).within(&tx).await.unwrap();
    tx.rollback().await.unwrap();
    assert!(engine.get_run(run.id()).await.unwrap().is_none());
    let error = run.result().await.unwrap_err().to_string();
    assert!(error.contains("does not contain the run"), "{error}");

    let tx = client.transaction().await.unwrap();
    tx.execute("insert into orders values (7, null)", &[]).await.unwrap();
    let run = engine.start::<fan>(5).id(id("done")).tag("of", "shop").within(&tx).await.unwrap();
    // The tables of the program are still found by their names.
    tx.execute("insert into orders values (8, null)", &[]).await.unwrap();
    assert!(engine.get_run(run.id()).await.unwrap().is_none());
    tx.commit().await.unwrap();
    assert_eq!(run.result().await.unwrap(), 10);

    // The same id is the same run, and with another input it is none.
    let tx = client.transaction().await.unwrap();
    let again = engine.start::<fan>(5).id(id("done")).within(&tx).await.unwrap();
    assert_eq!(again.result().await.unwrap(), 10);
    let other = engine.start::<fan>(6).id(id("done")).within(&tx).await.unwrap_err();
    assert!(matches!(other, StartError::OtherInput { .. }), "{other}");
    tx.commit().await.unwrap();

    let elsewhere = Engine::builder().register::<fan>().build().unwrap();
    let tx = client.transaction().await.unwrap();
    let error = elsewhere.start::<fan>(5).within(&tx).await.unwrap_err().to_string();
    assert!(error.contains("the engine has another store"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_not_started_within_a_transaction_in_another_database() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let other = format!("{schema}_other");
    client(&schema).await.batch_execute(&format!("create database {other}")).await.unwrap();
    let address = server().replace("dbname=postgres", &format!("dbname={other}"));
    // With tables by the same names.
    drop(PostgresStore::builder(&address).schema(&schema).connect().await.unwrap());
    let mut client = client_of(&address, &schema).await;

    let tx = client.transaction().await.unwrap();
    let error = engine.start::<fan>(5).id("order-7").within(&tx).await.unwrap_err().to_string();
    assert!(error.contains("the transaction is in another database than the store of the engine"), "{error}");
    let runs = tx.query_one("select count(*) from runs", &[]).await.unwrap();
    assert_eq!(runs.get::<_, i64>(0), 0, "and what the program does in it continues");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_has_what_an_old_transaction_starts() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let mut client = tables(&schema).await;
    let store = builder(&schema).connect().await.unwrap();
    let tx = client.transaction().await.unwrap();
    // From here on it has a number.
    tx.execute(&format!("insert into {schema}_shop.orders values (7, null)"), &[]).await.unwrap();
    engine.start::<fan>(3).id(format!("{schema}/fan")).await.unwrap().result().await.unwrap();
    let mut query = FeedQuery::default();
    let mut seen = Vec::new();
    while seen.len() < 18 {
        let page = store.feed(query.clone()).await.unwrap();
        query.after = page.place;
        seen.extend(page.records);
    }
    let run = engine.start::<fan>(3).id(format!("{schema}/late")).within(&tx).await.unwrap();
    assert!(store.feed(query.clone()).await.unwrap().records.is_empty());
    tx.commit().await.unwrap();
    run.result().await.unwrap();
    let mut late = Vec::new();
    while late.len() < 18 {
        let page = store.feed(query.clone()).await.unwrap();
        query.after = page.place;
        late.extend(page.records);
    }
    let late: Vec<u64> = late.into_iter().map(|record| record.stored.unwrap().seq).collect();
    assert_eq!(late, (0..late.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_whose_commit_is_refused_is_executed_again() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let client = tables(&schema).await;
    let refuses = format!(
        "create function {schema}_shop.refuse() returns trigger language plpgsql as $$ begin
             if current_setting('shop.clashes', true) = 'yes' then
                 raise exception 'it is refused' using errcode = '40001';
             end if;
             return new;
         end $$;
         create trigger refuses before update on {schema}.runs for each row execute function {schema}_shop.refuse()"
    );
    client.batch_execute(&refuses).await.unwrap();
    let run = engine.start::<clashes>(2).id(format!("{schema}/twice")).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 2);
    assert_eq!(entries(&client, &schema).await, 1);

    let run = engine.start::<clashes>(1000).id(format!("{schema}/always")).await.unwrap();
    let error = run.result().await.unwrap_err();
    assert!(matches!(&error, RunError::Failed(_)), "{error}");
    assert!(error.to_string().contains("it is refused"), "{error}");
    assert_eq!((CLASHES.load(Ordering::Relaxed), entries(&client, &schema).await), (7, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_dropped_leaves_the_transaction_as_it_was() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let mut client = tables(&schema).await;
    client.batch_execute(&format!("set search_path to {schema}_shop")).await.unwrap();
    let mut dropped = 0;
    loop {
        let id = format!("{schema}/dropped-{dropped}");
        let tx = client.transaction().await.unwrap();
        let mut within = engine.start::<fan>(5).id(id.clone()).within(&tx);
        let mut left = dropped;
        let ended = std::future::poll_fn(|waker| match left {
            0 => std::task::Poll::Ready(None),
            _ => {
                left -= 1;
                within.poll_unpin(waker).map(Some)
            }
        });
        if ended.await.is_some() {
            break;
        }
        drop(within);
        // The tables of the program are found by their names.
        tx.execute("insert into orders values ($1, null)", &[&i64::from(dropped)]).await.unwrap();
        tx.commit().await.unwrap();
        assert!(engine.get_run(&id).await.unwrap().is_none(), "after {dropped} polls");
        dropped += 1;
    }
    assert!(dropped > 5, "{dropped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_keeps_no_other_run_of_its_workflow_waiting() {
    let schema = fresh_schema();
    let engine = engine(&schema).await;
    let mut client = tables(&schema).await;
    let tx = client.transaction().await.unwrap();
    // The first run with this graph.
    let run = engine.start::<fan>(5).id(format!("{schema}/within")).within(&tx).await.unwrap();
    let other = engine.start::<fan>(5).id(format!("{schema}/other")).into_future();
    let other = tokio::time::timeout(Duration::from_secs(20), other).await.expect("it waits for nothing");
    assert_eq!(other.unwrap().result().await.unwrap(), 10);
    tx.commit().await.unwrap();
    assert_eq!(run.result().await.unwrap(), 10);
}

static HELD: AtomicU32 = AtomicU32::new(0);

/// Its connection ends in the middle of its first body, while it waits or in a statement.
#[node]
async fn hold(how: String, ctx: &Context) -> Booked<()> {
    let shop = shop(ctx);
    ctx.transaction("hold", async |tx| {
        let is_first = HELD.fetch_add(1, Ordering::Relaxed) == 0;
        tx.execute(&format!("insert into {shop}.entries values ('hold', 'hold')"), &[]).await?;
        if is_first {
            let cut = "select pg_terminate_backend($1)";
            let pid: i32 = tx.query_one("select pg_backend_pid()", &[]).await?.try_get(0)?;
            if how == "in a statement" {
                tx.query(cut, &[&pid]).await?;
            } else {
                client("public").await.query(cut, &[&pid]).await?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Ok::<_, graphweft_postgres::tokio_postgres::Error>(())
    })
    .error_as_text()
    .await
}

workflow! { pub held(String) -> () { START => hold; hold => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn a_body_whose_connection_is_lost_is_executed_again() {
    for how in ["in a statement", "while it waits"] {
        HELD.store(0, Ordering::Relaxed);
        let schema = fresh_schema();
        let client = tables(&schema).await;
        let store = builder(&schema).connect().await.unwrap();
        let engine = Engine::builder().store(store).register::<held>().build().unwrap();
        engine.start::<held>(how.to_owned()).id(schema.clone()).await.unwrap().result().await.unwrap();
        assert_eq!((HELD.load(Ordering::Relaxed), entries(&client, &schema).await), (2, 1), "{how}");
    }
}
