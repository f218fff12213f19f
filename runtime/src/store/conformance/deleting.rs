//! Deleted runs, and periodic tasks.

use super::*;

/// Ends a run.
async fn end(store: &impl Store, run: RunKey) {
    set_status(store, run, RunStatus::Completed, None).await;
}

async fn delete(store: &impl Store, runs: &[RunKey], ids_until: Option<SystemTime>) -> Vec<RunKey> {
    store.delete(Delete { runs: runs.to_vec(), ids_until, now: at(100) }).await.unwrap()
}

pub async fn a_deleted_run_is_gone_with_its_records(store: impl Store) {
    let tags = Tags::from([("tenant".to_owned(), "acme".to_owned())]);
    let a = create(&store, NewRun { tags: tags.clone(), ..new_run("a") }).await.key;
    let b = create(&store, NewRun { tags: tags.clone(), ..new_run("b") }).await.key;
    for run in [a, b] {
        add(&store, run, 1, &[said("one"), said("two")]).await;
        end(&store, run).await;
    }
    let before = read_all(&store, b).await;

    assert_eq!(delete(&store, &[a], None).await, [a]);

    assert_eq!(store.header("a").await.unwrap(), None);
    assert_eq!(read_all(&store, a).await, []);
    for query in [RunQuery::default(), RunQuery { tags, ..RunQuery::default() }] {
        assert_eq!(ids(&store.list(query.clone()).await.unwrap()), ["b"]);
        assert_eq!(store.count(query).await.unwrap(), 1);
    }
    assert_eq!(read_all(&store, b).await, before);
    assert_eq!(store.graph(7).await.unwrap(), Some(json!({"nodes": ["charge"]})));
}

pub async fn a_run_that_is_not_over_is_not_deleted(store: impl Store) {
    let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
    set_status(&store, b, RunStatus::Waiting, None).await;

    assert_eq!(delete(&store, &[a, b, RunKey(1_000_000)], Some(at(1000))).await, []);

    assert_eq!(ids(&store.list(RunQuery::default()).await.unwrap()), ["b", "a"]);
}

pub async fn the_id_of_a_deleted_run_is_kept_for_a_time(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    end(&store, a).await;
    assert_eq!(delete(&store, &[a], Some(at(1000))).await, [a]);

    let early = store.create(NewRun { time: at(999), ..new_run("a") }).await.unwrap();
    let later = store.create(NewRun { time: at(1000), ..new_run("a") }).await.unwrap();

    assert!(matches!(early, Created::Deleted { until } if until == at(1000)), "{early:?}");
    assert!(matches!(later, Created::New(_)), "{later:?}");
    assert_eq!(read_all(&store, header(&store, "a").await.key).await.len(), 1);
}

pub async fn the_id_of_a_deleted_run_is_free_at_once_if_it_is_not_kept(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    end(&store, a).await;
    delete(&store, &[a], None).await;

    let again = create(&store, new_run("a")).await;

    assert_eq!((again.records, again.status), (1, RunStatus::Running));
}

pub async fn the_number_of_a_deleted_run_is_not_given_again(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    let b = create(&store, new_run("b")).await.key;
    end(&store, b).await;
    delete(&store, &[b], None).await;

    let c = create(&store, new_run("c")).await.key;

    assert!(c > b && b > a, "{a:?}, {b:?}, {c:?}");
}

pub async fn nothing_can_be_added_to_a_deleted_run(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    add(&store, a, 1, &[said("one")]).await;
    let over = HeaderChange { status: Some((RunStatus::Completed, None)), ..HeaderChange::default() };
    assert_eq!(store.append(Append { header: over, ..batch(a, 2, &[said("end")]) }).await.unwrap(), Appended::Done);
    delete(&store, &[a], None).await;

    for number in [0, 1, 2] {
        assert_eq!(add(&store, a, number, &[said("late")]).await, Appended::Conflict, "at {number}");
    }
    for number in [0, 1, 2, 3] {
        let header = HeaderChange { status: Some((RunStatus::Running, None)), ..HeaderChange::default() };
        let change = Append { header, ..batch(a, number, &[]) };
        assert_eq!(store.append(change).await.unwrap(), Appended::Conflict, "at {number}");
    }
    assert_eq!(read_all(&store, a).await, []);
}

pub async fn a_long_run_is_deleted_whole(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    for number in 0..3000 {
        add(&store, a, 1 + number, &[said("one")]).await;
    }
    end(&store, a).await;

    assert_eq!(delete(&store, &[a], None).await, [a]);

    assert_eq!(read_all(&store, a).await, []);
    let b = create(&store, new_run("a")).await;
    assert_eq!(read_all(&store, b.key).await.len(), 1);
}

pub async fn a_task_belongs_to_one_owner_at_a_time(store: impl Store) {
    let (one, other) = (store.join(Vec::new()).await.unwrap(), store.join(Vec::new()).await.unwrap());
    let reserve = |owner, now| ReserveTask { task: "sweep".to_owned(), owner, until: at(now + 100), now: at(now) };

    assert!(store.reserve_task(reserve(one, 0)).await.unwrap());
    assert!(!store.reserve_task(reserve(other, 50)).await.unwrap());
    assert!(store.reserve_task(ReserveTask { task: "other".to_owned(), ..reserve(other, 50) }).await.unwrap());
    assert!(store.reserve_task(reserve(one, 60)).await.unwrap());
    assert!(!store.reserve_task(reserve(other, 159)).await.unwrap());
    assert!(store.reserve_task(reserve(other, 160)).await.unwrap());
    assert!(!store.reserve_task(reserve(one, 170)).await.unwrap());
}

pub async fn a_task_of_an_owner_that_left_is_free(store: impl Store) {
    let (one, other) = (store.join(Vec::new()).await.unwrap(), store.join(Vec::new()).await.unwrap());
    let reserve = |owner| ReserveTask { task: "sweep".to_owned(), owner, until: at(1000), now: at(0) };
    assert!(store.reserve_task(reserve(one)).await.unwrap());

    store.leave(one).await;

    assert!(store.reserve_task(reserve(other)).await.unwrap());
}
