//! What stays in the file of runs that were deleted.

use std::fs;
use std::time::SystemTime;

use super::*;
use crate::store::conformance_cases::{add, at, create, new_run, read_all, said, set_status};
use crate::store::{Append, Appended, Delete, HeaderChange, NewRun, RunKey, RunQuery, RunStatus, Store};

/// A run that is over, with records of half a megabyte.
async fn large_run(store: &SqliteStore, id: &str) -> RunKey {
    let run = create(store, NewRun { records: vec![said(&"x".repeat(1000))], ..new_run(id) }).await.key;
    for number in 0..50 {
        let text = "x".repeat(1000);
        let records: Vec<_> = (0..10).map(|_| said(&text)).collect();
        add(store, run, 1 + 10 * number, &records).await;
    }
    set_status(store, run, RunStatus::Failed, None).await;
    run
}

fn delete(runs: &[RunKey]) -> Delete {
    // The runs have ended more than a lease ago.
    Delete { runs: runs.to_vec(), ids_until: Some(at(100_000)), now: at(60_000) }
}

#[tokio::test]
async fn the_space_of_deleted_runs_is_returned_to_the_file_system() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let mut runs = Vec::new();
    for id in 0..10 {
        runs.push(large_run(&store, &id.to_string()).await);
    }
    closed(store).await;
    let before = fs::metadata(&path).unwrap().len();
    let store = open(&path).await;

    assert_eq!(store.delete(delete(&runs[1..])).await.unwrap(), runs[1..]);
    store.check().await.unwrap();
    closed(store).await;

    let after = fs::metadata(&path).unwrap().len();
    assert!(after < before / 5, "{before} bytes, and then {after}");
    let store = open(&path).await;
    assert_eq!(read_all(&store, runs[0]).await.len(), 501);
    store.check().await.unwrap();
}

/// As after a process that has died between the deletion of a run and that of its records.
#[tokio::test]
async fn records_that_a_process_has_left_behind_are_removed_with_the_next_deletion() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let (left, other) = (large_run(&store, "left").await, large_run(&store, "other").await);
    let wanted = delete(&[left]);
    let lease = std::time::Duration::ZERO;
    assert_eq!(
        store
            .0
            .write_on_thread(move |transaction| super::super::delete::runs(transaction, &wanted, lease))
            .await
            .unwrap(),
        [left]
    );
    closed(store).await;

    let store = open(&path).await;
    store.check().await.unwrap();
    assert_eq!(read_all(&store, left).await, []);
    assert_eq!(store.list(RunQuery::default()).await.unwrap().len(), 1);
    store.delete(delete(&[other])).await.unwrap();
    store.check().await.unwrap();
    closed(store).await;

    let connection = behind_the_back(&path);
    for table in ["journal", "commit_log", "runs", "leftovers", "tags", "questions"] {
        let count = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
        assert_eq!(count.unwrap(), 0, "{table}");
    }
}

#[tokio::test]
async fn records_of_runs_that_are_deleted_right_after_their_end_go_after_a_lease_without_another_deletion() {
    let (_directory, path) = place();
    let store = SqliteStore::builder().lease(Duration::from_millis(150)).open(&path).await.unwrap();
    let _owner = store.join(vec!["flow".to_owned()]).await.unwrap();
    let mut runs = Vec::new();
    for id in 0..10 {
        runs.push(large_run(&store, &id.to_string()).await);
    }
    let before = behind_the_back(&path).query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0)).unwrap();
    for run in &runs {
        let header = HeaderChange { status: Some((RunStatus::Completed, None)), ..HeaderChange::default() };
        let end = Append { header, ..Append::new(*run, 501, SystemTime::now(), vec![said("a secret")]) };
        assert_eq!(store.append(end).await.unwrap(), Appended::Done);
    }
    assert_eq!(store.delete(Delete { now: SystemTime::now(), ..delete(&runs) }).await.unwrap(), runs);

    let left = async || {
        let rows = "SELECT (SELECT count(*) FROM journal) + (SELECT count(*) FROM commit_log) + (SELECT count(*) FROM leftovers)";
        behind_the_back(&path).query_row(rows, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let pages = async || behind_the_back(&path).query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0)).unwrap();
    let gone = async {
        while left().await > 0 || pages().await > before / 5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("they go, and their space");
    store.check().await.unwrap();
}

/// An engine of another machine, whose lease has run out, may believe to own a run that has ended and was deleted.
#[tokio::test]
async fn what_an_engine_adds_that_has_lost_a_deleted_run_is_refused() {
    let (_directory, path) = place();
    let (lost, other) = (open(&path).await, open(&path).await);
    let run = create(&lost, new_run("a")).await.key;
    add(&lost, run, 1, &[said("one")]).await;
    // The other one has taken it over and ended it.
    add(&other, run, 2, &[said("taken over"), said("ended")]).await;
    set_status(&other, run, RunStatus::Completed, None).await;
    other.delete(Delete { now: at(1000), ..delete(&[run]) }).await.unwrap();
    assert_eq!(lost.header("a").await.unwrap(), None);

    let late = add(&lost, run, 2, &[said("late")]).await;

    assert_eq!((late, read_all(&lost, run).await), (Appended::Conflict, Vec::new()));
    lost.check().await.unwrap();
    // Its records are removed with the next deletion after the lease.
    other.delete(delete(&[])).await.unwrap();
    other.check().await.unwrap();
    let rows = behind_the_back(&path).query_row(
        "SELECT (SELECT count(*) FROM journal) + (SELECT count(*) FROM commit_log)",
        [],
        |row| row.get::<_, i64>(0),
    );
    assert_eq!(rows.unwrap(), 0);
}

#[tokio::test]
async fn a_deletion_looks_for_its_runs_in_indexes() {
    let (_directory, path) = place();
    let store = open(&path).await;
    create(&store, new_run("a")).await;
    let connection = behind_the_back(&path);
    for (query, index) in [
        (
            "SELECT key FROM runs WHERE status IN (3, 4, 5, 6) AND updated < 7 AND status IN (3) ORDER BY key",
            "runs_over",
        ),
        (
            "SELECT * FROM questions INDEXED BY questions_asked CROSS JOIN runs ON key = run ORDER BY asked, run, question LIMIT 3",
            "questions_asked",
        ),
        (
            "SELECT key FROM tags CROSS JOIN runs ON key = run WHERE tag = 'a' AND value = 'b' ORDER BY run DESC LIMIT 3",
            "PRIMARY KEY",
        ),
    ] {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let plan: Vec<String> = plan.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        assert!(plan.iter().any(|step| step.contains(index)), "{plan:?}");
    }
}
