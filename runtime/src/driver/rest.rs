//! Coming to rest: nodes wait for answers and for timers of their own, and nothing else of the run moves.

use super::run::Driver;

impl Driver {
    /// The graph of a child is counted among what moves as long as it is at work: from when something has happened in it,
    /// and before that does not count any more. Not whenever it is looked at: where that is done by the driver of the run,
    /// which is told when nothing moves any more, the two would never come to rest.
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

    /// The generation in which nothing of the run moves, where that is news: nodes wait for answers and timers of their
    /// own, and for nothing else. A run that was asked to end never rests: its driver hears of that next.
    pub(super) fn has_come_to_rest(&mut self) -> Option<u64> {
        let journal = self.shared.journal.as_ref().filter(|_| self.is_whole)?;
        let pulse = &self.shared.pulse;
        let generation = pulse.still()?;
        let is_news = self.still_at != Some(generation) || pulse.is_unwanted() || !journal.is_at_rest();
        let may_rest = !journal.cancel_is_recorded() && journal.halted().is_none() && self.timers.are_limits();
        (is_news && may_rest).then_some(generation)
    }

    /// Says so, to whoever waits for the run and in its header. Where something is on its way into the journal, an answer
    /// perhaps, which may have something move, that is waited for first; then it is looked at again.
    pub(super) fn is_now_still(&mut self, generation: u64) {
        let Some(journal) = &self.shared.journal else { return };
        let pulse = &self.shared.pulse;
        // What could be woken by something else would be cut off in the middle of that.
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
        // One that has to stay would be told to go again and again.
        if is_new && may_leave && !leaves {
            self.shared.env.rests(&self.shared, generation);
        }
    }
}
