//! Metrics, by the facade of the crate `metrics`. Without the feature of that name all of this is empty.

/// Whether anything is measured.
pub(crate) const IS_ON: bool = cfg!(feature = "metrics");

#[cfg(feature = "metrics")]
pub(crate) use on::{Queued, Stopwatch, commit_begins, describe, questions_changed, run_ended, run_started};

#[cfg(not(feature = "metrics"))]
pub(crate) use off::{Queued, Stopwatch, commit_begins, describe, questions_changed, run_ended, run_started};

#[cfg(feature = "metrics")]
mod on {
    use std::time::{Duration, Instant};

    use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

    use crate::trace::plain_name;

    const STARTED: &str = "graphweft.runs.started";
    const ENDED: &str = "graphweft.runs.ended";
    const ATTEMPTS: &str = "graphweft.attempt.duration";
    const QUEUED: &str = "graphweft.attempts.queued";
    const COMMITS: &str = "graphweft.commit.duration";
    const OPENED: &str = "graphweft.questions.opened";
    const CLOSED: &str = "graphweft.questions.closed";

    /// Says what the metrics are. For the recorder that is there now.
    pub(crate) fn describe() {
        describe_counter!(STARTED, Unit::Count, "Runs that were started.");
        describe_counter!(ENDED, Unit::Count, "Runs that have ended.");
        describe_histogram!(ATTEMPTS, Unit::Seconds, "How long an attempt at a node has worked, without its waits.");
        describe_gauge!(QUEUED, Unit::Count, "Attempts that wait for a permit.");
        describe_histogram!(COMMITS, Unit::Seconds, "How long the store has taken to append records of a run.");
        describe_counter!(OPENED, Unit::Count, "Questions that were asked.");
        describe_counter!(CLOSED, Unit::Count, "Questions that were answered or withdrawn.");
    }

    pub(crate) fn run_started(workflow: &str) {
        counter!(STARTED, "workflow" => workflow.to_owned()).increment(1);
    }

    pub(crate) fn run_ended(workflow: &str, outcome: &'static str) {
        counter!(ENDED, "workflow" => workflow.to_owned(), "outcome" => outcome).increment(1);
    }

    pub(crate) fn questions_changed(opened: usize, closed: usize) {
        if opened > 0 {
            counter!(OPENED).increment(opened as u64);
        }
        if closed > 0 {
            counter!(CLOSED).increment(closed as u64);
        }
    }

    /// A commit is under way. Call what this returns with how it has ended.
    pub(crate) fn commit_begins() -> impl FnOnce(&'static str) {
        let began = Instant::now();
        move |outcome| histogram!(COMMITS, "outcome" => outcome).record(began.elapsed())
    }

    /// Counts an attempt that waits for a permit, until it is dropped.
    pub(crate) struct Queued;

    impl Queued {
        pub(crate) fn new() -> Self {
            gauge!(QUEUED).increment(1);
            Queued
        }
    }

    impl Drop for Queued {
        fn drop(&mut self) {
            gauge!(QUEUED).decrement(1);
        }
    }

    /// Measures how long an attempt works.
    pub(crate) struct Stopwatch(Option<Box<Measured>>);

    struct Measured {
        path: String,
        worked: Duration,
        since: Option<Instant>,
    }

    impl Stopwatch {
        pub(crate) fn none() -> Self {
            Stopwatch(None)
        }

        pub(crate) fn of(path: impl FnOnce() -> String) -> Self {
            Stopwatch(Some(Box::new(Measured { path: path(), worked: Duration::ZERO, since: None })))
        }

        pub(crate) fn runs(&mut self) {
            if let Some(measured) = &mut self.0 {
                measured.since.get_or_insert_with(Instant::now);
            }
        }

        pub(crate) fn pauses(&mut self) {
            if let Some(measured) = &mut self.0 {
                measured.worked += measured.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            }
        }

        pub(crate) fn ends(&mut self, is_completed: impl FnOnce() -> bool) {
            self.pauses();
            let Some(Measured { path, worked, .. }) = self.0.take().map(|measured| *measured) else { return };
            let workflow = path.split('/').next().unwrap_or_default().to_owned();
            let outcome = if is_completed() { "completed" } else { "failed" };
            let labels =
                [("workflow", workflow), ("node", plain_name(&path).to_owned()), ("outcome", outcome.to_owned())];
            histogram!(ATTEMPTS, &labels).record(worked);
        }
    }
}

#[cfg(not(feature = "metrics"))]
mod off {
    pub(crate) fn describe() {}

    pub(crate) fn run_started(_: &str) {}

    pub(crate) fn run_ended(_: &str, _: &'static str) {}

    pub(crate) fn questions_changed(_: usize, _: usize) {}

    pub(crate) fn commit_begins() -> impl FnOnce(&'static str) {
        |_| {}
    }

    pub(crate) struct Queued;

    impl Queued {
        pub(crate) fn new() -> Self {
            Queued
        }
    }

    pub(crate) struct Stopwatch;

    impl Stopwatch {
        pub(crate) fn none() -> Self {
            Stopwatch
        }

        pub(crate) fn of(_: impl FnOnce() -> String) -> Self {
            Stopwatch
        }

        pub(crate) fn runs(&mut self) {}

        pub(crate) fn pauses(&mut self) {}

        pub(crate) fn ends(&mut self, _: impl FnOnce() -> bool) {}
    }
}
