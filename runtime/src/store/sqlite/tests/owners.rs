//! Who is found dead, and when.

use std::time::{Duration, SystemTime};

use super::super::row;
use super::*;
use crate::store::conformance_cases::{add, claim, create, header, ids, new_run, said};
use crate::store::{Appended, Claim, NewRun, Owner, Store};

/// Two handles, acting as two processes, and a run `a` that the first one executes.
async fn two_processes() -> (TempDir, PathBuf, [(SqliteStore, Owner); 2]) {
    let (directory, path) = place();
    let (one, other) = (open(&path).await, open(&path).await);
    let owners = (one.join(Vec::new()).await.unwrap(), other.join(Vec::new()).await.unwrap());
    create(&one, NewRun { owner: Some(owners.0), ..new_run("a") }).await;
    (directory, path, [(one, owners.0), (other, owners.1)])
}

/// The owner's row as if it came from another machine.
fn move_elsewhere(path: &Path, owner: Owner, expires: i64) {
    let change = format!("UPDATE owners SET boot = 'elsewhere', expires = {expires} WHERE id = {}", owner.0);
    change_owners(path, &change);
}

/// As a program of an earlier format would: without checksums.
fn change_owners(path: &Path, change: &str) {
    behind_the_back(path).execute_batch(&format!("{change}; DELETE FROM owner_checksums")).unwrap();
}

fn in_a_minute() -> i64 {
    super::super::times::to_millis(SystemTime::now() + Duration::from_secs(60))
}

fn lock_file(path: &Path, owner: Owner) -> PathBuf {
    super::super::settings::beside(path, &format!("owner-{}", owner.0))
}

/// Waits until the lock of a process is free, as it is when the process has ended. The file stays.
async fn freed(lock_file: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(lock_file).unwrap();
    while file.try_lock().is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_run_of_a_living_process_is_left_also_after_its_lease() {
    let (_directory, path, [_one, (other, me)]) = two_processes().await;
    change_owners(&path, "UPDATE owners SET expires = 0");
    assert!(other.claim(claim(me)).await.unwrap().runs.is_empty());
}

/// Or nobody could tell any more that it is dead, before its lease ends.
#[tokio::test]
async fn a_claim_that_fails_leaves_the_file_of_the_dead() {
    let (_directory, path, [(one, dead), (other, me)]) = two_processes().await;
    drop(one);
    freed(&lock_file(&path, dead)).await;
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON runs BEGIN SELECT raise(abort, 'refused'); END";
    behind_the_back(&path).execute_batch(refuse).unwrap();
    assert!(other.claim(claim(me)).await.is_err());
    assert!(lock_file(&path, dead).exists());

    behind_the_back(&path).execute_batch("DROP TRIGGER refuse").unwrap();
    assert_eq!(ids(&other.claim(claim(me)).await.unwrap().runs), ["a"]);
    assert!(!lock_file(&path, dead).exists());
}

#[tokio::test]
async fn a_run_of_a_process_that_ended_is_taken_at_once() {
    let (_directory, path, [(one, dead), (other, me)]) = two_processes().await;
    let run = header(&one, "a").await.key;
    drop(one);
    freed(&lock_file(&path, dead)).await;

    let claimed = other.claim(claim(me)).await.unwrap();

    assert_eq!(ids(&claimed.runs), ["a"]);
    assert!(!lock_file(&path, dead).exists());
    assert!(lock_file(&path, me).exists());
    let left: i64 = behind_the_back(&path).query_row("SELECT count(*) FROM owners", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
    assert_eq!(add(&other, run, 1, &[said("late")]).await, Appended::Conflict);
}

#[tokio::test]
async fn a_living_process_whose_lock_file_was_removed_is_alive_for_as_long_as_its_lease() {
    let (_directory, path, [(_one, living), (other, me)]) = two_processes().await;
    std::fs::remove_file(lock_file(&path, living)).unwrap();
    assert!(other.claim(claim(me)).await.unwrap().runs.is_empty());
    assert!(other.is_alive(living).await.unwrap());

    change_owners(&path, &format!("UPDATE owners SET expires = 1 WHERE id = {}", living.0));
    assert_eq!(ids(&other.claim(claim(me)).await.unwrap().runs), ["a"]);
}

#[tokio::test]
#[cfg(unix)]
async fn a_process_that_opened_the_file_through_a_link_sees_who_is_alive() {
    let (directory, path, [_one, _]) = two_processes().await;
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();

    let store = open(&link).await;
    let me = store.join(Vec::new()).await.unwrap();

    assert!(store.claim(claim(me)).await.unwrap().runs.is_empty());
    assert!(lock_file(&path, me).exists());
}

#[tokio::test]
async fn an_owner_elsewhere_is_alive_for_as_long_as_its_lease() {
    let (_directory, path, [(_one, elsewhere), (other, me)]) = two_processes().await;
    move_elsewhere(&path, elsewhere, in_a_minute());
    assert!(other.claim(claim(me)).await.unwrap().runs.is_empty());

    move_elsewhere(&path, elsewhere, 1);
    assert_eq!(ids(&other.claim(claim(me)).await.unwrap().runs), ["a"]);
}

#[tokio::test]
async fn an_owner_that_was_wrongly_believed_dead_is_refused_and_lives_on() {
    let (_directory, path, [(one, slow), (other, me)]) = two_processes().await;
    let run = header(&one, "a").await.key;
    move_elsewhere(&path, slow, 1);
    other.claim(claim(me)).await.unwrap();

    let late = add(&one, run, 1, &[said("late")]).await;
    shared(&one).owners.renew(&behind_the_back(&path), Duration::from_secs(15)).unwrap();
    create(&one, NewRun { owner: Some(slow), ..new_run("b") }).await;

    assert_eq!(late, Appended::Conflict);
    let at_it = Claim { except: vec![run], ..claim(me) };
    assert!(other.claim(at_it).await.unwrap().runs.is_empty());
}

#[tokio::test]
async fn an_owner_that_was_wrongly_believed_dead_learns_once_what_it_has_lost() {
    let (_directory, path, [(one, slow), (other, me)]) = two_processes().await;
    let lost = header(&one, "a").await.key;
    move_elsewhere(&path, slow, 1);
    other.claim(claim(me)).await.unwrap();
    let kept = create(&one, NewRun { owner: Some(slow), ..new_run("b") }).await;
    shared(&one).owners.renew(&behind_the_back(&path), Duration::from_secs(15)).unwrap();

    let executing = Claim { except: vec![lost, kept.key], ..claim(slow) };
    assert_eq!(one.claim(executing.clone()).await.unwrap().nudged, [lost]);
    assert!(one.claim(executing).await.unwrap().nudged.is_empty());
}

#[tokio::test]
async fn the_lease_is_renewed_while_the_store_is_open() {
    let (_directory, path) = place();
    let store = SqliteStore::builder().lease(Duration::from_millis(30)).open(&path).await.unwrap();
    let owner = store.join(Vec::new()).await.unwrap();
    move_elsewhere(&path, owner, 1);
    let expires = || {
        let select = "SELECT expires FROM owners WHERE id = ?1";
        behind_the_back(&path).query_row(select, [owner.0.cast_signed()], |row| row.get::<_, i64>(0)).unwrap()
    };
    while expires() == 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn who_leaves_frees_its_runs_and_removes_its_file() {
    let (_directory, path, [(one, leaver), (other, me)]) = two_processes().await;

    one.leave(leaver).await;
    one.0.write_on_thread(|_| Ok(())).await.unwrap();

    assert_eq!(header(&other, "a").await.owner, None);
    assert!(!lock_file(&path, leaver).exists());
    assert_eq!(ids(&other.claim(claim(me)).await.unwrap().runs), ["a"]);
}

#[tokio::test]
async fn a_run_of_an_owner_that_was_never_there_is_taken() {
    let (_directory, _, [_one, (other, me)]) = two_processes().await;
    create(&other, NewRun { owner: Some(Owner(1000)), ..new_run("b") }).await;
    assert_eq!(ids(&other.claim(claim(me)).await.unwrap().runs), ["b"]);
}

#[tokio::test]
async fn a_claim_reads_off_the_index_however_many_runs_wait() {
    let (_directory, path) = place();
    let _store = open(&path).await;
    let connection = behind_the_back(&path);
    for (query, values) in [
        (super::super::claim::READY_RUNS, &["1", "'checkout'", "5", "0"][..]),
        (super::super::claim::NEXT_RUNS, &["1", "'checkout'", "5"]),
        (super::super::claim::SUSPENDED_LATER, &["1", "'checkout'", "5"]),
        (super::super::claim::OWNERS_OF_RUNS, &[]),
    ] {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).filter(|step| step.contains("runs")).collect();
        assert!(!steps.is_empty() && steps.iter().all(|step| step.contains("COVERING INDEX runs_")), "{steps:?}");
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:?}");
    }
}

#[tokio::test]
async fn the_workflows_and_graphs_of_unfinished_runs_are_read_off_an_index_however_many_runs_there_are() {
    let (_directory, path) = place();
    let _store = open(&path).await;
    let connection = behind_the_back(&path);
    let queries =
        [(super::super::read::UNFINISHED_WORKFLOWS, &[][..]), (super::super::read::UNFINISHED_GRAPHS, &["'checkout'"])];
    for (query, values) in queries {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).filter(|step| step.contains("runs")).collect();
        let is_search = |step: &String| step.starts_with("SEARCH runs USING") && step.contains("INDEX runs_unfinished");
        assert!(steps.len() == 2 && steps.iter().all(is_search), "{steps:?}");
    }
}

#[tokio::test]
async fn whether_a_run_is_in_an_index_is_looked_up_in_that_index() {
    let (_directory, path) = place();
    let _store = open(&path).await;
    let connection = behind_the_back(&path);
    for query in row::IS_IN {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let values = vec!["1"; plan.parameter_count()];
        let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        let is_search = |step: &String| step.starts_with("SEARCH runs USING") && step.contains("INDEX runs_");
        assert!(steps.len() == 1 && steps.iter().all(is_search), "{steps:?}");
    }
}

#[tokio::test]
async fn an_owner_whose_row_is_not_as_it_was_written_is_neither_alive_nor_dead() {
    for change in ["expires = expires + 1000000000", "boot = 'elsewhere'", "workflows = '[\"others\"]'"] {
        let (_directory, path, [(_one, me), (other, owner)]) = two_processes().await;
        let change = format!("UPDATE owners SET {change} WHERE id = {}", me.0);
        behind_the_back(&path).execute(&change, []).unwrap();

        let error = other.claim(claim(owner)).await.unwrap_err();

        assert!(error.to_string().contains(&format!("owner {} does not match its checksum", me.0)), "{error}");
        assert_eq!(other.is_alive(me).await.unwrap_err(), error);
        assert_eq!(other.is_served("checkout").await.unwrap_err(), error);
        assert_eq!(other.check().await.unwrap_err(), error);
    }
}

#[tokio::test]
async fn a_run_whose_header_is_damaged_keeps_no_other_from_being_taken() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let me = store.join(Vec::new()).await.unwrap();
    for id in ["a", "b", "c"] {
        create(&store, new_run(id)).await;
    }
    let damaged = header(&store, "b").await;
    let change = "UPDATE runs SET updated = updated + 1 WHERE id = 'b'";
    assert_eq!(behind_the_back(&path).execute(change, []).unwrap(), 1);

    let claimed = store.claim(claim(me)).await.unwrap();

    assert_eq!(ids(&claimed.runs), ["a", "c"]);
    let [found] = &claimed.damaged[..] else { panic!("{:?}", claimed.damaged) };
    let message = "the header of run `b` does not match its checksum".to_owned();
    assert_eq!((found.key, found.id.as_str()), (damaged.key, "b"));
    assert_eq!(found.error, StoreError::Corrupt { path: path.clone(), message });
    let mended = "UPDATE runs SET updated = updated - 1 WHERE id = 'b'";
    assert_eq!(behind_the_back(&path).execute(mended, []).unwrap(), 1);
    assert_eq!(header(&store, "b").await, damaged, "nothing of it was changed");
    assert_eq!(ids(&store.claim(claim(me)).await.unwrap().runs), ["a", "b", "c"]);
}

#[tokio::test]
async fn an_owner_whose_leaving_could_not_be_recorded_is_dead_at_once() {
    let (_directory, _path, [(one, leaving), (other, _)]) = two_processes().await;
    let lock = shared(&one).owners.remove(leaving);
    let queue = super::super::queue::Queue::default();
    let left = queue.push_leave(leaving, lock);
    for job in queue.take(1, true) {
        job.answer(Err(StoreError::Closed));
    }
    assert_eq!(left.await.unwrap(), Err(StoreError::Closed));
    assert_eq!(other.is_alive(leaving).await, Ok(false));
}
