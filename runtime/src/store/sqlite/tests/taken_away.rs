//! Files that are taken away from a living process.

use std::fs;
use std::time::Duration;

use super::*;
use crate::store::conformance_cases::{batch, create, header, new_run, said};
use crate::store::{NewRun, RunQuery, Store};

/// A store in a directory of its own, with an owner whose lease is renewed all the time, and a run `a`.
async fn in_use() -> (TempDir, PathBuf, SqliteStore) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("data").join("runs.db");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let store = SqliteStore::builder().lease(Duration::from_millis(30)).open(&path).await.unwrap();
    store.join(Vec::new()).await.unwrap();
    create(&store, new_run("a")).await;
    (root, path, store)
}

/// What the store says when it has noticed, to whoever adds records and to whoever reads.
async fn once_noticed(store: &SqliteStore) -> StoreError {
    let error = loop {
        match store.list(RunQuery::default()).await {
            Err(gone @ StoreError::Gone { .. }) => break gone,
            // SQLite notices some of it by itself, and calls it something else.
            Ok(_) | Err(_) => tokio::task::yield_now().await,
        }
    };
    let added = store.append(batch(crate::store::RunKey(1), 1, &[said("late")])).await;
    assert_eq!(added.unwrap_err(), error);
    assert_eq!(store.create(new_run("b")).await.unwrap_err(), error);
    error
}

async fn assert_noticed(take_away: impl FnOnce(&Path), says: &str) {
    let (_root, path, store) = in_use().await;
    take_away(&path);
    let text = once_noticed(&store).await.to_string();
    assert!(text.contains(says) && text.contains(&path.display().to_string()), "{text}");
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_file_that_is_removed_stops_its_store() {
    assert_noticed(remove, "was removed or renamed").await;
}

#[tokio::test]
async fn a_file_that_is_renamed_stops_its_store() {
    assert_noticed(|path| fs::rename(path, path.with_extension("old")).unwrap(), "was removed or renamed").await;
}

#[tokio::test]
async fn a_file_whose_directory_is_removed_stops_its_store() {
    assert_noticed(|path| fs::remove_dir_all(path.parent().unwrap()).unwrap(), "was removed or renamed").await;
}

#[tokio::test]
async fn a_file_that_is_replaced_stops_its_store() {
    let replace = |path: &Path| {
        let other = path.with_extension("new");
        fs::copy(path, &other).unwrap();
        fs::rename(&other, path).unwrap();
    };
    assert_noticed(replace, "was replaced by another file").await;
}

#[tokio::test]
async fn a_file_that_is_emptied_stops_its_store() {
    let empty = |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
    assert_noticed(empty, "was emptied").await;
}

/// Without an owner, whose lease would be renewed: as of a process that only reads.
#[tokio::test]
async fn a_store_without_owners_notices_that_its_file_is_taken_away_by_the_next_read_or_commit() {
    for reads in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("runs.db");
        let store = SqliteStore::open(&path).await.unwrap();
        create(&store, new_run("a")).await;
        fs::rename(&path, root.path().join("other.db")).unwrap();
        // What was there a moment ago is taken to be there.
        std::thread::sleep(Duration::from_millis(30));
        let noticed = match reads {
            true => store.header("a").await.map(drop),
            false => store.create(NewRun { owner: None, ..new_run("b") }).await.map(drop),
        };
        assert!(matches!(noticed, Err(StoreError::Gone { .. })), "{noticed:?}");
    }
}

fn long_run() -> NewRun {
    NewRun { records: vec![said(&"x".repeat(20_000))], ..new_run("long") }
}

/// Has all of the log in the file.
fn checkpoint(connection: &Connection) {
    // It does nothing while the lease is being renewed, and says so.
    let is_busy =
        || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).unwrap() != 0;
    while is_busy() {}
}

#[tokio::test]
async fn a_file_that_is_cut_off_stops_its_store() {
    let (_root, path, store) = in_use().await;
    create(&store, long_run()).await;
    // All of it is in the file.
    checkpoint(&behind_the_back(&path));
    let whole = fs::metadata(&path).unwrap().len();
    store.0.file.look_at_length();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(whole / 2).unwrap();
    let text = once_noticed(&store).await.to_string();
    assert!(text.contains(&format!("was cut off, from {whole} to {} bytes,", whole / 2)), "{text}");
    assert!(text.contains("restart the process"), "{text}");
    drop(store);
    let opened = SqliteStore::open(&path).await;
    assert!(matches!(opened, Err(StoreError::Corrupt { .. })), "{opened:?}");
}

#[tokio::test]
async fn a_small_file_that_is_cut_off_and_as_long_as_before_when_it_is_looked_at_stops_its_store() {
    let (_root, path, store) = in_use().await;
    create(&store, long_run()).await;
    checkpoint(&behind_the_back(&path));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let whole = file.metadata().unwrap().len();
    store.0.file.look_at_length();
    // As when a page behind the cut is copied back from the log at the same moment.
    file.set_len(whole / 2).and_then(|()| file.set_len(whole)).unwrap();
    let text = once_noticed(&store).await.to_string();
    assert!(text.contains("was cut off"), "{text}");
}

#[tokio::test]
async fn a_file_that_is_shorter_after_a_vacuum_is_whole() {
    let (_root, path, store) = in_use().await;
    create(&store, long_run()).await;
    move_log(&store).await;
    let other = behind_the_back(&path);
    checkpoint(&other);
    store.0.file.look_at_length();
    let before = fs::metadata(&path).unwrap().len();
    other.execute_batch("CREATE TABLE more (x); INSERT INTO more VALUES (zeroblob(50000)); DROP TABLE more").unwrap();
    other.execute_batch("DELETE FROM journal WHERE length(body) > 10000; VACUUM").unwrap();
    checkpoint(&other);
    assert!(fs::metadata(&path).unwrap().len() < before);
    // It is looked at before the lease is renewed.
    for _ in 0..2 {
        let expires = || other.query_row("SELECT expires FROM owners", [], |row| row.get::<_, i64>(0)).unwrap();
        let last = expires();
        while expires() == last {
            tokio::task::yield_now().await;
        }
    }
    header(&store, "a").await;
}

#[tokio::test]
async fn a_log_that_is_removed_stops_its_store() {
    let log = |path: &Path| super::super::settings::beside(path, "wal");
    assert_noticed(|path| remove(&log(path)), "-wal`, which was removed or renamed").await;
}

#[tokio::test]
async fn a_file_that_others_use_and_copy_the_log_back_to_is_the_same_file() {
    let (_root, path, store) = in_use().await;
    let other = open(&path).await;
    create(&other, new_run("b")).await;
    closed_beside(other).await;
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    behind_the_back(&path).query_row(checkpoint, [], |_| Ok(())).unwrap();
    behind_the_back(&path).execute_batch("VACUUM").unwrap();

    assert_eq!(store.0.file.look(), Ok(()));
    header(&store, "b").await;
}

/// Drops a handle beside which there is another.
async fn closed_beside(store: SqliteStore) {
    let shared = std::sync::Arc::downgrade(shared(&store));
    drop(store);
    while shared.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
}
