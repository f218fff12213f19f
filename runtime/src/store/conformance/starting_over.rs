//! The end of a run in one transaction with the beginning of the next one.

use super::feed::{follow, numbers};
use super::*;

/// The end of a run that has so many records, and the run that follows it.
fn over(run: RunKey, number: u64, next: &str) -> (Append, NewRun) {
    let end = Record { path: "checkout".to_owned(), kind: EventKind::RunStartedOver { next: next.to_owned() } };
    let change = HeaderChange {
        status: Some((RunStatus::StartedOver, None)),
        owner: Some(None),
        next: Some(next.to_owned()),
        ..HeaderChange::default()
    };
    let append = Append { time: at(5), header: change, ..batch(run, number, &[said("last"), end]) };
    let records = vec![started(), said("first")];
    (append, NewRun { previous: Some("a".to_owned()), time: at(5), records, ..new_run(next) })
}

async fn start_over(store: &impl Store, run: RunKey, number: u64, next: &str) -> StartedOver {
    let (end, next) = over(run, number, next);
    store.start_over(end, next).await.unwrap()
}

/// Whatever can be read of all runs.
async fn everything(store: &impl Store) -> (Vec<RunHeader>, Vec<(String, u64, FeedPlace)>, Vec<AskedQuestion>) {
    let runs = store.list(RunQuery::default()).await.unwrap();
    let questions = store.open_questions(QuestionQuery::default()).await.unwrap();
    (runs, follow(store, FeedQuery::default()).await, questions)
}

pub async fn the_end_and_the_next_run_are_there_at_once(store: impl Store) {
    let owner = store.join(vec!["checkout".to_owned()]).await.unwrap();
    let a = create(&store, NewRun { owner: Some(owner), ..new_run("a") }).await;
    let questions = QuestionChange { open: vec![asked("one", 1)], ..QuestionChange::default() };
    let asks = HeaderChange { questions, ..HeaderChange::default() };
    store.append(Append { header: asks, ..batch(a.key, 1, &[said("one")]) }).await.unwrap();

    let (end, next) = over(a.key, 2, "a~1");
    let tags = Tags::from([("tenant".to_owned(), "acme".to_owned())]);
    let next = NewRun { owner: Some(owner), tags: tags.clone(), graph: Arc::new((8, json!("new"))), ..next };
    let StartedOver::Done(b) = store.start_over(end, next.clone()).await.unwrap() else { panic!("it is done") };

    assert!(b.key > a.key);
    assert_eq!(*b, next.header(b.key));
    assert_eq!((header(&store, "a~1").await, b.previous.as_deref()), (*b.clone(), Some("a")));
    let a = header(&store, "a").await;
    assert_eq!((a.status, a.updated, a.records, a.owner), (RunStatus::StartedOver, at(5), 4, None));
    assert_eq!((a.next.as_deref(), a.previous), (Some("a~1"), None));
    assert_eq!(store.open_questions(QuestionQuery::default()).await.unwrap(), []);
    let last = read_all(&store, a.key).await.pop().unwrap();
    assert_eq!((last.seq, last.record.kind), (3, EventKind::RunStartedOver { next: "a~1".to_owned() }));
    let first: Vec<_> = read_all(&store, b.key).await.into_iter().map(|stored| stored.record).collect();
    assert_eq!(first, next.records);
    assert_eq!(store.graph(8).await.unwrap(), Some(json!("new")));
    assert_eq!(ids(&store.list(RunQuery { tags, ..RunQuery::default() }).await.unwrap()), ["a~1"]);
    let over = RunQuery { status: vec![RunStatus::StartedOver], unchanged_since: Some(at(6)), ..RunQuery::default() };
    assert_eq!(ids(&store.list(over).await.unwrap()), ["a"]);
    // In the feed the end comes first.
    let feed = follow(&store, FeedQuery::default()).await;
    assert_eq!(numbers(&feed), [("a", 0), ("a", 1), ("a", 2), ("a", 3), ("a~1", 0), ("a~1", 1)]);
    assert_eq!(add(&store, b.key, 2, &[said("more")]).await, Appended::Done);
    assert!(matches!(start_over(&store, b.key, 3, "a~2").await, StartedOver::Done(_)));
}

pub async fn a_conflict_of_the_end_adds_no_run(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    add(&store, a, 1, &[said("one")]).await;
    let before = everything(&store).await;

    // It comes first, whatever else is wrong.
    for (number, next) in [(0, "b"), (1, "b"), (3, "b"), (1, "a"), (u64::MAX, "b")] {
        let refused = start_over(&store, a, number, next).await;
        assert!(matches!(refused, StartedOver::Conflict), "{refused:?}");
        assert_eq!(everything(&store).await, before);
    }
    let refused = start_over(&store, RunKey(1_000_000), 0, "b").await;
    assert!(matches!(refused, StartedOver::Conflict), "{refused:?}");
    assert!(matches!(start_over(&store, a, 2, "b").await, StartedOver::Done(_)));
}

pub async fn an_id_that_is_taken_leaves_the_run_as_it_is(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    create(&store, new_run("b")).await;
    let before = everything(&store).await;

    let refused = start_over(&store, a, 1, "b").await;

    assert!(matches!(refused, StartedOver::Existing), "{refused:?}");
    assert_eq!(everything(&store).await, before);
    assert_eq!(read_all(&store, a).await.len(), 1);
    assert_eq!(add(&store, a, 1, &[said("more")]).await, Appended::Done);
}

pub async fn the_id_of_a_deleted_run_leaves_the_run_as_it_is_while_it_is_kept(store: impl Store) {
    let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
    set_status(&store, b, RunStatus::Completed, None).await;
    store.delete(Delete { runs: vec![b], ids_until: Some(at(1000)), now: at(2) }).await.unwrap();
    let before = everything(&store).await;

    let refused = start_over(&store, a, 1, "b").await;
    assert!(matches!(refused, StartedOver::Deleted { until } if until == at(1000)), "{refused:?}");
    assert_eq!(everything(&store).await, before);

    let (end, next) = over(a, 1, "b");
    let later = store.start_over(end, NewRun { time: at(1000), ..next }).await.unwrap();
    assert!(matches!(later, StartedOver::Done(_)), "{later:?}");
}

pub async fn a_run_that_has_started_over_is_not_claimed_and_the_next_one_is(store: impl Store) {
    let former = store.join(vec!["checkout".to_owned()]).await.unwrap();
    let a = create(&store, NewRun { owner: Some(former), ..new_run("a") }).await.key;
    let (end, next) = over(a, 1, "b");
    store.start_over(end, NewRun { owner: Some(former), ..next }).await.unwrap();
    let claimer = store.join(vec!["checkout".to_owned()]).await.unwrap();
    assert_eq!(store.claim(claim(claimer)).await.unwrap().runs, []);

    store.leave(former).await;

    assert_eq!(ids(&store.claim(claim(claimer)).await.unwrap().runs), ["b"]);
    assert_eq!(store.delete(Delete { runs: vec![a], ids_until: None, now: at(9) }).await.unwrap(), [a]);
    assert_eq!(header(&store, "b").await.previous.as_deref(), Some("a"));
}

pub async fn of_many_who_start_over_with_one_id_exactly_one_does(store: impl Store) {
    let mut runs = Vec::new();
    for at in 0..10 {
        runs.push(create(&store, new_run(&format!("run {at}"))).await.key);
    }

    let all = futures_util::future::join_all(runs.iter().map(|run| start_over(&store, *run, 1, "next"))).await;

    let done = all.iter().filter(|started| matches!(started, StartedOver::Done(_))).count();
    let taken = all.iter().filter(|started| matches!(started, StartedOver::Existing)).count();
    assert_eq!((done, taken), (1, 9));
    let over = RunQuery { status: vec![RunStatus::StartedOver], ..RunQuery::default() };
    assert_eq!(store.count(over).await.unwrap(), 1);
}
