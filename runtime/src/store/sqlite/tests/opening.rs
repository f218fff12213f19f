//! Files that are opened, and such that are not.

use std::fs;
use std::time::Duration;

use futures_util::future::join_all;

use super::*;
use crate::store::conformance_cases::{add, create, header, new_run, read_all, said};
use crate::store::sqlite::schema::FORMAT;
use crate::store::{RunQuery, Store};

#[tokio::test]
async fn what_was_recorded_is_there_when_the_file_is_opened_again() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one"), said("two")]).await;
    let before = (header(&store, "a").await, read_all(&store, run).await, store.graph(7).await.unwrap());
    closed(store).await;

    let store = open(&path).await;

    assert_eq!((header(&store, "a").await, read_all(&store, run).await, store.graph(7).await.unwrap()), before);
    assert_ne!(create(&store, new_run("b")).await.key, run);
}

#[tokio::test]
async fn what_one_handle_records_the_other_reads_at_once() {
    let (_directory, path) = place();
    let (one, other) = (open(&path).await, open(&path).await);
    let run = create(&one, new_run("a")).await.key;
    add(&other, run, 1, &[said("other")]).await;
    add(&one, run, 2, &[said("one")]).await;
    assert_eq!(read_all(&other, run).await, read_all(&one, run).await);
    assert_eq!(header(&other, "a").await.records, 3);
}

#[tokio::test]
async fn a_new_file_may_be_opened_by_many_at_once() {
    let (_directory, path) = place();
    let stores = join_all((0..8).map(|_| open(&path))).await;
    create(&stores[0], new_run("a")).await;
    for store in &stores {
        header(store, "a").await;
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let (_directory, path) = place();
    fs::write(&path, "").unwrap();
    assert!(open(&path).await.list(RunQuery::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_log_without_its_database_is_not_thrown_away() {
    let (directory, path) = place();
    let store = open(&path).await;
    create(&store, new_run("a")).await;
    let log = super::super::settings::beside(&path, "wal");
    let copy = directory.path().join("copy.db");
    fs::copy(&log, super::super::settings::beside(&copy, "wal")).unwrap();

    let error = open_error(&copy).await;

    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert_eq!(fs::read(super::super::settings::beside(&copy, "wal")).unwrap(), fs::read(log).unwrap());
}

#[tokio::test]
#[cfg(unix)]
async fn a_file_is_made_where_a_link_leads() {
    let (directory, path) = place();
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let store = open(&link).await;
    create(&store, new_run("a")).await;
    header(&open(&path).await, "a").await;
}

#[tokio::test]
#[cfg(unix)]
async fn a_file_with_two_hard_links_is_not_opened() {
    let (directory, path) = place();
    closed(open(&path).await).await;
    let other = directory.path().join("other.db");
    fs::hard_link(&path, &other).unwrap();
    for name in [&path, &other] {
        let error = open_error(name).await;
        assert!(matches!(&error, StoreError::Open { message, .. } if message.contains("hard links")), "{error:?}");
    }
    fs::remove_file(&other).unwrap();
    open(&path).await;
}

#[cfg(unix)]
mod modes {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What others may do with each file, of a store that is in use.
    async fn modes(path: &Path) -> Vec<u32> {
        let store = open(path).await;
        store.join(Vec::new()).await.unwrap();
        create(&store, new_run("a")).await;
        let files = fs::read_dir(path.parent().unwrap()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().permissions().mode() & 0o777).collect()
    }

    #[tokio::test]
    async fn the_files_of_a_new_store_are_for_their_user_alone() {
        let (_directory, path) = place();
        // The database, its log, its shared memory, and the file of the owner.
        assert_eq!(modes(&path).await, [0o600; 4]);
    }

    #[tokio::test]
    async fn a_file_that_is_there_keeps_its_mode_and_those_beside_it_have_the_same() {
        let (_directory, path) = place();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
        assert_eq!(modes(&path).await, [0o664; 4]);
    }
}

#[tokio::test]
async fn a_directory_is_not_opened() {
    let (directory, _) = place();
    let error = open_error(directory.path()).await;
    assert!(matches!(&error, StoreError::Open { message, .. } if message == "it is a directory"), "{error:?}");
}

#[tokio::test]
async fn a_file_in_a_directory_that_is_not_there_is_not_opened() {
    let (directory, _) = place();
    let error = open_error(&directory.path().join("missing").join("runs.db")).await;
    assert!(matches!(&error, StoreError::Open { .. }), "{error:?}");
    assert!(!directory.path().join("missing").exists());
}

#[tokio::test]
async fn a_path_that_no_file_can_have_is_not_opened() {
    let error = open_error(Path::new("a\0b")).await;
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
}

#[tokio::test]
async fn for_runs_in_memory_no_store_is_needed() {
    for name in ["", ":memory:", "file::memory:", "file::memory:?cache=shared", "file:runs?mode=memory"] {
        let error = open_error(Path::new(name)).await;
        assert!(
            matches!(&error, StoreError::Open { message, .. } if message.contains("leave out `.store(..)`")),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let (_directory, path) = place();
    for text in ["hello".to_owned(), "SQLite format 3".to_owned(), "word ".repeat(10_000)] {
        fs::write(&path, &text).unwrap();
        let error = open_error(&path).await;
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[tokio::test]
async fn a_database_of_something_else_is_left_as_it_is() {
    for theirs in ["CREATE TABLE songs (name TEXT)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let (_directory, path) = place();
        behind_the_back(&path).execute_batch(theirs).unwrap();
        let before = fs::read(&path).unwrap();
        let error = open_error(&path).await;
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_not_opened() {
    let (_directory, path) = place();
    closed(open(&path).await).await;
    behind_the_back(&path).pragma_update(None, "user_version", FORMAT + 1).unwrap();
    let error = open_error(&path).await;
    assert_eq!(error, StoreError::NewerFormat { path, found: FORMAT + 1, known: FORMAT });
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_file_in_a_directory_that_nobody_may_write_to_is_not_made() {
    // Not even root makes files there.
    let error = open_error(Path::new("/sys/runs.db")).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_may_only_be_read_is_not_opened() {
    let (_directory, path) = place();
    closed(open(&path).await).await;
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    if fs::OpenOptions::new().write(true).open(&path).is_ok() {
        println!("skipped: this user may write to read-only files");
        return;
    }
    let error = open_error(&path).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_opened_while_another_handle_adds_runs() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let adds = tokio::spawn(async move {
        for number in 0..200 {
            let run = create(&store, new_run(&number.to_string())).await.key;
            add(&store, run, 1, &[said("one")]).await;
        }
    });
    while !adds.is_finished() {
        open(&path).await;
    }
    adds.await.unwrap();
}

#[tokio::test]
async fn whoever_closes_a_file_last_takes_its_log_away() {
    for _ in 0..50 {
        let (_directory, path) = place();
        let store = open(&path).await;
        create(&store, new_run("a")).await;
        let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap().display()));
        assert!(log.exists());
        drop(store);
        // Its threads close it, some time.
        for _ in 0..10_000 {
            if log.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(!log.exists());
    }
}
