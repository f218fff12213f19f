//! Files that earlier versions wrote.

use std::fs;
use std::path::Path;

use super::*;
use crate::store::conformance_cases::{
    add, asked, at, batch, create, header, new_run, read_all, said, set_status, started,
};
use crate::store::{
    Append, Created, Delete, HeaderChange, NewRun, QuestionChange, QuestionQuery, RunStatus, Store, Stored, Tags,
};

/// Never changed: a newer format gets a file of its own.
const FORMAT_1: &str = "src/store/sqlite/testdata/format-1.db";

fn recorded() -> Vec<Stored> {
    let stored = |seq, time, record| Stored { seq, time, record };
    vec![stored(0, at(0), started()), stored(1, at(1), said("one")), stored(2, at(1), said("two"))]
}

#[tokio::test]
async fn a_file_of_format_1_is_read_and_goes_on() {
    is_read_and_goes_on(FORMAT_1).await;
}

async fn is_read_and_goes_on(file: &str) {
    let (_directory, path) = place();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &path).unwrap();

    let store = open(&path).await;

    let (a, b) = (header(&store, "a").await, header(&store, "b").await);
    assert_eq!(read_all(&store, a.key).await, recorded());
    assert_eq!((a.status, a.wake_at, a.updated), (RunStatus::Sleeping, Some(at(500)), at(1)));
    assert_eq!((b.status, b.forked_from, b.graph), (RunStatus::Running, Some(("a".to_owned(), 1)), 7));
    assert_eq!(a.tags, Tags::from([("tenant".to_owned(), "acme".to_owned())]));
    let open = store.open_questions(QuestionQuery::default()).await.unwrap();
    assert_eq!(open.into_iter().map(|open| (open.run, open.question)).collect::<Vec<_>>(), [(a.key, asked("one", 5))]);
    let c = NewRun { time: at(9), ..new_run("c") };
    assert!(matches!(store.create(c).await.unwrap(), Created::Deleted { until } if until == at(1000)));
    assert_eq!(store.graph(7).await.unwrap(), Some(serde_json::json!({"nodes": ["charge"]})));
    add(&store, a.key, 3, &[said("three")]).await;
    assert_eq!(read_all(&store, a.key).await.len(), 4);
    store.check().await.unwrap();
}

/// `GRAPHWEFT_WRITE_FORMAT=path` writes such a file, for the release of a format.
#[tokio::test]
async fn a_file_for_this_test_is_written_on_demand() {
    let Some(path) = std::env::var_os("GRAPHWEFT_WRITE_FORMAT") else { return };
    let store = open(Path::new(&path)).await;
    let tags = Tags::from([("tenant".to_owned(), "acme".to_owned())]);
    let a = create(&store, NewRun { tags, ..new_run("a") }).await.key;
    let change = HeaderChange {
        status: Some((RunStatus::Sleeping, Some(at(500)))),
        questions: QuestionChange { open: vec![asked("one", 5)], ..QuestionChange::default() },
        ..HeaderChange::default()
    };
    store.append(Append { header: change, ..batch(a, 1, &[said("one"), said("two")]) }).await.unwrap();
    create(&store, NewRun { forked_from: Some(("a".to_owned(), 1)), ..new_run("b") }).await;
    // Some records are in the journals, and some in the commit log.
    move_log(&store).await;
    let c = create(&store, new_run("c")).await.key;
    set_status(&store, c, RunStatus::Completed, None).await;
    store.delete(Delete { runs: vec![c], ids_until: Some(at(1000)), now: at(2) }).await.unwrap();
    closed(store).await;
}
