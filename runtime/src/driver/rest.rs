//! Coming to rest: nodes wait for answers and for timers of their own, and nothing else of the run moves.

use super::run::Driver;

impl Driver {
    /// Counts the graph of a child as moving, from an occurrence in it until its driver rests. It begins to count
    /// before the cause of the occurrence stops counting, so that the run never looks at rest in between. Called for an
    /// occurrence, not for every poll: the driver of the run is woken when nothing moves and then polls the child, so
    /// if each poll counted as a move the two would never come to rest.
    pub(super) fn wake_up(&mut self) {
        if let Some(within) = &self.within {
            within.moves(&self.shared);
        }
    }

    pub(super) fn rest(&mut self) {
        if let Some(within) = self.within.as_ref().filter(|_| self.timers.is_empty()) {
            within.rests();
        }
    }

    /// The generation in which the run has come to rest, if that is news: its nodes wait for answers and for timers of
    /// their own, and for nothing else. A run that was asked to end never rests, since its driver has yet to process
    /// the request.
    pub(super) fn has_come_to_rest(&mut self) -> Option<u64> {
        let journal = self.shared.journal.as_ref().filter(|_| self.is_whole)?;
        let pulse = &self.shared.pulse;
        let generation = pulse.still()?;
        let is_news = self.still_at != Some(generation) || pulse.is_unwanted() || !journal.is_at_rest();
        // Of what is executed elsewhere and not accepted there, no result would have it resumed: it counts as running.
        let may_rest = !pulse.is_elsewhere()
            && !journal.cancel_is_recorded()
            && journal.halted().is_none()
            && self.timers.are_limits();
        (is_news && may_rest).then_some(generation)
    }

    /// Reports that the run is at rest, in its header and to callers that wait for it. If records are still being
    /// appended, they come first, and this is checked again after them: one may be an answer that makes a node move.
    pub(super) fn come_to_rest(&mut self, generation: u64) {
        let Some(journal) = &self.shared.journal else { return };
        let pulse = &self.shared.pulse;
        // An attempt that something other than its requests may wake would be cut off in the middle of its work.
        let (is_unwanted, may_leave) = (pulse.is_unwanted(), pulse.may_repeat_all() && journal.desk.are_idle());
        let leaves = is_unwanted && may_leave;
        let next_timer = journal.desk.next_timer(self.shared.env.clock.now());
        let wake_at = next_timer.into_iter().chain(self.run.next_limit()).min();
        if !journal.rest(wake_at, || pulse.generation() == generation) {
            return;
        }
        if is_unwanted {
            pulse.take_unwanted();
        }
        let is_new = self.still_at != Some(generation);
        self.still_at = Some(generation);
        self.leaves = leaves;
        // A run that has to stay in memory would be asked to leave again and again.
        if is_new && may_leave && !leaves {
            self.shared.env.rests(&self.shared, generation);
        }
    }
}
