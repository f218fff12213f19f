//! Several processes with one database.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use graphweft::store::SqliteStore;
use graphweft::{Engine, Event, EventKind};

use crate::chance::Chance;
use crate::judge::{Judge, Scene, answers_are_heard, interrupted_by_a_death, one_process_at_a_time};
use crate::kills::recorded;
use crate::ledger::{self, Line, What};
use crate::people::People;
use crate::process::{DONE, Deed, Orders, Process, output, run_id, wait_for};

const PATIENCE: Duration = Duration::from_secs(60);

/// Two processes share some runs; one or the other is killed. Gives how often.
pub(crate) fn share(what: &Shared, seed: u64, directory: &Path) -> Result<u64, String> {
    let mut chance = Chance::of(seed, what.workflow);
    let mut people = People::new(directory, what.runs);
    let mut judges: Vec<Judge> = (0..what.runs).map(|number| Judge::of(run_id(number))).collect();
    let linked = directory.join("linked");
    if what.through_link {
        link(directory, &linked).map_err(|error| error.to_string())?;
    }
    let mut started = 0;
    let mut start = || {
        started += 1;
        let directory = if what.through_link && started % 2 == 0 { &linked } else { directory };
        let orders = orders(directory, what.runs, seed, started, Duration::from_secs(3600));
        let deed = if what.answers == By::Processes { Deed::Answers } else { Deed::Nothing };
        Process::start(&Orders { workflow: what.workflow.to_owned(), pause: what.pause, deed, ..orders })
    };
    let mut processes = [start(), start()];
    let begun = Instant::now();
    let (mut killed, mut next_kill) = (0, chance.up_to(what.between_kills));
    while processes.iter_mut().any(|process| process.ended().is_none()) {
        match what.answers {
            By::People => people.answer(&mut chance)?,
            By::Processes => sleep(Duration::from_millis(1)),
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("the runs have not ended within {PATIENCE:?}"));
        }
        let which = &mut processes[usize::from(chance.percent(50))];
        if killed == what.kills || begun.elapsed() < next_kill || which.ended().is_some() {
            continue;
        }
        which.kill();
        killed += 1;
        for (number, judge) in (0..).zip(&mut judges) {
            judge.look(people.history(number), &ledger::read(directory), Scene::Moving)?;
        }
        *which = start();
        next_kill = begun.elapsed() + chance.up_to(what.between_kills);
    }
    for mut process in processes {
        let code = process.end_within(PATIENCE)?;
        if code != DONE {
            return Err(format!("a process ended with {code}"));
        }
    }
    let lines = ledger::read(directory);
    one_process_at_a_time(&lines)?;
    for (number, judge) in (0..).zip(&mut judges) {
        judge.look(people.history(number), &lines, Scene::Moving)?;
        people.are_heard(number, judge.history())?;
        answers_are_heard(&run_id(number), judge.history(), &lines)?;
        interrupted_by_a_death(&run_id(number), judge.history(), &lines)?;
        if output(judge.history()) != Some(&(what.output)(judge.history())) {
            return Err(format!("{} has the output {:?}", run_id(number), output(judge.history())));
        }
    }
    Ok(killed)
}

/// What two processes share.
pub(crate) struct Shared {
    pub(crate) workflow: &'static str,
    pub(crate) runs: u64,
    pub(crate) output: fn(&[Event]) -> serde_json::Value,
    pub(crate) pause: Duration,
    pub(crate) kills: u64,
    /// At most.
    pub(crate) between_kills: Duration,
    pub(crate) answers: By,
    /// Whether every other process opens the database through a symbolic link.
    pub(crate) through_link: bool,
}

/// Who answers questions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Those who watch.
    People,
    /// Each of the two processes, for its own runs and those of the other.
    Processes,
}

/// A directory whose database and ledger are symbolic links.
fn link(directory: &Path, linked: &Path) -> std::io::Result<()> {
    std::fs::create_dir(linked)?;
    for name in ["runs.db", "ledger"] {
        std::os::unix::fs::symlink(Path::new("..").join(name), linked.join(name))?;
    }
    std::fs::OpenOptions::new().create(true).append(true).open(directory.join("ledger")).map(drop)
}

/// `cancel()` has returned, and the process is dead at once: its own one, that has cancelled, or the one that executes the
/// run while another cancels. The run is cancelled, and nothing more begins in it.
pub(crate) fn a_run_that_is_cancelled_stays_so_if_its_process_dies_at_once(
    seed: u64,
    directory: &Path,
) -> Result<u64, String> {
    let mut chance = Chance::of(seed, "cancelled and dead");
    let watcher = Watcher::new(directory);
    let by_itself = chance.percent(50);
    let of_process = |process| Orders {
        workflow: "cancelled".to_owned(),
        pause: Duration::from_millis(10),
        ..orders(directory, 1, seed, process, Duration::from_secs(3600))
    };
    let deed = if by_itself { Deed::CancelsAndDies } else { Deed::Nothing };
    let mut first = Process::start(&Orders { deed, ..of_process(1) });
    if by_itself {
        first.end_within(PATIENCE)?;
    } else {
        began(directory, 1, "cancelled/chain_of_20/a0")?;
        sleep(chance.up_to(Duration::from_millis(200)));
        watcher.cancel(0)?;
        first.kill();
    }
    let (before, begun) = (watcher.history(0), lines_of(directory, 1).len());
    if before.is_empty() {
        return Err("the run was cancelled, and is not on record".to_owned());
    }
    let was_over = output(&before).is_some();
    let code = Process::start(&of_process(2)).end_within(PATIENCE)?;
    if code != DONE {
        return Err(format!("the second process ended with {code}"));
    }
    let history = watcher.history(0);
    let is_cancelled = matches!(history.last().map(|event| &event.kind), Some(EventKind::RunCancelled));
    if is_cancelled == was_over {
        return Err(format!("after `cancel()` the run ended with {:?}", history.last()));
    }
    let lines = ledger::read(directory);
    if lines.iter().filter(|line| line.what == What::Begin).count() > begun {
        return Err("a node has begun after the run was cancelled and its process was dead".to_owned());
    }
    let mut judge = Judge::of(run_id(0));
    judge.look(history, &lines, Scene::Still)?;
    Ok(1)
}

/// A process on another machine is believed to be dead when its lease is over. It may still be alive: what it then tries
/// to record is refused, and its handle follows the run to the other process.
pub(crate) fn a_process_that_outlives_its_lease_is_fenced(seed: u64, directory: &Path) -> Result<u64, String> {
    // It may be stopped on the first lines of a node, before that writes to the ledger: nothing can keep it from that. Not each time.
    for round in 0..3 {
        let directory = directory.join(round.to_string());
        std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        match outlives_its_lease(seed + round, &directory)? {
            None => return Ok(0),
            Some(path) => eprintln!("fenced: the first process was stopped when it had begun `{path}`"),
        }
    }
    Err("three times of three the first process began a node after the second had the run".to_owned())
}

/// Gives the node that the first process has begun by a record of its own, and that has written to the ledger only after the second process had
/// the run.
fn outlives_its_lease(seed: u64, directory: &Path) -> Result<Option<String>, String> {
    let lease = Duration::from_millis(400);
    let watcher = Watcher::new(directory);
    let mut first = Process::start(&orders(directory, 1, seed, 1, lease));
    began(directory, 1, "chain_of_20/a2")?;
    // As it would look from another machine, where nobody sees whether its file is locked.
    watcher.forget_where_owners_are();
    let mut second = Process::start(&orders(directory, 1, seed, 2, lease));
    let taken_over = (0..20).find_map(|_| {
        first.signal("STOP");
        // A process may be stopped in the middle of a transaction. Then nobody else gets to write before it goes on.
        let begun = wait_for(Duration::from_secs(3), || lines_of(directory, 2).into_iter().next());
        if begun.is_none() {
            first.signal("CONT");
            sleep(Duration::from_millis(3));
        }
        begun
    });
    let taken_over = taken_over.ok_or("nobody has taken the run over")?;
    let at = ledger::read(directory).iter().position(|line| *line == taken_over).unwrap_or_default();
    first.signal("CONT");
    let code = first.end_within(PATIENCE)?;
    if code != DONE {
        return Err(format!("the first process ended with {code}, and did not follow its run to the other process"));
    }
    if second.end_within(PATIENCE)? != DONE {
        return Err("the second process has not completed the run".to_owned());
    }
    let ledger = ledger::read(directory);
    let late: Vec<&Line> = ledger[at..].iter().filter(|line| line.process == 1 && line.what == What::Begin).collect();
    let history = watcher.history(0);
    let own = history.split(|event| matches!(event.kind, EventKind::RunResumed { .. })).next().unwrap_or_default();
    let was_begun = match &late[..] {
        [] => None,
        [line] if own.last().is_some_and(|last| is_start_of(last, &line.path)) => Some(line.path.clone()),
        [line, ..] => return Err(format!("the first process began `{}` after the second had the run", line.path)),
    };
    let mut judge = Judge::of(run_id(0));
    judge.look(history, &ledger, Scene::Still)?;
    completed(judge.history())?;
    Ok(was_begun)
}

fn is_start_of(event: &Event, path: &str) -> bool {
    matches!(event.kind, EventKind::NodeStarted { .. }) && event.path == path
}

/// On one machine a process that is stopped is not dead, however long ago its lease ran out; and one that dies gives its
/// runs up at once, however long its lease still runs.
pub(crate) fn a_death_is_known_at_once_and_a_pause_is_no_death(seed: u64, directory: &Path) -> Result<u64, String> {
    let watcher = Watcher::new(directory);
    let mut first = Process::start(&orders(directory, 1, seed, 1, Duration::from_millis(200)));
    began(directory, 1, "chain_of_20/a2")?;
    let mut second = Process::start(&orders(directory, 1, seed, 2, Duration::from_millis(200)));
    first.signal("STOP");
    sleep(Duration::from_millis(1500));
    if let Some(line) = lines_of(directory, 2).first() {
        return Err(format!("`{}` was taken from a process that was alive", line.path));
    }
    let killed = Instant::now();
    first.kill();
    wait_for(PATIENCE, || lines_of(directory, 2).into_iter().next()).ok_or("nobody has taken the run over")?;
    let took = killed.elapsed();
    if second.end_within(PATIENCE)? != DONE {
        return Err("the second process has not completed the run".to_owned());
    }
    // It looks four times a second; the rest is a slow machine's.
    if took > Duration::from_secs(5) {
        return Err(format!("the death was noticed after {took:?}"));
    }
    one_process_at_a_time(&ledger::read(directory))?;
    completed(&watcher.history(0))?;
    Ok(1)
}

pub(crate) fn orders(directory: &Path, runs: u64, seed: u64, process: u64, lease: Duration) -> Orders {
    Orders {
        directory: directory.display().to_string(),
        workflow: "chain_of_20".to_owned(),
        input: 1,
        runs,
        seed,
        process,
        pause: Duration::from_millis(20),
        lease,
        stay: Duration::ZERO,
        room: None,
        deed: Deed::Nothing,
    }
}

pub(crate) fn lines_of(directory: &Path, process: u64) -> Vec<Line> {
    ledger::read(directory).into_iter().filter(|line| line.process == process && line.what == What::Begin).collect()
}

pub(crate) fn began(directory: &Path, process: u64, path: &str) -> Result<(), String> {
    let begun = || lines_of(directory, process).iter().any(|line| line.path == path).then_some(());
    wait_for(PATIENCE, begun).ok_or_else(|| format!("`{path}` has not begun"))
}

fn completed(history: &[Event]) -> Result<(), String> {
    let nodes = history.iter().filter(|event| matches!(event.kind, EventKind::NodeCompleted { .. })).count();
    match output(history) {
        Some(output) if *output == 21 && nodes == 20 => Ok(()),
        output => Err(format!("a run has the output {output:?}, after {nodes} nodes")),
    }
}

/// Somebody who looks on.
struct Watcher {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    database: std::path::PathBuf,
}

impl Watcher {
    fn new(directory: &Path) -> Watcher {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("there is a runtime");
        let database = directory.join("runs.db");
        let store = runtime.block_on(SqliteStore::open(&database)).expect("the database opens");
        let engine = Engine::builder().store(store).build().expect("the engine is sound");
        Watcher { runtime, engine, database }
    }

    fn history(&self, run: u64) -> Vec<Event> {
        self.runtime.block_on(recorded(&self.engine, &run_id(run)))
    }

    fn cancel(&self, run: u64) -> Result<(), String> {
        self.runtime.block_on(self.engine.cancel(&run_id(run))).map_err(|error| error.to_string())
    }

    fn forget_where_owners_are(&self) {
        let connection = rusqlite::Connection::open(&self.database).expect("the database opens");
        connection.busy_timeout(Duration::from_secs(30)).expect("it waits");
        let change = "BEGIN IMMEDIATE; UPDATE owners SET boot = NULL; DELETE FROM owner_checksums; COMMIT";
        connection.execute_batch(change).expect("the owners can be changed");
    }
}
