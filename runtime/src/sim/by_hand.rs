//! Small scenarios of cases that are rare in random ones: that they happen at all, and their result.

use super::check::judged;
use super::play::Played;
use crate::engine::Outcome;
use crate::fault::Fault;

fn played(scenario: &str) -> Played {
    judged(&serde_json::from_str(scenario).expect("a scenario")).unwrap_or_else(|why| panic!("{why}"))
}

fn is_completed(played: &Played) -> bool {
    played.runs.iter().all(|run| matches!(run.outcome, Outcome::Completed(_)))
}

/// A node that sleeps, and a takeover when its start is recorded.
fn taken_over_at_its_start(special: &str, how: &str) -> Played {
    played(&format!(
        r#"{{"flow": {{"graph": "START => n2; n2 => END",
                "nodes": {{"n2": {{"does": [{{"Sleep": {{"millis": 50}}}}] {special}}}}}}},
            "faults": [{{"at": 1, "carried_out": {how}, "how": {{"TakenOver": {{}}}}}}]}}"#
    ))
}

#[test]
fn a_node_that_runs_when_its_run_is_taken_over_runs_once_more() {
    let played = taken_over_at_its_start("", "true");

    assert!(is_completed(&played));
    assert_eq!((played.takeovers.taken, played.repeated), (1, 1));
}

#[test]
fn a_node_that_may_run_at_most_once_does_not_run_again_when_its_run_is_taken_over() {
    let played = taken_over_at_its_start(r#", "at_most_once": true"#, "true");

    let Outcome::Failed(failure) = &played.runs[0].outcome else { panic!("{played:?}") };
    assert_eq!(failure.cause.fault, Some(Fault::Interrupted));
    assert_eq!((played.takeovers.taken, played.repeated), (1, 0));
}

#[test]
fn a_node_whose_start_comes_behind_the_takeover_runs_only_in_the_other_process() {
    let played = taken_over_at_its_start(r#", "at_most_once": true"#, "false");

    assert!(is_completed(&played));
    assert_eq!((played.takeovers.taken, played.takeovers.refused, played.repeated), (1, 1, 0));
}

#[test]
fn a_process_takes_a_run_back_that_was_taken_over_from_it() {
    let played = played(
        r#"{"flow": {"graph": "START => n2; n2 => END", "nodes": {"n2": {"does": [{"Step": {"fails": 5}}]}}},
            "faults": [{"at": 1, "carried_out": true, "how": {"TakenOver": {}}},
                {"at": 3, "carried_out": true, "how": {"TakenOver": {"back": true}}}]}"#,
    );

    assert!(is_completed(&played));
    assert_eq!((played.takeovers.taken, played.takeovers.taken_back), (2, 1));
}

#[test]
fn the_time_of_a_graph_is_up_though_no_process_lived_then() {
    let scenario = |faults: &str| {
        format!(
            r#"{{"flow": {{"graph": "START => n2; n2.0 => END; n2.1 => n3; n3 => END", "nodes": {{"n2": {{"err": 1, "limit": 900,
                "inside": {{"Nested": {{"graph": "START => x; x => END", "nodes": {{"x": {{"does": [{{"Sleep": {{"millis": 600}}}}]}}}}}}}}}}}}}},
            "faults": [{faults}]}}"#
        )
    };
    let goes_on_by = |played: &Played| {
        let routed = |line: &&String| line.contains(" w/n3 ") && line.contains("node_completed");
        played.log.iter().any(|line| routed(&line))
    };

    let lived = played(&scenario(""));
    // No process lives longer than the limit.
    let died = played(&scenario(r#"{"at": 2, "carried_out": true, "how": "Dies"}"#));

    assert!(is_completed(&lived) && is_completed(&died));
    assert_eq!((goes_on_by(&lived), goes_on_by(&died)), (false, true));
}

#[test]
fn a_run_that_waits_is_forked_and_both_are_completed() {
    let played = played(
        r#"{"flow": {"graph": "START => n2; n2 => END", "nodes": {"n2": {"does": [{"Sleep": {"millis": 300}}]}}},
            "early": {"at": 100}}"#,
    );

    assert!(is_completed(&played));
    assert_eq!((played.runs.len(), played.forked_early), (2, (1, 1)));
    assert_eq!(played.runs[0].outcome, played.runs[1].outcome);
}

#[test]
fn a_run_that_is_under_way_is_forked_and_both_are_completed() {
    let played = played(
        r#"{"flow": {"graph": "START => n2; n2 => END", "nodes": {"n2": {"does": [{"Step": {"fails": 3}}]}}},
            "early": {"at": 45}}"#,
    );

    assert!(is_completed(&played));
    assert_eq!((played.runs.len(), played.forked_early), (2, (1, 0)));
}

/// The fork of a run whose node had continued after the failure of a child workflow: the failure stays in the fork.
#[test]
fn a_child_workflow_that_has_failed_stays_so_in_the_fork_of_a_run_whose_node_has_gone_on_from_it() {
    let played = played(
        r#"{"flow": {"graph": "START => n2; n2 => END", "nodes": {"n2": {"does": [{"Job": {"which": 0}}, {"Sleep": {"millis": 300}}]}}},
            "jobs": [{"graph": "START => j; j => END", "nodes": {"j": {"fails": 1}}}], "early": {"at": 100}}"#,
    );

    assert!(is_completed(&played));
    assert_eq!(played.runs[0].outcome, played.runs[1].outcome);
}

/// One item in each turn is too late to replace the key, and the error of that leads to the next turn.
#[test]
fn a_run_that_goes_round_a_loop_for_ever_is_broken() {
    let scenario = r#"{"chance": 8192, "flow": {"graph": "n2.0 => END; (n2.1) => n2; (START) => n2",
        "nodes": {"n2": {"err": 1, "inside": {"Each": {"graph": "START => x; x => END", "nodes": {"x": {"sets": true}}}}}}}}"#;

    let broken = judged(&serde_json::from_str(scenario).expect("a scenario")).expect_err("it never ends");

    assert!(broken.contains("`w/n2#12` is in a loop that goes round for ever"), "{broken}");
}
