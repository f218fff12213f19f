//! Logs beside the runs; nothing is asked of a store that keeps none.

use std::sync::Arc;

use futures_util::future::join_all;

use super::*;
use crate::store::{LogAppended, LogEntry, LogStore, LogTrim, NewLogEntry};

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
    assert_eq!(logs.list("Chat").await.unwrap(), [""; 0]);
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

/// A log with these keys, and their positions.
async fn log_of<const N: usize>(logs: &Arc<dyn LogStore>, keys: [&str; N]) -> [u64; N] {
    let mut positions = [0; N];
    for (key, position) in keys.into_iter().zip(&mut positions) {
        *position = put(logs, entry("a", key)).await;
    }
    positions
}

pub async fn the_beginning_of_a_log_becomes_one_entry_and_the_rest_stays(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let other = put(&logs, entry("b", "other")).await;
    let [_, kept, _, until, last] = log_of(&logs, ["one", "two", "three", "four", "five"]).await;
    let sum = json!({ "sum": [1, 985.690_694_632_869_5] });
    // A position before it that the log does not have says nothing.
    assert!(logs.trim(LogTrim::new("a", until, sum.clone()).keep([last, other, kept])).await.unwrap());
    let expected = [(kept, "two", None), (until, "four", Some(sum)), (last, "five", None)];
    let expected = expected.map(|(position, key, value)| {
        LogEntry::new(position, key, value.unwrap_or_else(|| entry("a", key).value), at(3))
    });
    assert_eq!(all(&logs, "a").await, expected);
    assert_eq!(logs.read("a", kept, until).await.unwrap(), expected[1..2]);
    assert_eq!(keys(&logs, "b").await, ["other"]);
    let end = logs.append(entry("a", "six").behind(until)).await.unwrap();
    assert_eq!(end, LogAppended::Conflict { end: last });
    assert!(put(&logs, entry("a", "six").behind(last)).await > last);
    // Once more, with what was kept before, up to the end.
    let end = all(&logs, "a").await.pop().unwrap().position;
    assert!(logs.trim(LogTrim::new("a", end, json!(6))).await.unwrap());
    assert_eq!(all(&logs, "a").await, [LogEntry::new(end, "six", json!(6), at(3))]);
}

pub async fn keys_of_removed_entries_are_free_and_those_of_kept_ones_are_not(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let [_, kept, until] = log_of(&logs, ["one", "two", "three"]).await;
    assert!(logs.trim(LogTrim::new("a", until, json!(null)).keep([kept])).await.unwrap());
    for (key, position) in [("two", kept), ("three", until)] {
        assert_eq!(logs.append(entry("a", key)).await.unwrap(), LogAppended::Existing { position });
    }
    let again = put(&logs, entry("a", "one")).await;
    assert!(again > until);
    assert_eq!(keys(&logs, "a").await, ["two", "three", "one"]);
}

pub async fn a_log_is_not_trimmed_at_a_position_that_it_does_not_have(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let [first, second, third] = log_of(&logs, ["one", "two", "three"]).await;
    let other = put(&logs, entry("b", "one")).await;
    let before = all(&logs, "a").await;
    for until in [0, other, u64::MAX] {
        assert!(!logs.trim(LogTrim::new("a", until, json!(null))).await.unwrap(), "{until}");
    }
    assert!(!logs.trim(LogTrim::new("c", first, json!(null))).await.unwrap());
    assert_eq!((all(&logs, "a").await, keys(&logs, "b").await), (before, vec!["one".to_owned()]));
    assert!(logs.trim(LogTrim::new("a", second, json!(null))).await.unwrap());
    assert!(!logs.trim(LogTrim::new("a", first, json!(null))).await.unwrap());
    assert!(logs.delete("a").await.unwrap());
    assert!(!logs.trim(LogTrim::new("a", third, json!(null))).await.unwrap());
    assert_eq!(logs.list("").await.unwrap(), ["b"]);
}

pub async fn of_two_who_trim_a_log_each_leaves_what_is_behind_its_entry(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let [_, second, _, fourth, fifth] = log_of(&logs, ["one", "two", "three", "four", "five"]).await;
    let trims = [second, fourth].map(|until| logs.trim(LogTrim::new("a", until, json!(until))));
    let [_, further] = <[_; 2]>::try_from(join_all(trims).await).unwrap();
    assert!(further.unwrap());
    let left: Vec<u64> = all(&logs, "a").await.iter().map(|entry| entry.position).collect();
    assert_eq!(left, [fourth, fifth]);
    assert_eq!(all(&logs, "a").await[0].value, json!(fourth));
}

pub async fn a_log_adds_no_record(store: impl Store) {
    let Some(logs) = store.logs() else { return };
    let run = create(&store, new_run("a")).await.key;
    let (end, records) = (store.feed_end().await.unwrap(), read_all(&store, run).await);
    put(&logs, entry("a", "one")).await;
    assert_eq!((store.feed_end().await.unwrap(), read_all(&store, run).await), (end, records));
}
