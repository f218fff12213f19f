//! Writing and reading that fails, and what it is called.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::params;

use super::super::Durability;
use super::super::row::RunRow;
use super::super::schema::rows_of;
use super::super::seal;
use super::super::write_transaction::WriteTransaction;
use super::*;
use crate::store::conformance_cases::{add, at, batch, create, header, new_run, read_all, said};
use crate::store::{Append, HeaderChange, NewRun, RunKey, RunOverview, RunQuery, RunStatus, Store};

/// A file whose run `a` has three records, the body of the second row replaced, as another version could have written it.
async fn with_body(body: &str) -> (TempDir, SqliteStore, RunKey) {
    let (directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one"), said("two")]).await;
    let id = rows_of(run).start + 1;
    let checksum = seal::of_records(id, 2, 1_700_000_000_001, 2, body.as_bytes());
    let change = "UPDATE commit_log SET body = ?1, checksum = ?2 WHERE id = ?3 AND records = 2";
    assert_eq!(behind_the_back(&path).execute(change, params![body, checksum, id]).unwrap(), 1);
    (directory, store, run)
}

async fn assert_bad(body: &str, number: u64, says: &str) {
    let (_directory, store, run) = with_body(body).await;
    let error = store.read(run, 0, 10).await.unwrap_err();
    let StoreError::BadRecord { run: id, seq, message } = &error else { panic!("{error:?}") };
    assert_eq!((id.as_str(), *seq), ("a", number));
    assert!(message.contains(says), "{message}");
    assert_eq!(store.read(run, 0, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_record_that_is_cut_short_is_named() {
    assert_bad(r#"["a",{"m":{"t":"one"}},"b",{"m":{"#, 2, "EOF").await;
}

#[tokio::test]
async fn a_record_of_a_kind_that_is_not_known_is_named() {
    assert_bad(r#"["a",{"novel":{"t":"one"}},"b",{"m":{"t":"two"}}]"#, 1, "unknown variant `novel`").await;
}

#[tokio::test]
async fn a_path_without_a_record_is_named() {
    assert_bad(r#"["a",{"m":{"t":"one"}},"b"]"#, 2, "a path without a record").await;
}

#[tokio::test]
async fn a_row_that_lacks_a_record_is_named() {
    assert_bad(r#"["a",{"m":{"t":"one"}}]"#, 2, "has 1 records and says 2").await;
}

/// What a statement behind the back of the store does to a file with a completed run `a` of four records, and what the
/// error of a look at it says. Whether the records are in the journal, each moved by itself, or in the commit log makes no
/// difference.
async fn damaged(statement: &str, says: &str) {
    damaged_in(Place::Journal, statement, says).await;
    damaged_in(Place::Log, &statement.replace("journal", "commit_log"), says).await;
}

enum Place {
    Journal,
    Log,
}

async fn damaged_in(place_of_records: Place, statement: &str, says: &str) {
    let (_directory, path) = place();
    let store = open(&path).await;
    let settle = async || match place_of_records {
        Place::Journal => move_log(&store).await,
        Place::Log => {}
    };
    let run = create(&store, new_run("a")).await.key;
    settle().await;
    for (at, text) in (1..).zip(["one", "two"]) {
        add(&store, run, at, &[said(text)]).await;
        settle().await;
    }
    let change = HeaderChange { status: Some((RunStatus::Completed, None)), ..HeaderChange::default() };
    store.append(Append { header: change, ..batch(run, 3, &[said("three")]) }).await.unwrap();
    settle().await;
    store.check().await.unwrap();
    assert_eq!(behind_the_back(&path).execute(statement, []).unwrap(), 1);

    let looked = async {
        let run = store.header("a").await?.expect("it is there");
        store.read(run.key, 0, 10).await?;
        store.graph(7).await
    };
    let error = looked.await.unwrap_err();

    let StoreError::Corrupt { path: at, message } = &error else { panic!("{error:?}") };
    assert_eq!((at, message.as_str()), (&path, says));
    assert_eq!(store.check().await, Err(error));
}

#[tokio::test]
async fn a_record_that_is_not_as_it_was_written_is_found_out() {
    let statement = "UPDATE journal SET body = replace(body, 'two', 'ten')";
    let statement = format!("{statement} WHERE instr(body, 'two')");
    damaged(&statement, "record 2 of run `a` does not match its checksum").await;
}

#[tokio::test]
async fn the_time_of_a_record_that_is_not_as_it_was_written_is_found_out() {
    let statement = "UPDATE journal SET time = time + 1 WHERE instr(body, 'two')";
    damaged(statement, "record 2 of run `a` does not match its checksum").await;
}

#[tokio::test]
async fn a_record_that_is_missing_in_the_middle_is_found_out() {
    damaged("DELETE FROM journal WHERE instr(body, 'two')", "record 2 of run `a` is not there").await;
}

#[tokio::test]
async fn a_record_that_is_missing_at_the_beginning_is_found_out() {
    damaged("DELETE FROM journal WHERE id = 1 << 31", "record 0 of run `a` is not there").await;
}

#[tokio::test]
async fn a_record_that_is_missing_at_the_end_is_found_out() {
    let statement = "DELETE FROM journal WHERE instr(body, 'three')";
    damaged(statement, "record 3 of run `a` is not there").await;
}

/// Empties an index, as damage to its pages might.
fn empty_index(path: &Path, index: &str) {
    let change = |from: &str, to: &str| {
        let connection = behind_the_back(path);
        connection.pragma_update(None, "writable_schema", true).unwrap();
        let change = "UPDATE sqlite_schema SET sql = replace(sql, ?1, ?2) WHERE name = ?3";
        assert_eq!(connection.execute(change, [from, to, index]).unwrap(), 1);
    };
    change(" WHERE ", " WHERE 0 AND ");
    behind_the_back(path).execute_batch(&format!("REINDEX {index}")).unwrap();
    change(" WHERE 0 AND ", " WHERE ");
}

#[tokio::test]
async fn a_run_that_is_missing_from_an_index_is_found_out_when_it_is_asked_for() {
    for index in ["runs_ready", "runs_suspended", "runs_owner", "runs_nudged", "runs_unfinished"] {
        let (_directory, path) = place();
        let store = open(&path).await;
        let owner = Some(store.join(Vec::new()).await.unwrap());
        let run = create(&store, NewRun { owner, ..new_run("a") }).await.key;
        let status = Some((RunStatus::Sleeping, Some(at(500))));
        let change = HeaderChange { status, nudge: true, ..HeaderChange::default() };
        store.append(Append { header: change, ..batch(run, 1, &[said("one")]) }).await.unwrap();
        assert!(store.header("a").await.unwrap().is_some());

        empty_index(&path, index);

        let error = store.header("a").await.unwrap_err();
        assert!(error.to_string().contains("run `a` is missing from an index"), "{index}: {error}");
    }
}

/// As many rows, of a record each, as a thread of its own decodes while others are read.
const MANY: u64 = 3000;

async fn with_many_rows(log_rows: usize) -> (TempDir, PathBuf, SqliteStore, RunKey) {
    let (directory, path) = place();
    let store = SqliteStore::builder().durability(Durability::Relaxed).log_rows(log_rows).open(&path).await.unwrap();
    let run = create(&store, new_run("a")).await.key;
    for at in 1..MANY {
        add(&store, run, at, &[said(&format!("number {at}"))]).await;
        if log_rows == 1 {
            // Each has a row of its own.
            move_log(&store).await;
        }
    }
    (directory, path, store, run)
}

#[tokio::test]
async fn a_long_journal_is_read_whole_and_from_anywhere_in_it() {
    for log_rows in [1, 1000, 10_000] {
        let (_directory, _path, store, run) = with_many_rows(log_rows).await;
        let all = store.read(run, 0, usize::MAX).await.unwrap();
        assert!(all.iter().map(|stored| stored.seq).eq(0..MANY));
        assert_eq!(all[2999].record, said("number 2999"));
        for (from, limit) in [(1, 2999), (1, 2998), (500, 600), (511, 514), (2000, usize::MAX), (2999, 7), (0, 512)] {
            let page = store.read(run, from, limit).await.unwrap();
            let (from, to) = (from as usize, (from as usize).saturating_add(limit).min(all.len()));
            assert_eq!(page, all[from..to], "from {from} to {to}");
        }
    }
}

#[tokio::test]
async fn a_journal_of_large_records_is_read_whole() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    let large = |at: u64| said(&format!("{at}{}", "x".repeat(100_000)));
    for at in 1..20 {
        add(&store, run, at, &[large(at)]).await;
    }
    let all = store.read(run, 0, usize::MAX).await.unwrap();
    assert_eq!(all.len(), 20);
    assert!(all.iter().skip(1).all(|stored| stored.record == large(stored.seq)));
}

#[tokio::test]
async fn of_a_long_journal_the_first_record_that_is_wrong_is_named() {
    let (_directory, path, store, run) = with_many_rows(1).await;
    move_log(&store).await;
    let start = rows_of(run).start;
    let others = behind_the_back(&path);
    let body = r#"["a",{"novel":{}}]"#;
    let unknown = |number: i64| {
        let id = start + number;
        let select = "SELECT pos, time FROM journal WHERE id = ?1";
        let (position, time) = others.query_row(select, [id], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let change = "UPDATE journal SET body = ?1, checksum = ?2 WHERE id = ?3";
        others.execute(change, params![body, seal::of_records(id, position, time, 1, body.as_bytes()), id]).unwrap();
    };
    others.execute("DELETE FROM journal WHERE id = ?1", [start + 2900]).unwrap();
    let corrupt = |says: &str| Err(StoreError::Corrupt { path: path.clone(), message: says.to_owned() });
    assert_eq!(store.read(run, 0, usize::MAX).await, corrupt("record 2900 of run `a` is not there"));
    others.execute("UPDATE journal SET body = body || ' ' WHERE id = ?1", [start + 2800]).unwrap();
    assert_eq!(store.read(run, 0, usize::MAX).await, corrupt("record 2800 of run `a` does not match its checksum"));
    for number in [2700, 300] {
        unknown(number);
        let error = store.read(run, 0, usize::MAX).await.unwrap_err();
        let StoreError::BadRecord { seq, .. } = error else { panic!("{error:?}") };
        assert_eq!(seq, number.cast_unsigned());
    }
    assert_eq!(store.read(run, 0, 300).await.unwrap().len(), 300);
}

#[tokio::test]
async fn a_header_that_is_not_as_it_was_written_is_found_out() {
    damaged("UPDATE runs SET status = 4", "the header of run `a` does not match its checksum").await;
}

#[tokio::test]
async fn a_graph_that_is_not_as_it_was_written_is_found_out() {
    let statement = "UPDATE graphs SET body = replace(body, 'charge', 'change')";
    damaged(statement, "graph 0000000000000007 does not match its checksum").await;
}

#[tokio::test]
async fn damage_is_not_written_over_with_a_new_checksum() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    behind_the_back(&path).execute("UPDATE runs SET workflow = 'another'", []).unwrap();
    let change = HeaderChange { status: Some((RunStatus::Waiting, None)), ..HeaderChange::default() };
    let error = store.append(Append { header: change, ..batch(run, 1, &[]) }).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_statement_of_the_schema_that_is_not_as_it_was_written_is_found_out() {
    let (_directory, path) = place();
    closed(open(&path).await).await;
    let connection = behind_the_back(&path);
    connection.pragma_update(None, "writable_schema", true).unwrap();
    let change = "UPDATE sqlite_schema SET sql = replace(sql, 'nudged = 1', 'nudged = 0') WHERE name = 'runs_nudged'";
    assert_eq!(connection.execute(change, []).unwrap(), 1);
    drop(connection);
    let message = "its schema is not as it was written, at `CREATE INDEX runs_nudged ON runs`".to_owned();
    assert_eq!(open_error(&path).await, StoreError::Corrupt { path, message });
}

#[tokio::test]
async fn a_damaged_file_is_called_damaged() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    for number in 1..200 {
        add(&store, run, number, &[said(&"x".repeat(500))]).await;
    }
    closed(store).await;
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(8192)).unwrap();
    file.write_all(&vec![0xA5; 60_000]).unwrap();
    drop(file);

    let error = match SqliteStore::open(&path).await {
        Ok(store) => store.read(run, 0, 1000).await.unwrap_err(),
        Err(error) => error,
    };

    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_status_that_is_not_known_is_called_damaged() {
    let (_directory, path) = place();
    let store = open(&path).await;
    create(&store, new_run("a")).await;
    let row = RunRow::find(&behind_the_back(&path), 1).unwrap().unwrap();
    RunRow { status: 77, ..row }.update(&behind_the_back(&path)).unwrap();
    let error = store.header("a").await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn nothing_of_a_batch_is_there_when_there_is_no_room_and_all_goes_on_when_there_is() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    let set_most_pages = |pages: u32| {
        store.0.write_on_thread(move |connection: &mut WriteTransaction<'_>| {
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            Ok(())
        })
    };
    let large = [said("small"), said(&"x".repeat(100_000))];
    let change = HeaderChange { status: Some((RunStatus::Completed, None)), ..HeaderChange::default() };
    let append = Append { header: change, ..batch(run, 1, &large) };
    set_most_pages(20).await.unwrap();

    let error = store.append(append.clone()).await.unwrap_err();

    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(header(&store, "a").await.status, RunStatus::Running);
    assert_eq!(read_all(&store, run).await.len(), 1);
    set_most_pages(1_000_000).await.unwrap();
    store.append(append).await.unwrap();
    assert_eq!(read_all(&store, run).await.len(), 3);
}

#[tokio::test]
async fn writing_where_only_reading_is_allowed_is_refused_by_name() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    let forbid = |connection: &mut WriteTransaction<'_>| Ok(connection.pragma_update(None, "query_only", true)?);
    store.0.write_on_thread(forbid).await.unwrap();
    let error = store.append(batch(run, 1, &[said("no")])).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_another_process_keeps_locked_is_called_busy_until_it_is_not() {
    for durability in [crate::store::Durability::Full, crate::store::Durability::Relaxed] {
        let (_directory, path) = place();
        let store = SqliteStore::builder().durability(durability).busy_timeout(Duration::from_millis(20));
        let store = store.open(&path).await.unwrap();
        let run = create(&store, new_run("a")).await.key;
        let other = behind_the_back(&path);
        other.execute_batch("BEGIN IMMEDIATE").unwrap();

        let error = store.append(batch(run, 1, &[said("one")])).await.unwrap_err();
        other.execute_batch("COMMIT").unwrap();
        let appended = store.append(batch(run, 1, &[said("one")])).await;

        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
        assert_eq!(appended, Ok(crate::store::Appended::Done));
    }
}

#[tokio::test]
async fn records_that_damage_has_hidden_in_a_large_file_are_found_by_a_check() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    for number in 1..40 {
        add(&store, run, number, &[said(&"x".repeat(1 << 15))]).await;
    }
    move_log(&store).await;
    closed(store).await;
    let change = "UPDATE journal SET id = id + (1 << 31) WHERE id = (SELECT max(id) FROM journal)";
    assert_eq!(behind_the_back(&path).execute(change, []).unwrap(), 1);

    let store = open(&path).await;

    assert_eq!(header(&store, "a").await.records, 39, "nothing says so when it is read");
    let message = "of its 40 batches of records, 1 are those of no run".to_owned();
    assert_eq!(store.check().await, Err(StoreError::Corrupt { path, message }));
}

/// Makes a trigger of another program that has SQLite pass a change over without an error.
fn pass_over(path: &Path, change: &str) {
    let trigger = format!("CREATE TRIGGER theirs BEFORE {change} BEGIN SELECT raise(ignore); END");
    behind_the_back(path).execute_batch(&trigger).unwrap();
}

fn assert_not_written(error: &StoreError, table: &str) {
    let StoreError::Io { message, .. } = error else { panic!("{error:?}") };
    assert!(message.contains(&format!("a row of `{table}` was not written")), "{message}");
}

#[tokio::test]
async fn a_new_run_that_a_foreign_trigger_swallows_is_no_damage() {
    for table in ["runs", "commit_log", "graphs"] {
        let (_directory, path) = place();
        let store = open(&path).await;
        pass_over(&path, &format!("INSERT ON {table}"));
        assert_not_written(&store.create(new_run("a")).await.unwrap_err(), table);
        store.check().await.unwrap();
    }
}

#[tokio::test]
async fn records_that_a_foreign_trigger_swallows_are_neither_damage_nor_a_conflict() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    add(&store, run, 1, &[said("one")]).await;
    pass_over(&path, "INSERT ON commit_log");
    let elsewhere = open(&path).await;
    for store in [store, elsewhere] {
        assert_not_written(&store.append(batch(run, 2, &[said("two")])).await.unwrap_err(), "commit_log");
    }
}

#[tokio::test]
async fn a_header_that_a_foreign_trigger_keeps_is_no_damage() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let run = create(&store, new_run("a")).await.key;
    pass_over(&path, "UPDATE ON runs");
    let change = HeaderChange { status: Some((RunStatus::Completed, None)), ..HeaderChange::default() };
    let error = store.append(Append { header: change, ..batch(run, 1, &[]) }).await.unwrap_err();
    assert_not_written(&error, "runs");
}

#[tokio::test]
async fn an_owner_that_a_foreign_trigger_swallows_is_no_damage() {
    let (_directory, path) = place();
    let store = open(&path).await;
    pass_over(&path, "INSERT ON owners");
    assert_not_written(&store.join(Vec::new()).await.unwrap_err(), "owners");
}

#[tokio::test]
async fn a_damaged_journal_does_not_hide_other_runs_from_a_list() {
    let (_directory, path) = place();
    let store = open(&path).await;
    let damaged = create(&store, new_run("damaged")).await.key;
    create(&store, new_run("whole")).await;
    let change = "UPDATE commit_log SET time = time + 1 WHERE id >> 31 = ?1";
    behind_the_back(&path).execute(change, [i64::try_from(damaged.0).unwrap()]).unwrap();

    let overview = store.overview(RunQuery::default()).await.unwrap();

    let [whole, damaged] = &overview[..] else { panic!("{overview:?}") };
    let records = read_all(&store, whole.header.key).await;
    assert_eq!(whole.last, RunOverview::new(whole.header.clone(), Ok(records), 0, None).last);
    assert!(matches!(&damaged.last, Err(StoreError::Corrupt { message, .. }) if message.contains("`damaged`")));
}
