//! Moving the commit log to the journals of its runs.

use std::collections::HashMap;
use std::fs;
use std::time::SystemTime;

use futures_util::future::join_all;

use super::super::batches::RecordRow;
use super::super::schema::rows_of;
use super::*;
use crate::store::conformance_cases::feed::{follow, page};
use crate::store::conformance_cases::{add, batch, create, header, new_run, read_all, said, set_status};
use crate::store::{Appended, Delete, Durability, FeedPlace, FeedQuery, NewRun, RunKey, RunStatus, Store, Stored};

/// A store that moves its log when it has so many rows. Nothing waits for the disk.
async fn open_with(path: &Path, log_rows: usize) -> SqliteStore {
    SqliteStore::builder().durability(Durability::Relaxed).log_rows(log_rows).open(path).await.unwrap()
}

/// How many batches the log and the journal have.
fn batches(path: &Path) -> (usize, usize) {
    let file = behind_the_back(path);
    let count = |table| {
        let columns = format!("SELECT id, pos, time, records, checksum, body FROM {table}");
        let mut select = file.prepare(&columns).unwrap();
        let mut rows = select.query([]).unwrap();
        let mut count = 0;
        while let Some(row) = rows.next().unwrap() {
            count += RecordRow::read(row).unwrap().batches().expect("it is not damaged").count();
        }
        count
    };
    (count("commit_log"), count("journal"))
}

/// Waits until the writer has nothing to do: what it does by itself comes before the next job.
async fn settled(store: &SqliteStore) {
    store.0.write_on_thread(|_| Ok(())).await.unwrap();
    store.0.write_on_thread(|_| Ok(())).await.unwrap();
}

fn are_in_order(stored: &[Stored], run: &str) {
    for (number, stored) in (0..).zip(stored).skip(1) {
        assert_eq!((stored.seq, &stored.record), (number, &said(&format!("{run} {number}"))));
    }
}

async fn add_next(store: &SqliteStore, run: RunKey, name: &str, at: u64) {
    assert_eq!(add(store, run, at, &[said(&format!("{name} {at}"))]).await, Appended::Done);
}

#[tokio::test]
async fn records_are_read_from_anywhere_wherever_they_are() {
    for log_rows in [1, 2, 7, 50, 1000] {
        let (_directory, path) = place();
        let store = open_with(&path, log_rows).await;
        let mut runs = Vec::new();
        for name in ["a", "b", "c"] {
            runs.push((name, create(&store, new_run(name)).await.key));
        }
        for at in 1..40 {
            for (name, run) in &runs {
                add_next(&store, *run, name, at).await;
            }
        }
        settled(&store).await;

        for (name, run) in &runs {
            let all = read_all(&store, *run).await;
            assert_eq!((all.len(), header(&store, name).await.records), (40, 40));
            are_in_order(&all, name);
            for (from, limit) in [(0, 1), (1, 3), (13, 9), (20, 100), (38, 1), (39, 7), (40, 1), (17, 0)] {
                let page = store.read(*run, from as u64, limit).await.unwrap();
                assert_eq!(page, all[from.min(40)..(from + limit).min(40).max(from.min(40))], "{from} {limit}");
            }
        }
        store.check().await.unwrap();
        let (in_log, in_journal) = batches(&path);
        assert_eq!(in_log + in_journal, 120);
        assert!(in_log < log_rows, "{in_log} of {log_rows}");
    }
}

#[tokio::test]
async fn a_file_is_read_with_another_bound_than_it_was_written_with() {
    let (_directory, path) = place();
    let mut run = None;
    for (life, log_rows) in (0_u64..).zip([1000, 3, 1000, 1, 10]) {
        let store = open_with(&path, log_rows).await;
        let key = match run {
            Some(key) => key,
            None => create(&store, new_run("a")).await.key,
        };
        run = Some(key);
        for at in 0..20 {
            add_next(&store, key, "a", 1 + 20 * life + at).await;
        }
        store.check().await.unwrap();
        are_in_order(&read_all(&store, key).await, "a");
        closed(store).await;
    }
}

/// Whatever stops a move, it is undone as a whole, and the records are where they were.
#[tokio::test]
async fn a_move_that_fails_at_any_statement_is_undone() {
    let stops = [
        "BEFORE INSERT ON journal WHEN new.id = 1 << 31 BEGIN SELECT raise(abort, 'stopped'); END",
        "BEFORE INSERT ON journal WHEN new.id = 2 << 31 BEGIN SELECT raise(abort, 'stopped'); END",
        "BEFORE INSERT ON journal WHEN new.id = 2 << 31 BEGIN SELECT raise(ignore); END",
        "BEFORE DELETE ON commit_log WHEN old.pos = 5 BEGIN SELECT raise(abort, 'stopped'); END",
        "BEFORE DELETE ON commit_log WHEN old.pos = 5 BEGIN SELECT raise(ignore); END",
        "BEFORE INSERT ON moves BEGIN SELECT raise(abort, 'stopped'); END",
        "BEFORE INSERT ON moves BEGIN SELECT raise(ignore); END",
    ];
    for stop in stops {
        let (_directory, path) = place();
        let store = open_with(&path, 10).await;
        let run = create(&store, new_run("a")).await.key;
        create(&store, new_run("b")).await;
        behind_the_back(&path).execute_batch(&format!("CREATE TRIGGER theirs {stop}")).unwrap();

        for at in 1..30 {
            add_next(&store, run, "a", at).await;
        }
        settled(&store).await;

        assert_eq!(batches(&path), (31, 0), "{stop}");
        are_in_order(&read_all(&store, run).await, "a");
        assert_eq!(add(&store, run, 29, &[said("at a taken number")]).await, Appended::Conflict);
        store.check().await.unwrap();
        behind_the_back(&path).execute_batch("DROP TRIGGER theirs").unwrap();
        for at in 30..60 {
            add_next(&store, run, "a", at).await;
        }
        settled(&store).await;
        let (in_log, in_journal) = batches(&path);
        assert!(in_journal > 0 && in_log + in_journal == 61, "{in_log}, {in_journal} after `{stop}`");
        are_in_order(&read_all(&store, run).await, "a");
    }
}

/// Of two processes that add to one run at the same number one does, whichever of them moves the log meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_handles_that_add_at_one_number_exactly_one_does() {
    for bounds in [[1, 1], [1, 1000], [3, 2], [1000, 1000]] {
        let (_directory, path) = place();
        let stores = [open_with(&path, bounds[0]).await, open_with(&path, bounds[1]).await];
        let run = create(&stores[0], new_run("a")).await.key;
        let mut won = [0, 0];
        for number in 1..150 {
            let adding = stores.iter().map(|store| {
                let store = store.clone();
                tokio::spawn(async move { add(&store, run, number, &[said(&format!("a {number}"))]).await })
            });
            let added: Vec<_> = join_all(adding).await.into_iter().map(Result::unwrap).collect();
            assert_eq!(added.iter().filter(|added| **added == Appended::Done).count(), 1, "{number}: {added:?}");
            won[usize::from(added[1] == Appended::Done)] += 1;
        }
        for store in &stores {
            let all = read_all(store, run).await;
            assert_eq!(all.len(), 150);
            are_in_order(&all, "a");
            store.check().await.unwrap();
        }
        assert_eq!(won[0] + won[1], 149);
    }
}

/// A handle that has not looked for a while knows neither what was added nor that it was moved.
#[tokio::test]
async fn a_handle_notices_what_another_has_added_and_moved() {
    let (_directory, path) = place();
    let (one, other) = (open_with(&path, 1000).await, open_with(&path, 1000).await);
    let run = create(&one, new_run("a")).await.key;
    add_next(&one, run, "a", 1).await;
    are_in_order(&read_all(&other, run).await, "a");

    add_next(&other, run, "a", 2).await;
    move_log(&other).await;
    assert_eq!(add(&one, run, 2, &[said("late")]).await, Appended::Conflict);
    assert_eq!(read_all(&one, run).await.len(), 3);
    add_next(&one, run, "a", 3).await;
    // As many rows as before, and others.
    move_log(&other).await;
    add_next(&other, run, "a", 4).await;
    assert_eq!(add(&one, run, 4, &[said("late")]).await, Appended::Conflict);
    add_next(&one, run, "a", 5).await;

    for store in [one, other] {
        are_in_order(&read_all(&store, run).await, "a");
        assert_eq!(header(&store, "a").await.records, 6);
        store.check().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_sees_every_record_once_while_the_log_is_moved() {
    let (_directory, path) = place();
    let (writer, reader) = (open_with(&path, 3).await, open_with(&path, 1000).await);
    let run = create(&writer, new_run("a")).await.key;
    let writing = tokio::spawn(async move {
        for at in 1..600 {
            add_next(&writer, run, "a", at).await;
        }
    });
    let mut before = 0;
    while before < 600 {
        let all = read_all(&reader, run).await;
        assert!(all.len() >= before, "{} after {before}", all.len());
        before = all.len();
        are_in_order(&all, "a");
        assert!(header(&reader, "a").await.records as usize >= before);
    }
    writing.await.unwrap();
    reader.check().await.unwrap();
}

#[tokio::test]
async fn records_of_a_deleted_run_are_removed_from_the_log_as_well() {
    let (_directory, path) = place();
    let store = open_with(&path, 1000).await;
    let gone = create(&store, new_run("gone")).await.key;
    let stays = create(&store, NewRun { records: vec![said("stays 0")], ..new_run("stays") }).await.key;
    set_status(&store, gone, RunStatus::Completed, None).await;
    let now = std::time::SystemTime::now();

    store.delete(Delete { runs: vec![gone], ids_until: None, now }).await.unwrap();

    assert_eq!(batches(&path), (0, 1));
    assert_eq!(read_all(&store, stays).await.len(), 1);
    store.check().await.unwrap();
}

/// Two rows with one number in the log can only come from damage. Then nothing is moved, and nothing is lost.
#[tokio::test]
async fn a_log_that_disagrees_with_the_journal_is_damage_and_stays() {
    let (_directory, path) = place();
    let store = open_with(&path, 1000).await;
    let run = create(&store, new_run("a")).await.key;
    add_next(&store, run, "a", 1).await;
    move_log(&store).await;
    add_next(&store, run, "a", 2).await;
    // Also with a checksum that fits.
    let id = rows_of(run).start + 1;
    let change = "UPDATE commit_log SET id = ?1";
    assert_eq!(behind_the_back(&path).execute(change, [id]).unwrap(), 1);
    closed(store).await;

    let opened = open_error(&path).await;

    assert!(
        matches!(&opened, StoreError::Corrupt { message, .. } if message.contains("record 1 of run `a`")),
        "{opened}"
    );
    assert_eq!(batches(&path), (1, 2));
}

/// Ids and numbers of the whole feed.
async fn feed(store: &SqliteStore) -> Vec<(String, u64, FeedPlace)> {
    follow(store, FeedQuery::default()).await
}

#[tokio::test]
async fn places_in_the_feed_stay_over_moves_and_restarts() {
    let (_directory, path) = place();
    let store = open_with(&path, 1000).await;
    let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
    for at in 1..10 {
        add_next(&store, a, "a", at).await;
        add_next(&store, b, "b", at).await;
        if at == 4 {
            move_log(&store).await;
        }
    }
    let before = feed(&store).await;
    assert_eq!(before.len(), 20);
    move_log(&store).await;
    assert_eq!(feed(&store).await, before);
    closed(store).await;
    let store = open_with(&path, 1).await;
    assert_eq!(feed(&store).await, before);
    let after = store.feed_end().await.unwrap();
    assert_eq!(before.last().map(|last| last.2), Some(after));
    add_next(&store, a, "a", 10).await;
    let later = follow(&store, FeedQuery { after, ..FeedQuery::default() }).await;
    assert_eq!(later.len(), 1);
    assert_eq!((later[0].0.as_str(), later[0].1), ("a", 10));
}

#[tokio::test]
async fn a_restored_file_gives_no_place_again() {
    let (directory, path) = place();
    let (backup, aside) = (directory.path().join("backup.db"), directory.path().join("aside.db"));
    let store = open_with(&path, 1000).await;
    let run = create(&store, new_run("a")).await.key;
    add_next(&store, run, "a", 1).await;
    behind_the_back(&path).execute("VACUUM INTO ?1", [backup.to_str()]).unwrap();
    for at in 2..5 {
        add_next(&store, run, "a", at).await;
    }
    let followed = store.feed_end().await.unwrap();
    closed(store).await;
    // It keeps its number, which the copy must not get.
    fs::rename(&path, &aside).unwrap();
    fs::copy(&backup, &path).unwrap();

    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let store = open_with(&path, 1000).await;
    assert_eq!(feed(&store).await.len(), 2);
    let after_restoring = store.feed_end().await.unwrap();
    assert!(after_restoring > followed, "{after_restoring:?} {followed:?}");
    for at in 2..4 {
        add_next(&store, run, "a", at).await;
    }
    let later = follow(&store, FeedQuery { after: followed, ..FeedQuery::default() }).await;
    assert_eq!(later.iter().map(|record| record.1).collect::<Vec<_>>(), [2, 3]);
    move_log(&store).await;
    assert_eq!(follow(&store, FeedQuery { after: followed, ..FeedQuery::default() }).await, later);
    store.check().await.unwrap();
    let end = store.feed_end().await.unwrap();
    closed(store).await;

    let store = open_with(&path, 1000).await;
    assert_eq!(store.feed_end().await.unwrap(), end, "it is the same file");
    store.check().await.unwrap();
    closed(store).await;
    fs::rename(&path, directory.path().join("aside-2.db")).unwrap();
    fs::copy(&backup, &path).unwrap();
    let looks = SqliteStore::builder().existing().open(&path).await.unwrap();
    assert!(looks.feed_end().await.unwrap() < followed, "who only reads changes nothing");
    closed(looks).await;
    let tool = SqliteStore::builder().existing().log_rows(1000).open(&path).await.unwrap();
    add_next(&tool, run, "a", 2).await;
    // So behind the places that an earlier copy of this backup has given.
    assert!(tool.feed_end().await.unwrap().position >> 20 >= seconds);
    tool.check().await.unwrap();
}

/// Two processes add and move, and a third one follows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_feed_has_every_record_once_while_two_handles_add_and_move() {
    let (_directory, path) = place();
    let stores = [open_with(&path, 5).await, open_with(&path, 3).await];
    let reader = open_with(&path, 1000).await;
    let mut adding = Vec::new();
    for (number, store) in stores.iter().enumerate() {
        for run in 0..3 {
            let (store, id) = (store.clone(), format!("{number}-{run}"));
            adding.push(tokio::spawn(async move {
                let run = create(&store, new_run(&id)).await.key;
                for at in 1..60 {
                    add_next(&store, run, &id, at).await;
                }
            }));
        }
    }
    let (mut after, mut next, mut seen) = (FeedPlace::BEGINNING, HashMap::<String, u64>::new(), 0);
    while seen < 6 * 60 {
        let page = page(&reader, after, 4).await;
        after = page.place;
        for record in page.records {
            let next = next.entry(record.id).or_default();
            assert_eq!(record.stored.unwrap().seq, *next);
            *next += 1;
            seen += 1;
        }
    }
    for adding in adding {
        adding.await.unwrap();
    }
    assert_eq!(page(&reader, after, 4).await.place, after);
    reader.check().await.unwrap();
}

#[tokio::test]
async fn a_damaged_row_is_an_error_in_the_feed_and_hides_no_other() {
    for table in ["commit_log", "journal"] {
        let (_directory, path) = place();
        let store = open_with(&path, 1000).await;
        let run = create(&store, new_run("a")).await.key;
        for at in 1..4 {
            add_next(&store, run, "a", at).await;
        }
        if table == "journal" {
            move_log(&store).await;
        }
        let change = format!("UPDATE {table} SET body = replace(body, 'a 2', 'a 7') WHERE instr(body, 'a 2')");
        assert_eq!(behind_the_back(&path).execute(&change, []).unwrap(), 1);

        let records = page(&store, FeedPlace::BEGINNING, 0).await.records;

        let numbers: Vec<_> = records.iter().map(|record| record.stored.as_ref().map(|stored| stored.seq)).collect();
        let [Ok(0), Ok(1), Err(StoreError::Corrupt { message, .. }), Ok(3)] = &numbers[..] else {
            panic!("{numbers:?}")
        };
        assert_eq!(message, "record 2 of run `a` does not match its checksum");
        let rest = follow(&store, FeedQuery { after: records[2].place, ..FeedQuery::default() }).await;
        assert_eq!(rest.len(), 1);
    }
}

/// Large bodies are in the journal from the beginning, between others that are not.
#[tokio::test]
async fn large_records_are_written_once_and_keep_their_place() {
    for log_rows in [1, 4, 1000] {
        let (_directory, path) = place();
        let store = open_with(&path, log_rows).await;
        let other = open_with(&path, 1000).await;
        let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
        let text = |at: u64| if at.is_multiple_of(3) { format!("{at}{}", "x".repeat(9000)) } else { at.to_string() };
        for at in 1..20_u64 {
            for run in [a, b] {
                let by = if at.is_multiple_of(4) { &other } else { &store };
                assert_eq!(add(by, run, at, &[said(&text(at))]).await, Appended::Done);
                assert_eq!(add(&store, run, at, &[said("at a taken number")]).await, Appended::Conflict);
            }
        }
        settled(&store).await;

        for store in [&store, &other] {
            let all = read_all(store, a).await;
            assert!(all.iter().skip(1).all(|stored| stored.record == said(&text(stored.seq))) && all.len() == 20);
            for from in 0..=20 {
                for limit in [1, 2, 5, 30] {
                    let page = store.read(a, from, limit).await.unwrap();
                    let (from, to) = (from as usize, (from as usize + limit).min(20));
                    assert_eq!(page, all[from.min(20)..to.max(from.min(20))], "{from} {limit}");
                }
            }
            assert_eq!(header(store, "a").await.records, 20);
            let followed = feed(store).await;
            let of_a: Vec<_> = followed.iter().filter(|(id, ..)| id == "a").map(|(_, seq, _)| *seq).collect();
            assert!(of_a.into_iter().eq(0..20) && followed.len() == 40);
            store.check().await.unwrap();
        }
        let before = feed(&store).await;
        move_log(&store).await;
        assert_eq!((feed(&store).await, batches(&path)), (before, (0, 40)));
        store.check().await.unwrap();
        set_status(&store, a, RunStatus::Completed, None).await;
        add(&store, b, 20, &[said(&text(21))]).await;
        store.check().await.unwrap();
        let now = std::time::SystemTime::now();
        store.delete(Delete { runs: vec![a], ids_until: None, now }).await.unwrap();
        store.check().await.unwrap();
        assert_eq!(feed(&store).await.len(), 21);
    }
}

#[tokio::test]
async fn a_large_record_that_is_damaged_is_found_and_named() {
    for (change, says) in [
        ("UPDATE journal SET time = time + 1", "record 1 of run `a` does not match its checksum"),
        ("DELETE FROM journal", "record 1 of run `a` is not there"),
    ] {
        let (_directory, path) = place();
        let store = open_with(&path, 1000).await;
        let run = create(&store, new_run("a")).await.key;
        add(&store, run, 1, &[said(&"x".repeat(9000))]).await;
        add(&store, run, 2, &[said("two")]).await;
        assert_eq!(behind_the_back(&path).execute(change, []).unwrap(), 1);
        let corrupt = Err(StoreError::Corrupt { path: path.clone(), message: says.to_owned() });
        assert_eq!((store.read(run, 0, 10).await, store.check().await), (corrupt.clone(), corrupt.map(drop)));
        let records = page(&store, FeedPlace::BEGINNING, 0).await.records;
        assert!(records[1].stored.is_err() && records.len() == 3, "{records:?}");
    }
}

/// Runs whose appends are committed together: five at a time, for so many times.
async fn together(store: &SqliteStore, times: u64) -> Vec<(String, RunKey)> {
    let mut runs = Vec::new();
    for id in ["a", "b", "c", "d", "e"] {
        runs.push((id.to_owned(), create(store, new_run(id)).await.key));
    }
    for at in 1..=times {
        let (release, holding) = hold(store).await;
        let queue = &shared(store).queue;
        let adding = runs.iter().map(|(id, run)| {
            let (store, id, run) = (store.clone(), id.clone(), *run);
            tokio::spawn(async move { add_next(&store, run, &id, at).await })
        });
        let adding: Vec<_> = adding.collect();
        while queue.len() < runs.len() {
            tokio::task::yield_now().await;
        }
        drop(release);
        holding.await.unwrap();
        for adding in adding {
            adding.await.unwrap();
        }
    }
    runs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_committed_together_is_one_row_and_is_read_by_runs_and_by_places() {
    let (_directory, path) = place();
    let (store, other) = (open_with(&path, 1000).await, open_with(&path, 1000).await);
    let runs = together(&store, 6).await;
    let rows = "SELECT (SELECT count(*) FROM commit_log), (SELECT count(*) FROM journal)";
    let rows = || behind_the_back(&path).query_row(rows, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let before = feed(&store).await;
    assert_eq!((rows(), batches(&path), before.len()), ((5 + 6, 0), (35, 0), 35));
    for moves in [false, true] {
        if moves {
            move_log(&other).await;
            assert_eq!((rows(), batches(&path)), ((0, 5), (0, 35)));
        }
        for store in [&store, &other] {
            for (id, run) in &runs {
                let all = read_all(store, *run).await;
                assert_eq!((all.len(), header(store, id).await.records), (7, 7));
                are_in_order(&all, id);
                for (from, limit) in [(0, 2), (3, 2), (4, 1), (6, 9), (7, 1)] {
                    let page = store.read(*run, from as u64, limit).await.unwrap();
                    assert_eq!(page, all[from..(from + limit).min(7)]);
                }
            }
            assert_eq!(feed(store).await, before);
            // From within a commit, and from within a move.
            for at in [7, 13, 34, 35] {
                let after = before[at - 1].2;
                assert_eq!(follow(store, FeedQuery { after, ..FeedQuery::default() }).await, before[at..]);
            }
            store.check().await.unwrap();
        }
    }
    // Each knows what the other has added.
    let (id, run) = &runs[2];
    add_next(&other, *run, id, 7).await;
    assert_eq!(add(&store, *run, 7, &[said("late")]).await, Appended::Conflict);
    add_next(&store, *run, id, 8).await;
    are_in_order(&read_all(&other, *run).await, id);
    set_status(&store, *run, RunStatus::Completed, None).await;
    let now = std::time::SystemTime::now();
    store.delete(Delete { runs: vec![*run], ids_until: None, now }).await.unwrap();
    assert!(feed(&store).await.iter().map(|(id, ..)| id).eq(before.iter().map(|(id, ..)| id).filter(|id| **id != "c")));
    store.check().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_one_of_many_batches_in_a_row_is_an_error_of_its_run_alone() {
    for table in ["commit_log", "journal"] {
        let (_directory, path) = place();
        let store = open_with(&path, 1000).await;
        let runs = together(&store, 3).await;
        if table == "journal" {
            move_log(&store).await;
        }
        let change = format!("UPDATE {table} SET body = replace(body, 'b 2', 'b 7') WHERE instr(body, 'b 2')");
        assert_eq!(behind_the_back(&path).execute(&change, []).unwrap(), 1);

        let says = "record 2 of run `b` does not match its checksum";
        for (id, run) in &runs {
            match store.read(*run, 0, 10).await {
                Ok(all) => are_in_order(&all, id),
                Err(error) => assert!(id == "b" && error.to_string().contains(says), "{id}: {error}"),
            }
        }
        assert!(store.check().await.unwrap_err().to_string().contains(says));
        let records = page(&store, FeedPlace::BEGINNING, 0).await.records;
        let damaged: Vec<_> = records.iter().filter(|record| record.stored.is_err()).collect();
        assert!(records.len() == 20 && damaged.len() == 1, "{damaged:?}");
        // Damage to the log is over with the move: the writer has what it has added. What it has read is moved as it is.
        move_log(&store).await;
        let read = store.read(runs[1].1, 0, 10).await;
        match table {
            "commit_log" => are_in_order(&read.unwrap(), "b"),
            _ => assert!(read.unwrap_err().to_string().contains(says)),
        }
    }
}

/// A writer that has read a damaged batch in the log moves it as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_batch_that_a_writer_has_read_is_moved_as_it_is() {
    let (_directory, path) = place();
    let (store, other) = (open_with(&path, 1000).await, open_with(&path, 1000).await);
    let runs = together(&store, 3).await;
    let change = "UPDATE commit_log SET body = replace(body, 'b 2', 'b 7') WHERE instr(body, 'b 2')";
    assert_eq!(behind_the_back(&path).execute(change, []).unwrap(), 1);
    move_log(&other).await;
    for (id, run) in &runs {
        match store.read(*run, 0, 10).await {
            Ok(all) => assert!(id != "b" && all.len() == 4, "{id}"),
            Err(error) => assert!(id == "b" && error.to_string().contains("record 2 of run `b`"), "{id}: {error}"),
        }
    }
}

/// If it cannot be known which runs a row of the log belongs to, nothing may be added behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_index_in_the_log_stops_the_store_and_one_in_the_journal_a_run() {
    for (table, column, says) in [
        // Which run comes first in a row of the log is not known.
        ("commit_log", "pos", "a row of records at position 10 does not match its checksum"),
        ("journal", "id", "record 0 of run `a` does not match its checksum"),
    ] {
        let (_directory, path) = place();
        let store = open_with(&path, 1000).await;
        let runs = together(&store, 3).await;
        if table == "journal" {
            move_log(&store).await;
        }
        let first = format!("(SELECT min({column}) FROM {table} WHERE substr(body, 1, 1) = '*')");
        let change =
            format!("UPDATE {table} SET time = time + 1 WHERE {column} = {first} AND substr(body, 1, 1) = '*'");
        assert_ne!(behind_the_back(&path).execute(&change, []).unwrap(), 0);
        closed(store).await;

        // A small file is checked when it is opened.
        let error = open_error(&path).await;

        let StoreError::Corrupt { message, .. } = &error else { panic!("{error:?}") };
        assert_eq!((message.as_str(), runs.len()), (says, 5));
    }
}

/// Then it looks like a row of one batch, and the others must not be lost by that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_of_many_that_begins_with_another_byte_is_not_taken_for_one_of_one() {
    for first in ["[", "x", "[\""] {
        let (_directory, path) = place();
        let store = open_with(&path, 1000).await;
        let runs = together(&store, 2).await;
        let change = "UPDATE commit_log SET body = ?1 || substr(body, 2) WHERE substr(body, 1, 1) = '*' AND pos = 10";
        assert_eq!(behind_the_back(&path).execute(change, [first]).unwrap(), 1);

        // One that knows the log, and one that reads it now: no run is shorter than it was.
        let cold = SqliteStore::builder().open(&path).await;
        assert!(cold.is_err());
        for (id, run) in &runs {
            if let Ok(all) = store.read(*run, 0, 10).await {
                assert!(all.len() == 3 && first == "[\"", "{id}");
            }
            assert_ne!(store.append(batch(*run, 1, &[said("again")])).await, Ok(Appended::Done));
        }
        assert_eq!(rows_of_log(&path), 5 + 2);
        // The writer has what it has added.
        move_log(&store).await;
        for (id, run) in &runs {
            are_in_order(&read_all(&store, *run).await, id);
        }
        store.check().await.unwrap();
    }
}

fn rows_of_log(path: &Path) -> i64 {
    behind_the_back(path).query_row("SELECT count(*) FROM commit_log", [], |row| row.get(0)).unwrap()
}

/// Errors of rows of which the positions are not known do not hide a batch that is at the end of their move.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_rows_of_a_move_hide_no_other_batch_from_pages_of_any_length() {
    let (_directory, path) = place();
    let store = open_with(&path, 1000).await;
    together(&store, 2).await;
    move_log(&store).await;
    let damage = "UPDATE journal SET records = records + 1 WHERE id >> 31 IN (1, 4)";
    assert_eq!(behind_the_back(&path).execute(damage, []).unwrap(), 2);
    for limit in 1..8 {
        let (mut after, mut found, mut errors) = (FeedPlace::BEGINNING, Vec::new(), 0);
        loop {
            let page = page(&store, after, limit).await;
            if page.place == after {
                break;
            }
            after = page.place;
            for record in page.records {
                match record.stored {
                    Ok(stored) => found.push((record.id, stored.seq)),
                    Err(_) => errors += 1,
                }
            }
        }
        found.sort();
        let all = ["b", "c", "e"].into_iter().flat_map(|id| (0..3).map(move |seq| (id.to_owned(), seq)));
        assert!(found.iter().cloned().eq(all), "{limit}: {found:?}");
        assert_eq!(errors, 2, "{limit}");
    }
}

/// What is in the log, and before the end of the last move, is passed over by the index of the log and by the feed.
#[tokio::test]
async fn a_row_of_the_log_that_counts_as_moved_is_damage() {
    let (_directory, path) = place();
    let store = open_with(&path, 1000).await;
    let run = create(&store, new_run("a")).await.key;
    move_log(&store).await;
    add(&store, run, 1, &[said(&"x".repeat(9000))]).await;
    // It is only the place of a large batch, of which the journal has the records: none is missing.
    assert_eq!(behind_the_back(&path).execute("UPDATE moves SET last = last + 1", []).unwrap(), 1);
    closed(store).await;

    let error = open_error(&path).await.to_string();

    assert!(error.contains("its commit log and its journal disagree on what was moved"), "{error}");
}
