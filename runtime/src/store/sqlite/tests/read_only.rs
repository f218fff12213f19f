//! A file that is opened for reading only.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use super::super::schema::FORMAT;
use super::super::settings::beside;
use super::*;
use crate::store::conformance_cases::{add, batch, claim, create, ids, new_run, read_all, said};
use crate::store::{Delete, NewLogEntry, Owner, ReserveTask, RunKey, RunQuery, Snapshot, Store};

async fn open_to_read(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::builder().read_only().busy_timeout(Duration::from_millis(20)).open(path).await
}

async fn runs(store: &SqliteStore) -> Vec<String> {
    let runs = store.list(RunQuery { limit: 100, ..RunQuery::default() }).await.unwrap();
    ids(&runs).into_iter().map(str::to_owned).collect()
}

/// A file with a run that no one has open, and that has been changed long ago.
async fn at_rest(path: &Path) -> RunKey {
    let store = open(path).await;
    let run = create(&store, new_run("one")).await.key;
    add(&store, run, 1, &[said("first")]).await;
    closed(store).await;
    age(path, 60);
    run
}

/// Not while it is open: closing a file takes SQLite's locks away.
fn age(path: &Path, seconds: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

/// What is in a directory.
fn files(directory: &TempDir) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

/// The files of a store whose process was killed.
fn copied(from: &Path, parts: &[&str]) -> (TempDir, PathBuf) {
    let (directory, path) = place();
    for part in parts {
        let name = |path: &Path| if part.is_empty() { path.to_owned() } else { beside(path, part) };
        fs::copy(name(from), name(&path)).unwrap();
    }
    (directory, path)
}

#[tokio::test]
async fn a_file_that_no_one_has_open_is_read_and_nothing_is_made_beside_it() {
    let (directory, path) = place();
    let run = at_rest(&path).await;
    let before = files(&directory);
    let store = open_to_read(&path).await.unwrap();
    assert_eq!(runs(&store).await, ["one"]);
    assert_eq!(read_all(&store, run).await.len(), 2);
    store.check().await.unwrap();
    assert_eq!(files(&directory), before);
    drop(store);
    assert_eq!(files(&directory), before);
}

#[tokio::test]
async fn every_method_that_writes_says_that_the_file_is_only_read() {
    let (directory, path) = place();
    let run = at_rest(&path).await;
    let before = files(&directory);
    let store = open_to_read(&path).await.unwrap();
    let refused = StoreError::ReadOnly {
        path: fs::canonicalize(&path).unwrap(),
        message: "it is opened for reading only".to_owned(),
    };
    let (now, owner) = (SystemTime::now(), Owner(1));
    let second = || batch(run, 2, &[said("second")]);
    let task = ReserveTask { task: "sweep".to_owned(), owner, now, until: now };
    let entry = NewLogEntry { log: "a".into(), key: "1".into(), time: now, value: 1.into(), behind: None };
    let logs = store.logs().unwrap();
    let errors = [
        store.join(vec![]).await.unwrap_err(),
        store.create(new_run("two")).await.unwrap_err(),
        store.append(second()).await.unwrap_err(),
        store.start_over(second(), new_run("two")).await.unwrap_err(),
        store.delete(Delete { runs: vec![run], ids_until: None, now }).await.unwrap_err(),
        store.claim(claim(owner)).await.unwrap_err(),
        store.reserve_task(task).await.unwrap_err(),
        store.put_snapshot(run, Snapshot { at: 1, state: vec![] }).await.unwrap_err(),
        logs.append(entry).await.unwrap_err(),
        logs.delete("a").await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error, refused);
    }
    store.leave(owner).await;
    assert_eq!(files(&directory), before);
}

#[tokio::test]
async fn what_another_handle_records_is_read() {
    let (_directory, path) = place();
    let writer = open(&path).await;
    let run = create(&writer, new_run("one")).await.key;
    let store = open_to_read(&path).await.unwrap();
    assert_eq!(runs(&store).await, ["one"]);
    add(&writer, run, 1, &[said("first")]).await;
    assert_eq!(read_all(&store, run).await.len(), 2);
    move_log(&writer).await;
    create(&writer, new_run("two")).await;
    assert_eq!(runs(&store).await, ["two", "one"]);
}

#[tokio::test]
async fn a_file_that_is_opened_for_writing_later_is_read_with_its_log() {
    let (_directory, path) = place();
    at_rest(&path).await;
    let store = open_to_read(&path).await.unwrap();
    assert_eq!(runs(&store).await, ["one"]);
    let writer = open(&path).await;
    create(&writer, new_run("two")).await;
    assert_eq!(runs(&store).await, ["two", "one"]);
    create(&writer, new_run("three")).await;
    assert_eq!(runs(&store).await, ["three", "two", "one"]);
}

#[tokio::test]
async fn what_was_written_between_two_reads_is_read() {
    let (_directory, path) = place();
    let run = at_rest(&path).await;
    let store = open_to_read(&path).await.unwrap();
    assert_eq!(read_all(&store, run).await.len(), 2);
    let writer = open(&path).await;
    add(&writer, run, 2, &[said("second")]).await;
    closed(writer).await;
    age(&path, 30);
    assert_eq!(read_all(&store, run).await.len(), 3);
    assert_eq!(runs(&store).await, ["one"]);
}

#[tokio::test]
async fn the_log_of_a_process_that_was_killed_is_read_and_stays() {
    let (_directory, path) = place();
    let writer = open(&path).await;
    let run = create(&writer, new_run("one")).await.key;
    add(&writer, run, 1, &[said("first")]).await;
    let (directory, copy) = copied(&path, &["", "wal", "shm"]);
    let before = files(&directory);
    let store = open_to_read(&copy).await.unwrap();
    assert_eq!(read_all(&store, run).await.len(), 2);
    assert_eq!(files(&directory), before);
}

#[tokio::test]
async fn a_log_without_its_shared_memory_is_not_read() {
    let (_directory, path) = place();
    let writer = open(&path).await;
    create(&writer, new_run("one")).await;
    let (directory, copy) = copied(&path, &["", "wal"]);
    let before = files(&directory);
    let error = open_to_read(&copy).await.unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("runs.db-wal` is there without"), "{error}");
    assert_eq!(files(&directory), before);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_made() {
    let (directory, path) = place();
    let error = open_to_read(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    assert!(files(&directory).is_empty());
    fs::write(&path, "").unwrap();
    age(&path, 60);
    let error = open_to_read(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_of_an_older_version_is_not_converted() {
    let (directory, path) = place();
    fs::write(&path, include_bytes!("../testdata/format-1.db")).unwrap();
    age(&path, 60);
    let before = files(&directory);
    let error = open_to_read(&path).await.unwrap_err();
    let older = StoreError::OlderFormat { path: fs::canonicalize(&path).unwrap(), found: 1, known: FORMAT };
    assert_eq!(error, older);
    assert_eq!(files(&directory), before);
    assert_eq!(SqliteStore::builder().existing().open(&path).await.unwrap_err(), older);
    assert_eq!(files(&directory), before);
}

#[tokio::test]
async fn a_lock_for_writing_does_not_stop_reading() {
    let (_directory, path) = place();
    let writer = open(&path).await;
    create(&writer, new_run("one")).await;
    let other = behind_the_back(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let store = open_to_read(&path).await.unwrap();
    assert_eq!(runs(&store).await, ["one"]);
}

#[tokio::test]
async fn a_lock_for_all_stops_reading() {
    let (_directory, path) = place();
    at_rest(&path).await;
    let other = behind_the_back(&path);
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version").unwrap();
    let error = open_to_read(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("a program that has it for itself"), "{error}");
}

#[tokio::test]
async fn a_path_may_have_characters_that_an_address_gives_a_meaning() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b?mode=rwc&x%41#ä.db");
    at_rest(&path).await;
    let store = open_to_read(&path).await.unwrap();
    assert_eq!(runs(&store).await, ["one"]);
    assert_eq!(files(&directory).len(), 1);
}

/// SQLite shares the memory of a file between all connections of a process.
#[tokio::test]
async fn a_process_that_reads_the_log_of_another_one_cannot_write_to_the_file_until_it_has_closed_it() {
    let (_directory, path) = place();
    let writer = open(&path).await;
    create(&writer, new_run("one")).await;
    let (_copy, copy) = copied(&path, &["", "wal", "shm"]);
    let store = open_to_read(&copy).await.unwrap();
    let error = open_error(&copy).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert_eq!(runs(&store).await, ["one"]);
    drop(store);
    let mut opened = SqliteStore::open(&copy).await;
    while matches!(opened, Err(StoreError::ReadOnly { .. })) {
        opened = SqliteStore::open(&copy).await;
    }
    assert_eq!(runs(&opened.unwrap()).await, ["one"]);
}
