//! The progress of a run, as reported to callers that wait for it.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Running,
    /// Nothing moves before a question is answered or a timer runs out.
    Waiting,
    Over,
    /// It is no longer driven here, and has not ended.
    Halted,
}

/// The last report. Every run has one, and most are read once: so it is smaller than a channel.
pub(crate) struct ProgressReports {
    /// How many reports there were before, times four, and the [code](Progress::code) of the last one.
    last: AtomicU64,
    reported: Notify,
}

/// A report, which another one follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProgressReport(u64);

impl Progress {
    const ALL: [Progress; 4] = [Progress::Running, Progress::Waiting, Progress::Over, Progress::Halted];

    fn code(self) -> u64 {
        self as u64
    }
}

impl ProgressReport {
    pub(crate) fn progress(self) -> Progress {
        Progress::ALL[(self.0 % 4) as usize]
    }
}

impl ProgressReports {
    pub(crate) fn new(first: Progress) -> Self {
        ProgressReports { last: AtomicU64::new(first.code()), reported: Notify::new() }
    }

    pub(crate) fn last(&self) -> ProgressReport {
        ProgressReport(self.last.load(Ordering::Acquire))
    }

    pub(crate) fn now(&self) -> Progress {
        self.last().progress()
    }

    /// ProgressReports progress, unless the run is over or gone. That it runs is reported once.
    pub(crate) fn report(&self, progress: Progress) {
        let next = |last: u64| {
            let before = ProgressReport(last).progress();
            let stays = matches!(before, Progress::Over | Progress::Halted);
            let is_same = before == Progress::Running && progress == Progress::Running;
            (!stays && !is_same).then(|| (last / 4 + 1) * 4 + progress.code())
        };
        if self.last.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok() {
            self.reported.notify_waiters();
        }
    }

    /// Waits for a report of this kind, and returns it. Cancel safe.
    pub(crate) async fn until(&self, is_wanted: impl Fn(ProgressReport) -> bool) -> ProgressReport {
        loop {
            // From here on it hears of reports, also before it is polled.
            let reported = self.reported.notified();
            let last = self.last();
            if is_wanted(last) {
                return last;
            }
            reported.await;
        }
    }
}
