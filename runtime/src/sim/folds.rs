//! The records of a run, folded one by one as they are made, by the function that the engine uses: for the run itself,
//! and for each child that is a workflow. The state of a live run has to be the same at every commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Map;

use super::behaviour;
use super::scenario::Scenario;
use super::sites::Sites;
use super::workflows::Workflows;
use crate::box_value::BoxValue;
use crate::compile;
use crate::core::{Derived, Run, TimeLimit};
use crate::driver::{NoValues, Replay, Taken, derived_record, empty};
use crate::engine::effective;
use crate::event::EventKind;
use crate::shared::Desk;
use crate::store::{Record, Stored};
use crate::table::Definition;

/// Folds the records of one run.
pub(super) struct Folds {
    scenario: Scenario,
    sites: Arc<Sites>,
    workflows: Workflows,
    history: Vec<Stored>,
    /// By the path of the child; that of the run itself is empty.
    folds: BTreeMap<String, Replay<()>>,
    /// The fold of the run over all records, as when a run is resumed; and the requests of nodes.
    whole: Option<(Replay<()>, Desk)>,
}

impl Folds {
    pub(super) fn new(scenario: &Scenario, sites: &Arc<Sites>, workflows: &Workflows) -> Folds {
        Folds {
            scenario: scenario.clone(),
            sites: Arc::clone(sites),
            workflows: workflows.clone(),
            history: Vec::new(),
            folds: BTreeMap::new(),
            whole: None,
        }
    }

    /// The fold of the run, or of a child of it.
    pub(super) fn of(&self, child: Option<&str>) -> Option<&Run<()>> {
        self.folds.get(child.unwrap_or_default()).map(|fold| &fold.run)
    }

    /// Takes the next record. Returns its consequences that are not recorded.
    ///
    /// # Errors
    /// Where it is impossible.
    pub(super) fn take(&mut self, stored: &Stored) -> Result<Vec<Record>, String> {
        self.history.push(stored.clone());
        self.fold(stored)
    }

    /// Takes a record that is folded only with the retry that follows it.
    pub(super) fn note(&mut self, stored: &Stored) {
        self.history.push(stored.clone());
    }

    /// Whether a record is that of an end, also one that does not count any more.
    pub(super) fn is_end(&self, number: u64) -> bool {
        self.history.iter().any(|stored| stored.seq == number && stored.record.kind.is_terminal())
    }

    /// Takes the record of a retry: folds the records that still count from the first one on. Returns them, with their
    /// consequences that are not recorded.
    ///
    /// # Errors
    /// Where one is impossible.
    pub(super) fn again(&mut self, stored: &Stored) -> Result<Vec<Stored>, String> {
        self.history.push(stored.clone());
        self.folds.clear();
        self.whole = None;
        let mut events = Vec::new();
        for stored in effective(self.history.clone()) {
            let says = |why| format!("keeps record {}, and that {why}", stored.seq);
            let derived = self.fold(&stored).map_err(says)?;
            let derived = derived.into_iter().map(|record| Stored { record, ..stored.clone() });
            events.extend([stored.clone()].into_iter().chain(derived));
        }
        events.retain(|at| at.seq != stored.seq);
        Ok(events)
    }

    pub(super) fn workflows(&self) -> &Workflows {
        &self.workflows
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The requests of nodes, by path.
    pub(super) fn requests(&self) -> Vec<(String, String)> {
        self.whole.as_ref().map(|(_, desk)| desk.snapshot()).unwrap_or_default()
    }

    /// The ids of the open questions.
    pub(super) fn open_questions(&self) -> Vec<String> {
        let open = self.whole.as_ref().map(|(_, desk)| desk.open_questions()).unwrap_or_default();
        open.into_iter().map(|question| question.id).collect()
    }

    fn fold(&mut self, stored: &Stored) -> Result<Vec<Record>, String> {
        self.fold_requests(stored)?;
        let (path, kind) = (&stored.record.path, &stored.record.kind);
        if let EventKind::RunStarted { input, state, limit, .. } = kind {
            let root = Arc::clone(&self.workflows.run);
            let limit = limit.as_ref().map(TimeLimit::from);
            return self.begin(String::new(), &root, BoxValue::new(input.clone()), state.clone(), None, limit);
        }
        let is_node = self.sites.is_node(path);
        if let (EventKind::RunCancelling, Some(_)) = (kind, self.sites.which_job(path)) {
            return self.take_in(path.clone(), stored);
        }
        let mut derived = match (self.sites.job(path), is_node) {
            (Some(job), true) => self.take_in(job.to_owned(), stored)?,
            // A request in a job does not change the graph of the job.
            (Some(_), false) => Vec::new(),
            (None, _) => self.take_in(String::new(), stored)?,
        };
        if let (EventKind::NodeStarted { inside: Some(_), .. }, false) = (kind, is_node)
            && let Some(which) = self.sites.which_job(path)
        {
            let job = Arc::clone(&self.workflows.jobs[which]);
            let input = behaviour::job_gets(&self.scenario, path);
            derived.extend(self.begin(
                path.clone(),
                &job,
                BoxValue::new(input),
                Map::new(),
                Some(path.clone()),
                None,
            )?);
        }
        Ok(derived)
    }

    /// Folds the requests as the driver does when it resumes a run.
    fn fold_requests(&mut self, stored: &Stored) -> Result<(), String> {
        if let EventKind::RunStarted { input, state, limit, .. } = &stored.record.kind {
            let mut replay = started(
                &self.workflows.run,
                BoxValue::new(input.clone()),
                state.clone(),
                None,
                limit.as_ref().map(TimeLimit::from),
            )?;
            replay.run.take_derived();
            self.whole = Some((replay, Desk::default()));
            return Ok(());
        }
        let Some((replay, desk)) = &mut self.whole else { return Ok(()) };
        desk.follow_signals(stored);
        let executable = compile::executable(&self.workflows.run);
        let taken = replay.take(stored.clone(), &mut NoValues(Arc::clone(&executable.program)));
        match taken.map_err(|halt| format!("is impossible: {halt:?}"))? {
            Taken::Request { stored, .. } => {
                desk.restore(*stored).map_err(|impossible| format!("is impossible: {impossible}"))?;
            }
            Taken::Applied(Some((path, Some(of_requests)))) => of_requests.settle(desk, &path),
            Taken::Applied(_) | Taken::Nothing => {}
        }
        replay.run.take_end();
        for (place, what) in replay.run.take_derived() {
            if what == Derived::Cancelled {
                desk.forget_below(&place.path());
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        at: String,
        definition: &Arc<Definition>,
        input: BoxValue,
        state: Map<String, serde_json::Value>,
        prefix: Option<String>,
        limit: Option<TimeLimit>,
    ) -> Result<Vec<Record>, String> {
        let mut replay = started(definition, input, state, prefix, limit)?;
        let derived = take_derived(&mut replay);
        self.folds.insert(at, replay);
        Ok(derived)
    }

    fn take_in(&mut self, job: String, stored: &Stored) -> Result<Vec<Record>, String> {
        let definition = if job.is_empty() {
            &self.workflows.run
        } else {
            &self.workflows.jobs[self.sites.which_job(&job).ok_or("no job")?]
        };
        let executable = compile::executable(definition);
        let Some(replay) = self.folds.get_mut(&job) else { return Ok(Vec::new()) };
        replay
            .take(stored.clone(), &mut NoValues(Arc::clone(&executable.program)))
            .map_err(|halt| format!("is impossible: {halt:?}"))?;
        Ok(take_derived(replay))
    }
}

fn started(
    definition: &Arc<Definition>,
    input: BoxValue,
    state: Map<String, serde_json::Value>,
    prefix: Option<String>,
    limit: Option<TimeLimit>,
) -> Result<Replay<()>, String> {
    let executable = compile::executable(definition);
    let started = (definition.start)(input);
    let edges = executable.program.layouts[0].edges_of(graphweft_graph::START, started.choice);
    let run = Run::new(Arc::clone(&executable.program), 0, true, state, prefix);
    let replay = Replay::new(run, &executable, definition, empty(started.choice, edges), limit);
    replay.map_err(|halt| format!("cannot begin: {halt:?}"))
}

fn take_derived(replay: &mut Replay<()>) -> Vec<Record> {
    replay.run.take_derived().into_iter().map(|(place, what)| derived_record(&place, what)).collect()
}
