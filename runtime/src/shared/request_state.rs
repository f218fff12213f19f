//! The state of the requests of nodes: the fold of their records. It depends only on paths and records. The
//! [`Desk`](super::Desk) knows which attempt holds a request and gets its result.

use std::collections::hash_map::Entry;
use std::time::SystemTime;

use foldhash::HashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::notes::Notes;
use super::signals::Signals;
use super::tree::Tree;
use crate::core::{Applied, AttemptEvent, AttemptState, Attempts, Outcome, Process, Verdict, pairs};
use crate::event::{AfterFailure, EventKind, some};
use crate::fault::Cause;
use crate::fingerprint::Fnv1a;
use crate::question::Questions;
use crate::signal::AwaitedSignal;
use crate::sorted::SortedMap;
use crate::state_write::StateWrite;
use crate::store::{Record, Stored};

/// Children, steps, questions, signals and timers, each with its records, folded.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct RequestState {
    /// By path: `checkout/plan/search:rust`.
    pub(super) items: Tree<Item>,
    /// Whether any of them was a graph that was entered.
    has_graphs: bool,
    /// By path: the records from before this process of the graphs inside children that were not done. The driver of
    /// each such graph folds them.
    before: Tree<Before>,
    pub(super) questions: Questions,
    /// Of the whole run, by its appended records.
    pub(super) signals: Signals,
    /// By path: how many withdrawals were noted but are not recorded yet.
    #[serde(with = "pairs")]
    withdrawing: HashMap<String, u32>,
    pub(super) notes: Notes,
}

/// Records of a graph inside a child.
#[derive(Clone, Default)]
struct Before(Vec<Stored>);

impl Serialize for Before {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(|stored| (stored.seq, stored.time, &stored.record.path, &stored.record.kind)))
    }
}

impl<'de> Deserialize<'de> for Before {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let records = Vec::<(u64, SystemTime, String, EventKind)>::deserialize(from)?;
        let stored = |(seq, time, path, kind)| Stored { seq, time, record: Record { path, kind } };
        Ok(Before(records.into_iter().map(stored).collect()))
    }
}

/// Which fold decides whether a record may follow the others of its path.
#[derive(Clone, Copy)]
enum FoldedBy {
    /// This fold: it is a request.
    This,
    /// The core of a child's graph: the path is a node of that graph. This fold follows what that core has accepted.
    /// When such a node has failed for good its requests are over; a failed request is made again by the next attempt
    /// of its node.
    ItsCore,
}

/// A request of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    /// The attempts at a child or a step.
    pub(crate) attempts: Attempts<(), Ended>,
    /// Whether it is a graph that was entered.
    pub(crate) inside: bool,
    /// The process in which the last attempt has begun, or was last resumed.
    pub(crate) process: Process,
    /// Its input.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub(crate) input: Option<Value>,
    /// The answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub(crate) answer: Option<Value>,
    /// Whether the answer was recorded before it was checked against its type, and is still unchecked.
    pub(crate) unchecked: bool,
    /// When a timer runs out.
    pub(crate) until: Option<SystemTime>,
    /// When the timer was set, in a run with a journal.
    pub(super) set_at: Option<SystemTime>,
    /// Whether the timer has run out.
    pub(crate) fired: bool,
    /// The hash of the question, if it is a question that was asked.
    pub(crate) asked: Option<QuestionHash>,
    /// Whether it is a wait for a signal.
    pub(crate) awaits: bool,
    /// The signal that was delivered to it.
    pub(crate) signal: Option<u64>,
    /// Whether its node has taken that.
    pub(crate) is_taken: bool,
    /// The number of the record with its result, once that is recorded.
    pub(crate) result: Option<u64>,
    /// Whether its node has dropped it without having taken the result.
    pub(crate) withdrawn: bool,
    /// How often its node has withdrawn it.
    pub(crate) withdrawals: u32,
}

/// How the attempts at a child or a step have ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ended {
    /// Its output, and what it wrote to the run's state.
    Completed { output: Value, writes: Vec<StateWrite> },
    /// How it failed for good, and the error as a value.
    Failed {
        cause: Cause,
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        error: Option<Value>,
    },
}

impl Outcome for Ended {
    fn verdict(&self) -> Verdict {
        match self {
            Ended::Completed { .. } => Verdict::Completed,
            Ended::Failed { cause, .. } if cause.is_cut_short() => Verdict::CutShort,
            Ended::Failed { .. } => Verdict::Failed,
        }
    }
}

impl Default for Item {
    fn default() -> Self {
        Item {
            attempts: Attempts::none(),
            inside: false,
            process: Process::This,
            input: None,
            answer: None,
            unchecked: false,
            until: None,
            set_at: None,
            fired: false,
            asked: None,
            awaits: false,
            signal: None,
            is_taken: false,
            result: None,
            withdrawn: false,
            withdrawals: 0,
        }
    }
}

/// A hash of a question's text, its data and the schema of its answer; the same in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuestionHash(u64);

impl QuestionHash {
    pub(crate) fn of(prompt: &str, payload: &Value, schema: &Value) -> QuestionHash {
        let mut hash = Fnv1a::default();
        // Writing to a hash never fails.
        let _ = serde_json::to_writer(&mut hash, &(prompt, payload, schema));
        QuestionHash(hash.finish())
    }
}

impl Item {
    /// Whether there is any record of it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.attempts.number() > 0 || self.asked.is_some() || self.awaits || self.until.is_some()
    }

    /// When a timer runs out, by a clock that shows `now`: if the clock was set back since the timer was set, the timer
    /// counts from now on.
    pub(super) fn runs_out(&mut self, now: SystemTime) -> Option<SystemTime> {
        if let (Some(until), Some(set_at)) = (self.until, self.set_at)
            && let Ok(back) = set_at.duration_since(now)
        {
            (self.until, self.set_at) = (until.checked_sub(back), Some(now));
        }
        self.until
    }

    /// Whether its result is recorded and final, unless the request is withdrawn.
    pub(crate) fn is_settled(&self) -> bool {
        self.result.is_some() && !self.withdrawn
    }

    /// Withdraws it, since its node has dropped it. An unchecked answer becomes void, and its caller gets an error. A
    /// signal goes to the next wait.
    fn withdraw(&mut self) -> Applied {
        self.withdrawn = true;
        self.withdrawals += 1;
        if self.awaits {
            self.drop_signal();
        }
        if std::mem::take(&mut self.unchecked) {
            (self.answer, self.result) = (None, None);
        }
        self.attempts.apply(AttemptEvent::Dropped)
    }

    fn drop_signal(&mut self) {
        (self.signal, self.is_taken, self.result) = (None, false, None);
    }

    /// Whether it is recorded as open, or has a signal that its node has not taken. One that was taken stays: what the
    /// node has done since then may have followed from it.
    pub(super) fn is_left(&self) -> bool {
        let is_wanted = !self.is_done() || (self.awaits && !self.is_taken);
        self.is_recorded() && is_wanted && !self.withdrawn
    }

    /// The attempt of its node is over, and another may follow, which retries the request if it had failed for good, unless it
    /// may not be repeated.
    fn caller_retries(&mut self) -> Applied {
        let was_failed = self.has_failed();
        self.attempts.apply(AttemptEvent::CallerRetries)?;
        if was_failed && !self.has_failed() {
            self.result = None;
        }
        Ok(())
    }

    /// The attempt that was completed is under way again, or dropped if its node has withdrawn it meanwhile.
    fn result_undone(&mut self) {
        if let Some(Ended::Completed { .. }) = self.attempts.end() {
            self.attempts = Attempts::known(self.attempts.number(), AttemptState::UnderWay(()));
            if self.withdrawn {
                // Always possible.
                let _dropped = self.attempts.apply(AttemptEvent::Dropped);
            }
        }
    }

    fn has_failed(&self) -> bool {
        matches!(self.attempts.end(), Some(Ended::Failed { .. }))
    }

    /// Whether an attempt at it is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.attempts.work().is_some()
    }

    /// Whether it has a result.
    pub(crate) fn is_done(&self) -> bool {
        self.attempts.end().is_some() || self.answer.is_some() || self.signal.is_some() || self.fired
    }

    /// Whether an attempt has begun of which it is not known whether it had its effect.
    pub(crate) fn is_cut_short(&self) -> bool {
        match self.attempts.state() {
            AttemptState::UnderWay(()) | AttemptState::CutShort => true,
            AttemptState::Ended(end) => end.verdict() == Verdict::CutShort,
            AttemptState::Due | AttemptState::Backoff { .. } => false,
        }
    }
}

impl RequestState {
    /// Folds a record of a request below a node that is not done, from before this process.
    ///
    /// # Errors
    /// If the record is impossible.
    pub(super) fn restore(&mut self, stored: Stored) -> Applied {
        let is_of_graph = matches!(stored.record.kind, EventKind::RunCancelling);
        if is_of_graph || self.is_in_a_graph(&stored.record.path) {
            self.before.get_or_insert(&stored.record.path).0.push(stored.clone());
        }
        let Stored { seq, time, record: Record { path, kind } } = stored;
        let folded_by = if self.is_in_a_graph(&path) { FoldedBy::ItsCore } else { FoldedBy::This };
        self.questions.apply(&path, &kind);
        let is_result = kind.is_result() || kind == EventKind::RequestReopened;
        match kind {
            EventKind::NodeStarted { attempt, inside, input, .. } => {
                self.started(&path, (attempt, inside.is_some(), input), folded_by)?.process = Process::Earlier;
            }
            EventKind::NodeCompleted { output, state, .. } => self.completed(&path, output, state, folded_by)?,
            kind => self.apply(&path, &kind, folded_by, Some(time))?,
        }
        if is_result {
            self.has_result(&path, seq);
        }
        Ok(())
    }

    /// Applies a record that a node is about to make of a request.
    ///
    /// # Errors
    /// If the record is impossible.
    pub(super) fn note(&mut self, path: &str, kind: &EventKind, now: Option<SystemTime>) -> Applied {
        // From here on it cannot be answered.
        if *kind == EventKind::RequestWithdrawn {
            self.questions.apply(path, kind);
            *self.withdrawing.entry(path.to_owned()).or_default() += 1;
        }
        self.apply(path, kind, FoldedBy::This, now)
    }

    /// The result that was noted for a step is not recorded.
    pub(super) fn result_undone(&mut self, path: &str) {
        if let Some(item) = self.items.get_mut(path).filter(|item| item.result.is_none()) {
            item.result_undone();
        }
    }

    /// A request with records of it that are not noted yet.
    pub(super) fn item_behind<'r>(&self, path: &str, records: impl Iterator<Item = &'r Record>) -> Option<Item> {
        let mut one = RequestState::default();
        *one.items.get_or_insert(path) = self.items.get(path).cloned().unwrap_or_default();
        for record in records.filter(|record| record.path == path) {
            one.apply(path, &record.kind, FoldedBy::This, None).ok()?;
        }
        one.items.get(path).cloned()
    }

    /// Applies a record that was appended with this number. Returns whether it is the result of a request.
    pub(super) fn recorded(&mut self, record: &Record, number: u64) -> bool {
        let Record { path, kind } = record;
        self.follow_signals(number, record);
        self.questions.apply(path, kind);
        // Its node may have dropped it, or have ended, while the record was being appended.
        if matches!(kind, EventKind::QuestionAsked { .. } | EventKind::RequestReopened)
            && self.items.get(path).is_none_or(|item| item.withdrawn)
        {
            self.questions.apply(path, &EventKind::RequestWithdrawn);
        }
        // Its node may be done by now, or have dropped it while the answer was being appended: see `Item::withdraw`.
        if let EventKind::Answered { answer, unchecked, .. } = kind
            && let Some(item) = self.items.get_mut(path)
            && !(*unchecked && self.withdrawing.contains_key(path))
        {
            (item.answer, item.unchecked) = (Some(answer.clone()), *unchecked);
        }
        // Its node may have dropped it while this was being appended.
        if let EventKind::SignalDelivered { signal } = kind
            && !self.withdrawing.contains_key(path)
        {
            self.delivered(path, *signal);
        }
        if *kind == EventKind::RequestWithdrawn
            && let Entry::Occupied(mut noted) = self.withdrawing.entry(path.clone())
        {
            *noted.get_mut() -= 1;
            if *noted.get() == 0 {
                noted.remove();
            }
        }
        let is_result = kind.is_result() || *kind == EventKind::RequestReopened;
        is_result && !self.items.is_empty() && self.has_result(path, number)
    }

    /// Applies a record of this number, of any kind, to the signals of the run.
    pub(super) fn follow_signals(&mut self, number: u64, record: &Record) {
        if let Some(path) = self.signals.apply(number, &record.path, &record.kind)
            && let Some(item) = self.items.get_mut(&path)
        {
            item.drop_signal();
        }
    }

    /// A signal was delivered to a wait, unless something has become of one of them before.
    fn delivered(&mut self, path: &str, signal: u64) {
        if self.signals.delivered(path) == Some(signal)
            && let Some(item) = self.items.get_mut(path).filter(|item| !item.withdrawn)
        {
            item.signal = Some(signal);
        }
    }

    /// What is to be delivered now; see [`Signals::deliveries`].
    pub(super) fn deliveries(&self, under_way: &SortedMap<String, u64>) -> Vec<(String, u64)> {
        let can_take = |path: &str| self.items.get(path).is_some_and(|item| item.awaits && !item.withdrawn);
        let is_held_up = |name: &str| {
            let mut withdrawing = self.withdrawing.keys();
            withdrawing.any(|path| self.signals.awaited(path) == Some(name) && self.signals.delivered(path).is_some())
        };
        self.signals.deliveries(under_way, can_take, is_held_up)
    }

    /// The open waits of nodes that are not over.
    pub(super) fn awaited_signals(&self) -> impl Iterator<Item = AwaitedSignal> {
        let is_live = |path: &str| self.items.get(path).is_some_and(|item| !item.withdrawn);
        self.signals.open_waits().filter(move |(path, _)| is_live(path)).map(|(_, wait)| wait)
    }

    /// An answer is known to have its type.
    pub(super) fn set_checked(&mut self, path: &str) {
        if let Some(item) = self.items.get_mut(path) {
            item.unchecked = false;
        }
    }

    /// Drops the requests of a node that is over. From here on its questions cannot be answered, even if the record
    /// that ends the node is not appended yet.
    pub(super) fn node_is_over(&mut self, path: &str) {
        self.forget_below(path);
        self.questions.withdraw(path);
    }

    /// The records from before this process of the graph inside a child whose attempt is resumed. To be called only
    /// once, since newer records are not among them. The records stay here for the children of the nodes inside.
    pub(super) fn take_records(&mut self, path: &str) -> Vec<Stored> {
        if let Some(item) = self.items.get_mut(path) {
            item.process = Process::This;
        }
        let own = self.before.get(path).into_iter();
        let mut records: Vec<Stored> =
            own.chain(self.before.below(path)).flat_map(|before| &before.0).cloned().collect();
        records.sort_unstable_by_key(|stored| stored.seq);
        records
    }

    fn started(
        &mut self,
        path: &str,
        (attempt, inside, input): (u32, bool, Option<Value>),
        folded_by: FoldedBy,
    ) -> Applied<&mut Item> {
        // A graph that is entered begins from its start, and so does a node in the place of one.
        if inside || (self.has_graphs && self.items.get(path).is_some_and(|item| item.inside)) {
            self.forget_below(path);
            if !self.is_in_a_graph(path)
                && let Some(before) = self.before.get_mut(path)
            {
                before.0.clear();
            }
        }
        self.has_graphs |= inside;
        let item = self.items.get_or_insert(path);
        match folded_by {
            FoldedBy::This => item.attempts.apply(AttemptEvent::Begun { number: attempt, work: () })?,
            FoldedBy::ItsCore => item.attempts = Attempts::known(attempt, AttemptState::UnderWay(())),
        }
        (item.inside, item.process, item.result) = (inside, Process::This, None);
        if input.is_some() {
            item.input = input;
        }
        Ok(item)
    }

    fn completed(
        &mut self,
        path: &str,
        output: Option<Value>,
        writes: Vec<StateWrite>,
        folded_by: FoldedBy,
    ) -> Applied {
        let output = output.unwrap_or_default();
        self.ended(path, Ended::Completed { output, writes }, folded_by)?;
        self.forget_below(path);
        Ok(())
    }

    /// Ends the attempts at a child, a step or a node.
    fn ended(&mut self, path: &str, end: Ended, folded_by: FoldedBy) -> Applied {
        let item = self.items.get_or_insert(path);
        match folded_by {
            FoldedBy::This => item.attempts.apply(AttemptEvent::Ended(end))?,
            FoldedBy::ItsCore => item.attempts = Attempts::known(item.attempts.number(), AttemptState::Ended(end)),
        }
        Ok(())
    }

    fn failed(&mut self, path: &str, until: SystemTime, folded_by: FoldedBy) -> Applied {
        let item = self.items.get_or_insert(path);
        match folded_by {
            FoldedBy::This => item.attempts.apply(AttemptEvent::RetryAt(until))?,
            FoldedBy::ItsCore => {
                item.attempts = Attempts::known(item.attempts.number(), AttemptState::Backoff { until });
            }
        }
        self.caller_retries_below(path)
    }

    fn apply(&mut self, path: &str, kind: &EventKind, folded_by: FoldedBy, now: Option<SystemTime>) -> Applied {
        match kind {
            EventKind::NodeStarted { attempt, inside, input, .. } => {
                self.started(path, (*attempt, inside.is_some(), input.clone()), folded_by)?;
            }
            EventKind::NodeCompleted { output, state, .. } => {
                self.completed(path, output.clone(), state.clone(), folded_by)?;
            }
            EventKind::NodeFailed { then: AfterFailure::RetryAt { time }, .. } => {
                self.failed(path, *time, folded_by)?
            }
            EventKind::NodeFailed { cause, error, .. } => {
                self.ended(path, Ended::Failed { cause: cause.clone(), error: error.clone() }, folded_by)?;
                match folded_by {
                    FoldedBy::This => self.caller_retries_below(path)?,
                    FoldedBy::ItsCore => self.forget_below(path),
                }
            }
            // Nodes in the graph of a child: their requests are over.
            EventKind::NodeCollecting { .. } | EventKind::NodeCancelled => self.forget_below(path),
            EventKind::Answered { answer, unchecked, .. } => {
                let item = self.items.get_or_insert(path);
                (item.answer, item.unchecked) = (Some(answer.clone()), *unchecked);
            }
            EventKind::AnswerAccepted => self.set_checked(path),
            EventKind::QuestionAsked { prompt, payload, schema, .. } => {
                self.items.get_or_insert(path).asked = Some(QuestionHash::of(prompt, payload, schema));
            }
            EventKind::AnswerRejected { .. } => {
                let item = self.items.get_or_insert(path);
                (item.answer, item.unchecked, item.result) = (None, false, None);
            }
            EventKind::SignalAwaited { .. } => self.items.get_or_insert(path).awaits = true,
            EventKind::SignalDelivered { signal } => self.delivered(path, *signal),
            EventKind::SignalTaken => self.items.get_or_insert(path).is_taken = true,
            EventKind::SignalRejected { .. } => self.items.get_or_insert(path).drop_signal(),
            EventKind::RequestWithdrawn => {
                self.items.get_or_insert(path).withdraw()?;
                self.forget_below(path);
            }
            EventKind::RequestReopened => self.items.get_or_insert(path).withdrawn = false,
            EventKind::TimerSet { until } => {
                let item = self.items.get_or_insert(path);
                (item.until, item.set_at) = (Some(*until), now);
            }
            EventKind::TimerFired => self.items.get_or_insert(path).fired = true,
            _ => {}
        }
        Ok(())
    }

    /// Sets the record number of a request's result. Returns whether there is such a request.
    fn has_result(&mut self, path: &str, number: u64) -> bool {
        let item = self.items.get_mut(path).filter(|item| item.is_done());
        item.map(|item| item.result = Some(number)).is_some()
    }

    /// Whether everything around a child, or around a node in the graph of one, has begun. Only for records that its
    /// driver makes; an answer to one of its questions may come after it is gone.
    pub(super) fn had_begun_around(&self, record: &Record, node: &str) -> bool {
        let is_of_driver = matches!(
            record.kind,
            EventKind::NodeStarted { .. }
                | EventKind::NodeCompleted { .. }
                | EventKind::NodeCollecting { .. }
                | EventKind::NodeFailed { .. }
        );
        let Some((parent, _)) = record.path.rsplit_once('/').filter(|_| is_of_driver) else { return true };
        if parent == node || self.items.get(parent).is_some() {
            return true;
        }
        // Requests below something that is over are dropped, and their records may come late.
        let mut above = parent;
        while let Some((around, _)) = above.rsplit_once('/').filter(|(around, _)| *around != node) {
            if self.items.get(around).is_some_and(|item| !item.is_under_way()) {
                return true;
            }
            above = around;
        }
        false
    }

    /// Whether a path is that of a node in the graph of a child, and not of a request.
    fn is_in_a_graph(&self, path: &str) -> bool {
        if !self.has_graphs {
            return false;
        }
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            if let Some(item) = self.items.get(above) {
                return item.inside;
            }
        }
        false
    }

    fn forget_below(&mut self, path: &str) {
        self.notes.forget(path);
        if !self.items.is_empty() {
            self.items.remove_below(path);
        }
        // A graph is folded from all of its records, also from those of a graph inside it that is done or begins anew.
        if !self.before.is_empty() && !self.is_in_a_graph(path) {
            self.before.remove_below(path);
        }
    }

    /// An attempt of a node, or of a child, has failed, and another may follow.
    ///
    /// # Errors
    /// As with [`note`](Self::note).
    pub(super) fn caller_retries_below(&mut self, path: &str) -> Applied {
        self.notes.forget(path);
        let mut applied = Ok(());
        self.items.change_below(path, &mut |item| {
            let outcome = item.caller_retries();
            if applied.is_ok() {
                applied = outcome;
            }
        });
        applied
    }
}
