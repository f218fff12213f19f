//! What follows what in the life of attempts, and what is resumed of them.

use std::time::{Duration, SystemTime};

use crate::core::{AttemptEvent, AttemptState, Attempts, Chance, Outcome, Process, Resumable, Resumption, Verdict};
use crate::fault::Fault;
use crate::options::{NodeOptions, RetryPolicy, Retryable};

/// What a request has ended with.
#[derive(Clone, Debug, PartialEq)]
struct End(Verdict);

impl Outcome for End {
    fn verdict(&self) -> Verdict {
        self.0
    }
}

type Event = AttemptEvent<(), End>;

fn begun(number: u32) -> Event {
    AttemptEvent::Begun { number, work: () }
}

fn ended(verdict: Verdict) -> Event {
    AttemptEvent::Ended(End(verdict))
}

const LATER: SystemTime = SystemTime::UNIX_EPOCH;

fn after(events: impl IntoIterator<Item = Event>) -> Attempts<(), End> {
    let mut attempts = Attempts::none();
    for event in events {
        attempts.apply(event).unwrap();
    }
    attempts
}

fn refused(attempts: &mut Attempts<(), End>, event: Event) -> String {
    let before = format!("{attempts:?}");
    let impossible = attempts.apply(event).expect_err("this cannot happen");
    assert_eq!(format!("{attempts:?}"), before, "an impossible event changes nothing");
    impossible.to_string()
}

fn once() -> NodeOptions {
    NodeOptions { at_most_once: true, ..NodeOptions::default() }
}

fn repeatable() -> NodeOptions {
    NodeOptions::default()
}

#[test]
fn attempts_begin_one_after_the_other() {
    let mut attempts = after([begun(1), Event::RetryAt(LATER), Event::DelayOver, begun(2)]);
    assert_eq!(attempts.number(), 2);
    assert_eq!(refused(&mut attempts, begun(4)), "`Begun` is impossible while attempt 2 is under way");
}

#[test]
fn the_next_attempt_of_a_request_ends_its_delay() {
    assert_eq!(after([begun(1), Event::RetryAt(LATER), begun(2)]).number(), 2);
}

#[test]
fn only_an_attempt_that_is_under_way_fails() {
    let mut attempts = after([begun(1), Event::RetryAt(LATER)]);
    let text = refused(&mut attempts, Event::RetryAt(LATER));
    assert_eq!(text, "`RetryAt` is impossible while attempt 2 has its time");
    let mut none = Attempts::none();
    assert_eq!(refused(&mut none, ended(Verdict::Completed)), "`Ended` is impossible while attempt 1 is due");
}

#[test]
fn nothing_begins_after_the_end() {
    let mut attempts = after([begun(1), ended(Verdict::Completed)]);
    assert_eq!(refused(&mut attempts, begun(2)), "`Begun` is impossible while attempt 1 was the last");
}

#[test]
fn a_result_outlives_its_caller_and_a_failure_does_not() {
    let completed = after([begun(1), ended(Verdict::Completed), Event::CallerRetries]);
    assert_eq!(completed.end(), Some(&End(Verdict::Completed)));
    let failed = after([begun(1), ended(Verdict::Failed), Event::CallerRetries]);
    assert_eq!(
        failed.resumption(&repeatable(), Resumable::FromItsTop, Process::Earlier),
        Some(Resumption::Next { number: 2, after: None })
    );
}

#[test]
fn a_retried_caller_forgives_failed_attempts_once_all_have_failed() {
    let policy = RetryPolicy::with_max_attempts(2);
    let in_between = after([begun(1), Event::RetryAt(LATER), Event::CallerRetries, begun(2)]);
    assert!(!in_between.may_be_followed(&policy), "the second is still the last");
    let failed = [begun(1), Event::RetryAt(LATER), begun(2), ended(Verdict::Failed), Event::CallerRetries, begun(3)];
    assert!(after(failed).may_be_followed(&policy));
}

#[test]
fn what_a_process_has_interrupted_begins_again_and_what_may_run_once_has_failed() {
    let interrupted = after([begun(1)]);
    let again = interrupted.resumption(&repeatable(), Resumable::FromItsTop, Process::Earlier);
    assert_eq!(again, Some(Resumption::Again { number: 1 }));
    let failed = interrupted.resumption(&once(), Resumable::FromItsTop, Process::Earlier);
    assert_eq!(failed, Some(Resumption::Fail { number: 1, fault: Fault::Interrupted }));
}

#[test]
fn what_is_dropped_and_asked_for_again_in_one_poll_was_not_interrupted() {
    let failed = after([begun(1)]).resumption(&once(), Resumable::FromItsTop, Process::This);
    assert_eq!(failed, Some(Resumption::Fail { number: 1, fault: Fault::Dropped }));
}

#[test]
fn what_was_dropped_may_not_run_once_more_either() {
    for dropped in [Event::Dropped, Event::CallerRetries] {
        let dropped = after([begun(1), dropped]);
        let failed = dropped.resumption(&once(), Resumable::FromItsTop, Process::Earlier);
        assert_eq!(failed, Some(Resumption::Fail { number: 1, fault: Fault::Dropped }));
        let again = dropped.resumption(&repeatable(), Resumable::FromItsTop, Process::Earlier);
        assert_eq!(again, Some(Resumption::Again { number: 1 }));
    }
}

#[test]
fn what_was_cut_short_stays_so_for_every_caller() {
    let end = || ended(Verdict::CutShort);
    for before in [vec![begun(1)], vec![begun(1), Event::Dropped]] {
        let attempts = after(before.into_iter().chain([end(), Event::CallerRetries, Event::CallerRetries]));
        assert_eq!(attempts.end(), Some(&End(Verdict::CutShort)));
        for options in [once(), repeatable()] {
            assert_eq!(attempts.resumption(&options, Resumable::FromItsTop, Process::Earlier), None);
        }
    }
}

#[test]
fn a_graph_continues_from_its_records_and_begins_anew_under_another_number_without_them() {
    let interrupted = after([begun(1)]);
    for options in [once(), repeatable()] {
        let continued = interrupted.resumption(&options, Resumable::FromRecords, Process::Earlier);
        assert_eq!(continued, Some(Resumption::Continue { number: 1 }));
    }
    let anew = Some(Resumption::Next { number: 2, after: None });
    assert_eq!(interrupted.resumption(&repeatable(), Resumable::FromRecords, Process::This), anew);
    let dropped = after([begun(1), Event::Dropped]);
    assert_eq!(dropped.resumption(&repeatable(), Resumable::FromRecords, Process::Earlier), anew);
}

#[test]
fn a_delay_outlives_the_process_and_the_caller() {
    let delayed = after([begun(1), Event::RetryAt(LATER), Event::Dropped, Event::CallerRetries]);
    let next = delayed.resumption(&once(), Resumable::FromItsTop, Process::Earlier);
    assert_eq!(next, Some(Resumption::Next { number: 2, after: Some(LATER) }));
}

#[test]
fn the_delay_grows_with_the_failures() {
    let policy = RetryPolicy::with_max_attempts(3).initial_delay(Duration::from_secs(1)).jitter(0.0);
    let chance = || Chance { now: LATER, random: 0.0 };
    let delay = |attempts: &Attempts<(), End>| {
        attempts
            .next_attempt(&policy, Retryable::AfterPolicy, chance)
            .map(|time| time.duration_since(LATER).unwrap().as_secs())
    };
    let mut attempts = after([begun(1)]);
    assert_eq!(delay(&attempts), Some(1));
    for event in [Event::RetryAt(LATER), begun(2)] {
        attempts.apply(event).unwrap();
    }
    assert_eq!(delay(&attempts), Some(2));
    assert_eq!(attempts.next_attempt(&policy, Retryable::No, chance), None, "an error that is not retried");
    for event in [Event::RetryAt(LATER), begun(3)] {
        attempts.apply(event).unwrap();
    }
    assert_eq!(delay(&attempts), None, "the third attempt is the last");
}

#[test]
fn the_state_of_another_fold_is_taken_over_as_it_is() {
    let known: Attempts<(), End> = Attempts::known(3, AttemptState::Backoff { until: LATER });
    let policy = RetryPolicy::with_max_attempts(4);
    assert_eq!((known.number(), known.may_be_followed(&policy)), (3, true));
}
