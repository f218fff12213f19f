//! A process that executes runs, from within and from without.

use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use graphweft::store::{Durability, SqliteStore, SqliteStoreBuilder};
use graphweft::{AnswerError, Engine, Outcome, Run, RunError, RunFilter, json};
use serde_json::Value as Json;
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::flows::{self, Meddling};
use crate::ledger::{self, Ledger};

const VARIABLE: &str = "GRAPHWEFT_CRASH_PROCESS";

/// What a process is told.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) directory: String,
    pub(crate) workflow: String,
    pub(crate) input: u64,
    /// How many runs of it.
    pub(crate) runs: u64,
    pub(crate) seed: u64,
    /// The number of the process.
    pub(crate) process: u64,
    pub(crate) pause: Duration,
    pub(crate) lease: Duration,
    /// After how long it is to end by itself, with its runs where they are; zero: not before they have ended.
    pub(crate) stay: Duration,
    /// How long its files may get, in KiB, where there is a limit.
    pub(crate) room: Option<u64>,
    pub(crate) deed: Deed,
}

/// What a process does besides executing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Nothing,
    /// Answers the questions of all runs, also of those that another process has.
    Answers,
    /// Cancels its first run at some moment, and dies as soon as it knows that this is recorded.
    CancelsAndDies,
    /// Its file is taken away, or cut off.
    LosesItsFile,
}

const DEEDS: [Deed; 4] = [Deed::Nothing, Deed::Answers, Deed::CancelsAndDies, Deed::LosesItsFile];

/// What a process that ends by itself says.
pub(crate) const DONE: i32 = 0;
pub(crate) const LEFT: i32 = 41;
pub(crate) const NO_ROOM: i32 = 44;
pub(crate) const NO_FILE: i32 = 45;
const BROKEN: i32 = 43;

pub(crate) fn run_id(number: u64) -> String {
    format!("run-{number}")
}

impl Orders {
    fn write(&self) -> String {
        let Orders { directory, workflow, input, runs, seed, process, pause, lease, stay, room, deed } = self;
        let room = room.unwrap_or_default();
        let deed = DEEDS.iter().position(|known| known == deed).unwrap_or_default();
        let (pause, lease, stay) = (pause.as_micros(), lease.as_millis(), stay.as_micros());
        format!("{workflow} {input} {runs} {seed} {process} {pause} {lease} {stay} {room} {deed} {directory}")
    }

    fn read(text: &str) -> Option<Orders> {
        fn number<T: FromStr>(word: Option<&str>) -> Option<T> {
            word?.parse().ok()
        }
        let mut words = text.splitn(11, ' ');
        Some(Orders {
            workflow: words.next()?.to_owned(),
            input: number(words.next())?,
            runs: number(words.next())?,
            seed: number(words.next())?,
            process: number(words.next())?,
            pause: Duration::from_micros(number(words.next())?),
            lease: Duration::from_millis(number(words.next())?),
            stay: Duration::from_micros(number(words.next())?),
            room: number(words.next()).filter(|room| *room > 0),
            deed: *DEEDS.get(number::<usize>(words.next())?)?,
            directory: words.next()?.to_owned(),
        })
    }
}

/// Whether this is such a process; then it does what it was told, and never comes back.
pub(crate) fn obey() {
    let Ok(text) = std::env::var(VARIABLE) else { return };
    let orders = Orders::read(&text).expect("the orders can be read");
    let mut chance = Chance::of(orders.seed, ("process", orders.process));
    let runtime = match chance.percent(25) {
        true => tokio::runtime::Builder::new_current_thread().enable_time().build(),
        false => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build(),
    };
    let durability = if chance.percent(50) { Durability::Full } else { Durability::Relaxed };
    // Some move their log with almost every commit, so that they are killed while they do.
    let log_rows = if chance.percent(60) { 1 + chance.below(6) as usize } else { 2048 };
    let store = SqliteStore::builder().durability(durability).log_rows(log_rows);
    let runtime = runtime.expect("there is a runtime");
    let code = runtime.block_on(async {
        match orders.stay.is_zero() {
            true => execute(&orders, store).await,
            false => tokio::time::timeout(orders.stay, execute(&orders, store)).await.unwrap_or(LEFT),
        }
    });
    // As at the end of a `main`: what is under way is dropped.
    drop(runtime);
    std::process::exit(code);
}

async fn execute(orders: &Orders, store: SqliteStoreBuilder) -> i32 {
    let directory = Path::new(&orders.directory);
    let store = store.lease(orders.lease).busy_timeout(Duration::from_secs(30));
    let store = match store.open(directory.join("runs.db")).await {
        Ok(store) => store,
        Err(error) => return broken(orders, &error.to_string()),
    };
    let ledger = || Ledger::open(directory, orders.process, orders.seed, orders.pause);
    let engine = flows::engine(store, ledger());
    match engine.recover().await {
        Ok(recovered) if recovered.failed.is_empty() && recovered.unregistered.is_empty() => {}
        Err(error) => return broken(orders, &error.to_string()),
        recovered => return broken(orders, &format!("{recovered:?}")),
    }
    let mut ends = JoinSet::new();
    for number in 0..orders.runs {
        let run = match engine.start_json(&orders.workflow, json!(orders.input)).id(run_id(number)).await {
            Ok(run) => run,
            Err(error) => return broken(orders, &error.to_string()),
        };
        if orders.deed == Deed::CancelsAndDies && number == 0 {
            let (run, ledger) = (run.clone(), ledger());
            let moment = Chance::of(orders.seed, ("cancels", orders.process)).up_to(Duration::from_millis(300));
            tokio::spawn(async move {
                tokio::time::sleep(moment).await;
                run.cancel().await.expect("it can be cancelled");
                ledger.note_cancel(run.id());
                // As with `kill -9`: nothing more is done here.
                std::process::abort();
            });
        }
        let (engine, meddling) = (engine.clone(), flows::meddling(&orders.workflow));
        let answers = (orders.deed == Deed::Answers).then(&ledger);
        ends.spawn(async move {
            let mut run = run;
            loop {
                match run.outcome().await {
                    Ok(Outcome::Waiting(open)) => {
                        if let Some(ledger) = &answers {
                            for question in &open {
                                answer(&run, &question.id, ledger).await;
                            }
                        }
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    Ok(Outcome::Failed(_)) if meddling == Some(Meddling::Retries) => {
                        run = engine.retry(run_id(number)).await.expect("a run that has failed can be retried");
                    }
                    Ok(Outcome::Cancelled) if meddling == Some(Meddling::Cancels) => return Ok(()),
                    Ok(Outcome::Completed(_)) => return with_those_it_started(&engine, run.id()).await,
                    Ok(other) => return Err(Failed::Ended(format!("{other:?}"))),
                    Err(error) => return Err(Failed::Stopped(error)),
                }
            }
        });
    }
    for end in ends.join_all().await {
        match end {
            Ok(()) => {}
            Err(other) => return broken(orders, &format!("{other:?}")),
        }
    }
    DONE
}

/// Waits for the ends of the runs that a run has started.
async fn with_those_it_started(engine: &Engine, run: &str) -> Result<(), Failed> {
    for started in engine.list_runs(RunFilter::default().started_by(run)).await.expect("the runs can be listed") {
        if let Some(run) = engine.get_run(&started.id).await.expect("the run can be read") {
            run.outcome().await.map_err(Failed::Stopped)?;
        }
    }
    Ok(())
}

/// Answers a question of a run that this process may have or another one, perhaps at the same moment as that.
async fn answer(run: &Run<Json>, question: &str, ledger: &Ledger) {
    match run.answer(question, flows::answer(question)).await {
        Ok(()) => ledger.note_answer(run.id(), question),
        // Another process was faster, or the node has gone on meanwhile.
        Err(AnswerError::AlreadyAnswered { .. }) => {}
        Err(error) => panic!("`{question}` cannot be answered: {error}"),
    }
}

/// How a run went where it should not have.
#[derive(Debug)]
enum Failed {
    #[expect(dead_code, reason = "it is shown")]
    Ended(String),
    #[expect(dead_code, reason = "it is shown")]
    Stopped(RunError),
}

fn broken(orders: &Orders, what: &str) -> i32 {
    // As the file system says it: there is no room, or no more than the limit.
    let has_no_room = ["database or disk is full", "disk I/O error"].iter().any(|full| what.contains(full));
    if orders.room.is_some() && has_no_room {
        return NO_ROOM;
    }
    if orders.deed == Deed::LosesItsFile
        && ["was removed", "was replaced", "was emptied", "was cut off", "is damaged", "Corrupt {"]
            .iter()
            .any(|lost| what.contains(lost))
    {
        return NO_FILE;
    }
    eprintln!("process {} of {}: {what}", orders.process, orders.workflow);
    BROKEN
}

/// A process, seen from without. Killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    orders: Orders,
}

impl Process {
    pub(crate) fn start(orders: &Orders) -> Process {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = match orders.room {
            None => Command::new(program),
            // A write beyond the limit is then an error and not a signal. Shells count in blocks of 512 or of 1024 bytes.
            Some(room) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {room}; exec \"$0\"")).arg(program);
                shell
            }
        };
        let child = command.env(VARIABLE, orders.write()).spawn().expect("it can be started again");
        Process { child, orders: orders.clone() }
    }

    /// `kill -9`, and waits until it is dead.
    pub(crate) fn kill(&mut self) {
        ledger::note_kill(Path::new(&self.orders.directory), self.orders.process);
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it dies");
    }

    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("its state is known")
    }

    /// Waits until it ends by itself, but not for ever.
    pub(crate) fn end_within(&mut self, patience: Duration) -> Result<i32, String> {
        let until = Instant::now() + patience;
        loop {
            match self.ended() {
                Some(status) => return Ok(status.code().unwrap_or(-1)),
                None if Instant::now() < until => sleep(Duration::from_millis(1)),
                None => return Err(format!("process {} has not ended within {patience:?}", self.orders.process)),
            }
        }
    }

    /// `STOP` or `CONT`.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "process {} cannot be sent {signal}", self.orders.process);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _may_be_dead = self.child.kill();
        let _may_be_dead = self.child.wait();
    }
}

/// Looks again and again until something is there, but not for ever.
pub(crate) fn wait_for<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > until {
            return None;
        }
        sleep(Duration::from_millis(2));
    }
}

/// The output on record.
pub(crate) fn output(history: &[graphweft::Event]) -> Option<&Json> {
    history.last().and_then(|event| match &event.kind {
        graphweft::EventKind::RunCompleted { output, .. } => Some(output),
        _ => None,
    })
}
