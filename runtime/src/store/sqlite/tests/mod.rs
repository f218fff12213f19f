//! What only a store in a file does.

mod codec;
mod damage;
mod deleting;
mod format;
#[cfg(graphweft_loom)]
mod loom_models;
mod moving;
mod opening;
mod owners;
mod read_only;
mod taken_away;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::SqliteStore;
use super::write_transaction::WriteTransaction;
use super::writer::Shared;
use crate::store::StoreError;

/// A directory of its own, and a path in it.
fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    (directory, path)
}

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path).await.unwrap()
}

async fn open_error(path: &Path) -> StoreError {
    SqliteStore::open(path).await.expect_err("it cannot be opened")
}

/// Moves the commit log to the journals of its runs.
async fn move_log(store: &SqliteStore) {
    store.0.write_on_thread(|transaction| transaction.move_log()).await.unwrap();
}

/// Keeps the writer's thread busy, so that what is recorded meanwhile is committed together. Until what is returned is
/// dropped; the task ends then.
async fn hold(store: &SqliteStore) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let (release, held) = mpsc::channel();
    let (holds, is_held) = oneshot::channel();
    let wait = move |_: &mut WriteTransaction<'_>| {
        holds.send(()).unwrap();
        // An error: what it waits for is dropped.
        assert!(held.recv().is_err());
        Ok(())
    };
    let store = store.clone();
    let holding = tokio::spawn(async move { store.0.write_on_thread(wait).await.unwrap() });
    is_held.await.unwrap();
    (release, holding)
}

/// A connection past the store, for what it would never do by itself.
fn behind_the_back(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// Drops the only handle, and waits until its threads have closed the file: SQLite removes the log then. Nothing else may
/// have had the file open a moment ago: of two that close it at once, each leaves the log to the other one.
async fn closed(store: SqliteStore) {
    let log = super::settings::beside(&store.0.file.path, "wal");
    drop(store);
    gone(&log).await;
}

async fn gone(file: &Path) {
    let began = Instant::now();
    while file.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{} stays", file.display());
        tokio::task::yield_now().await;
    }
}

/// What a store that writes has.
fn shared(store: &SqliteStore) -> &Arc<Shared> {
    &store.0.writing().unwrap().shared
}
