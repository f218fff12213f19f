//! The actions of the nodes of a simulated run, in a book that survives every crash; with checks whenever a node
//! begins.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::disk::Disk;
use super::originals::{self, EARLY};
use super::records::{is_completion, is_retry, is_start, is_waiting, millis};
use super::scenario::Scenario;
use super::sight::seen;
use super::sites::Sites;
use crate::engine::{Outcome, effective};
use crate::event::EventKind;
use crate::store::Stored;

/// The book as one process has it, for one run.
#[derive(Clone)]
pub(super) struct Ledger {
    shared: Arc<Shared>,
    process: u32,
    run: Arc<str>,
}

struct Shared {
    scenario: Scenario,
    disk: Disk,
    sites: Arc<Sites>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// Whether nothing fails any more.
    is_mended: bool,
    /// Attempts that are under way, by process.
    under_way: BTreeSet<At>,
    /// Those of them that wait for a request.
    waiting: BTreeSet<At>,
    /// Attempts by run and path, number and how often what is around them had begun: the processes in which they began.
    begun: BTreeMap<(String, u32, usize), Vec<u32>>,
    /// How many attempts of a process began once more in another, while that one lived.
    repeated: u64,
    /// The first of several requests at once: by path, place, how often the graphs around the node had begun, and how
    /// often it had processed an arrival.
    decided: BTreeMap<(String, usize, usize, usize), &'static str>,
    /// The outcomes of the run, and of its forks.
    ended: Vec<Outcome<Value>>,
    ended_early: Option<Outcome<Value>>,
    /// Those of forks that were requested and forked, by their ids.
    ended_links: BTreeMap<String, Outcome<Value>>,
    /// How often the run was forked before it was over, and those while it waited.
    forked_early: (u64, u64),
    /// The outcomes reported by processes from which the run was taken over, by the id of the run.
    followed: Vec<(String, Outcome<Value>)>,
    /// The broken guarantees.
    broken: Vec<String>,
    lines: Vec<String>,
}

/// The process, the run and the path.
type At = (u32, Arc<str>, String);

/// An attempt at a node, under way while this lives.
pub(super) struct UnderWay {
    ledger: Ledger,
    at: At,
    /// How often this attempt had begun before.
    pub(super) before: u32,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut book = self.ledger.book();
        book.under_way.remove(&self.at);
        book.waiting.remove(&self.at);
    }
}

impl Ledger {
    pub(super) fn new(scenario: &Scenario, sites: &Arc<Sites>, disk: &Disk) -> Ledger {
        let (scenario, sites, disk) = (scenario.clone(), Arc::clone(sites), disk.clone());
        Ledger {
            shared: Arc::new(Shared { scenario, disk, sites, book: Mutex::default() }),
            process: 0,
            run: originals::id(0).into(),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.shared.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of a process.
    pub(super) fn of(&self, process: u32) -> Ledger {
        Ledger { process, ..self.clone() }
    }

    /// That of a run in the process.
    pub(super) fn of_run(&self, run: &str) -> Ledger {
        Ledger { run: run.into(), ..self.clone() }
    }

    /// All processes are dead, and another begins.
    pub(super) fn boot(&self) {
        let mut book = self.book();
        book.under_way.clear();
        book.waiting.clear();
    }

    /// The number of the process.
    pub(super) fn process(&self) -> u32 {
        self.process
    }

    /// How many attempts of a process began once more in another, while that one lived.
    pub(super) fn repeated(&self) -> u64 {
        self.book().repeated
    }

    /// From here on nothing fails any more.
    pub(super) fn mend(&self) {
        self.book().is_mended = true;
    }

    pub(super) fn is_mended(&self) -> bool {
        *self.run == *EARLY || self.book().is_mended
    }

    /// The run that is played is over.
    pub(super) fn ends(&self, outcome: Outcome<Value>) {
        self.book().ended.push(outcome);
    }

    /// The run was forked while it was under way, or while it waited.
    pub(super) fn is_forked_early(&self, while_it_waited: bool) {
        self.book().forked_early.1 += u64::from(while_it_waited);
        self.book().forked_early.0 += 1;
    }

    pub(super) fn forked_early(&self) -> (u64, u64) {
        self.book().forked_early
    }

    /// The early fork is over.
    pub(super) fn ends_early(&self, outcome: Outcome<Value>) {
        self.book().ended_early = Some(outcome);
    }

    pub(super) fn has_ended_early(&self) -> bool {
        self.book().ended_early.is_some()
    }

    pub(super) fn take_ended_early(&self) -> Option<Outcome<Value>> {
        self.book().ended_early.take()
    }

    /// A fork that was requested and forked is over.
    pub(super) fn ends_link(&self, id: String, outcome: Outcome<Value>) {
        self.book().ended_links.insert(id, outcome);
    }

    pub(super) fn has_ended_link(&self, id: &str) -> bool {
        self.book().ended_links.contains_key(id)
    }

    pub(super) fn take_ended_links(&self) -> BTreeMap<String, Outcome<Value>> {
        std::mem::take(&mut self.book().ended_links)
    }

    /// How many runs are over.
    pub(super) fn ended(&self) -> usize {
        self.book().ended.len()
    }

    /// A process from which a run was taken over reports the outcome.
    pub(super) fn follows(&self, run: String, outcome: Outcome<Value>) {
        self.book().followed.push((run, outcome));
    }

    pub(super) fn take_followed(&self) -> Vec<(String, Outcome<Value>)> {
        std::mem::take(&mut self.book().followed)
    }

    pub(super) fn take_ended(&self) -> Vec<Outcome<Value>> {
        std::mem::take(&mut self.book().ended)
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.shared.scenario
    }

    pub(super) fn breaks(&self, what: String) {
        self.book().broken.push(what);
    }

    pub(super) fn write(&self, line: String) {
        self.book().lines.push(line);
    }

    pub(super) fn broken(&self) -> Option<String> {
        self.book().broken.first().cloned()
    }

    pub(super) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.book().lines)
    }

    /// An attempt begins.
    pub(super) fn begin(&self, path: &str, attempt: u32, state: &Map<String, Value>, now: SystemTime) -> UnderWay {
        if self.shared.disk.refused(self.process, &self.run).is_some_and(|refused| refused < Instant::now()) {
            self.breaks(format!("`{path}` begins in a process that has lost the run"));
        }
        let resumed = self.shared.disk.resumed(&self.run);
        self.known(|records| self.look_at_attempt(path, attempt, state, records, resumed));
        self.write(format!("{} {path} begins, attempt {attempt}", millis(now)));
        let entered = self.known(|records| self.entered(path, records));
        let mut book = self.book();
        if !book.under_way.insert(self.at(path)) {
            book.broken.push(format!("`{path}` runs twice at once"));
        }
        self.look_at_limits(path, &mut book);
        let begun = book.begun.entry((self.in_run(path), attempt, entered)).or_default();
        let before = begun.len() as u32;
        let is_repeated = begun.iter().any(|of| *of != self.process && self.shared.disk.is_alive(*of));
        begun.push(self.process);
        book.repeated += u64::from(is_repeated);
        UnderWay { ledger: self.clone(), at: self.at(path), before }
    }

    /// Reads the records that this process may know.
    fn known<T>(&self, look: impl FnOnce(&[Stored]) -> T) -> T {
        self.shared.disk.with_known(self.process, &self.run, look)
    }

    fn at(&self, path: &str) -> At {
        (self.process, Arc::clone(&self.run), path.to_owned())
    }

    fn in_run(&self, path: &str) -> String {
        format!("{} {path}", self.run)
    }

    /// An attempt waits for a request: another may run in its place.
    pub(super) fn waits(&self, path: &str) {
        self.book().waiting.insert(self.at(path));
    }

    /// It has the result of its request, and runs again.
    pub(super) fn goes_on(&self, path: &str) {
        let mut book = self.book();
        book.waiting.remove(&self.at(path));
        self.look_at_concurrency(&mut book);
    }

    /// A node has decided by the first result, and must decide the same whenever it runs again.
    pub(super) fn decides(&self, path: &str, at: usize, first: &'static str) {
        let (entered, arrivals) = self.known(|records| {
            let arrivals = records.iter().filter(|at| is_waiting(at) && at.record.path == path).count();
            (self.entered(path, records), arrivals)
        });
        let mut book = self.book();
        let before = *book.decided.entry((self.in_run(path), at, entered, arrivals)).or_insert(first);
        if before != first {
            book.broken.push(format!("`{path}` had decided for its {before}, and decides for its {first}"));
        }
    }

    /// A step or a child begins. Returns how many of its failures are recorded.
    pub(super) fn begin_step(&self, path: &str, of: &str) -> u32 {
        self.known(|records| {
            let counting = counting(records);
            let since = &counting[self.entry(of, &counting)..];
            if since.iter().any(|at| is_completion(at) && at.record.path == path) {
                self.breaks(format!("`{path}` is on record, and runs again"));
            }
            let failed =
                |at: &&Stored| matches!(at.record.kind, EventKind::NodeFailed { .. }) && at.record.path == path;
            since.iter().filter(failed).count() as u32
        })
    }

    /// Checks an attempt by the records, and by how often the run was resumed.
    fn look_at_attempt(
        &self,
        path: &str,
        attempt: u32,
        state: &Map<String, Value>,
        records: &[Stored],
        resumed: usize,
    ) {
        let special = self.shared.sites.special(path).cloned().unwrap_or_default();
        if attempt > special.max_attempts() {
            self.breaks(format!("`{path}` begins attempt {attempt} of {}", special.max_attempts()));
        }
        let is_end = |at: &Stored| at.record.kind.is_terminal();
        if records.iter().rposition(is_end) > records.iter().rposition(is_retry) {
            self.breaks(format!("`{path}` begins when the run is over"));
        }
        let counting = counting(records);
        let since = &counting[self.entry(path, &counting)..];
        if since.iter().any(|at| is_completion(at) && at.record.path == path) {
            self.breaks(format!("`{path}` is on record as completed, and begins again"));
        }
        let is_started = |at: &Stored| match at.record.kind {
            EventKind::NodeStarted { attempt: number, .. } => at.record.path == path && number == attempt,
            _ => false,
        };
        let Some(started) = counting.iter().rposition(is_started) else {
            return self.breaks(format!("`{path}` begins attempt {attempt}, and that is not on record"));
        };
        let waits = since.iter().filter(|at| is_waiting(at) && at.record.path == path).count();
        let entered = self.entered(path, records);
        let before = self.book().begun.get(&(self.in_run(path), attempt, entered)).map_or(0, Vec::len);
        if before > waits + if special.at_most_once { 0 } else { resumed } {
            self.breaks(format!("`{path}` begins attempt {attempt} for the {}th time", before + 1));
        }
        match seen(&self.shared.sites, path, started, &counting) {
            Err((writer, fault)) => self.breaks(format!("`{writer}` has written what cannot be folded: {fault}")),
            Ok(folded) if folded != *state => {
                let (seen, folded) = (Value::from(state.clone()), Value::from(folded));
                self.breaks(format!("`{path}` sees the state {seen}, and {folded} is on record"));
            }
            Ok(_) => {}
        }
    }

    /// The attempts of this run that are under way in this process.
    fn under_way<'b>(&self, book: &'b Book) -> impl Iterator<Item = &'b str> {
        let (process, run) = (self.process, Arc::clone(&self.run));
        let is_here = move |(of, in_run, _): &&At| *of == process && *in_run == run;
        book.under_way.iter().filter(is_here).map(|(_, _, path)| path.as_str())
    }

    /// Checks the number of running attempts in all graphs of all runs together, those of children included.
    fn look_at_concurrency(&self, book: &mut Book) {
        let most = self.shared.scenario.max_concurrency;
        let running: Vec<&At> =
            book.under_way.difference(&book.waiting).filter(|(process, ..)| *process == self.process).collect();
        if most > 0 && running.len() > most {
            let broken = format!("{} nodes run at once, of at most {most}: {running:?}", running.len());
            book.broken.push(broken);
        }
    }

    fn look_at_limits(&self, path: &str, book: &mut Book) {
        self.look_at_concurrency(book);
        let sites = &self.shared.sites;
        let overfull = || sites.overfull(path, self.under_way(book));
        let many_items = || sites.many_items(path, self.under_way(book));
        let crowded = sites.crowded(path, self.under_way(book));
        if let Some(crowded) = crowded.or_else(overfull).or_else(many_items) {
            book.broken.push(crowded);
        }
    }

    /// How often a graph around a node had begun, or the run was retried: then all of it may run again.
    fn entered(&self, path: &str, records: &[Stored]) -> usize {
        let above = self.shared.sites.above(path);
        records.iter().filter(|at| is_retry(at) || (is_start(at) && above.contains(&at.record.path))).count()
    }

    /// The record from which on the records at a path still count.
    fn entry(&self, path: &str, records: &[Stored]) -> usize {
        let above = self.shared.sites.above(path);
        records.iter().rposition(|at| is_start(at) && above.contains(&at.record.path)).unwrap_or(0)
    }
}

/// The records that no retry has voided.
fn counting(records: &[Stored]) -> Cow<'_, [Stored]> {
    if records.iter().any(is_retry) { effective(records.to_vec()).into() } else { records.into() }
}
