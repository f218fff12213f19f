//! What a store still knows when it was closed and opened again.

use super::feed::{follow, page};
use super::*;
use crate::store::{LogAppended, LogEntry, NewLogEntry, Snapshot};

async fn end(store: &impl Store, run: RunKey) {
    set_status(store, run, RunStatus::Completed, None).await;
}

pub async fn runs_and_their_records_are_as_they_were<S: Store, K>(
    store: S,
    kept: K,
    reopen: impl AsyncFnOnce(S, K) -> (S, K),
) {
    let tags = Tags::from([("tenant".to_owned(), "acme".to_owned())]);
    let graph = Arc::new((8, json!({ "nodes": ["charge", "ship"] })));
    let a = create(&store, NewRun { tags: tags.clone(), graph, ..new_run("a") }).await.key;
    add(&store, a, 1, &[said("one"), said("two")]).await;
    let sleeping = NewRun { wake_at: Some(at(2000)), previous: Some("a".to_owned()), ..new_run("b") };
    create(&store, sleeping).await;
    let c = create(&store, NewRun { forked_from: Some(("a".to_owned(), 1)), ..new_run("c") }).await.key;
    end(&store, c).await;
    let all = store.list(RunQuery::default()).await.unwrap();
    let records = read_all(&store, a).await;

    let (store, _kept) = reopen(store, kept).await;

    assert_eq!(store.list(RunQuery::default()).await.unwrap(), all);
    for before in &all {
        assert_eq!(header(&store, &before.id).await, *before);
    }
    assert_eq!(read_all(&store, a).await, records);
    assert_eq!(ids(&store.list(RunQuery { tags, ..RunQuery::default() }).await.unwrap()), ["a"]);
    assert_eq!(store.graph(8).await.unwrap(), Some(json!({ "nodes": ["charge", "ship"] })));
    assert_eq!(store.graph(7).await.unwrap(), Some(json!({ "nodes": ["charge"] })));
    assert_eq!(add(&store, a, 2, &[said("no")]).await, Appended::Conflict);
    assert_eq!(add(&store, a, 3, &[said("three")]).await, Appended::Done);
}

pub async fn a_sleeping_run_is_taken_when_its_time_has_come<S: Store, K>(
    store: S,
    kept: K,
    reopen: impl AsyncFnOnce(S, K) -> (S, K),
) {
    create(&store, NewRun { wake_at: Some(at(2000)), ..new_run("a") }).await;

    let (store, _kept) = reopen(store, kept).await;

    let owner = store.join(vec!["checkout".to_owned()]).await.unwrap();
    let early = store.claim(Claim { now: at(1999), ..claim(owner) }).await.unwrap();
    assert_eq!((ids(&early.runs), early.next_wake), (Vec::new(), Some(at(2000))));
    let due = store.claim(Claim { now: at(2000), ..claim(owner) }).await.unwrap();
    assert_eq!(ids(&due.runs), ["a"]);
}

pub async fn open_questions_are_as_they_were<S: Store, K>(store: S, kept: K, reopen: impl AsyncFnOnce(S, K) -> (S, K)) {
    let run = create(&store, new_run("a")).await.key;
    let asks = QuestionChange {
        open: vec![asked("ship", 1), asked("pay", 2)],
        closed: vec!["checkout/charge/ship".to_owned()],
        ..QuestionChange::default()
    };
    let opened = QuestionChange { closed: Vec::new(), ..asks.clone() };
    let closed = QuestionChange { open: Vec::new(), ..asks };
    for (number, questions) in [(1, opened), (2, closed)] {
        let header = HeaderChange { questions, ..HeaderChange::default() };
        let change = Append { header, ..batch(run, number, &[said("asks")]) };
        assert_eq!(store.append(change).await.unwrap(), Appended::Done);
    }
    let before = store.open_questions(QuestionQuery::default()).await.unwrap();
    assert_eq!(before.len(), 1);

    let (store, _kept) = reopen(store, kept).await;

    assert_eq!(store.open_questions(QuestionQuery::default()).await.unwrap(), before);
}

pub async fn the_id_and_the_number_of_a_deleted_run_are_kept<S: Store, K>(
    store: S,
    kept: K,
    reopen: impl AsyncFnOnce(S, K) -> (S, K),
) {
    let a = create(&store, new_run("a")).await.key;
    end(&store, a).await;
    let delete = Delete { runs: vec![a], ids_until: Some(at(1000)), now: at(500) };
    assert_eq!(store.delete(delete).await.unwrap(), [a]);

    let (store, _kept) = reopen(store, kept).await;

    let early = store.create(NewRun { time: at(999), ..new_run("a") }).await.unwrap();
    assert!(matches!(early, Created::Deleted { until } if until == at(1000)), "{early:?}");
    assert!(create(&store, new_run("b")).await.key > a);
}

pub async fn places_of_the_feed_are_as_they_were<S: Store, K>(
    store: S,
    kept: K,
    reopen: impl AsyncFnOnce(S, K) -> (S, K),
) {
    let a = create(&store, new_run("a")).await.key;
    let b = create(&store, new_run("b")).await.key;
    add(&store, a, 1, &[said("one"), said("two")]).await;
    add(&store, b, 1, &[said("one")]).await;
    end(&store, b).await;
    // Its records are passed over, and their places are not given again.
    store.delete(Delete { runs: vec![b], ids_until: None, now: at(500) }).await.unwrap();
    let before = follow(&store, FeedQuery::default()).await;
    let after = store.feed_end().await.unwrap();

    let (store, _kept) = reopen(store, kept).await;

    assert_eq!(follow(&store, FeedQuery::default()).await, before);
    assert_eq!(page(&store, after, 0).await.records, []);
    add(&store, a, 3, &[said("three")]).await;
    let later = follow(&store, FeedQuery { after, ..FeedQuery::default() }).await;
    assert_eq!(super::feed::numbers(&later), [("a", 3)]);
}

pub async fn an_owner_is_not_given_twice<S: Store, K>(store: S, kept: K, reopen: impl AsyncFnOnce(S, K) -> (S, K)) {
    let one = store.join(Vec::new()).await.unwrap();
    let other = store.join(Vec::new()).await.unwrap();
    store.leave(one).await;
    store.leave(other).await;

    let (store, _kept) = reopen(store, kept).await;

    let next = store.join(Vec::new()).await.unwrap();
    assert!(next != one && next != other, "{next:?}");
}

pub async fn a_log_and_its_positions_are_as_they_were<S: Store, K>(
    store: S,
    kept: K,
    reopen: impl AsyncFnOnce(S, K) -> (S, K),
) {
    let entry = |key: &str| NewLogEntry::new("a", key, json!({ "said": key }), at(3));
    let Some(logs) = store.logs() else { return };
    let mut positions = Vec::new();
    for key in ["one", "two"] {
        match logs.append(entry(key)).await.unwrap() {
            LogAppended::Added { position } => positions.push(position),
            other => panic!("it is not new: {other:?}"),
        }
    }
    let before: Vec<LogEntry> = logs.read("a", 0, u64::MAX).await.unwrap();
    logs.append(NewLogEntry::new("b", "last", json!(1), at(3))).await.unwrap();
    logs.delete("b").await.unwrap();
    drop(logs);

    let (store, _kept) = reopen(store, kept).await;

    let logs = store.logs().expect("it had them before");
    assert_eq!(logs.read("a", 0, u64::MAX).await.unwrap(), before);
    assert_eq!(logs.append(entry("two")).await.unwrap(), LogAppended::Existing { position: positions[1] });
    let added = logs.append(entry("three")).await.unwrap();
    assert!(matches!(added, LogAppended::Added { position } if position > positions[1]), "{added:?}");
}

pub async fn a_snapshot_fits_or_is_gone<S: Store, K>(store: S, kept: K, reopen: impl AsyncFnOnce(S, K) -> (S, K)) {
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one")]).await;
    let snapshot = Snapshot { at: 2, state: b"two".to_vec() };
    store.put_snapshot(run, snapshot.clone()).await.unwrap();

    let (store, _kept) = reopen(store, kept).await;

    // It is a cache: a store may forget it.
    let found = store.snapshot(run).await.unwrap();
    assert!(found.is_none() || found.as_ref() == Some(&snapshot), "{found:?}");
}
