//! Damaged files: bytes of a small database changed, and prefixes of it. Whoever opens and reads such a file gets
//! an error or what was written, and never anything else, a panic, or nothing at all.
//!
//! The log beside a database is different in one way: SQLite cannot tell a byte that changed there from a write that was
//! cut short, and goes on from the last commit before it. So what is right then is what was right at some commit.
//!
//! Of the bytes and bits of a database and of a log, of the prefixes, and of what an engine resumes from, some are chosen by a
//! seed. `GRAPHWEFT_DAMAGE=all` takes all of them in each way, which takes many minutes; `GRAPHWEFT_SEED=7` chooses the same ones
//! again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{RunHeader, RunQuery, SqliteStore, Store, StoreError};
use graphweft::{Engine, EventKind, Json, RunError, json};
use graphweft_tests::{Death, Remains, life};
use rusqlite::Connection;

#[node]
async fn greet(name: String) -> String {
    format!("hello {name}")
}

#[node]
async fn shout(text: String, ctx: &Context, #[resource] death: &Death) -> Result<String, String> {
    let loud = ctx.step("shout", || async { Ok::<_, String>(text.to_uppercase()) }).await;
    death.come("shout").await;
    loud.map_err(|error| error.to_string())
}

#[node]
async fn check(text: String, ctx: &Context) -> String {
    let fine = ctx.ask::<bool>("fine", "Is it fine?").payload(&text).await;
    format!("{text}: {fine}")
}

workflow! { greeting(String) -> String { START => greet => shout => check; } }

const IDS: [&str; 4] = ["done", "asks", "dies", "forked"];

/// The bytes of a database, and of its log where it has one.
#[derive(Clone)]
struct Files {
    database: Vec<u8>,
    log: Option<Vec<u8>>,
}

impl Files {
    /// One run that is done, one that asks, one whose process died, and a fork of the first.
    fn new() -> Files {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        small_pages(&path);
        life(async {
            let store = SqliteStore::open(&path).await.unwrap();
            let engine = engine(store.clone(), &Death::default());
            for id in ["done", "asks"] {
                let run = engine.start::<greeting>(id.to_owned()).id(id).await.unwrap();
                assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
            }
            engine.answer("done", "fine", true).await.unwrap();
            let done = engine.get_run("done").await.unwrap().unwrap();
            assert_eq!(done.result().await.unwrap(), json!("HELLO DONE: true"));
            let forked = engine.fork("done").before(4).id("forked").await.unwrap();
            assert!(matches!(forked.outcome().await.unwrap(), Outcome::Waiting(_)));
        });
        for _ in 0..10_000 {
            if beside(&path, "wal").exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(!beside(&path, "wal").exists(), "whoever closes a file last takes its log away");
        // Its process has not closed the files when they are copied, and is not there any more when they are looked at.
        life(async {
            let store = SqliteStore::open(&path).await.unwrap();
            let death = Death::at("shout");
            let engine = engine(store.clone(), &death);
            let _run = engine.start::<greeting>("dies".to_owned()).id("dies").await.unwrap();
            death.came().await;
            Files { database: fs::read(&path).unwrap(), log: Some(fs::read(beside(&path, "wal")).unwrap()) }
        })
    }

    /// The same with all that the log holds in the database.
    fn without_log(&self) -> Files {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        self.write(&path);
        let connection = Connection::open(&path).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(connection);
        Files { database: fs::read(&path).unwrap(), log: None }
    }

    fn write(&self, path: &Path) {
        fs::write(path, &self.database).unwrap();
        if let Some(log) = &self.log {
            fs::write(beside(path, "wal"), log).unwrap();
        }
    }
}

/// As small a file as SQLite makes, so that there are as few bytes to change as can be.
fn small_pages(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "page_size", 512).unwrap();
    connection.execute_batch("VACUUM").unwrap();
}

fn engine(store: SqliteStore, death: &Death) -> Engine {
    let remains = Remains::default();
    remains.engine(death).store(store).register::<greeting>().build().unwrap()
}

fn beside(path: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}-{name}", path.display()))
}

/// What can be read from a store, by what was asked for; none where it could not be opened. What was an error is not there.
type Seen = BTreeMap<String, String>;

async fn look(path: &Path) -> Result<Seen, String> {
    let store = match SqliteStore::open(path).await {
        Ok(store) => store,
        Err(error) => return told(&error).map(|()| Seen::new()),
    };
    let mut seen = Seen::new();
    let mut note = |what: String, value: Result<String, StoreError>| match value {
        Ok(value) => {
            seen.insert(what, value);
            Ok(())
        }
        Err(error) => told(&error),
    };
    let shown = |runs: Vec<RunHeader>| format!("{runs:?}");
    note("all runs".to_owned(), store.list(RunQuery::default()).await.map(shown))?;
    let mut forks = RunQuery::default();
    forks.forked_from = Some("done".to_owned());
    note("forks".to_owned(), store.list(forks).await.map(shown))?;
    for id in IDS {
        let header = store.header(id).await;
        note(format!("run {id}"), header.clone().map(|header| format!("{header:?}")))?;
        let Ok(Some(header)) = header else { continue };
        let records = store.read(header.key, 0, usize::MAX).await;
        note(format!("records of {id}"), records.map(|records| format!("{records:?}")))?;
        let graph = store.graph(header.graph).await;
        note(format!("graph of {id}"), graph.map(|graph| format!("{graph:?}")))?;
    }
    Ok(seen)
}

/// An error has to be one of the file's; one of those that stand for a panic or for nothing at all is none.
fn told(error: &StoreError) -> Result<(), String> {
    match error {
        StoreError::Closed | StoreError::Busy { .. } | StoreError::Other { .. } => Err(format!("it says {error:?}")),
        _ => Ok(()),
    }
}

/// All runs to their ends: what they gave, and what of it is on record. What was an error is not there.
async fn go_on(path: &Path) -> Result<Seen, String> {
    let store = match SqliteStore::open(path).await {
        Ok(store) => store,
        Err(error) => return told(&error).map(|()| Seen::new()),
    };
    let engine = engine(store, &Death::default());
    let mut seen = Seen::new();
    let Ok(recovered) = engine.recover().await else { return Ok(seen) };
    for id in IDS.iter().filter(|id| recovered.failed.iter().all(|(failed, _)| failed != **id)) {
        let Ok(run) = engine.get_run(id).await else { continue };
        let Some(run) = run else {
            seen.insert(format!("run {id}"), "none".to_owned());
            continue;
        };
        match run.outcome().await {
            Ok(Outcome::Waiting(_)) => {
                if engine.answer(id, "fine", true).await.is_err() {
                    continue;
                }
            }
            Ok(_) => {}
            Err(_) => continue,
        }
        match run.result().await {
            Ok(output) => seen.insert(format!("output of {id}"), output.to_string()),
            Err(RunError::Failed(failure)) => seen.insert(format!("output of {id}"), format!("{failure:?}")),
            Err(_) => continue,
        };
        let Ok(Some(history)) = engine.history(id).await else { continue };
        let what = history.iter().filter_map(|event| match &event.kind {
            EventKind::NodeCompleted { output, .. } => Some((&event.path, output.clone())),
            EventKind::QuestionAsked { payload, .. } => Some((&event.path, Some(payload.clone()))),
            EventKind::Answered { answer, .. } => Some((&event.path, Some(answer.clone()))),
            _ => None,
        });
        seen.insert(format!("records of {id}"), format!("{:?}", what.collect::<Vec<_>>()));
    }
    Ok(seen)
}

/// Whether all that was seen is right, in one of the cases that may be.
fn is_right(seen: &Seen, allowed: &[Seen]) -> Result<(), String> {
    let differs = |right: &Seen| seen.iter().find(|(what, value)| right.get(*what) != Some(value));
    let mut differences = allowed.iter().map(differs);
    if differences.clone().any(|difference| difference.is_none()) {
        return Ok(());
    }
    let (what, value) = differences.next().flatten().ok_or("nothing is allowed")?;
    let right = allowed.first().and_then(|right| right.get(what));
    Err(format!("{what} is {value}\nand should be {right:?}"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Through {
    Store,
    Engine,
}

struct Looker {
    runtime: tokio::runtime::Runtime,
    directory: tempfile::TempDir,
    looks: usize,
}

impl Looker {
    fn new() -> Looker {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Looker { runtime, directory: tempfile::tempdir().unwrap(), looks: 0 }
    }

    /// Not in the same place as before, whose files may not be closed yet.
    fn look(&mut self, files: &Files, through: Through) -> Result<Seen, String> {
        self.looks += 1;
        let path = self.directory.path().join(format!("{}.db", self.looks));
        files.write(&path);
        let looked = async {
            match through {
                Through::Store => look(&path).await,
                Through::Engine => go_on(&path).await,
            }
        };
        let patient = self.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), looked).await });
        for path in [beside(&path, "wal"), beside(&path, "shm"), path] {
            drop(fs::remove_file(path));
        }
        patient.unwrap_or_else(|_| Err("it hangs".to_owned()))
    }
}

/// Looks at many files at once. Each has to be read as one of those that are right.
fn each(cases: usize, through: Through, allowed: &[Seen], case: impl Fn(usize) -> (Files, String) + Sync) {
    let next = AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut looker = Looker::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases {
                        break;
                    }
                    let (files, what) = case(number);
                    let seen = looker.look(&files, through).and_then(|seen| is_right(&seen, allowed));
                    if let Err(error) = seen {
                        wrong.lock().unwrap().push(format!("{what}: {error}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {cases} are wrong; {}", wrong.len(), wrong[..wrong.len().min(20)].join("\n\n"));
}

/// What is right: first of all what the whole files say, and then what they say at each commit in the log.
fn rights(files: &Files, through: Through) -> Vec<Seen> {
    let mut looker = Looker::new();
    let whole = looker.look(files, through).unwrap();
    let mut rights = vec![whole];
    let log = files.log.as_ref().map_or(0, Vec::len);
    for length in frames(log) {
        let log = files.log.as_ref().map(|log| log[..length].to_vec());
        rights.push(looker.look(&Files { log, ..files.clone() }, through).unwrap());
    }
    rights
}

/// The lengths of a log that ends with a frame.
fn frames(log: usize) -> impl Iterator<Item = usize> {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 512;
    (HEADER..=log).step_by(FRAME)
}

struct Plan {
    seed: u64,
    is_all: bool,
}

impl Plan {
    fn read() -> Plan {
        let seed = std::env::var("GRAPHWEFT_SEED").ok().map_or(1, |seed| seed.parse().expect("it is a number"));
        let plan = Plan { seed, is_all: std::env::var("GRAPHWEFT_DAMAGE").is_ok_and(|what| what == "all") };
        println!("GRAPHWEFT_SEED={seed}");
        plan
    }

    /// One of each so many, or all.
    fn sample(&self, length: usize, every: usize) -> Vec<usize> {
        let every = if self.is_all { 1 } else { every };
        let first = usize::try_from(self.seed).unwrap_or_default() % every;
        (first..length).step_by(every).collect()
    }
}

/// All of its bits, or one of them.
#[derive(Clone, Copy, Debug)]
enum Flip {
    Byte,
    Bit,
}

fn flip(bytes: &[u8], at: usize, how: Flip) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= match how {
        Flip::Byte => 0xFF,
        Flip::Bit => 1 << (at * 5 % 8),
    };
    bytes
}

/// Everything that was seen is there: without that the tests would find nothing.
fn assert_whole(right: &Seen, entries: usize) {
    assert_eq!(right.len(), entries, "{right:?}");
}

#[test]
fn a_changed_byte_of_a_database_is_an_error_or_changes_nothing() {
    let files = Files::new().without_log();
    let right = rights(&files, Through::Store);
    assert_whole(&right[0], 2 + 3 * IDS.len());
    let length = files.database.len();
    let changed = |at: usize, how: Flip| {
        let database = flip(&files.database, at, how);
        (Files { database, log: None }, format!("{how:?} {at} of {length}"))
    };
    let plan = Plan::read();
    for (how, every) in [(Flip::Byte, 7), (Flip::Bit, 31)] {
        let sample = plan.sample(length, every);
        each(sample.len(), Through::Store, &right, |number| changed(sample[number], how));
    }
}

#[test]
fn an_engine_with_a_changed_byte_in_its_database_gives_an_error_or_what_it_would_have_given() {
    let files = Files::new().without_log();
    let right = rights(&files, Through::Engine);
    assert_whole(&right[0], 2 * IDS.len());
    let plan = Plan::read();
    let sample = plan.sample(2 * files.database.len(), 997);
    each(sample.len(), Through::Engine, &right, |number| {
        let (at, how) = (sample[number] / 2, if sample[number].is_multiple_of(2) { Flip::Bit } else { Flip::Byte });
        (Files { database: flip(&files.database, at, how), log: None }, format!("{how:?} {at}"))
    });
}

#[test]
fn a_database_that_is_cut_off_is_an_error_and_nothing_else() {
    let files = Files::new().without_log();
    let right = rights(&files, Through::Store);
    // An empty one is a new one.
    let sample = Plan::read().sample(files.database.len() - 1, 7);
    each(sample.len(), Through::Store, &right, |number| {
        let length = sample[number] + 1;
        (Files { database: files.database[..length].to_vec(), log: None }, format!("the first {length} bytes"))
    });
}

#[test]
fn a_changed_byte_of_a_log_is_an_error_or_as_it_was_at_some_commit() {
    let files = Files::new();
    let log = files.log.clone().unwrap();
    let right = rights(&files, Through::Store);
    assert_whole(&right[0], 2 + 3 * IDS.len());
    let sample = Plan::read().sample(log.len(), 17);
    each(sample.len(), Through::Store, &right, |number| {
        let at = sample[number];
        let how = if at.is_multiple_of(2) { Flip::Bit } else { Flip::Byte };
        (Files { log: Some(flip(&log, at, how)), ..files.clone() }, format!("{how:?} {at} of the log"))
    });
}

#[test]
fn a_log_that_is_cut_off_is_as_it_was_at_some_commit_and_goes_on() {
    let files = Files::new();
    let log = files.log.clone().unwrap();
    let cut = |length: usize| {
        (Files { log: Some(log[..length].to_vec()), ..files.clone() }, format!("the first {length} bytes of the log"))
    };
    let plan = Plan::read();
    let sample = plan.sample(log.len(), 17);
    each(sample.len(), Through::Store, &rights(&files, Through::Store), |number| cut(sample[number]));
    let ends: Vec<usize> = frames(log.len()).collect();
    let sample = plan.sample(ends.len(), 3).into_iter().map(|number| ends[number]);
    let lengths: Vec<usize> = sample.chain([log.len(), log.len() - 1, log.len() / 2, 31, 1]).collect();
    each(lengths.len(), Through::Engine, &rights(&files, Through::Engine), |number| cut(lengths[number]));
}

#[test]
fn a_changed_byte_of_a_database_with_a_log_is_an_error_or_changes_nothing() {
    let files = Files::new();
    let right = rights(&files, Through::Store);
    let plan = Plan::read();
    let sample = plan.sample(2 * files.database.len(), 127);
    each(sample.len(), Through::Store, &right[..1], |number| {
        let (at, how) = (sample[number] / 2, if sample[number].is_multiple_of(2) { Flip::Bit } else { Flip::Byte });
        (Files { database: flip(&files.database, at, how), ..files.clone() }, format!("{how:?} {at}"))
    });
}

/// What `recover` says until that is all: the engine before may still be leaving the file.
async fn recovered(
    engine: &Engine,
    is_all: impl Fn(&[(String, RunError)], &[Run<Json>]) -> bool,
) -> (Vec<(String, RunError)>, Vec<Run<Json>>) {
    let (mut failed, mut resumed) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let recovery = engine.recover().await.unwrap();
        failed = recovery.failed;
        resumed.extend(recovery.resumed);
        if is_all(&failed, &resumed) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (failed, resumed)
}

#[test]
fn a_run_whose_header_is_damaged_is_named_and_the_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    life(async {
        let death = Death::at("shout");
        let engine = engine(SqliteStore::open(&path).await.unwrap(), &death);
        for id in ["one", "other"] {
            let _run = engine.start::<greeting>(id.to_owned()).id(id).await.unwrap();
        }
        death.came().await;
    });
    life(async {
        let engine = engine(SqliteStore::open(&path).await.unwrap(), &Death::default());
        let change = |statement| assert_eq!(Connection::open(&path).unwrap().execute(statement, []).unwrap(), 1);
        change("UPDATE runs SET updated = updated + 1 WHERE id = 'one'");

        let (failed, resumed) = recovered(&engine, |failed, resumed| failed.len() + resumed.len() == 2).await;
        change("UPDATE runs SET updated = updated - 1 WHERE id = 'one'");
        let (_, mended) = recovered(&engine, |_, resumed| resumed.len() == 1).await;

        let [(id, RunError::Store(StoreError::Corrupt { message, .. }))] = &failed[..] else { panic!("{failed:?}") };
        assert_eq!((id.as_str(), message.as_str()), ("one", "the header of run `one` does not match its checksum"));
        for (resumed, id) in [(&resumed, "other"), (&mended, "one")] {
            let [run] = &resumed[..] else { panic!("{resumed:?}") };
            assert_eq!(run.id(), id);
            assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))), "{id}");
        }
    });
}
