//! Holds what runs have recorded against what their nodes have done.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::SystemTime;

use graphweft::prelude::*;
use graphweft_restate::RunHandle;

use crate::attempts::WHOLE_RUN;

/// What the ledger says of the nodes of all runs.
#[derive(Debug)]
pub struct Judge {
    /// The lines of each run by their paths, in the order of their times.
    lines: HashMap<String, BTreeMap<String, Vec<Line>>>,
    /// How many records were compared.
    pub judged: u64,
    /// How many nodes have ended more than once.
    pub twice: u64,
    /// How many nodes have begun after their record, by attempts from before it.
    pub late: u64,
}

#[derive(Clone, Debug)]
struct Line {
    what: What,
    micros: u128,
    process: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A process was given an attempt.
    Attempt,
    Start,
    End,
}

impl Judge {
    /// Reads a ledger.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn of(ledger: &Path) -> Self {
        let mut lines: HashMap<String, BTreeMap<String, Vec<Line>>> = HashMap::new();
        for line in std::fs::read_to_string(ledger).expect("nodes have run").lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [what, micros, run, path, process] = words[..] else { panic!("{line}") };
            let what = match what {
                "attempt" => What::Attempt,
                "start" => What::Start,
                "end" => What::End,
                _ => panic!("{line}"),
            };
            let (micros, process) = (micros.parse().expect("a number"), process.parse().expect("a number"));
            let of_run = lines.entry(run.to_owned()).or_default();
            of_run.entry(path.to_owned()).or_default().push(Line { what, micros, process });
        }
        for of_path in lines.values_mut().flat_map(BTreeMap::values_mut) {
            of_path.sort_by_key(|line| line.micros);
        }
        Judge { lines, judged: 0, twice: 0, late: 0 }
    }

    /// How often nodes of a run have begun.
    #[must_use]
    pub fn starts_of(&self, run: &str) -> usize {
        let lines = self.lines.get(run).into_iter().flat_map(BTreeMap::values).flatten();
        lines.filter(|line| line.what == What::Start).count()
    }

    /// Compares a run that has ended.
    ///
    /// A process that was stopped in the moment in which it was about to begin a node, or whose server has lost the run in that
    /// moment, begins the node when it continues, and another one may have executed it meanwhile. So the start is counted as
    /// [`late`](Self::late) if an attempt was given to the process before the record, and the process has not begun the node since.
    ///
    /// # Panics
    /// If a node began again after its completion was recorded, was recorded twice, or was recorded and has not ended.
    pub async fn compare<W: graphweft::Workflow>(&mut self, run: &RunHandle<W>) {
        let events = run.events_from(0).await.expect("a server answers");
        let (no_lines, none) = (BTreeMap::new(), Vec::new());
        let lines = self.lines.get(run.id()).unwrap_or(&no_lines);
        let mut recorded = HashMap::new();
        for event in events {
            let EventKind::NodeCompleted { .. } = event.kind else { continue };
            assert!(
                recorded.insert(event.path.clone(), ()).is_none(),
                "{}: {} is recorded twice",
                run.id(),
                event.path
            );
            let Some(of_node) = lines.get(&event.path) else { continue };
            let ends = of_node.iter().filter(|line| line.what == What::End).count();
            self.judged += 1;
            self.twice += u64::from(ends > 1);
            let time = event.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() + 1000;
            for start in of_node.iter().filter(|line| line.what == What::Start && line.micros > time) {
                let of_run = lines.get(WHOLE_RUN).unwrap_or(&none);
                assert!(
                    is_late(start, time, of_node.iter().chain(of_run)),
                    "{}: {} began again after its record at {time}: {of_node:#?}, {of_run:#?}",
                    run.id(),
                    event.path
                );
                self.late += 1;
            }
            assert!(ends > 0, "{}: {} is recorded and has not ended", run.id(), event.path);
        }
    }
}

/// Whether a start after the record is by an attempt from before it, in which the process had not begun the node. A process that
/// was stopped may read of the next attempt before it continues with that one.
fn is_late<'l>(start: &Line, recorded: u128, lines: impl Iterator<Item = &'l Line>) -> bool {
    let own: Vec<&Line> = lines.filter(|line| line.process == start.process && line.micros < start.micros).collect();
    let has_begun = |since: u128| own.iter().any(|line| line.what != What::Attempt && line.micros >= since);
    own.iter().any(|line| line.what == What::Attempt && line.micros <= recorded && !has_begun(line.micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_late_only_in_an_attempt_from_before_the_record_that_has_not_begun_the_node() {
        let line = |what, micros, process| Line { what, micros, process };
        let (start, recorded) = (line(What::Start, 90, 1), 50);
        let is_late = |lines: &[Line]| is_late(&start, recorded, lines.iter());
        let other = [line(What::Attempt, 20, 2), line(What::Start, 30, 2), line(What::End, 40, 2)];
        let with = |own: &[Line]| is_late(&[&other, own].concat());
        assert!(with(&[line(What::Attempt, 10, 1)]), "stopped before it began, and another one has executed it");
        assert!(!with(&[line(What::Attempt, 60, 1)]), "given after the record");
        assert!(
            with(&[line(What::Attempt, 10, 1), line(What::Attempt, 60, 1)]),
            "the former one continues behind the next"
        );
        assert!(
            !with(&[line(What::Attempt, 10, 1), line(What::Start, 30, 1), line(What::End, 40, 1)]),
            "executed in it"
        );
        assert!(!with(&[line(What::Attempt, 10, 1), line(What::Start, 60, 1)]), "begun late before");
        assert!(with(&[line(What::Start, 5, 1), line(What::Attempt, 10, 1)]), "begun in an attempt before that");
        assert!(!with(&[]), "given by no one");
    }
}
