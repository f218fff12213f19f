//! Adding and reading records.

use futures_util::future::join_all;

use super::*;

fn texts(stored: &[Stored]) -> Vec<(u64, &str)> {
    fn text(kind: &EventKind) -> &str {
        if let EventKind::Message { text } = kind { text } else { "" }
    }
    stored.iter().map(|stored| (stored.seq, text(&stored.record.kind))).collect()
}

pub async fn records_are_read_in_the_order_in_which_they_were_added(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;

    add(&store, run, 1, &[said("one"), said("two")]).await;
    store.append(Append { time: at(2), ..batch(run, 3, &[said("three")]) }).await.unwrap();

    let stored = read_all(&store, run).await;
    assert_eq!(texts(&stored), [(0, ""), (1, "one"), (2, "two"), (3, "three")]);
    assert_eq!(stored.iter().map(|stored| stored.time).collect::<Vec<_>>(), [at(0), at(1), at(1), at(2)]);
    assert_eq!(header(&store, "a").await.records, 4);
}

/// Adds at a number where that must not be possible.
async fn assert_refused(store: &impl Store, run: RunKey, number: u64) {
    let before = (header(store, "a").await, read_all(store, run).await);
    let change = HeaderChange {
        status: Some((RunStatus::Completed, None)),
        graph: Some(Arc::new((99, json!(null)))),
        child_graphs: vec![Arc::new((98, json!(null)))],
        owner: Some(Some(Owner(5))),
        nudge: true,
        questions: QuestionChange { open: vec![asked("q", 1)], ..QuestionChange::default() },
        next: Some("b".to_owned()),
    };

    let refused = store.append(Append { header: change, ..batch(run, number, &[said("no")]) }).await.unwrap();

    assert_eq!(refused, Appended::Conflict);
    assert_eq!((header(store, "a").await, read_all(store, run).await), before);
    assert_eq!(store.graph(98).await.unwrap(), None);
}

pub async fn a_batch_at_a_number_that_is_too_low_changes_nothing(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one")]).await;
    assert_refused(&store, run, 1).await;
    assert_refused(&store, run, 0).await;
}

pub async fn a_batch_at_a_number_that_is_too_high_changes_nothing(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    assert_refused(&store, run, 2).await;
    assert_refused(&store, run, 1 << 31).await;
    assert_refused(&store, run, u64::MAX).await;
}

pub async fn a_batch_at_a_number_inside_another_changes_nothing(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one"), said("two"), said("three")]).await;
    assert_refused(&store, run, 2).await;
    assert_refused(&store, run, 3).await;
}

pub async fn a_batch_for_a_run_that_is_not_there_changes_nothing(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    for (key, number) in [(RunKey(run.0 + 1), 0), (RunKey(run.0 + 1), 1), (RunKey(u64::MAX), 0)] {
        assert_eq!(add(&store, key, number, &[said("no")]).await, Appended::Conflict);
        assert!(read_all(&store, key).await.is_empty());
        let change = HeaderChange { status: Some((RunStatus::Waiting, None)), ..HeaderChange::default() };
        let changed = store.append(Append { header: change, ..batch(key, 0, &[]) }).await.unwrap();
        assert_eq!(changed, Appended::Conflict);
    }
}

pub async fn of_many_who_add_at_one_number_exactly_one_does(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    for number in 1..20 {
        let tasks = (0..8).map(|i| tokio::spawn(store.append(batch(run, number, &[said(&i.to_string())]))));
        let results = join_all(tasks).await;
        let added = results.into_iter().filter(|result| *result.as_ref().unwrap() == Ok(Appended::Done));
        assert_eq!(added.count(), 1);
    }
    assert_eq!(read_all(&store, run).await.len(), 20);
}

pub async fn runs_do_not_see_each_others_records(store: impl Store) {
    let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
    add(&store, b, 1, &[said("b1")]).await;
    add(&store, a, 1, &[said("a1"), said("a2")]).await;
    add(&store, b, 2, &[said("b2")]).await;

    assert_eq!(texts(&read_all(&store, a).await), [(0, ""), (1, "a1"), (2, "a2")]);
    assert_eq!(texts(&read_all(&store, b).await), [(0, ""), (1, "b1"), (2, "b2")]);
}

pub async fn reading_begins_and_ends_inside_a_batch(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("1"), said("2"), said("3")]).await;
    add(&store, run, 4, &[said("4"), said("5"), said("6")]).await;

    assert_eq!(texts(&store.read(run, 2, 3).await.unwrap()), [(2, "2"), (3, "3"), (4, "4")]);
    assert_eq!(texts(&store.read(run, 4, 1).await.unwrap()), [(4, "4")]);
    assert_eq!(texts(&store.read(run, 6, 9).await.unwrap()), [(6, "6")]);
    assert!(store.read(run, 2, 0).await.unwrap().is_empty());
}

pub async fn reading_behind_the_end_gives_nothing(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    create(&store, new_run("b")).await;
    for from in [1, 2, 1 << 31, 1 << 33, u64::MAX] {
        assert!(store.read(run, from, 10).await.unwrap().is_empty());
    }
}

pub async fn a_batch_of_hundreds_of_records_is_read_in_pages(store: impl Store) {
    let records: Vec<_> = (0..500).map(|i| said(&i.to_string())).collect();
    let run = create(&store, NewRun { records: records.clone(), ..new_run("a") }).await.key;
    add(&store, run, 500, &records).await;

    let mut read = Vec::new();
    while read.len() < 1000 {
        read.extend(store.read(run, read.len() as u64, 77).await.unwrap());
    }

    assert!(read.iter().map(|stored| stored.seq).eq(0..1000));
    assert!(read.into_iter().map(|stored| stored.record).eq(records.iter().chain(&records).cloned()));
}

pub async fn values_come_back_as_they_were(store: impl Store) {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let values = [
        json!(null),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
        json!(1e300),
        json!("a \"quoted\" \u{0} line\n\u{1F980}"),
        json!({"": [], "b": {"a": true}}),
        deep,
    ];
    let completed = |value: &serde_json::Value| Record {
        path: "checkout/plan/search:a/b \"c\"".to_owned(),
        kind: EventKind::NodeCompleted { label: None, output: Some(value.clone()), state: Vec::new(), items: None },
    };
    let records: Vec<_> = values.iter().map(completed).collect();

    let run = create(&store, NewRun { records: records.clone(), ..new_run("a") }).await.key;

    assert!(read_all(&store, run).await.into_iter().map(|stored| stored.record).eq(records));
}
