//! The records of the run that is played, as the disk gets them, and the process that has the run.

use super::at_once::at_once;
use super::follow::Follower;
use super::originals::{self, Original};
use crate::event::EventKind;
use crate::store::{QuestionQuery, RunHeader, RunKey, Store, Stored};

/// The run that is played now, and those that it comes from by forks.
pub(super) struct Tracks {
    pub(super) now: Track,
    /// A fork of the run that was not over then.
    pub(super) early: Option<Track>,
    pub(super) originals: Vec<Original>,
    /// Forks that were requested and forked, and are cancelled.
    pub(super) links: Vec<Track>,
    /// The runs that have started over before it.
    pub(super) before: Vec<Track>,
    /// The first guarantee that a record has broken.
    pub(super) broken: Option<String>,
}

pub(super) struct Track {
    pub(super) run: Option<RunKey>,
    pub(super) id: String,
    pub(super) records: Vec<Stored>,
    /// The fold of the records.
    pub(super) follower: Follower,
    /// Whether the run waits since the last commit.
    pub(super) rests: bool,
    /// The processes that had the run, each with its first record.
    pub(super) owners: Vec<(u64, u32)>,
}

impl Track {
    fn new(run: Option<RunKey>, id: String, follower: Follower) -> Track {
        Track { run, id, records: Vec::new(), follower, rests: false, owners: Vec::new() }
    }

    /// # Errors
    /// The guarantee that its new records break.
    fn refresh(&mut self, store: &dyn Store) -> Result<(), String> {
        let Some(run) = self.run else { return Ok(()) };
        let from = self.records.len() as u64;
        let mut held = Ok(());
        for stored in at_once(store.read(run, from, usize::MAX)).expect("the store itself is sound") {
            held = held.and(self.follower.follow(&stored));
            self.records.push(stored);
        }
        held = held.and(self.follower.commits());
        held = held.and(self.knows_open_questions(store, run));
        if std::mem::take(&mut self.rests) {
            held = held.and(self.follower.rests());
        }
        held.map_err(|why| if self.id == originals::EARLY { format!("in the early fork: {why}") } else { why })
    }

    /// # Errors
    /// If the open questions of the run in the store are not those by its records.
    fn knows_open_questions(&self, store: &dyn Store, run: RunKey) -> Result<(), String> {
        let Some(mut expected) = self.follower.open_questions() else { return Ok(()) };
        let all = at_once(store.open_questions(QuestionQuery::default())).expect("the store itself is sound");
        let mut found: Vec<String> =
            all.into_iter().filter(|asked| asked.run == run).map(|asked| asked.question.question.id).collect();
        expected.sort_unstable();
        found.sort_unstable();
        if found == expected {
            return Ok(());
        }
        Err(format!("has the open questions {expected:?} by its records, and the store has {found:?}"))
    }

    /// # Errors
    /// How the next run begins otherwise than it should: with its start, and the signals that were not taken.
    fn is_followed_by(&self, store: &dyn Store, next: &RunHeader) -> Result<(), String> {
        let header = at_once(store.header(&self.id)).map_err(|error| error.to_string())?;
        let (of, id) = (next.previous.as_ref(), header.as_ref().and_then(|header| header.next.as_ref()));
        if (of, id) != (Some(&self.id), Some(&next.id)) {
            return Err(format!("`{}` has started over, and its next run is {id:?}, which follows {of:?}", self.id));
        }
        let last = self.records.last().map(|last| &last.record.kind);
        if !matches!(last, Some(EventKind::RunStartedOver { next: id }) if *id == next.id) {
            return Err(format!("has started over, and its last record is {last:?}"));
        }
        let records = at_once(store.read(next.key, 0, usize::MAX)).map_err(|error| error.to_string())?;
        let left = self.follower.signals_not_taken();
        let left: Vec<_> = left.into_iter().map(|signal| &self.records[signal as usize].record.kind).collect();
        let got = self.records.iter().flat_map(|stored| match &stored.record.kind {
            EventKind::SignalReceived { name, id: Some(id), .. } => vec![(name.clone(), id.clone())],
            EventKind::SignalsKnown { signals } => signals.clone(),
            _ => Vec::new(),
        });
        let ids_left: Vec<(&String, &String)> = left
            .iter()
            .filter_map(|kind| match kind {
                EventKind::SignalReceived { name, id: Some(id), .. } => Some((name, id)),
                _ => None,
            })
            .collect();
        let signals: Vec<_> = got.filter(|(name, id)| !ids_left.contains(&(name, id))).collect();
        let knows_some = !signals.is_empty();
        let known = EventKind::SignalsKnown { signals };
        let known = knows_some.then_some(&known);
        let left: Vec<_> = known.into_iter().chain(left.iter().copied()).collect();
        let gone_over: Vec<_> = records.iter().skip(1).map(|stored| &stored.record.kind).collect();
        let begins =
            matches!(&records[0].record.kind, EventKind::RunStarted { previous: Some(of), .. } if *of == self.id);
        match begins && left == gone_over {
            true => Ok(()),
            false => Err(format!("has the signals {left:?} left, and the next run begins with {gone_over:?}")),
        }
    }

    pub(super) fn owner(&self) -> Option<u32> {
        self.owners.last().map(|(_, process)| *process)
    }

    /// How many records there are before another process has taken the run over from this one.
    pub(super) fn known_to(&self, process: u32) -> usize {
        let last = self.owners.iter().rposition(|(_, owner)| *owner == process);
        let next = last.and_then(|last| self.owners.get(last + 1));
        next.map_or(self.records.len(), |(from, _)| *from as usize).min(self.records.len())
    }

    /// Whether the run belonged to a process, and belongs to another.
    pub(super) fn is_lost_to(&self, process: u32) -> bool {
        self.owner() != Some(process) && self.owners.iter().any(|(_, owner)| *owner == process)
    }
}

impl Tracks {
    pub(super) fn new(follower: Follower) -> Tracks {
        let now = Track::new(None, originals::id(0), follower);
        Tracks { now, early: None, originals: Vec::new(), links: Vec::new(), before: Vec::new(), broken: None }
    }

    pub(super) fn of(&mut self, run: RunKey) -> Option<&mut Track> {
        self.all().find(|track| track.run == Some(run))
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Track> {
        [&mut self.now].into_iter().chain(&mut self.early).chain(&mut self.links).chain(&mut self.before)
    }

    /// The track of a run; that of the run that is played now for all except other forks, and those before it.
    pub(super) fn by_id(&self, id: &str) -> &Track {
        self.early.iter().chain(&self.links).chain(&self.before).find(|track| track.id == id).unwrap_or(&self.now)
    }

    /// The id of the run that is played now.
    pub(super) fn id(&self) -> &str {
        &self.now.id
    }

    /// The run that is played now has started over: it is over, and the next one is played from here on.
    pub(super) fn plays_next(&mut self, store: &dyn Store, header: &RunHeader) {
        self.refresh(store);
        let follower = self.now.follower.of_fork(None);
        let track = std::mem::replace(&mut self.now, Track::new(Some(header.key), header.id.clone(), follower));
        let held = track.is_followed_by(store, header);
        self.before.push(track);
        self.breaks(held);
    }

    /// The run that the records are of from here on.
    pub(super) fn plays(&mut self, store: &dyn Store, header: &RunHeader) {
        let Some(before) = self.now.run else { return self.now.run = Some(header.key) };
        if self.of(header.key).is_some() {
            return;
        }
        let (origin, at) = header.forked_from.clone().unzip();
        let origin = self.by_id(&origin.unwrap_or_default());
        let held = originals::is_forked_as(store, &origin.id, &origin.records, header);
        let fork = Track::new(Some(header.key), header.id.clone(), origin.follower.of_fork(at));
        if header.id == originals::EARLY {
            self.early = Some(fork);
        } else if originals::is_link(&header.id) {
            self.links.push(fork);
        } else {
            let track = std::mem::replace(&mut self.now, fork);
            let id = originals::id(self.originals.len());
            self.originals.push(Original::new(store, before, &id, track.records, track.follower.events()));
        }
        self.breaks(held);
    }

    /// Reads the new records of the journal.
    pub(super) fn refresh(&mut self, store: &dyn Store) {
        let held = self.all().map(|track| track.refresh(store)).fold(Ok(()), Result::and);
        self.breaks(held);
    }

    pub(super) fn breaks(&mut self, held: Result<(), String>) {
        if let Err(broken) = held {
            self.broken.get_or_insert(broken);
        }
    }
}
