//! Many writers, and a writer that is gone.

use futures_util::FutureExt;
use futures_util::future::join_all;

use super::super::codec::encode;
use super::super::runs::EncodedAppend;
use super::super::trouble::Trouble;
use super::*;
use crate::store::conformance_cases::{add, batch, create, new_run, read_all, said};
use crate::store::{Appended, Durability, HeaderChange, InTransaction, Store};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_many_runs_record_at_once_is_all_there() {
    for durability in [Durability::Full, Durability::Relaxed] {
        let (_directory, path) = place();
        let store = SqliteStore::builder().durability(durability).open(&path).await.unwrap();
        let runs = join_all((0..64).map(async |i: u32| create(&store, new_run(&i.to_string())).await.key)).await;

        let tasks = runs.iter().map(|run| {
            let (store, run) = (store.clone(), *run);
            tokio::spawn(async move {
                for number in 1..=20 {
                    let taken = store.append(batch(run, number - 1, &[said("at a taken number")]));
                    let (taken, added) = futures_util::join!(taken, store.append(batch(run, number, &[said("added")])));
                    assert_eq!((taken, added), (Ok(Appended::Conflict), Ok(Appended::Done)));
                }
            })
        });
        for task in join_all(tasks).await {
            task.unwrap();
        }

        for run in runs {
            assert_eq!(read_all(&store, run).await.len(), 21);
        }
    }
}

#[tokio::test]
async fn what_was_queued_is_done_though_nobody_waits_for_it() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    let mut unheard = store.append(batch(run, 1, &[said("unheard")]));
    assert!(futures_util::poll!(&mut unheard).is_pending());
    drop(unheard);
    closed(store).await;
    assert_eq!(read_all(&open(&path).await, run).await.len(), 2);
}

#[tokio::test]
async fn a_writer_that_panicked_refuses_everything_and_leaves_nobody_waiting() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;

    let panicked = store.0.write_on_thread(|_| -> Result<(), _> { panic!("on purpose") }).await;

    assert_eq!(panicked, Err(StoreError::Closed));
    assert_eq!(store.append(batch(run, 1, &[said("no")])).await, Err(StoreError::Closed));
    drop(store);
    let store = open(&path).await;
    assert_eq!(add(&store, run, 1, &[said("yes")]).await, Appended::Done);
}

#[tokio::test]
async fn where_a_journal_ends_is_not_believed_of_a_transaction_that_was_undone() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one")]).await;
    let append = || EncodedAppend {
        run,
        at: 2,
        time: std::time::SystemTime::UNIX_EPOCH,
        rows: encode(&[said("two")]).unwrap(),
        change: HeaderChange::default(),
        graphs: Vec::new(),
        questions: None,
    };
    let queue = &shared(&store).queue;

    let added = queue.push_append(append());
    let failed = queue.push(|_| Err::<(), _>(Trouble::Damaged("it fails".to_owned())));
    queue.wake();

    assert!(added.result().await.is_err() && failed.await.unwrap().is_err());
    assert_eq!(store.append(batch(run, 3, &[said("three")])).await, Ok(Appended::Conflict));
    add(&store, run, 2, &[said("two")]).await;
    assert_eq!(read_all(&store, run).await.len(), 3);
}

/// The first caller of a commit wakes the others; one that does not come to it, or is gone, keeps none of them waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_caller_that_does_not_look_at_its_answer() {
    for is_dropped in [false, true] {
        let (_directory, path) = place();
        let store = SqliteStore::builder().log_rows(3).open(&path).await.unwrap();
        let mut runs = Vec::new();
        for id in 0..8 {
            runs.push(create(&store, new_run(&id.to_string())).await.key);
        }
        let (release, holding) = hold(&store).await;
        let mut appends: Vec<_> = runs.iter().map(|run| store.append(batch(*run, 1, &[said("one")]))).collect();
        // Each is in the queue from its first poll on.
        for append in &mut appends {
            assert!(append.now_or_never().is_none());
        }
        drop(release);
        holding.await.unwrap();
        // It is to wake the others.
        let last = appends.pop().filter(|_| !is_dropped);
        for append in appends {
            assert_eq!(append.await, Ok(Appended::Done));
        }
        if let Some(last) = last {
            assert_eq!(last.await, Ok(Appended::Done));
        }
        for run in runs {
            assert_eq!(read_all(&store, run).await.len(), 2);
        }
    }
}

#[tokio::test]
async fn the_log_does_not_grow_for_ever() {
    for durability in [Durability::Full, Durability::Relaxed] {
        let (_directory, path) = place();
        let store = SqliteStore::builder().durability(durability).open(&path).await.unwrap();
        let run = create(&store, new_run("a")).await.key;
        for number in 1..=160 {
            add(&store, run, number, &[said(&"x".repeat(1 << 18))]).await;
        }
        let log = std::fs::metadata(super::super::settings::beside(&path, "wal")).unwrap().len();
        assert!(log < 20 << 20, "{log} bytes of log after 40 MiB");
    }
}

#[tokio::test]
async fn a_file_that_has_no_number_left_refuses_new_runs_and_keeps_those_that_it_has() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let early = create(&store, new_run("early")).await.key;
    closed(store).await;
    let last = crate::store::sqlite::schema::LAST_RUN;
    let insert = "INSERT INTO numbers (name, number) VALUES ('run', ?1)";
    rusqlite::Connection::open(&path).unwrap().execute(insert, [last - 1]).unwrap();
    let store = open(&path).await;
    let at_last = create(&store, new_run("last")).await.key;
    assert_eq!(at_last.get(), last.cast_unsigned());
    let (refused, added, other) = futures_util::join!(
        store.create(new_run("too many")),
        store.append(batch(at_last, 1, &[said("added")])),
        store.append(batch(early, 1, &[said("added as well")])),
    );
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("`too many`") && refused.contains("another file"), "{refused}");
    assert_eq!((added, other), (Ok(Appended::Done), Ok(Appended::Done)));
    assert_eq!((read_all(&store, at_last).await.len(), read_all(&store, early).await.len()), (2, 2));
    let too_far = store.append(batch(early, (1 << 31) - 1, &[said("no")])).await.unwrap_err().to_string();
    assert!(too_far.contains("2147483648"), "{too_far}");
    closed(store).await;
    assert_eq!(read_all(&open(&path).await, at_last).await.len(), 2);
}

#[tokio::test]
async fn a_closure_that_changes_the_busy_timeout_changes_it_for_itself() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let changes = |connection: &rusqlite::Connection| {
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        Err::<(), &str>("and writes nothing")
    };
    assert!(matches!(store.clone().in_transaction(changes).await, InTransaction::Failed("and writes nothing")));

    // As the thread has it for the next job.
    let of_next = |transaction: &mut WriteTransaction<'_>| {
        Ok(transaction.pragma_query_value(None, "busy_timeout", |row| row.get::<_, i64>(0))?)
    };
    assert_eq!(store.0.write_on_thread(of_next).await, Ok(5000));
}

/// A handle that appends alone keeps a read transaction open, which another handle's writes end: in bursts, and in turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_handles_that_append_in_bursts_are_in_nobodys_way() {
    let (_directory, path) = place();
    let open = || SqliteStore::builder().durability(Durability::Relaxed).log_rows(40).open(&path);
    let stores = [open().await.unwrap(), open().await.unwrap()];
    let runs = [create(&stores[0], new_run("a")).await.key, create(&stores[1], new_run("b")).await.key];
    let mut lengths = [1, 1];
    while !shared(&stores[0]).keeps_read() {
        assert_eq!(add(&stores[0], runs[0], lengths[0], &[said("alone")]).await, Appended::Done);
        lengths[0] += 1;
    }
    for burst in (1..=12).cycle().take(120) {
        for (of, (store, run)) in stores.iter().zip(runs).enumerate() {
            for _ in 0..burst {
                assert_eq!(add(store, run, lengths[of], &[said("alone")]).await, Appended::Done);
                lengths[of] += 1;
            }
            // What the other one has added last is not added once more.
            let other = 1 - of;
            assert_eq!(add(store, runs[other], lengths[other] - 1, &[said("late")]).await, Appended::Conflict);
        }
    }
    for (store, (run, length)) in stores.iter().zip(runs.into_iter().zip(lengths)) {
        let all = read_all(store, run).await;
        assert_eq!(all.len() as u64, length);
        assert!(all.iter().skip(1).all(|stored| stored.record == said("alone")));
    }
    stores[0].check().await.unwrap();
}

/// Or a tool that waits for that would wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_can_be_emptied_by_others_soon_after_the_last_append() {
    let (_directory, path) = place();
    let store = SqliteStore::builder().durability(Durability::Relaxed).open(&path).await.unwrap();
    let run = create(&store, new_run("a")).await.key;
    let mut at = 1;
    while !shared(&store).keeps_read() {
        assert_eq!(add(&store, run, at, &[said("alone")]).await, Appended::Done);
        at += 1;
    }
    let tool = behind_the_back(&path);
    tool.busy_timeout(Duration::from_secs(60)).unwrap();
    let is_busy = tool.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0)).unwrap();
    assert!(!is_busy && !shared(&store).keeps_read());
    assert_eq!(add(&store, run, at, &[said("later")]).await, Appended::Done);
}
