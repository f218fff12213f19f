//! Snapshots of runs; nothing is asked of a store that keeps none.

use super::*;
use crate::store::Snapshot;

fn snapshot(at: u64, state: &str) -> Snapshot {
    Snapshot { at, state: state.as_bytes().to_vec() }
}

/// A run with three records; `None` if the store keeps no snapshots.
async fn run_of_three(store: &impl Store) -> Option<RunKey> {
    if !store.keeps_snapshots() {
        return None;
    }
    let run = create(store, new_run("a")).await.key;
    add(store, run, 1, &[said("one"), said("two")]).await;
    Some(run)
}

async fn put(store: &impl Store, run: RunKey, snapshot: Snapshot) {
    store.put_snapshot(run, snapshot).await.unwrap();
}

pub async fn a_store_without_snapshots_takes_one_and_has_none(store: impl Store) {
    if store.keeps_snapshots() {
        return;
    }
    let run = create(&store, new_run("a")).await.key;
    put(&store, run, snapshot(1, "one")).await;
    assert_eq!(store.snapshot(run).await.unwrap(), None);
}

pub async fn the_snapshot_of_a_run_is_the_last_that_was_kept(store: impl Store) {
    let Some(run) = run_of_three(&store).await else { return };
    let other = create(&store, new_run("b")).await.key;
    assert_eq!(store.snapshot(run).await.unwrap(), None);

    for kept in [snapshot(1, "one"), snapshot(3, "three"), snapshot(3, "three again"), snapshot(3, "")] {
        put(&store, run, kept.clone()).await;
        assert_eq!(store.snapshot(run).await.unwrap(), Some(kept));
    }
    assert_eq!(store.snapshot(other).await.unwrap(), None);
}

pub async fn an_older_snapshot_changes_nothing(store: impl Store) {
    let Some(run) = run_of_three(&store).await else { return };
    put(&store, run, snapshot(2, "two")).await;
    put(&store, run, snapshot(1, "one")).await;
    assert_eq!(store.snapshot(run).await.unwrap(), Some(snapshot(2, "two")));
}

pub async fn a_snapshot_of_more_records_than_there_are_changes_nothing(store: impl Store) {
    let Some(run) = run_of_three(&store).await else { return };
    put(&store, run, snapshot(4, "four")).await;
    put(&store, RunKey(1_000_000), snapshot(0, "none")).await;
    assert_eq!(store.snapshot(run).await.unwrap(), None);
    assert_eq!(store.snapshot(RunKey(1_000_000)).await.unwrap(), None);
}

pub async fn a_snapshot_of_any_bytes_comes_back_as_it_was(store: impl Store) {
    let Some(run) = run_of_three(&store).await else { return };
    let bytes: Vec<u8> = (0..300_000_u32).map(|byte| byte.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    put(&store, run, Snapshot { at: 3, state: bytes.clone() }).await;
    assert_eq!(store.snapshot(run).await.unwrap(), Some(Snapshot { at: 3, state: bytes }));
}

pub async fn a_snapshot_adds_no_record_and_changes_no_header(store: impl Store) {
    let Some(run) = run_of_three(&store).await else { return };
    let (before, records) = (header(&store, "a").await, read_all(&store, run).await);
    put(&store, run, snapshot(3, "three")).await;
    assert_eq!((header(&store, "a").await, read_all(&store, run).await), (before, records));
}

pub async fn the_snapshot_of_a_deleted_run_is_gone(store: impl Store) {
    let Some(run) = run_of_three(&store).await else { return };
    put(&store, run, snapshot(3, "three")).await;
    set_status(&store, run, RunStatus::Completed, None).await;
    store.delete(Delete { runs: vec![run], ids_until: None, now: at(100) }).await.unwrap();
    assert_eq!(store.snapshot(run).await.unwrap(), None);

    // What an engine adds that does not know of it yet.
    put(&store, run, snapshot(3, "three")).await;
    assert_eq!(store.snapshot(run).await.unwrap(), None);
}
