//! The records of all runs.

use std::collections::HashMap;

use super::*;

/// A page of the feed of all runs.
pub async fn page(store: &impl Store, after: FeedPlace, limit: usize) -> FeedPage {
    store.feed(FeedQuery { after, limit, ..FeedQuery::default() }).await.unwrap()
}

/// The feed behind a place, in pages of so many records: ids, numbers and places.
pub async fn follow(store: &impl Store, query: FeedQuery) -> Vec<(String, u64, FeedPlace)> {
    let mut followed: Vec<(String, u64, FeedPlace)> = Vec::new();
    let mut after = query.after;
    loop {
        let page = store.feed(FeedQuery { after, ..query.clone() }).await.unwrap();
        assert!(query.limit == 0 || page.records.len() <= query.limit);
        for record in page.records {
            assert!(record.place > followed.last().map_or(query.after, |last| last.2) && record.place <= page.place);
            followed.push((record.id, record.stored.unwrap().seq, record.place));
        }
        if page.place == after {
            return followed;
        }
        assert!(page.place > after);
        after = page.place;
    }
}

pub fn numbers(followed: &[(String, u64, FeedPlace)]) -> Vec<(&str, u64)> {
    followed.iter().map(|(id, seq, _)| (id.as_str(), *seq)).collect()
}

/// Runs `a` and `b` with records in turns.
async fn two_runs(store: &impl Store) -> (RunKey, RunKey) {
    let a = create(store, new_run("a")).await.key;
    add(store, a, 1, &[said("one"), said("two")]).await;
    let b = create(store, new_run("b")).await.key;
    add(store, a, 3, &[said("three")]).await;
    add(store, b, 1, &[said("one"), said("two"), said("three")]).await;
    add(store, a, 4, &[said("four")]).await;
    (a, b)
}

const IN_ORDER: [(&str, u64); 9] =
    [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("a", 3), ("b", 1), ("b", 2), ("b", 3), ("a", 4)];

pub async fn records_of_all_runs_come_in_the_order_of_their_commits(store: impl Store) {
    assert_eq!(follow(&store, FeedQuery::default()).await, []);
    let (a, b) = two_runs(&store).await;

    let records = page(&store, FeedPlace::BEGINNING, 0).await.records;

    assert_eq!(numbers(&follow(&store, FeedQuery::default()).await), IN_ORDER);
    for (run, id) in [(a, "a"), (b, "b")] {
        let of_run = records.iter().filter(|record| record.run == run);
        let stored: Vec<_> = of_run.clone().map(|record| record.stored.clone().unwrap()).collect();
        assert_eq!(stored, read_all(&store, run).await);
        assert!(of_run.clone().all(|record| (record.id.as_str(), record.workflow.as_str()) == (id, "checkout")));
    }
}

pub async fn a_feed_continues_at_every_place(store: impl Store) {
    two_runs(&store).await;
    let all = follow(&store, FeedQuery::default()).await;
    for limit in 1..11 {
        assert_eq!(follow(&store, FeedQuery { limit, ..FeedQuery::default() }).await, all);
        for (number, (.., after)) in (1..).zip(&all) {
            let rest = follow(&store, FeedQuery { after: *after, limit, ..FeedQuery::default() }).await;
            assert_eq!(rest, all[number..], "behind {after:?} by {limit}");
        }
    }
    let beyond = FeedPlace { position: u64::MAX, record: 7 };
    assert_eq!(page(&store, beyond, 0).await.place, beyond);
}

pub async fn from_its_end_a_feed_has_what_is_added_later(store: impl Store) {
    let empty = store.feed_end().await.unwrap();
    let (a, _) = two_runs(&store).await;
    let after = store.feed_end().await.unwrap();
    assert_eq!(page(&store, after, 0).await.records.len(), 0);

    add(&store, a, 5, &[said("five")]).await;

    assert_eq!(numbers(&follow(&store, FeedQuery { after, ..FeedQuery::default() }).await), [("a", 5)]);
    let all = follow(&store, FeedQuery { after: empty, ..FeedQuery::default() }).await;
    assert_eq!(all.len(), IN_ORDER.len() + 1);
    assert_eq!(all.last().map(|last| last.2), Some(store.feed_end().await.unwrap()));
}

pub async fn a_refused_append_is_not_in_the_feed(store: impl Store) {
    let (a, b) = two_runs(&store).await;
    assert_eq!(add(&store, a, 3, &[said("no")]).await, Appended::Conflict);
    assert_eq!(add(&store, RunKey(b.0 + 1), 0, &[said("no")]).await, Appended::Conflict);
    assert_eq!(numbers(&follow(&store, FeedQuery::default()).await), IN_ORDER);
}

pub async fn a_takeover_is_in_the_feed(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    let me = store.join(vec!["checkout".to_owned()]).await.unwrap();
    store.claim(claim(me)).await.unwrap();

    let records = page(&store, FeedPlace::BEGINNING, 0).await.records;

    let stored: Vec<_> = records.into_iter().map(|record| record.stored.unwrap()).collect();
    assert_eq!(stored, read_all(&store, a).await);
    assert!(matches!(stored[1].record.kind, EventKind::RunResumed { .. }));
}

pub async fn records_of_deleted_runs_are_passed_over(store: impl Store) {
    let (a, b) = two_runs(&store).await;
    let before = follow(&store, FeedQuery::default()).await;
    set_status(&store, b, RunStatus::Completed, None).await;
    store.delete(Delete { runs: vec![b], ids_until: None, now: at(100_000) }).await.unwrap();
    add(&store, a, 5, &[said("five")]).await;

    for limit in [1, 2, 0] {
        for (number, (.., after)) in (1..).zip(&before) {
            let rest = follow(&store, FeedQuery { after: *after, limit, ..FeedQuery::default() }).await;
            let left: Vec<_> = before[number..].iter().filter(|(id, ..)| id == "a").collect();
            assert!(rest.iter().take(left.len()).eq(left), "behind {after:?}");
            assert_eq!(numbers(&rest).last(), Some(&("a", 5)));
        }
    }
    set_status(&store, a, RunStatus::Completed, None).await;
    let after = store.feed_end().await.unwrap();
    store.delete(Delete { runs: vec![a], ids_until: None, now: at(100_000) }).await.unwrap();
    assert_eq!(store.feed_end().await.unwrap(), after, "the end is where it was, without any run");
    assert_eq!(follow(&store, FeedQuery::default()).await, []);
    create(&store, new_run("c")).await;
    assert_eq!(numbers(&follow(&store, FeedQuery { after, ..FeedQuery::default() }).await), [("c", 0)]);
}

pub async fn a_feed_is_filtered_by_workflows_and_tags(store: impl Store) {
    let tag = |value: &str| Tags::from([("tenant".to_owned(), value.to_owned())]);
    let both = || Tags::from([("tenant".to_owned(), "acme".to_owned()), ("kind".to_owned(), "big".to_owned())]);
    for (id, workflow, tags) in [("a", "pay", tag("acme")), ("b", "ship", both()), ("c", "pay", tag("other"))] {
        let run = NewRun { workflow: workflow.to_owned(), tags, ..new_run(id) };
        let run = create(&store, run).await.key;
        add(&store, run, 1, &[said("one")]).await;
    }
    for (workflows, tags, wanted) in [
        (vec!["pay"], Tags::new(), vec!["a", "a", "c", "c"]),
        (vec!["pay", "ship"], tag("acme"), vec!["a", "a", "b", "b"]),
        (vec![], tag("other"), vec!["c", "c"]),
        (vec![], both(), vec!["b", "b"]),
        (vec!["other"], Tags::new(), vec![]),
    ] {
        let workflows: Vec<_> = workflows.into_iter().map(str::to_owned).collect();
        for limit in [0, 1, 3] {
            let query = FeedQuery { workflows: workflows.clone(), tags: tags.clone(), limit, ..FeedQuery::default() };
            let followed = follow(&store, query).await;
            assert_eq!(followed.iter().map(|record| record.0.as_str()).collect::<Vec<_>>(), wanted);
        }
    }
}

pub async fn nothing_is_left_out_or_repeated_while_others_add(store: impl Store) {
    const RUNS: u64 = 8;
    const EACH: u64 = 30;
    let mut adding = Vec::new();
    for run in 0..RUNS {
        let key = create(&store, new_run(&run.to_string())).await.key;
        let appends: Vec<_> =
            (1..EACH).map(|number| store.append(batch(key, number, &[said(&number.to_string())]))).collect();
        adding.push(tokio::spawn(async move {
            for append in appends {
                assert_eq!(append.await, Ok(Appended::Done));
                tokio::task::yield_now().await;
            }
        }));
    }
    let mut next: HashMap<String, u64> = HashMap::new();
    let (mut after, mut seen) = (FeedPlace::BEGINNING, 0);
    while seen < RUNS * EACH {
        let page = page(&store, after, 7).await;
        after = page.place;
        for record in page.records {
            let expected = next.entry(record.id.clone()).or_default();
            assert_eq!(record.stored.unwrap().seq, *expected, "of run {}", record.id);
            *expected += 1;
            seen += 1;
        }
        tokio::task::yield_now().await;
    }
    for adding in adding {
        adding.await.unwrap();
    }
    assert_eq!(page(&store, after, 7).await.records.len(), 0);
}
