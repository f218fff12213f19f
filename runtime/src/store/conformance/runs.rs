//! Runs and their headers.

use super::*;

pub async fn a_new_run_is_running_and_has_its_first_records(store: impl Store) {
    let owner = store.join(Vec::new()).await.unwrap();
    let records = vec![started(), said("hello")];

    let run = create(&store, NewRun { owner: Some(owner), records: records.clone(), ..new_run("a") }).await;

    let expected = RunHeader {
        key: run.key,
        id: "a".to_owned(),
        workflow: "checkout".to_owned(),
        status: RunStatus::Running,
        created: at(0),
        updated: at(0),
        records: 2,
        owner: Some(owner),
        wake_at: None,
        graph: 7,
        forked_from: None,
        previous: None,
        started_by: None,
        next: None,
        tags: Tags::new(),
    };
    assert_eq!(run, expected);
    assert_eq!(header(&store, "a").await, expected);
    let stored: Vec<_> = read_all(&store, run.key).await.into_iter().map(|stored| stored.record).collect();
    assert_eq!(stored, records);
}

pub async fn the_same_id_again_gives_the_same_run_unchanged(store: impl Store) {
    let first = create(&store, new_run("a")).await;

    let again = NewRun { workflow: "other".to_owned(), records: vec![said("again")], time: at(9), ..new_run("a") };
    let Created::Existing(found) = store.create(again).await.unwrap() else { panic!("it was added a second time") };

    assert_eq!(found, first);
    assert_eq!(read_all(&store, first.key).await.len(), 1);
}

pub async fn of_many_who_create_one_id_exactly_one_does(store: impl Store) {
    let store = Arc::new(store);
    for id in ["a", "b", "c", "d", "e"] {
        let creating: Vec<_> = (0..8)
            .map(|_| {
                let store = Arc::clone(&store);
                tokio::spawn(async move { store.create(new_run(id)).await.unwrap() })
            })
            .collect();
        let mut keys = Vec::new();
        let mut new = 0;
        for creating in creating {
            match creating.await.unwrap() {
                Created::New(header) => {
                    new += 1;
                    keys.push(header.key);
                }
                Created::Existing(header) => keys.push(header.key),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(new, 1);
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
}

pub async fn a_run_may_begin_without_records(store: impl Store) {
    let run = create(&store, NewRun { records: Vec::new(), ..new_run("a") }).await;
    assert_eq!(run.records, 0);

    assert_eq!(add(&store, run.key, 1, &[said("too far")]).await, Appended::Conflict);
    assert_eq!(add(&store, run.key, 0, &[said("first")]).await, Appended::Done);

    assert_eq!(header(&store, "a").await.records, 1);
}

pub async fn a_run_that_is_not_there_has_no_header(store: impl Store) {
    create(&store, new_run("a")).await;
    assert_eq!(store.header("b").await.unwrap(), None);
}

pub async fn the_header_follows_the_status(store: impl Store) {
    let run = create(&store, new_run("a")).await;
    let change = HeaderChange { status: Some((RunStatus::Waiting, Some(at(500)))), ..HeaderChange::default() };

    store.append(Append { header: change, time: at(2), ..batch(run.key, 1, &[said("waits")]) }).await.unwrap();
    let waiting = header(&store, "a").await;
    let change = HeaderChange { status: Some((RunStatus::Waiting, Some(at(600)))), ..HeaderChange::default() };
    store.append(Append { header: change, time: at(3), ..batch(run.key, 2, &[]) }).await.unwrap();
    let still_waiting = header(&store, "a").await;

    assert_eq!((waiting.status, waiting.wake_at), (RunStatus::Waiting, Some(at(500))));
    assert_eq!((waiting.created, waiting.updated, waiting.records), (at(0), at(2), 2));
    assert_eq!((still_waiting.wake_at, still_waiting.updated), (Some(at(600)), at(2)));
}

pub async fn only_a_waiting_run_has_a_time_to_wake(store: impl Store) {
    let run = create(&store, new_run("a")).await;
    set_status(&store, run.key, RunStatus::Running, Some(at(500))).await;
    assert_eq!(header(&store, "a").await.wake_at, None);

    set_status(&store, run.key, RunStatus::Waiting, Some(at(500))).await;
    assert_eq!(header(&store, "a").await.wake_at, Some(at(500)));

    set_status(&store, run.key, RunStatus::Completed, Some(at(500))).await;
    assert_eq!(header(&store, "a").await.wake_at, None);
}

pub async fn a_run_that_is_over_belongs_to_nobody(store: impl Store) {
    let owner = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(owner), ..new_run("a") }).await;

    set_status(&store, run.key, RunStatus::Failed, None).await;

    assert_eq!(header(&store, "a").await.owner, None);
}

pub async fn the_header_changes_without_records(store: impl Store) {
    let run = create(&store, new_run("a")).await;
    let owner = store.join(Vec::new()).await.unwrap();
    let change = HeaderChange { owner: Some(Some(owner)), ..HeaderChange::default() };

    let changed = store.append(Append { header: change, ..batch(run.key, 1, &[]) }).await.unwrap();

    assert_eq!(changed, Appended::Done);
    assert_eq!(header(&store, "a").await.owner, Some(owner));
}

pub async fn graphs_of_children_are_kept_and_leave_the_header_as_it_is(store: impl Store) {
    let run = create(&store, new_run("a")).await.key;
    let child_graphs = vec![Arc::new((8, json!("child"))), Arc::new((7, json!("again")))];
    let change = HeaderChange { child_graphs, ..HeaderChange::default() };

    let done = store.append(Append { header: change, ..batch(run, 1, &[said("one")]) }).await.unwrap();

    assert_eq!(done, Appended::Done);
    let header = header(&store, "a").await;
    assert_eq!((header.graph, header.records, header.status), (7, 2, RunStatus::Running));
    assert_eq!(store.graph(8).await.unwrap(), Some(json!("child")));
    assert_eq!(store.graph(7).await.unwrap(), Some(json!({"nodes": ["charge"]})));
}

pub async fn a_graph_is_kept_once_and_read_by_its_hash(store: impl Store) {
    let run = create(&store, new_run("a")).await;
    create(&store, new_run("b")).await;
    let change = HeaderChange { graph: Some(Arc::new((u64::MAX, json!("newer")))), ..HeaderChange::default() };

    store.append(Append { header: change, ..batch(run.key, 1, &[]) }).await.unwrap();

    assert_eq!(header(&store, "a").await.graph, u64::MAX);
    assert_eq!(header(&store, "b").await.graph, 7);
    assert_eq!(store.graph(7).await.unwrap(), Some(json!({"nodes": ["charge"]})));
    assert_eq!(store.graph(u64::MAX).await.unwrap(), Some(json!("newer")));
    assert_eq!(store.graph(8).await.unwrap(), None);
}

pub async fn the_list_is_newest_first_and_goes_on_where_a_page_ended(store: impl Store) {
    for id in ["a", "b", "c", "d", "e"] {
        create(&store, new_run(id)).await;
    }

    let all = store.list(RunQuery::default()).await.unwrap();
    let first = store.list(RunQuery { limit: 2, ..RunQuery::default() }).await.unwrap();
    let second = RunQuery { limit: 2, before: Some(first[1].key), ..RunQuery::default() };
    let second = store.list(second).await.unwrap();
    let third = RunQuery { limit: 2, before: Some(second[1].key), ..RunQuery::default() };
    let third = store.list(third).await.unwrap();

    assert_eq!(ids(&all), ["e", "d", "c", "b", "a"]);
    assert_eq!([ids(&first), ids(&second), ids(&third)], [vec!["e", "d"], vec!["c", "b"], vec!["a"]]);
    assert_eq!(all[4], header(&store, "a").await);
}

pub async fn the_list_is_filtered(store: impl Store) {
    for id in ["a", "b", "c"] {
        let run = create(&store, new_run(id)).await;
        if id != "a" {
            set_status(&store, run.key, RunStatus::Waiting, None).await;
        }
    }
    let other = create(&store, NewRun { workflow: "other".to_owned(), ..new_run("d") }).await;
    set_status(&store, other.key, RunStatus::Cancelled, None).await;
    let sleeping = create(&store, new_run("e")).await;
    set_status(&store, sleeping.key, RunStatus::Sleeping, Some(at(500))).await;

    let of_workflow = RunQuery { workflows: vec!["other".to_owned()], ..RunQuery::default() };
    let waiting = RunQuery { status: vec![RunStatus::Waiting], ..RunQuery::default() };
    let either = RunQuery { status: vec![RunStatus::Running, RunStatus::Cancelled], ..RunQuery::default() };
    let both = RunQuery { workflows: vec!["other".to_owned()], ..waiting.clone() };

    assert_eq!(ids(&store.list(of_workflow).await.unwrap()), ["d"]);
    assert_eq!(ids(&store.list(waiting).await.unwrap()), ["c", "b"]);
    let sleeping = RunQuery { status: vec![RunStatus::Sleeping], ..RunQuery::default() };
    assert_eq!(ids(&store.list(sleeping).await.unwrap()), ["e"]);
    assert_eq!(ids(&store.list(either).await.unwrap()), ["d", "a"]);
    assert!(store.list(both).await.unwrap().is_empty());
}

pub async fn the_list_has_a_prefix_a_time_an_order_and_a_number(store: impl Store) {
    let started = [("a/1", "one", 10), ("a/2", "two", 20), ("b/1", "one", 30), ("a\u{10FFFF}", "three", 40)];
    let mut keys = Vec::new();
    for (id, workflow, time) in started {
        let new = NewRun { workflow: workflow.to_owned(), time: at(time), ..new_run(id) };
        keys.push(create(&store, new).await.key);
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let all = RunQuery::default;

    for (query, expected) in [
        (RunQuery { id_prefix: "a/".to_owned(), ..all() }, &["a/2", "a/1"][..]),
        (RunQuery { id_prefix: "a".to_owned(), ..all() }, &["a\u{10FFFF}", "a/2", "a/1"]),
        (RunQuery { id_prefix: "a\u{10FFFF}".to_owned(), ..all() }, &["a\u{10FFFF}"]),
        (RunQuery { id_prefix: "a_".to_owned(), ..all() }, &[]),
        (RunQuery { id_prefix: "A/".to_owned(), ..all() }, &[]),
        (RunQuery { workflows: names(&["one", "three", "one"]), ..all() }, &["a\u{10FFFF}", "b/1", "a/1"]),
        (
            RunQuery { workflows: names(&["two", "one"]), status: vec![RunStatus::Running], ..all() },
            &["b/1", "a/2", "a/1"],
        ),
        (RunQuery { from: Some(at(20)), until: Some(at(40)), ..all() }, &["b/1", "a/2"]),
        (RunQuery { oldest_first: true, limit: 2, ..all() }, &["a/1", "a/2"]),
        (RunQuery { oldest_first: true, limit: 2, after: Some(keys[1]), ..all() }, &["b/1", "a\u{10FFFF}"]),
        (RunQuery { after: Some(keys[0]), before: Some(keys[3]), ..all() }, &["b/1", "a/2"]),
        (RunQuery { after: Some(keys[3]), before: Some(keys[0]), ..all() }, &[]),
        (
            RunQuery {
                workflows: names(&["two", "one"]),
                status: vec![RunStatus::Running],
                oldest_first: true,
                limit: 2,
                ..all()
            },
            &["a/1", "a/2"],
        ),
    ] {
        let found = store.list(query.clone()).await.unwrap();
        assert_eq!(ids(&found), expected, "{query:?}");
        let without_limit = store.list(RunQuery { limit: 0, ..query.clone() }).await.unwrap();
        assert_eq!(store.count(query.clone()).await.unwrap(), without_limit.len() as u64, "{query:?}");
    }
}

pub async fn the_list_leaves_workflows_out(store: impl Store) {
    for (id, workflow) in [("a", "one"), ("b", "two"), ("c", "three"), ("d", "two"), ("e", "three")] {
        create(&store, NewRun { workflow: workflow.to_owned(), ..new_run(id) }).await;
    }
    let d = header(&store, "d").await;
    set_status(&store, d.key, RunStatus::Completed, None).await;
    let without = |names: &[&str], status: &[RunStatus]| RunQuery {
        not_workflows: names.iter().map(|name| (*name).to_owned()).collect(),
        status: status.to_vec(),
        ..RunQuery::default()
    };

    let unfinished = [RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping];
    for (names, status, expected) in [
        (&["one"][..], &unfinished[..], &["e", "c", "b"][..]),
        (&["one", "three"], &unfinished, &["b"]),
        (&["one", "two", "three"], &unfinished, &[]),
        (&["one", "two", "three", "four"], &unfinished, &[]),
        (&["three"], &[], &["d", "b", "a"]),
        (&["three"], &[RunStatus::Completed], &["d"]),
        (&["two"], &[RunStatus::Waiting], &[]),
    ] {
        assert_eq!(ids(&store.list(without(names, status)).await.unwrap()), expected, "{names:?} {status:?}");
    }
}

pub async fn the_list_leaves_a_graph_out(store: impl Store) {
    for (id, graph) in [("a", 7), ("b", 8), ("c", u64::MAX), ("d", 8), ("e", 7), ("f", 8)] {
        let run = create(&store, NewRun { graph: Arc::new((graph, json!(graph))), ..new_run(id) }).await;
        set_status(&store, run.key, RunStatus::Waiting, None).await;
    }
    let c = header(&store, "c").await;
    let all = RunQuery {
        workflows: vec!["checkout".to_owned()],
        status: vec![RunStatus::Waiting, RunStatus::Sleeping],
        ..RunQuery::default()
    };

    for (not_graphs, limit, before, expected) in [
        (&[][..], 0, None, &["f", "e", "d", "c", "b", "a"][..]),
        (&[], 3, None, &["f", "e", "d"]),
        (&[], 3, Some(c.key), &["b", "a"]),
        (&[7], 0, None, &["f", "d", "c", "b"]),
        (&[8], 2, None, &["e", "c"]),
        (&[u64::MAX], 0, Some(c.key), &["b", "a"]),
        (&[9], 2, None, &["f", "e"]),
        (&[7, 8], 0, None, &["c"]),
        (&[8, u64::MAX, 9], 1, None, &["e"]),
        (&[7, 8, u64::MAX], 0, None, &[]),
    ] {
        let query = RunQuery { not_graphs: not_graphs.to_vec(), limit, before, ..all.clone() };
        assert_eq!(ids(&store.list(query.clone()).await.unwrap()), expected, "{query:?}");
    }
}

pub async fn forks_are_found_by_their_origin(store: impl Store) {
    create(&store, new_run("a")).await;
    let origin = Some(("a".to_owned(), 3));
    create(&store, NewRun { forked_from: origin.clone(), ..new_run("b") }).await;
    create(&store, NewRun { forked_from: Some(("b".to_owned(), 1)), ..new_run("c") }).await;

    let forks = store.list(RunQuery { forked_from: Some("a".to_owned()), ..RunQuery::default() }).await.unwrap();

    assert_eq!(ids(&forks), ["b"]);
    assert_eq!(forks[0].forked_from, origin);
}

pub async fn runs_are_found_by_the_run_that_has_started_them(store: impl Store) {
    let by = |run: &str, on_close| Some(StartedBy::new(run, format!("{run}/node/start:checkout"), on_close));
    create(&store, new_run("a")).await;
    create(&store, NewRun { started_by: by("a", OnClose::Cancel), ..new_run("b") }).await;
    create(&store, NewRun { started_by: by("a", OnClose::Wait), ..new_run("c") }).await;
    create(&store, NewRun { started_by: by("b", OnClose::Leave), ..new_run("d") }).await;

    let of = |run: &str| RunQuery { started_by: Some(run.to_owned()), ..RunQuery::default() };
    let found = store.list(of("a")).await.unwrap();
    assert_eq!(ids(&found), ["c", "b"]);
    assert_eq!(found[0].started_by, by("a", OnClose::Wait));
    assert_eq!(header(&store, "d").await.started_by, by("b", OnClose::Leave));
    assert_eq!(header(&store, "a").await.started_by, None);
    assert_eq!(store.count(of("d")).await.unwrap(), 0);
    set_status(&store, found[0].key, RunStatus::Completed, None).await;
    let unfinished = RunQuery { status: vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping], ..of("a") };
    assert_eq!(ids(&store.list(unfinished).await.unwrap()), ["b"]);
    assert_eq!(header(&store, "c").await.started_by, by("a", OnClose::Wait));
}
