//! Who executes a run.

use super::*;

/// What an owner that has just joined would get.
async fn claim_as_a_newcomer(store: &impl Store) -> (Owner, Claimed) {
    let owner = store.join(Vec::new()).await.unwrap();
    (owner, store.claim(claim(owner)).await.unwrap())
}

pub async fn a_run_is_resumed_behind_its_records_also_if_the_claim_has_waited(store: impl Store) {
    let now = 1_000_000;
    // When the last record was made, and when the run is resumed. The clock of the last one was set back.
    for (id, last, resumed_at) in
        [("a", 1_000_400, 1_000_400), ("b", now, now), ("c", 999_500, now), ("d", 9_000_000, now)]
    {
        let run = create(&store, new_run(id)).await;
        let said = Append { time: at(last), ..batch(run.key, 1, &[said("last")]) };
        assert_eq!(store.append(said).await.unwrap(), Appended::Done);
        let owner = store.join(Vec::new()).await.unwrap();
        let a_second_ago = Instant::now().checked_sub(Duration::from_secs(1)).expect("the machine has begun before");
        let waited = Claim { now: at(now), begun: a_second_ago, only: Some(run.key), ..claim(owner) };

        assert_eq!(ids(&store.claim(waited).await.unwrap().runs), [id]);

        let resumed = read_all(&store, run.key).await.pop().expect("it has three records");
        assert_eq!(resumed.record.kind, EventKind::RunResumed { owner: owner.0 });
        assert_eq!(resumed.time, at(resumed_at), "{id}");
    }
}

pub async fn a_running_run_of_nobody_is_taken_and_says_so(store: impl Store) {
    let run = create(&store, new_run("a")).await;

    let (owner, claimed) = claim_as_a_newcomer(&store).await;

    assert_eq!(claimed.runs, [RunHeader { owner: Some(owner), records: 2, ..run.clone() }]);
    assert_eq!(header(&store, "a").await, claimed.runs[0]);
    let resumed = Record { path: "checkout".to_owned(), kind: EventKind::RunResumed { owner: owner.0 } };
    assert_eq!(read_all(&store, run.key).await[1], Stored { seq: 1, time: at(1000), record: resumed });
}

pub async fn a_run_of_another_workflow_is_left(store: impl Store) {
    create(&store, NewRun { workflow: "other".to_owned(), ..new_run("a") }).await;
    let (_, claimed) = claim_as_a_newcomer(&store).await;
    assert!(claimed.runs.is_empty());
}

pub async fn a_run_of_a_living_owner_is_left(store: impl Store) {
    let living = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(living), ..new_run("a") }).await;
    let (_, claimed) = claim_as_a_newcomer(&store).await;
    assert!(claimed.runs.is_empty());
    assert_eq!(header(&store, "a").await, run);
}

pub async fn a_run_of_an_owner_that_left_is_taken(store: impl Store) {
    let leaver = store.join(Vec::new()).await.unwrap();
    create(&store, NewRun { owner: Some(leaver), ..new_run("a") }).await;
    store.leave(leaver).await;
    let (owner, claimed) = claim_as_a_newcomer(&store).await;
    assert_eq!(ids(&claimed.runs), ["a"]);
    assert_eq!(claimed.runs[0].owner, Some(owner));
}

pub async fn a_run_of_its_own_that_the_claimer_is_not_at_is_taken(store: impl Store) {
    let owner = store.join(Vec::new()).await.unwrap();
    let busy_with = create(&store, NewRun { owner: Some(owner), ..new_run("a") }).await.key;
    create(&store, NewRun { owner: Some(owner), ..new_run("b") }).await;
    let claimed = store.claim(Claim { except: vec![busy_with], ..claim(owner) }).await.unwrap();
    assert_eq!(ids(&claimed.runs), ["b"]);
}

pub async fn a_sleeping_run_is_taken_when_its_time_has_come(store: impl Store) {
    let run = create(&store, new_run("a")).await;
    set_status(&store, run.key, RunStatus::Sleeping, Some(at(1001))).await;
    let owner = store.join(Vec::new()).await.unwrap();

    let early = store.claim(claim(owner)).await.unwrap();
    let in_time = store.claim(Claim { now: at(1001), ..claim(owner) }).await.unwrap();

    assert!(early.runs.is_empty());
    assert_eq!(ids(&in_time.runs), ["a"]);
    let run = header(&store, "a").await;
    assert_eq!((run.status, run.wake_at, run.updated), (RunStatus::Running, None, at(1001)));
}

pub async fn a_sleeping_run_is_taken_when_the_clock_was_set_back_since(store: impl Store) {
    // By batches at 1.
    for (id, status, wake_at) in [
        ("a", RunStatus::Sleeping, Some(at(60_000))),
        ("b", RunStatus::Waiting, None),
        ("c", RunStatus::Completed, None),
    ] {
        let run = create(&store, new_run(id)).await;
        set_status(&store, run.key, status, wake_at).await;
    }
    let owner = store.join(Vec::new()).await.unwrap();
    let before = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);

    let in_time = store.claim(Claim { now: at(1), ..claim(owner) }).await.unwrap();
    let set_back = store.claim(Claim { now: before, ..claim(owner) }).await.unwrap();

    assert!(in_time.runs.is_empty());
    assert_eq!(ids(&set_back.runs), ["a"]);
    // It is suspended again, by the clock of now.
    let rests = HeaderChange {
        status: Some((RunStatus::Sleeping, Some(before + Duration::from_secs(60)))),
        ..HeaderChange::default()
    };
    let rests = Append { time: before, header: rests, ..batch(set_back.runs[0].key, 2, &[]) };
    assert_eq!(store.append(rests).await.unwrap(), Appended::Done);
    assert!(store.claim(Claim { now: before, ..claim(owner) }).await.unwrap().runs.is_empty());
}

pub async fn a_waiting_run_of_a_living_owner_is_left_when_its_time_has_come(store: impl Store) {
    let living = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(living), ..new_run("a") }).await;
    set_status(&store, run.key, RunStatus::Waiting, Some(at(500))).await;
    let (_, claimed) = claim_as_a_newcomer(&store).await;
    assert!(claimed.runs.is_empty());
}

pub async fn a_run_that_waits_for_an_answer_or_is_over_is_left(store: impl Store) {
    for (id, status) in [("a", RunStatus::Waiting), ("b", RunStatus::Completed), ("c", RunStatus::Failed)] {
        let run = create(&store, new_run(id)).await;
        set_status(&store, run.key, status, None).await;
    }
    let (_, claimed) = claim_as_a_newcomer(&store).await;
    assert!(claimed.runs.is_empty());
    assert_eq!(claimed.next_wake, None);
}

pub async fn the_next_time_to_wake_is_that_of_the_earliest_run_that_could_be_taken(store: impl Store) {
    let (living, owner) = (store.join(Vec::new()).await.unwrap(), store.join(Vec::new()).await.unwrap());
    let of = |owner, id| NewRun { owner, ..new_run(id) };
    let later = create(&store, of(None, "later")).await.key;
    let sooner = create(&store, of(Some(owner), "sooner")).await.key;
    let at_it = create(&store, of(Some(owner), "at it")).await.key;
    let of_another = create(&store, of(Some(living), "of another")).await.key;
    let elsewhere = create(&store, NewRun { workflow: "other".to_owned(), ..new_run("elsewhere") }).await.key;
    for (run, time) in [(later, 5000), (sooner, 4000), (at_it, 3000), (of_another, 2000), (elsewhere, 2000)] {
        set_status(&store, run, RunStatus::Waiting, Some(at(time))).await;
    }

    let claimed = store.claim(Claim { except: vec![at_it], ..claim(owner) }).await.unwrap();

    assert!(claimed.runs.is_empty());
    assert_eq!(claimed.next_wake, Some(at(4000)));
}

pub async fn a_claim_takes_the_longest_ready_first_and_no_more_than_it_wants(store: impl Store) {
    let leaver = store.join(Vec::new()).await.unwrap();
    for (id, owner, wake_at) in
        [("late", None, 900), ("early", Some(leaver), 100), ("middle", None, 500), ("future", None, 2000)]
    {
        let run = create(&store, NewRun { owner, ..new_run(id) }).await;
        set_status(&store, run.key, RunStatus::Waiting, Some(at(wake_at))).await;
    }
    create(&store, new_run("running")).await;
    store.leave(leaver).await;
    let owner = store.join(Vec::new()).await.unwrap();

    let first = store.claim(Claim { limit: 3, ..claim(owner) }).await.unwrap();
    let except = first.runs.iter().map(|run| run.key).collect();
    let second = store.claim(Claim { limit: 3, except, ..claim(owner) }).await.unwrap();

    assert_eq!(ids(&first.runs), ["running", "early", "middle"]);
    assert_eq!(ids(&second.runs), ["late"]);
    assert_eq!(second.next_wake, Some(at(2000)));
}

pub async fn a_claim_for_one_run_takes_only_that(store: impl Store) {
    create(&store, new_run("a")).await;
    let wanted = create(&store, new_run("b")).await.key;
    let owner = store.join(Vec::new()).await.unwrap();

    let claimed = store.claim(Claim { only: Some(wanted), ..claim(owner) }).await.unwrap();
    let again = Claim { only: Some(wanted), except: vec![wanted], ..claim(owner) };
    let again = store.claim(again).await.unwrap();

    assert_eq!(ids(&claimed.runs), ["b"]);
    assert!(again.runs.is_empty());
}

pub async fn its_own_running_run_is_left_unless_it_is_asked_for(store: impl Store) {
    let owner = store.join(Vec::new()).await.unwrap();
    create(&store, NewRun { owner: Some(owner), ..new_run("a") }).await;

    let without = store.claim(Claim { own: false, ..claim(owner) }).await.unwrap();
    let none = store.claim(Claim { limit: 0, ..claim(owner) }).await.unwrap();
    let with = store.claim(claim(owner)).await.unwrap();

    assert_eq!((ids(&without.runs), ids(&none.runs), ids(&with.runs)), (Vec::new(), Vec::new(), vec!["a"]));
}

pub async fn a_run_without_an_owner_is_taken_also_if_orphans_are_not(store: impl Store) {
    let owner = store.join(Vec::new()).await.unwrap();
    create(&store, new_run("a")).await;

    let claimed = store.claim(Claim { orphans: false, ..claim(owner) }).await.unwrap();

    assert_eq!(ids(&claimed.runs), ["a"]);
}

pub async fn of_two_who_claim_at_once_one_gets_the_run(store: impl Store) {
    let (a, b) = (store.join(Vec::new()).await.unwrap(), store.join(Vec::new()).await.unwrap());
    for i in 0..20 {
        create(&store, new_run(&i.to_string())).await;
    }
    // In tasks of their own, so that they run side by side.
    let store = Arc::new(store);
    let claiming = [a, b].map(|owner| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.claim(claim(owner)).await.unwrap().runs })
    });
    let [a, b] = claiming;
    let (a, b) = (a.await.unwrap(), b.await.unwrap());
    assert_eq!(a.len() + b.len(), 20);
    assert!(a.iter().all(|run| b.iter().all(|other| other.key != run.key)));
}

pub async fn what_a_former_owner_adds_after_the_takeover_is_refused(store: impl Store) {
    let former = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(former), ..new_run("a") }).await.key;
    store.leave(former).await;
    let (_, claimed) = claim_as_a_newcomer(&store).await;

    assert_eq!(add(&store, run, 1, &[said("late")]).await, Appended::Conflict);
    assert_eq!(add(&store, run, claimed.runs[0].records, &[said("new")]).await, Appended::Done);
}

pub async fn what_a_former_owner_changes_in_the_header_after_the_takeover_is_refused(store: impl Store) {
    let former = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(former), ..new_run("a") }).await.key;
    store.leave(former).await;
    let (_, claimed) = claim_as_a_newcomer(&store).await;
    let rest = HeaderChange { status: Some((RunStatus::Waiting, None)), owner: Some(None), ..HeaderChange::default() };

    let late = store.append(Append { header: rest, ..batch(run, 1, &[]) }).await.unwrap();

    assert_eq!(late, Appended::Conflict);
    assert_eq!(header(&store, "a").await, claimed.runs[0]);
}

pub async fn a_nudge_is_told_once_and_to_the_owner(store: impl Store) {
    let (owner, other) = (store.join(Vec::new()).await.unwrap(), store.join(Vec::new()).await.unwrap());
    let run = create(&store, NewRun { owner: Some(owner), ..new_run("a") }).await.key;
    let at_it = Claim { except: vec![run], ..claim(owner) };
    let nudge = HeaderChange { nudge: true, ..HeaderChange::default() };
    store.append(Append { header: nudge, ..batch(run, 1, &[said("answer")]) }).await.unwrap();

    assert!(store.claim(claim(other)).await.unwrap().nudged.is_empty());
    assert_eq!(store.claim(at_it.clone()).await.unwrap().nudged, [run]);
    assert!(store.claim(at_it).await.unwrap().nudged.is_empty());
}

pub async fn a_run_that_is_taken_is_not_nudged_as_well(store: impl Store) {
    let owner = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(owner), ..new_run("a") }).await.key;
    let nudge = HeaderChange { nudge: true, ..HeaderChange::default() };
    store.append(Append { header: nudge, ..batch(run, 1, &[said("answer")]) }).await.unwrap();

    let claimed = store.claim(claim(owner)).await.unwrap();

    assert_eq!(ids(&claimed.runs), ["a"]);
    assert!(claimed.nudged.is_empty());
}

pub async fn a_nudge_has_a_run_that_waits_go_on(store: impl Store) {
    let leaver = store.join(Vec::new()).await.unwrap();
    let run = create(&store, NewRun { owner: Some(leaver), ..new_run("a") }).await.key;
    set_status(&store, run, RunStatus::Waiting, None).await;
    let nudge = HeaderChange { nudge: true, ..HeaderChange::default() };
    store.append(Append { header: nudge, ..batch(run, 1, &[said("answer")]) }).await.unwrap();
    assert_eq!(header(&store, "a").await.wake_at, Some(at(1)));

    store.leave(leaver).await;
    let (_, claimed) = claim_as_a_newcomer(&store).await;

    assert_eq!(ids(&claimed.runs), ["a"]);
}

pub async fn an_owner_is_never_given_twice(store: impl Store) {
    let first = store.join(Vec::new()).await.unwrap();
    store.leave(first).await;
    let second = store.join(Vec::new()).await.unwrap();
    store.leave(second).await;
    assert!(first < second && second < store.join(Vec::new()).await.unwrap());
}

pub async fn a_workflow_is_served_while_an_owner_that_knows_it_lives(store: impl Store) {
    let serves = async |workflow: &str| store.is_served(workflow).await.unwrap();
    let others = store.join(vec!["return".to_owned()]).await.unwrap();
    assert!(!serves("checkout").await);
    let owner = store.join(vec!["refund".to_owned(), "check\"out".to_owned(), "checkout".to_owned()]).await.unwrap();
    assert!(serves("checkout").await && serves("check\"out").await && !serves("check").await);
    store.leave(owner).await;
    assert!(!serves("checkout").await && serves("return").await);
    store.leave(others).await;
}
