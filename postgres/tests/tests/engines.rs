//! Several engines over one database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use graphweft::prelude::*;
use graphweft::store::{Append, Created, FeedQuery, NewLogEntry, NewRun, Record, RunQuery, Store, StoreError};
use graphweft::{QuestionFilter, RunError, RunFilter, RunStatus, json};
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::server::Server;
use graphweft_postgres_tests::{builder, client, fresh_schema, server, store, without_notifications};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

#[node]
async fn review(ctx: &Context) -> bool {
    ctx.ask("approve", "Ship it?").await
}
#[node]
async fn add(n: u64) -> u64 {
    n + 1
}

workflow! { pub publish(()) -> bool { START => review; review => END; } }
#[node]
async fn add_later(n: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(300)).await;
    n + 1
}

workflow! { pub plus(u64) -> u64 { START => add; add => END; } }
workflow! { pub later(u64) -> u64 { START => add_later; add_later => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_reaches_the_engine_that_drives_the_run() {
    answered_elsewhere(&fresh_schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_reaches_it_if_notifications_are_lost() {
    let schema = fresh_schema();
    drop(builder(&schema).connect().await.unwrap());
    without_notifications(&schema).await;
    tokio::time::timeout(Duration::from_secs(60), answered_elsewhere(&schema)).await.expect("it looks by itself");
}

/// A run of one engine is answered by another.
async fn answered_elsewhere(schema: &str) {
    let engine = async || {
        let store = builder(schema).connect().await.unwrap();
        Engine::builder().store(store).register::<publish>().build().unwrap()
    };
    let (here, there) = (engine().await, engine().await);
    let run = here.start::<publish>(()).id("poem").await.unwrap();
    let Outcome::Waiting { .. } = run.outcome().await.unwrap() else { panic!("it asks") };
    let asked = there.questions(QuestionFilter::default()).await.unwrap();
    assert_eq!((asked.len(), &*asked[0].run), (1, "poem"));
    there.answer("poem", &asked[0].question.id, true).await.unwrap();
    assert!(run.result().await.unwrap());
    let again = there.answer("poem", &asked[0].question.id, true).await.unwrap_err();
    assert!(again.to_string().contains("answered"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_engine_goes_on_with_what_the_first_one_leaves() {
    let schema = fresh_schema();
    let first =
        Engine::builder().store(builder(&schema).connect().await.unwrap()).register::<publish>().build().unwrap();
    first.start::<publish>(()).id("poem").await.unwrap().outcome().await.unwrap();
    first.shutdown().await;
    drop(first);

    let second =
        Engine::builder().store(builder(&schema).connect().await.unwrap()).register::<publish>().build().unwrap();
    second.recover().await.unwrap();
    let asked = second.questions(QuestionFilter::default()).await.unwrap().remove(0);
    second.answer("poem", &asked.question.id, false).await.unwrap();
    let run = second.get_run_of::<publish>("poem").await.unwrap().expect("it is there");
    assert!(!run.result().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_recorded_and_found_by_any_engine() {
    let schema = fresh_schema();
    let engine = Engine::builder().store(builder(&schema).connect().await.unwrap()).register::<plus>().build().unwrap();
    for n in 0..20u64 {
        assert_eq!(engine.start::<plus>(n).tag("kind", "odd").await.unwrap().result().await.unwrap(), n + 1);
    }
    let other = builder(&schema).connect().await.unwrap();
    assert_eq!(other.count(RunQuery::default()).await.unwrap(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_know_nothing_of_each_other() {
    let (one, other) = (store().await, store().await);
    let new = |id: &str| NewRun::new(id, "pay", (1, json!({})).into(), SystemTime::now());
    one.create(new("order-7")).await.unwrap();
    assert_eq!(other.count(RunQuery::default()).await.unwrap(), 0);
    // Owners of both have the same numbers, and neither waits for the other's lock.
    let (first, second) = (one.join(Vec::new()).await.unwrap(), other.join(Vec::new()).await.unwrap());
    assert_eq!(first, second);
    one.leave(first).await;
    assert!(other.is_alive(second).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_whose_connection_ends_is_dead_soon_and_one_that_makes_another_lives() {
    let schema = fresh_schema();
    let (mine, other) = (builder(&schema).connect().await.unwrap(), builder(&schema).connect().await.unwrap());
    let owner = mine.join(vec!["pay".to_owned()]).await.unwrap();
    let client = client(&schema).await;
    let cut =
        "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 2 and objid <> 0
        and classid = owner_locks()::oid";
    client.batch_execute(cut).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(other.is_alive(owner).await.unwrap(), "it has made another connection");
    drop(mine);
    while other.is_alive(owner).await.unwrap() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_too_long_for_an_index_is_said_to_be() {
    let logs = store().await.logs().expect("it has logs");
    // No two parts of it are the same, so that it is not made shorter.
    let key: String = (0..900_u32).map(|n| format!("{:08x}", n.wrapping_mul(2_654_435_761))).collect();
    let error = logs.append(NewLogEntry::new("talk", key, json!(1), SystemTime::now())).await.unwrap_err().to_string();
    assert!(error.contains("refuses a text that is too long for an index"), "{error}");
    assert!(error.contains("take shorter ids of runs, keys"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_the_database_cannot_hold_is_refused_by_name() {
    let store = store().await;
    let error = store.create(NewRun::new("a\0b", "pay", (1, json!({})).into(), SystemTime::now())).await.unwrap_err();
    assert!(error.to_string().starts_with(r#"the id of a run "a\0b" has the character U+0000"#), "{error}");
    assert_eq!(store.header("a\0b").await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_said_with_its_address() {
    let error = PostgresStore::connect("nonsense").await.unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
    let error = PostgresStore::connect("host=/nowhere user=me dbname=mine").await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("`/nowhere:5432`, database `mine`, cannot be reached"), "{error}");
    let error = PostgresStore::connect(&format!("{} dbname=missing", server().replace("dbname=postgres", ""))).await;
    let error = error.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(error.to_string().contains("database \"missing\" does not exist"), "{error}");
}

#[test]
fn a_runtime_without_sockets_is_said() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let error = runtime.block_on(PostgresStore::connect(&server())).unwrap_err();
    assert!(matches!(&error, StoreError::Other { message } if message.contains("enable_all()")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_format_and_a_changed_row_are_errors() {
    let schema = fresh_schema();
    let engine = Engine::builder().store(builder(&schema).connect().await.unwrap()).register::<plus>().build().unwrap();
    engine.start::<plus>(1).id("order-7").await.unwrap().result().await.unwrap();
    let client = client(&schema).await;
    client.batch_execute("update journal set body = replace(body, 'plus', 'pluz')").await.unwrap();
    let store = builder(&schema).connect().await.unwrap();
    let header = store.header("order-7").await.unwrap().unwrap();
    let error = store.read(header.key, 0, 10).await.unwrap_err();
    assert!(matches!(&error, StoreError::BadRecord { run, seq: 0, .. } if run == "order-7"), "{error}");

    let graph = store.graph(header.graph).await.unwrap().unwrap();
    assert!(graph.to_string().contains("add") && graph.get("checksum").is_none(), "{graph}");
    client.batch_execute("update graphs set body = replace(body, 'add', 'abb')").await.unwrap();
    let error = store.graph(header.graph).await.unwrap_err().to_string();
    assert!(error.contains("does not match its checksum"), "{error}");

    client.batch_execute("update meta set format = 99").await.unwrap();
    let error = builder(&schema).connect().await.unwrap_err();
    assert!(matches!(error, StoreError::NewerFormat { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("`{schema}` has a newer format, 99")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_restored_elsewhere_goes_on_with_its_feed() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let new = |id: &str| NewRun::new(id, "pay", (1, json!({})).into(), SystemTime::now());
    store.create(new("before")).await.unwrap();
    // As if it came from a server that has made more transactions.
    let client = client(&schema).await;
    client.batch_execute("update meta set deleted_place = place(1000000 << 16)").await.unwrap();
    let end = builder(&schema).connect().await.unwrap().feed_end().await.unwrap();
    let restored = builder(&schema).connect().await.unwrap();
    let mut run = new("after");
    run.records = vec![Record::new("pay", EventKind::CancelRequested)];
    restored.create(run).await.unwrap();
    let mut query = FeedQuery::default();
    query.after = end;
    let page = restored.feed(query).await.unwrap();
    assert_eq!(page.records.iter().map(|record| &*record.id).collect::<Vec<_>>(), ["after"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_run_does_not_move_the_end_of_the_feed_over_what_is_under_way() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let new = |id: &str| NewRun::new(id, "pay", (1, json!({})).into(), SystemTime::now());
    store.create(new("earlier")).await.unwrap();
    let earlier = store.header("earlier").await.unwrap().unwrap().key;
    // A transaction that adds a row, and is open.
    let mut client = client(&schema).await;
    let open = client.transaction().await.unwrap();
    open.batch_execute("select adds(); select pg_current_xact_id()").await.unwrap();
    // Behind it: a run that ends, and is deleted.
    store.create(new("later")).await.unwrap();
    let later = store.header("later").await.unwrap().unwrap().key;
    let mut end = Append::new(later, 0, SystemTime::now(), vec![Record::new("pay", EventKind::RunCancelled)]);
    end.header.status = Some((RunStatus::Cancelled, None));
    store.append(end).await.unwrap();
    let delete = "with gone as (delete from runs where id = 'later' returning key)
        update meta set deleted_place = (select max(place) from journal), format = format";
    let other = graphweft_postgres_tests::client(&schema).await;
    other.batch_execute(delete).await.unwrap();
    other.batch_execute("delete from journal where run = (select max(run) from journal)").await.unwrap();
    let before = store.feed_end().await.unwrap();
    let body =
        "insert into journal (run, seq, records, place, time, checksum, body) values ($1, 0, 1, place(0), 0, 0, '[]')";
    open.execute(body, &[&i64::try_from(earlier.get()).unwrap()]).await.unwrap();
    open.commit().await.unwrap();
    let mut query = FeedQuery::default();
    query.after = before;
    // It is damaged, and it is there.
    assert_eq!(store.feed(query).await.unwrap().records.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_transactions_that_add_leave_the_end_of_the_feed_where_it_is() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let mut run = NewRun::new("order-7", "pay", (1, json!({})).into(), SystemTime::now());
    run.records = vec![Record::new("pay", EventKind::CancelRequested)];
    store.create(run).await.unwrap();
    let end = store.feed_end().await.unwrap();
    let (mut one, mut other) = (client(&schema).await, client(&schema).await);
    let (first, second) = (one.transaction().await.unwrap(), other.transaction().await.unwrap());
    for open in [&first, &second] {
        open.batch_execute("select adds(); select pg_current_xact_id()").await.unwrap();
    }
    assert_eq!(store.feed_end().await.unwrap(), end);
    assert_eq!(store.feed(FeedQuery::default()).await.unwrap().records.len(), 1);
}

#[test]
fn an_engine_that_is_dropped_outside_of_its_runtime_leaves() {
    let schema = fresh_schema();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mine, other) = runtime
        .block_on(async { (builder(&schema).connect().await.unwrap(), builder(&schema).connect().await.unwrap()) });
    let owner = runtime.block_on(mine.join(vec!["pay".to_owned()])).unwrap();
    drop(mine.leave(owner));
    drop(mine);
    runtime.block_on(async {
        while other.is_alive(owner).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_an_unescaped_at_sign_shows_no_password() {
    let error = PostgresStore::connect("postgres://me:pa@ss@db/mine").await.unwrap_err().to_string();
    assert!(error.contains("%40") && !error.contains("ss@"), "{error}");
}

/// As when a replica has become the first: the address names all servers, and one is gone or only reads.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_servers_the_one_that_can_be_written_to_is_used() {
    let (replica, folder) = (Server::read_only(), tempfile::tempdir().unwrap());
    let here = server();
    let here = socket_folder(&here);
    for others in [folder.path().display().to_string(), replica.host()] {
        let schema = fresh_schema();
        let address = format!("host={others},{here} user=graphweft dbname=postgres");
        let store = PostgresStore::builder(&address).schema(&schema).connect().await.unwrap();
        let engine = Engine::builder().store(store).register::<plus>().build().unwrap();
        assert_eq!(engine.start::<plus>(7).id("run").await.unwrap().result().await, Ok(8));
        let runs = client(&schema).await.query_one("select count(*) from runs", &[]).await.unwrap();
        assert_eq!(runs.get::<_, i64>(0), 1);
        engine.shutdown().await;
    }
}

/// As one whose process is stopped there, with the rows of its runs locked.
#[test]
fn a_transaction_of_a_store_that_does_nothing_ends() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // On the first one nothing happens while it is not entered.
    let (process, beside) = (runtime(), runtime());
    let schema = fresh_schema();
    let store = process.block_on(builder(&schema).connect()).unwrap();
    let other = beside.block_on(client(&schema));
    let open =
        "select count(*) from pg_stat_activity where state = 'idle in transaction' and application_name = 'graphweft'
        and pid in (select pid from pg_locks where relation = 'runs'::regclass)";
    let is_open = || beside.block_on(other.query_one(open, &[])).unwrap().get::<_, i64>(0) > 0;
    let new = || NewRun::new("stopped", "publish", (1, json!({})).into(), SystemTime::now());
    let mut creating = store.create(new());
    while !is_open() {
        process.block_on(async {
            assert!(futures::poll!(&mut creating).is_pending(), "it was open for too short a time");
            tokio::task::yield_now().await;
        });
    }
    let until = Instant::now() + Duration::from_secs(20);
    while is_open() {
        assert!(Instant::now() < until, "the server ends it");
    }
    // When the process continues, what was undone is done again.
    process.block_on(async {
        assert!(matches!(creating.await, Ok(Created::New(_))));
        assert!(matches!(store.create(new()).await, Ok(Created::Existing(_))));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_another_encoding_is_refused() {
    let client = client("public").await;
    let name = format!("latin_{}", fresh_schema());
    client.batch_execute(&format!("create database {name} encoding 'LATIN1' template template0")).await.unwrap();
    let address = server().replace("dbname=postgres", &format!("dbname={name}"));
    let error = PostgresStore::connect(&address).await.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(error.to_string().contains("LATIN1") && error.to_string().contains("UTF8"), "{error}");
}

/// A socket in a folder whose connections go to the server as `pass` has them; and its address.
async fn network<F>(pass: impl Fn(UnixStream, UnixStream) -> F + Send + 'static) -> (tempfile::TempDir, String)
where
    F: Future<Output = ()> + Send + 'static,
{
    let here = server();
    let socket = std::path::Path::new(&socket_folder(&here)).join(".s.PGSQL.5432");
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = UnixStream::connect(&socket).await.unwrap();
            tokio::spawn(pass(client, server));
        }
    });
    let address = here.replace(&socket_folder(&here), &folder.path().display().to_string());
    (folder, address)
}

/// Passes what comes on, so many bytes a second.
async fn slowly(client: UnixStream, server: UnixStream, bytes_a_second: usize) {
    const PIECES_A_SECOND: usize = 20;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut piece = vec![0; bytes_a_second / PIECES_A_SECOND];
    while let Ok(length @ 1..) = from_client.read(&mut piece).await {
        if length == piece.len() {
            tokio::time::sleep(Duration::from_secs(1) / PIECES_A_SECOND as u32).await;
        }
        if to_server.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

/// Passes all on, and ends the connection with the reply to the next commit.
async fn until_a_commit(mut client: UnixStream, mut server: UnixStream, cuts: Arc<AtomicBool>) {
    let (mut asked, mut replied) = (vec![0; 65536], vec![0; 65536]);
    let mut ends = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                ends |= asked[..length].windows(6).any(|word| word == b"COMMIT") && cuts.swap(false, Ordering::SeqCst);
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut replied) => {
                let Ok(length @ 1..) = read else { return };
                if ends || client.write_all(&replied[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn socket_folder(address: &str) -> String {
    address.split(' ').find_map(|part| part.strip_prefix("host=")).unwrap().to_owned()
}

#[node]
async fn length(text: String) -> usize {
    text.len()
}

workflow! { pub measured(String) -> usize { START => length; } }

/// A transaction waits for a statement longer than it may do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn large_values_are_written_through_a_slow_network() {
    let (_folder, address) = network(|client, server| slowly(client, server, 600_000)).await;
    let store = PostgresStore::builder(&address).schema(fresh_schema()).connect().await.unwrap();
    let engine = Engine::builder().store(store).register::<measured>().build().unwrap();
    let began = Instant::now();
    let run = engine.start::<measured>("x".repeat(3_000_000)).id("large").await.unwrap();
    assert!(began.elapsed() > Duration::from_secs(4), "it is slow");
    assert_eq!(run.result().await, Ok(3_000_000));
}

/// Its transaction is committed, and nothing says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_connection_is_lost_while_it_is_started_is_started_once() {
    let schema = fresh_schema();
    let cuts = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&cuts);
    let (_folder, address) = network(move |client, server| until_a_commit(client, server, Arc::clone(&cut))).await;
    let store = PostgresStore::builder(&address).schema(&schema).connect().await.unwrap();
    let engine = Engine::builder().store(store).register::<plus>().build().unwrap();
    engine.start::<plus>(0).id("before").await.unwrap().result().await.unwrap();
    cuts.store(true, Ordering::SeqCst);
    let run = engine.start::<plus>(1).id("cut").await.unwrap();
    assert!(!cuts.load(Ordering::SeqCst), "it was cut off");
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("it is driven"), Ok(2));
    let history = engine.history("cut").await.unwrap().unwrap();
    let names: Vec<&str> = history.iter().map(|event| event.kind.name()).collect();
    assert_eq!(names, ["run_started", "node_started", "node_completed", "run_completed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_a_full_disk_has_stopped_go_on_when_there_is_room() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = Engine::builder().store(store).register::<later>().register::<publish>().build().unwrap();
    let client = client(&schema).await;
    let asks = engine.start::<publish>(()).id("poem").await.unwrap();
    let Outcome::Waiting(questions) = asks.outcome().await.unwrap() else { panic!("it asks") };
    // What the server says of a full disk, of a time limit, and of two transactions in each other's way.
    for (of, code) in ["53100", "57014", "40P01"].into_iter().enumerate() {
        let run = engine.start::<later>(1).id(format!("later-{of}")).await.unwrap();
        let full = format!(
            "create or replace function full_disk() returns trigger language plpgsql as
                 $$ begin raise exception 'no' using errcode = '{code}'; end $$;
             create or replace trigger full_disk before insert on journal for each row execute function full_disk()"
        );
        client.batch_execute(&full).await.unwrap();
        let stopped = run.result().await.unwrap_err();
        assert!(matches!(&stopped, RunError::Store(StoreError::Unavailable { .. })), "{stopped:?}");
        assert!(stopped.to_string().contains("cannot do its work at present"), "{stopped}");
        client.batch_execute("drop trigger full_disk on journal").await.unwrap();
        let ended = async {
            while run.status().await.unwrap() != RunStatus::Completed {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), ended)
            .await
            .unwrap_or_else(|_| panic!("{code}: it is not resumed"));
        assert_eq!(run.result().await.unwrap(), 2);
    }
    engine.answer("poem", &questions[0].id, true).await.unwrap();
    assert!(asks.result().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_isolation_level_of_a_database_is_not_that_of_the_store() {
    let name = fresh_schema();
    let client = client("public").await;
    client.batch_execute(&format!("create database {name}")).await.unwrap();
    client
        .batch_execute(&format!("alter database {name} set default_transaction_isolation = 'serializable'"))
        .await
        .unwrap();
    let address = server().replace("dbname=postgres", &format!("dbname={name}"));
    let engine = async || {
        let store = PostgresStore::connect(&address).await.unwrap();
        Engine::builder().store(store).register::<plus>().build().unwrap()
    };
    let engines = [engine().await, engine().await];
    let of = async |engine: &Engine, id: String| engine.start::<plus>(1).id(id).await.unwrap().result().await;
    for round in 0..20 {
        let runs = (0..16).map(|n| of(&engines[n % 2], format!("{round}-{n}")));
        for result in futures::future::join_all(runs).await {
            assert_eq!(result.unwrap(), 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_rights_hears_which_it_needs() {
    let schema = fresh_schema();
    drop(builder(&schema).connect().await.unwrap());
    let client = client(&schema).await;
    let user = format!("guest_{schema}");
    client.batch_execute(&format!("create role {user} login password 'secret'")).await.unwrap();
    let address = format!("{} user={user} password=secret", server());
    let connect =
        async || graphweft_postgres::PostgresStore::builder(&address).schema(&schema).existing().connect().await;
    let error = connect().await.unwrap_err();
    assert!(error.to_string().contains(&format!("the user `{user}` may not use its schema `{schema}`")), "{error}");
    assert!(error.to_string().contains("grant all on schema"), "{error}");
    client.batch_execute(&format!("grant usage on schema {schema} to {user}")).await.unwrap();
    let error = connect().await.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(
        error.to_string().contains("permission denied for table") && error.to_string().contains("grant all"),
        "{error}"
    );
    let grant = format!(
        "grant all on schema {schema} to {user}; grant all on all tables in schema {schema} to {user};
         grant all on all sequences in schema {schema} to {user}"
    );
    client.batch_execute(&grant).await.unwrap();
    let store = connect().await.unwrap();
    let engine = Engine::builder().store(store).register::<plus>().build().unwrap();
    assert_eq!(engine.start::<plus>(1).await.unwrap().result().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_with_a_name_that_the_server_cuts_is_refused() {
    for name in ["", &"a".repeat(64)] {
        let error = builder(name).connect().await.unwrap_err();
        assert!(error.to_string().contains("give it one of 1 to 63"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_found_by_a_text_that_the_database_cannot_hold() {
    let engine = Engine::builder().store(store().await).register::<plus>().build().unwrap();
    engine.start::<plus>(1).id("a").await.unwrap().result().await.unwrap();
    let odd = || "a\0".to_owned();
    for filter in [
        RunFilter::default().id_prefix(odd()),
        RunFilter::default().workflow(odd()),
        RunFilter::default().forked_from(odd()),
        RunFilter::default().started_by(odd()),
    ] {
        assert_eq!(engine.count_runs(filter).await.unwrap(), 0);
    }
    assert_eq!(engine.questions(QuestionFilter::default().id_prefix(odd())).await.unwrap().len(), 0);
}
