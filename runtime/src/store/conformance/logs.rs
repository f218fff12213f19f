//! Logs beside the runs; nothing is asked of a store that keeps none.

use std::sync::Arc;

use futures::future::join_all;

use super::*;
use crate::store::{LogAppended, LogEntry, LogStore, NewLogEntry};

fn entry(log: &str, key: &str) -> NewLogEntry {
    NewLogEntry::new(log, key, json!({ "said": key, "number": 985.690_694_632_869_5 }), at(3))
}

/// Adds an entry that is new, and gives its position.
async fn put(logs: &Arc<dyn LogStore>, entry: NewLogEntry) -> u64 {
    match logs.append(entry).await.unwrap() {
        LogAppended::Added { position } => position,
        other => panic!("it is not new: {other:?}"),
    }
}

async fn all(logs: &Arc<dyn LogStore>, log: &str) -> Vec<LogEntry> {
    logs.read(log, 0, u64::MAX).await.unwrap()
}

async fn keys(logs: &Arc<dyn LogStore>, log: &str) -> Vec<String> {
    all(logs, log).await.into_iter().map(|entry| entry.key).collect()
}

pub async fn a_log_has_its_entries_in_the_order_in_which_they_were_added(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let first = put(&logs, entry("a", "one")).await;
    put(&logs, entry("b", "other")).await;
    let second = put(&logs, entry("a", "two")).await;
    assert!(0 < first && first < second, "{first} {second}");
    let expected = [first, second].into_iter().zip(["one", "two"]);
    let expected: Vec<LogEntry> =
        expected.map(|(position, key)| LogEntry::new(position, key, entry("a", key).value, at(3))).collect();
    assert_eq!(all(&logs, "a").await, expected);
    assert_eq!(all(&logs, "c").await, []);
}

pub async fn a_log_is_read_between_two_positions(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let mut positions = Vec::new();
    for key in ["one", "two", "three", "four"] {
        positions.push(put(&logs, entry("a", key)).await);
    }
    let read = logs.read("a", positions[0], positions[2]).await.unwrap();
    assert_eq!(read.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["two", "three"]);
    assert_eq!(logs.read("a", positions[3], u64::MAX).await.unwrap(), []);
    assert_eq!(logs.read("a", positions[2], positions[1]).await.unwrap(), []);
}

pub async fn a_key_is_in_a_log_once_and_the_first_entry_stays(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let position = put(&logs, entry("a", "one")).await;
    let end = put(&logs, entry("a", "two")).await;
    let again = NewLogEntry { value: json!("something else"), ..entry("a", "one") };
    // Also where the log has grown since, or the caller believes it to be shorter: what it asks for has happened.
    for again in [again.clone(), again.clone().behind(0), again.behind(end)] {
        assert_eq!(logs.append(again).await.unwrap(), LogAppended::Existing { position });
    }
    assert_eq!(all(&logs, "a").await[0].value, entry("a", "one").value);
    assert_eq!(keys(&logs, "a").await, ["one", "two"]);
    put(&logs, entry("b", "one")).await;
}

pub async fn an_entry_for_another_end_of_a_log_is_refused(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let too_far = logs.append(entry("a", "one").behind(7)).await.unwrap();
    assert_eq!(too_far, LogAppended::Conflict { end: 0 });
    let first = put(&logs, entry("a", "one").behind(0)).await;
    put(&logs, entry("b", "other")).await;
    let second = put(&logs, entry("a", "two").behind(first)).await;
    for behind in [0, first, second + 1] {
        let refused = logs.append(entry("a", "three").behind(behind)).await.unwrap();
        assert_eq!(refused, LogAppended::Conflict { end: second });
    }
    assert_eq!(keys(&logs, "a").await, ["one", "two"]);
}

pub async fn of_many_who_add_behind_one_entry_exactly_one_does(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let end = put(&logs, entry("a", "one")).await;
    let names: Vec<String> = (0..20).map(|number| format!("number {number}")).collect();
    let results = join_all(names.iter().map(|name| logs.append(entry("a", name).behind(end)))).await;
    let added = results.into_iter().filter(|result| matches!(result, Ok(LogAppended::Added { .. }))).count();
    assert_eq!((added, all(&logs, "a").await.len()), (1, 2));
}

pub async fn logs_are_listed_by_the_beginning_of_their_names(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    for log in ["chat/bob", "chat/ada", "chat%", "desk/ada", "chat/ada"] {
        let keys = all(&logs, log).await.len();
        put(&logs, entry(log, &keys.to_string())).await;
    }
    assert_eq!(logs.list("chat/").await.unwrap(), ["chat/ada", "chat/bob"]);
    assert_eq!(logs.list("").await.unwrap(), ["chat%", "chat/ada", "chat/bob", "desk/ada"]);
    assert_eq!(logs.list("é").await.unwrap(), [""; 0]);
}

pub async fn a_deleted_log_is_gone_and_its_positions_are_not_given_again(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let other = put(&logs, entry("b", "one")).await;
    let last = put(&logs, entry("a", "one")).await;
    assert!(logs.delete("a").await.unwrap());
    assert!(!logs.delete("a").await.unwrap());
    assert_eq!((all(&logs, "a").await, logs.list("").await.unwrap()), (Vec::new(), vec!["b".to_owned()]));
    let again = put(&logs, entry("a", "one").behind(0)).await;
    assert!(again > last, "{again} {last}");
    assert_eq!(logs.read("a", 0, last).await.unwrap(), []);
    assert_eq!(all(&logs, "b").await[0].position, other);
}

pub async fn a_log_adds_no_record(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let run = create(&store, new_run("a")).await.key;
    let (end, records) = (store.feed_end().await.unwrap(), read_all(&store, run).await);
    put(&logs, entry("a", "one")).await;
    assert_eq!((store.feed_end().await.unwrap(), read_all(&store, run).await), (end, records));
}
