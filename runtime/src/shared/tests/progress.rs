//! ProgressReports of progress.

use std::sync::Arc;

use futures_util::FutureExt;

use crate::shared::progress::{Progress, ProgressReports};

#[test]
fn the_end_of_a_run_is_the_last_report() {
    for end in [Progress::Over, Progress::Halted] {
        let reports = ProgressReports::new(Progress::Running);
        reports.report(end);
        let last = reports.last();
        for later in [Progress::Running, Progress::Waiting, Progress::Over, Progress::Halted] {
            reports.report(later);
        }
        assert_eq!((reports.now(), reports.last()), (end, last));
    }
}

#[test]
fn that_a_run_waits_again_is_another_report_and_that_it_still_runs_is_none() {
    let reports = ProgressReports::new(Progress::Running);
    let running = reports.last();
    reports.report(Progress::Running);
    assert_eq!(reports.last(), running);

    reports.report(Progress::Waiting);
    let waiting = reports.last();
    let mut next = Box::pin(reports.until(|next| next != waiting));
    assert!((&mut next).now_or_never().is_none());
    reports.report(Progress::Waiting);
    let again = next.now_or_never().expect("it was reported again");
    assert_eq!((again.progress(), again == waiting), (Progress::Waiting, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_report_is_missed_between_the_look_and_the_wait() {
    for _ in 0..2000 {
        let reports = Arc::new(ProgressReports::new(Progress::Running));
        let ends = tokio::spawn({
            let reports = Arc::clone(&reports);
            async move { reports.report(Progress::Over) }
        });
        let seen = reports.until(|now| now.progress() != Progress::Running).await;
        assert_eq!(seen.progress(), Progress::Over);
        ends.await.unwrap();
    }
}
