//! Scenarios that have broken something once.

use super::check::judged;

fn holds(scenario: &str) {
    if let Err(why) = judged(&serde_json::from_str(scenario).expect("a scenario")) {
        panic!("{why}");
    }
}

/// The skip was lost: the record of the start is made before its consequences.
#[test]
fn a_node_that_start_skips_is_on_record_also_after_a_crash() {
    holds(
        r#"{"flow": {"graph": "(n9, START.0) => END; (START.1) => n9"},
            "faults": [{"at": 1, "carried_out": false, "how": "Dies"}]}"#,
    );
}

/// It waited at its node's gate for itself.
#[test]
fn an_item_of_items_that_waits_for_its_turn_gets_it_also_after_a_recovery() {
    holds(
        r#"{"chance": 11251893784833401857, "max_concurrency": 3,
            "flow": {"graph": "START => n6; n6 => n10; n10 => END", "nodes": {"n10": {"inside": {"Each":
                {"graph": "START => n10i2; n10i2 => END", "nodes": {"n10i2": {"inside": {"Each":
                    {"graph": "START => x; x => y; y => END", "nodes": {"x": {"max_parallel": 1}}}}}}}}}}},
            "faults": [{"at": 2, "carried_out": true, "how": "Io"}]}"#,
    );
}

/// The answer was recorded together with the status that the run waits, and the run was not woken.
#[test]
fn a_run_that_is_answered_while_it_leaves_the_memory_goes_on() {
    holds(
        r#"{"unloads": true, "commit_takes": 2,
            "flow": {"graph": "START => n2; n2 => n6; n6 => n9; n9 => END",
                "nodes": {"n2": {"does": [{"Step": {"fails": 1}}, "Ask"]}}}}"#,
    );
}

/// It belonged to an engine that no longer drove it, and that did not look for runs of its own.
#[test]
fn a_run_that_the_store_stopped_while_it_slept_is_woken() {
    holds(
        r#"{"flow": {"graph": "START => n2; n2 => END",
                "nodes": {"n2": {"does": [{"Sleep": {"millis": 59}}, {"Sleep": {"millis": 255}}]}}},
            "faults": [{"at": 5, "carried_out": true, "how": "Io"}]}"#,
    );
}

/// The records of two failures that were taken up had come between each other, and were read as the end of the run.
#[test]
fn two_nodes_that_panic_at_once_go_on_by_their_arms_also_after_a_crash() {
    holds(
        r#"{"flow": {"graph": "START => (a, b); a => <0: c, 1: d>; b => <0: e, 1: f>; (c & d, e & f) => END",
                "nodes": {"a": {"attempts": 1, "fails": 1, "failing": "Panic", "err": 0},
                          "b": {"attempts": 1, "fails": 1, "failing": "Panic", "err": 0}}},
            "faults": [{"at": 3, "carried_out": false, "how": "Dies"}]}"#,
    );
}

/// The workflow was run again from its start, with a node that may not be repeated.
#[test]
fn a_nested_workflow_in_which_something_was_cut_short_is_not_tried_again() {
    holds(
        r#"{"flow": {"graph": "START => n; n => END", "nodes": {"n": {"attempts": 2, "inside": {"Nested":
                {"graph": "START => x; x => END", "nodes": {"x": {"at_most_once": true}}}}}}},
            "faults": [{"at": 1, "carried_out": true, "how": "Dies"}]}"#,
    );
}

/// The claim was carried out and not acknowledged: the run belonged to an engine that did not know it.
#[test]
fn a_run_that_was_claimed_for_its_answer_without_anybody_knowing_goes_on() {
    holds(
        r#"{"unloads": true, "flow": {"graph": "START => n2; n2 => END",
                "nodes": {"n2": {"does": [{"Sleep": {"millis": 257}}, "Ask"]}}},
            "faults": [{"at": 10, "carried_out": true, "how": "Busy"}]}"#,
    );
}

/// A caller that requested the run again, before its driver had noticed that the store had failed, got no error.
#[test]
fn a_run_whose_store_fails_at_an_answer_goes_on_when_it_is_asked_for_again() {
    holds(
        r#"{"commit_takes": 4, "flow": {"graph": "START => n2; n2 => END", "nodes": {"n2": {"does": ["Ask"]}}},
            "faults": [{"at": 4, "carried_out": true, "how": "Io"}]}"#,
    );
}

/// A node skipped in there was looked up in the graph of the run itself, which was then reported as changed.
#[test]
fn a_run_goes_on_after_a_child_workflow_in_which_a_node_was_skipped() {
    holds(
        r#"{"flow": {"graph": "START => n; n => END", "nodes": {"n": {"does": [{"Job": {"which": 0}}, "Ask"]}}},
            "jobs": [{"graph": "START.0 => x; START.1 => y; x => END; y => END"}],
            "faults": [{"at": 5, "carried_out": false, "how": "Dies"}]}"#,
    );
}

/// Each look counted as a movement, which caused another look.
#[test]
fn a_run_in_which_a_child_workflow_sleeps_alone_comes_to_rest() {
    holds(
        r#"{"flow": {"graph": "START => n; n => END", "nodes": {"n": {"does": [{"Job": {"which": 0}}]}}},
            "jobs": [{"graph": "START => x; x => END", "nodes": {"x": {"does": [{"Sleep": {"millis": 100}}]}}}]}"#,
    );
}

/// The records from before were folded only then, with that of the child's start, which dropped the answer.
#[test]
fn an_answer_that_comes_before_the_records_are_folded_is_not_asked_for_again_in_a_child_workflow() {
    holds(
        r#"{"chance": 9333057874517681039,
            "flow": {"graph": "n3 => END; START => n3",
                "nodes": {"n3": {"inside": {"Each": {"graph": "n3i2 => END; START => n3i2",
                "nodes": {"n3i2": {"does": ["Ask", {"Job": {"which": 0}}]}}}}}}},
            "jobs": [{"graph": "j0n2.0 => END; (j0n2.1) => j0n2; (START) => j0n2",
                "nodes": {"j0n2": {"attempts": 2, "fails": 1, "does": ["Ask"]}}}], "unloads": true}"#,
    );
}

/// A mistake of the check: it took the node for one that waits for another arrival.
#[test]
fn a_collecting_node_that_has_its_last_arrival_may_wait_for_its_turn_when_the_run_rests() {
    holds(
        r#"{"chance": 3, "max_concurrency": 1,
            "flow": {"graph": "n11 => END; (n10) => n11; n3.0 => n10; n2 => n3; START => n2; n3.1 => n2; n2 => n6; (n6) => n8; n3.1 | n8 => n9",
                "nodes": {"n10": {"attempts": 2, "fails": 1, "does": [{"Sleep": {"millis": 48}}]}}}}"#,
    );
}

/// The places that had become free in the attempt before were free in the next one too, so that a second node came in.
#[test]
fn a_node_in_items_that_are_tried_again_keeps_its_place_also_after_a_recovery() {
    holds(
        r#"{"chance": 1, "flow": {"graph": "n3.0 => END; START => n3; (n7) => n3; (n6) => n7; n3.1 => n6",
            "nodes": {"n6": {"attempts": 2, "inside": {"Each": {"graph": "n6i6 => END; n6i3 => n6i6; START => n6i3",
                "nodes": {"n6i6": {"fails": 1}, "n6i3": {"inside": {"Nested":
                    {"graph": "(n6i3i2) => END; (START) => n6i3i2", "nodes": {"n6i3i2": {"max_parallel": 1}}}}}}}}}}}}"#,
    );
}

/// An item before it had failed; its skipped nodes were recorded when its node was long over.
#[test]
fn nothing_is_skipped_after_a_crash_in_an_item_that_never_began() {
    holds(
        r#"{"chance": 3, "flow": {"graph": "n10 => END; START => n2; n6.0 => n2; n2 => n3; n5.0 => n3; n3 => n4; n4 => n5; n5.1 => n6; n6.1 => n7; n7.0 => n8; n7.1 => n9; n8 => n10; n9 => n10",
            "nodes": {"n5": {"attempts": 3, "fails": 3, "err": 1}, "n6": {"attempts": 2, "fails": 1},
                "n7": {"err": 1, "max_parallel": 1, "inside": {"Each":
                    {"graph": "(n7i3) => END; (START.1) => n7i2; START.0 | n7i2 => n7i3", "nodes": {"n7i3": {"wants": 2}}}}}}},
            "faults": [{"at": 5, "carried_out": true, "how": "Dies"}, {"at": 10, "carried_out": false, "how": "Dies"}]}"#,
    );
}

/// The last record of the run was being appended: the answer was dropped, and was reported as accepted.
#[test]
fn an_answer_to_a_run_that_is_just_cancelled_is_refused() {
    holds(
        r#"{"commit_takes": 4, "cancel_at": 73, "flow": {"graph": "(n2) => END; START => n2",
            "nodes": {"n2": {"attempts": 2, "fails": 1, "does": ["Ask"]}}}}"#,
    );
}

/// As one item was stopped, the place that it left was given to the next.
#[test]
fn no_item_begins_that_is_to_be_stopped_after_a_recovery() {
    holds(
        r#"{"chance": 17023323712555669843, "retries": true, "faults": [{"at": 3, "carried_out": false, "how": "Busy"}],
            "flow": {"graph": "n2.0 => END; START => n2; (n10) => n2; n2.1 => n10; n2.1 => n3; n3 => n8",
                "nodes": {"n8": {"fails": 1}, "n10": {"max_parallel": 1, "inside": {"Each":
                    {"graph": "(n10i2.0) => END; n10i3 => n10i2; START => n10i2; (n10i2.1) => n10i3",
                        "nodes": {"n10i2": {"attempts": 2, "fails": 1, "err": 1}}}}}}}}"#,
    );
}

/// It had been skipped in the attempt before, and that was recorded.
#[test]
fn what_is_skipped_in_items_that_are_tried_again_is_on_record_again() {
    holds(
        r#"{"chance": 0, "retries": true, "faults": [{"at": 3, "carried_out": true, "how": "Dies"}],
            "flow": {"graph": "n8 => END; (n6) => n8; n3 => n6; n2 => n3; START => n2",
                "nodes": {"n6": {"attempts": 2, "max_parallel": 1, "inside": {"Each":
                    {"graph": "n6i3 => END; n6i2 => END; START.0 => n6i2; START.1 => n6i3",
                        "nodes": {"n6i2": {"inside": {"Each":
                            {"graph": "(n6i2i3) => END; (START) => n6i2i3", "nodes": {"n6i2i3": {"fails": 1}}}}}}}}}}}}"#,
    );
}

/// It had left the memory, and was resumed to be cancelled.
#[test]
fn a_graph_whose_items_wait_is_cancelled_on_record_also_where_the_run_is_read_for_that() {
    holds(
        r#"{"chance": 0, "max_concurrency": 1, "unloads": true, "cancel_at": 140,
            "flow": {"graph": "n11 => END; n9.1 => n11; n10 => n11; START => n2; n2.0 => n3; n9.0 => n3; n8 => n9; n3 => n4; n4 => n5; n4 => n6; (n5, n6) => n8; n2.1 => n10",
                "nodes": {"n5": {"inside": {"Each": {"graph": "(n5i2) => END; START => n5i2"}}}, "n6": {"does": [{"Sleep": {"millis": 98}}]}}}}"#,
    );
}

/// Failed nodes in the items were mistaken for nodes under way.
#[test]
fn nothing_begins_again_in_items_that_failed_and_were_gone_on_from_when_the_run_is_retried() {
    holds(
        r#"{"chance": 1, "retries": true,
            "flow": {"graph": "n10.1 => END; START => n2; n10.0 => n2; n2 => n3; (n8, n9) => n3; n3.0 => n4; n4.0 => n5; n4.1 => n6; n4.2 => n7; n5 => n8; n6 => n8; n7 => n8; n3.0 => n9; n3.1 => n10; n10.0 => n11",
                "nodes": {"n4": {"fails": 1}, "n10": {"err": 1, "inside": {"Each":
                    {"graph": "(n10i3) => END; (n10i2) => n10i3; (START) => n10i2", "nodes": {"n10i2": {"fails": 1}}}}}}}}"#,
    );
}

/// Each of them had a place of its own at the gate, one after another, and all had them at once afterwards.
#[test]
fn items_that_failed_one_after_another_do_not_run_at_once_when_the_run_is_retried() {
    holds(
        r#"{"chance": 3264267359533601501, "retries": true, "flow": {"graph": "n2 => END; START => n2",
            "nodes": {"n2": {"inside": {"Each":
                {"graph": "n2i6 => END; n2i4 => n2i6; n2i5 => n2i6; START.0 => n2i2; n2i3 => n2i4; n2i2 => n2i3; START.1 => n2i5",
                    "nodes": {"n2i3": {"fails": 1, "max_parallel": 1}}}}}}}}"#,
    );
}

/// The node had been cancelled when the run failed, and its open question was believed to be withdrawn.
#[test]
fn what_a_retried_run_asks_is_asked_though_its_node_had_been_cancelled() {
    holds(
        r#"{"flow": {"graph": "n9 => END; (n7) => n9; (n5) => n7; START => n2; n2 => n3; n3 => n4; n3 => n5; n3 => n6; n2 => n8",
            "nodes": {"n2": {"attempts": 2, "fails": 1}, "n5": {"does": ["Ask"]}, "n6": {"attempts": 3,
            "fails": 2}, "n7": {"attempts": 3, "fails": 2}, "n8": {"does": ["Ask", {"Step": {"fails": 2}},
            "Ask"]}, "n9": {"at_most_once": true}}}, "unloads": true, "faults": [{"at": 7, "carried_out": true,
            "how": "Dies"}, {"at": 23, "how": "Dies", "carried_out": false}], "answers": "WhenItWaits",
            "retries": true}"#,
    );
}

/// No record showed that the graph of the child was being stopped.
#[test]
fn a_node_that_is_stopped_in_a_child_workflow_follows_from_a_record() {
    holds(
        r#"{"chance": 1, "flow": {"graph": "n10 => END; n2 => n10; n9 => n10; START.0 => n2; (START.1) => n9",
            "nodes": {"n2": {"does": [{"Job": {"which": 0}}]}}}, "jobs": [{"graph": "(j1n2, j1n3) => END; START.0 => j1n2; START.1 => j1n3", "nodes": {"j1n2": {"fails": 1,
            "failing": "Timeout"}}}], "cancel_at": 15}"#,
    );
}

/// The record that the graph had been entered was dropped when the child's records were read.
#[test]
fn a_graph_inside_a_child_workflow_goes_on_after_the_store_has_failed() {
    holds(
        r#"{"chance": 1112624659669440119,
            "flow": {"graph": "n9 => END; n2.0 => -; n2.1 => -; START => n2; n2 => n3; (n7) => n3; (n3.0) => n4; n4.0 => n5; n4.1 => n6; (n5, n6) => n7; n2 => n8; (n3.1, n8) => n9", "nodes": {"n4": {"attempts": 3, "fails": 2},
            "n5": {"does": ["Ask", {"Job": {"which": 0}}]}}},
            "jobs": [{"graph": "j0n5 => END; START => j0n2; j0n2.0 => j0n3; (j0n2.1) => j0n4; j0n3 => j0n5; j0n4 => j0n5",
            "nodes": {"j0n5": {"inside": {"Nested": {"graph": "(j0n5i2) => END; (START) => j0n5i2"}}}}}],
            "unloads": true, "commit_takes": 4, "faults": [{"at": 17, "how": "Full", "carried_out": false}]}"#,
    );
}

/// The failure of the attempt before was believed to have led to the end of the run.
#[test]
fn a_graph_that_was_to_be_tried_again_when_the_run_was_cancelled_is_tried_again_by_its_retry() {
    holds(
        r#"{"chance": 3091913297293256110, "flow": {"graph": "n10 => END; (n2) => n10; START => n2",
            "nodes": {"n2": {"inside": {"Each": {"graph": "n2i2 => END; n2i3 => END; START.0 => n2i2; START.1 => n2i3",
            "nodes": {"n2i2": {"fails": 1}}}}, "attempts": 2}}}, "cancel_at": 14, "retries": true}"#,
    );
}

/// The end of a delay was taken for the end of a time limit, and voided.
#[test]
fn a_graph_that_fails_in_its_second_attempt_is_retried_in_that_attempt() {
    holds(
        r#"{"retries": true, "flow": {"graph": "n6 => END; (START) => n6", "nodes": {"n6": {"attempts": 2, "inside": {"Nested":
                {"graph": "n6i5 => END; (START) => n6i5", "nodes": {"n6i5": {"fails": 1}}}}}}}}"#,
    );
}

/// The node was cancelled, and while the record of that was being appended its question took an answer.
#[test]
fn a_question_takes_no_answer_once_its_node_is_cancelled() {
    holds(
        r#"{"chance": 9151262739733786644, "commit_takes": 3,
            "flow": {"graph": "n10 => END; (n9) => n10; START => n2; n8.0 => n2; n7 => n8; n2 => n3; n3 => n4; (n5) => n4; n4.0 => n5; n3 => n6; n4.1 | n6 => n7; n8.1 => n9",
                "nodes": {"n2": {"attempts": 2, "fails": 1}, "n5": {"does": ["Ask", "Ask"]}, "n7": {"attempts": 2, "fails": 1}}},
            "faults": [{"at": 18, "carried_out": false, "how": "Busy"}]}"#,
    );
}

/// It was dropped while its record was being appended, and was open after that.
#[test]
fn a_question_that_was_dropped_before_it_was_on_record_takes_no_answer() {
    holds(
        r#"{"flow": {"graph": "n2 => END; START => n2", "nodes": {"n2": {"does": [{"Remind": {"millis": 1}}]}}},
            "commit_takes": 4}"#,
    );
}

/// The same node had failed before the retry, which closed the question again when the records were read.
#[test]
fn a_question_of_a_retried_run_is_open_after_a_crash() {
    for at in 0..24 {
        holds(&format!(
            r#"{{"flow": {{"graph": "n2 => END; START => n2", "nodes": {{"n2": {{"attempts": 2, "inside": {{"Nested":
                {{"graph": "n2i2 => END; START => n2i2", "nodes": {{"n2i2": {{"fails": 1, "does": ["Ask"]}}}}}}}}}}}}}},
                "faults": [{{"at": {at}, "carried_out": true, "how": "Dies"}}], "retries": true}}"#
        ));
    }
}

/// The records that the retry had voided counted again: the fork failed as the run had before.
#[test]
fn a_fork_from_before_the_retry_of_its_run_does_not_end_as_the_run_had_before_that() {
    for before in 0..6 {
        holds(&format!(
            r#"{{"flow": {{"graph": "n2 => END; START => n2", "nodes": {{"n2": {{"fails": 1}}}}}}, "retries": true,
                "forks": [{{"before": {before}}}]}}"#
        ));
    }
}

/// A way led from it to the head of the loop, and so to all nodes of the loop: in the same turn too.
#[test]
fn what_comes_before_a_node_in_its_turn_does_not_run_again_with_it() {
    for which in 0..8 {
        holds(&format!(
            r#"{{"flow": {{"graph": "n9 => END; n7.0 => n9; n6 => n7; n7.1 => n6; START => n6", "nodes": {{"n9": {{"fails": 1}}}}}},
                "retries": true, "again": [{{"FromNode": {which}}}]}}"#
        ));
    }
}

/// The turns of two loops were compared with each other, as if the second loop came before the first.
#[test]
fn what_comes_behind_a_loop_runs_again_also_in_an_earlier_turn_of_another_loop() {
    for (chance, which) in (0..4).flat_map(|chance| (0..10).map(move |which| (chance, which))) {
        holds(&format!(
            r#"{{"chance": {chance}, "flow": {{"graph": "n6 => END; START => n2; n3 => n2; n2.1 => n3; n2.0 => n4; n5 => n4; n4.1 => n5; n4.0 => n6",
                "nodes": {{"n6": {{"fails": 1}}}}}}, "retries": true, "again": [{{"FromNode": {which}}}]}}"#
        ));
    }
}

/// The one of the first attempt ran again, which did not count any more, and that of the second did not.
#[test]
fn a_node_that_runs_again_is_the_one_of_the_last_attempt_at_the_graph_around_it() {
    for again in ["FromNode", "Rerun"] {
        holds(&format!(
            r#"{{"flow": {{"graph": "n2 => END; START => n2", "nodes": {{"n2": {{"attempts": 2, "inside": {{"Nested":
                {{"graph": "n4 => END; n3 => n4; START => n3", "nodes": {{"n4": {{"fails": 1}}}}}}}}}}}}}},
                "retries": true, "again": [{{"{again}": {}}}]}}"#,
            u8::from(again == "FromNode")
        ));
    }
}

/// The arrival that it had processed first stayed.
#[test]
fn a_collecting_node_that_runs_again_processes_all_of_its_arrivals_again() {
    for which in 0..6 {
        holds(&format!(
            r#"{{"flow": {{"graph": "n6 => END; n5 => n6; n3 | n4 => n5; START => n3; START => n4",
                "nodes": {{"n5": {{"wants": 2}}, "n6": {{"fails": 1}}}}}}, "retries": true, "again": [{{"FromNode": {which}}}]}}"#
        ));
    }
}

/// Its start was void, and the records inside it were not: the run could not be resumed.
#[test]
fn a_child_workflow_that_has_failed_starts_anew_when_the_run_is_retried() {
    holds(
        r#"{"flow": {"graph": "n2 => END; START => n2", "nodes": {"n2": {"does": [{"Job": {"which": 0}}, {"Sleep": {"millis": 900}}]}}},
            "jobs": [{"graph": "(j0n3) => END; j0n2 => j0n3; START => j0n2", "nodes": {"j0n3": {"fails": 1}}}],
            "cancel_at": 500, "retries": true}"#,
    );
}

/// The same in a child workflow of a child workflow, which continues.
#[test]
fn a_child_workflow_that_has_failed_in_another_starts_anew_when_the_run_is_retried() {
    for crash in [vec![], vec![8]] {
        let faults: Vec<String> =
            crash.iter().map(|at| format!(r#"{{"at": {at}, "carried_out": false, "how": "Dies"}}"#)).collect();
        holds(&format!(
            r#"{{"flow": {{"graph": "n2 => END; START => n2", "nodes": {{"n2": {{"does": [{{"Job": {{"which": 0}}}}]}}}}}},
                "jobs": [{{"graph": "(j0n2) => END; (START) => j0n2",
                        "nodes": {{"j0n2": {{"does": ["Ask", {{"Job": {{"which": 1}}}}, {{"Sleep": {{"millis": 900}}}}]}}}}}},
                    {{"graph": "(j1n2) => END; START => j1n3; (j1n3) => j1n2", "nodes": {{"j1n3": {{"fails": 1}}}}}}],
                "faults": [{}], "cancel_at": 500, "retries": true}}"#,
            faults.join(", ")
        ));
    }
}

/// One item had failed, and another was still under way: the child workflow continued, only to fail.
#[test]
fn a_child_workflow_that_is_about_to_fail_when_the_run_is_cancelled_starts_anew_when_it_is_retried() {
    holds(
        r#"{"chance": 1, "flow": {"graph": "n2 => END; START => n2", "nodes": {"n2": {"does": [{"Job": {"which": 0}}]}}},
            "jobs": [{"graph": "(j0n2) => END; (START) => j0n2", "nodes": {"j0n2": {"inside": {"Each":
                {"graph": "(j0n2i2) => END; (START) => j0n2i2", "nodes": {"j0n2i2": {"attempts": 2, "fails": 2}}}}}}}],
            "cancel_at": 42, "retries": true}"#,
    );
}

/// All items that the retry reopened were under way at once.
#[test]
fn items_that_a_retry_reopens_keep_to_the_limit_of_their_node() {
    holds(
        r#"{"chance":17385382308887873047,"flow":{"graph":"START => n2; n2 => n8; n8 => END",
            "nodes":{"n2":{"max_parallel":1,"inside":{"Each":{"graph":"START => n2i4; n2i4 => END"}}},"n8":{"fails":1}}},
            "retries":true,"again":[{"Rerun":0},{"Rerun":1}]}"#,
    );
}

/// Each kept the place that it had had when it ran first.
#[test]
fn nested_workflows_in_items_that_a_retry_reopens_keep_to_their_limit() {
    holds(
        r#"{"chance":17385382308887873047,"flow":{"graph":"START => n2; n2 => n8; n8 => END",
            "nodes":{"n2":{"inside":{"Each":{"graph":"START => x; x => END","nodes":{"x":{"max_parallel":1,
                "inside":{"Nested":{"graph":"START => a; a => END"}}}}}}},"n8":{"fails":1}}},
            "retries":true,"again":[{"Rerun":0},{"Rerun":2}]}"#,
    );
}

/// The retry voided the end of that attempt, and the delay after it was read as a time limit.
#[test]
fn a_node_that_ran_only_in_an_earlier_attempt_at_the_workflow_around_it_may_be_named() {
    holds(
        r#"{"chance":9488989606827024821,"flow":{"graph":"START => n2; n2 => n10; n10 => END","nodes":{"n2":{"attempts":2,
            "inside":{"Nested":{"graph":"START.0 => n2i2; START.1 => n2i3; n2i2 => END; n2i3 => END","nodes":{"n2i2":
                {"inside":{"Each":{"graph":"START => n2i2i2; n2i2i2 => n2i2i5; n2i2i5 => n2i2i6; n2i2i6 => END",
                    "nodes":{"n2i2i6":{"fails":1}}}}}}}}}}},
            "max_concurrency":1,"cancel_at":126,"retries":true,"again":[{"FromNode":4}]}"#,
    );
}

/// They had been stopped by nodes that ran again, one after another, and all began again at once.
#[test]
fn nodes_that_nothing_stops_any_more_when_the_run_is_retried_keep_to_their_limit() {
    holds(
        r#"{"chance":2638660828305197205,"flow":{"graph":"START => n2; n2 => n3; n3 => END","nodes":{"n2":{"inside":{"Each":
            {"graph":"START => (a, b); a | b => c; c => END","nodes":{"b":{"max_parallel":1}}}}},"n3":{"fails":1}}},
            "retries":true,"again":[{"Rerun":0},{"Rerun":3}]}"#,
    );
}

/// The second claim came before the first had read the records: it was read as a part of them, and both drove the run.
#[test]
fn a_run_that_two_processes_claim_one_after_the_other_is_driven_by_the_second() {
    holds(
        r#"{"flow": {"graph": "START => END"}, "commit_takes": 1,
            "faults": [{"at": 1, "carried_out": false, "how": {"TakenOver": {}}}, {"at": 0, "carried_out": true, "how": {"TakenOver": {}}}]}"#,
    );
}

/// Its process had nothing to record, and so never noticed that it had lost the run: there the question stayed open.
#[test]
fn a_process_from_which_a_waiting_run_was_taken_over_follows_it_to_its_end() {
    holds(
        r#"{"flow": {"graph": "START => n2; n2 => END", "nodes": {"n2": {"does": ["Ask"]}}},
            "faults": [{"at": 0, "carried_out": true, "how": {"TakenOver": {"after": 3}}}]}"#,
    );
}

/// The same for a run that is still under way in the other process.
#[test]
fn a_process_from_which_a_waiting_run_was_taken_over_shows_the_questions_of_the_other() {
    holds(
        r#"{"flow": {"graph": "START => n2; n2 => n3; n3 => END",
                "nodes": {"n2": {"does": ["Ask"]}, "n3": {"does": [{"Sleep": {"millis": 900}}, "Ask"]}}},
            "faults": [{"at": 0, "carried_out": true, "how": {"TakenOver": {"after": 3}}}]}"#,
    );
}

/// The pending records of the process came behind those that another had made meanwhile, with an earlier time.
#[test]
fn the_times_of_records_do_not_go_back_where_two_processes_record() {
    holds(
        r#"{"chance":11268978016670538866,"flow":{"graph":"n2.0 => END; n2.1 => n3; START => n2; n3 => n2",
                "nodes":{"n2":{"err":1,"at_most_once":true},"n3":{"does":[{"Spawn":{"tasks":3,"asks":true}}]}}},
            "commit_takes":3,"answers":"WhenItWaits","starts_again":true,"early":{"at":7},
            "faults":[{"at":2,"carried_out":false,"how":{"TakenOver":{"after":0,"back":false}}},
                {"at":2,"carried_out":false,"how":{"TakenOver":{"after":19,"back":false}}},
                {"at":3,"carried_out":false,"how":{"TakenOver":{"after":0,"back":true}}}]}"#,
    );
}

/// The oracle let it wait for a second arrival first, which never came.
#[test]
fn a_collecting_node_that_fails_does_so_with_its_first_arrival() {
    holds(
        r#"{"flow":{"nodes":{"n11":{"fails":1,"wants":2},"n9":{"fails":1}},
            "graph":"n11 => END; START => n2; n2 => n3; (n8, n9) => n3; n4.1 => -; n3.0 => n4; n4.0 => n5; n6.0 => n5; n7.0 => n5; n5.0 => n6; n7.1 => n6; n5.1 => n7; n6.1 => n7; n4.2 => n7; n5.2 => n8; n6.2 => n8; n7.2 => n8; n3.0 => n9; n2 => n10; n3.1 | n10 => n11"}}"#,
    );
}

/// The records of its child workflow up to then were voided, for a failure that came later.
#[test]
fn a_child_workflow_that_has_not_failed_where_its_run_is_forked_continues_in_the_fork() {
    holds(
        r#"{"flow":{"graph":"START => n2; n2 => END","nodes":{"n2":{"does":[{"Job":{"which":0}},{"Sleep":{"millis":300}}]}}},
            "jobs":[{"graph":"START => j; j => k; k => END","nodes":{"k":{"fails":1}}}],"cancel_at":100,"forks":[{"before":4}]}"#,
    );
}

/// The same by the voids of the run's retry, which the fork does not copy.
#[test]
fn a_child_workflow_that_has_not_failed_where_a_retried_run_is_forked_continues_in_the_fork() {
    holds(
        r#"{"flow":{"graph":"START => n2; n2 => END","nodes":{"n2":{"does":[{"Job":{"which":0}},{"Sleep":{"millis":300}}]}}},
            "jobs":[{"graph":"START => j; j => k; k => END","nodes":{"k":{"fails":1}}}],"cancel_at":100,"retries":true,
            "forks":[{"before":4}]}"#,
    );
}

/// It was reported as not ended, since the node that it had lost was still being executed there.
#[test]
fn a_process_from_which_a_run_was_taken_over_that_has_failed_since_can_retry_it() {
    holds(
        r#"{"flow":{"graph":"(START) => END; START => n2","nodes":{"n2":{"at_most_once":true}}},"retries":true,
            "faults":[{"at":1,"carried_out":true,"how":{"TakenOver":{"after":0,"back":false}}},
                {"at":3,"carried_out":false,"how":{"TakenOver":{"after":0,"back":true}}}]}"#,
    );
}

/// The judge had the failure of the node inside undone, which the fork has copied and its child workflow goes by.
#[test]
fn a_child_workflow_fails_in_a_fork_by_the_failure_of_a_node_that_was_copied() {
    holds(
        r#"{"chance":3320273507653587364,"flow":{"graph":"n2.0 => END; START => n2; (n11) => n2; n2.1 => n11; n2.1 => n3",
                "nodes":{"n2":{"does":[{"Remind":{"millis":12}},{"Step":{"fails":1}},{"Job":{"which":0}}]}}},
            "jobs":[{"graph":"(j0n4) => END; START => j0n4","nodes":{"j0n4":{"fails":1}}}],"early":{"at":57,"before":415}}"#,
    );
}

/// The cancellation of an item in a child workflow was voided, and the failure that it let through was not.
#[test]
fn the_retry_of_a_run_keeps_what_items_of_a_child_workflow_have_come_to() {
    holds(
        r#"{"flow":{"graph":"START => n2; n2 => n3; n3 => END","nodes":{"n2":{"does":[{"Job":{"which":0}}]},"n3":{"fails":1}}},
            "jobs":[{"graph":"(k) => END; j => k; (START) => j","nodes":{"k":{"inside":{"Each":{
                "graph":"(i) => END; (START) => i","nodes":{"i":{"attempts":2,"fails":2}}}}}}}],"retries":true}"#,
    );
}

/// The engine believed that it had the run, but it had the run as it was before it was taken over.
#[test]
fn a_retried_run_that_is_taken_over_and_taken_back_at_once_continues() {
    holds(
        r#"{"chance":0,"flow":{"graph":"(n2) => END; (START) => n2"},"commit_takes":2,"cancel_at":82,"retries":true,
            "faults":[{"at":0,"carried_out":false,"how":"Dies"},
                {"at":3,"carried_out":true,"how":{"TakenOver":{"after":0,"back":false}}},
                {"at":0,"carried_out":false,"how":{"TakenOver":{"after":0,"back":true}}}]}"#,
    );
}

/// The judge took all items of the inner brackets for one graph, and counted their nodes together.
#[test]
fn each_item_of_brackets_in_brackets_has_the_places_of_a_graph_of_its_own() {
    holds(
        r#"{"chance":3170564252381559542,"flow":{"graph":"(n10) => END; (n2) => n10; START => n2; n2 => n4",
                "nodes":{"n4":{"inside":{"Each":{"graph":"(n4i2) => END; START => n4i2","nodes":{"n4i2":{"inside":{"Each":{
                    "graph":"(START) => END; START => n4i2i2","max_parallel":2}}}}}}}}}}"#,
    );
}

/// The judge had it count again: without schemas it is recorded before its node rejects it.
#[test]
fn an_answer_that_its_node_has_rejected_stays_rejected_in_a_retried_run() {
    holds(
        r#"{"chance":1,"flow":{"graph":"START => n2; n2 => n3; n3 => END","nodes":{"n2":{"does":["Ask"]},"n3":{"fails":1}}},
            "faults":[{"at":2,"carried_out":true,"how":"Dies"}],"retries":true}"#,
    );
}

/// The rejection of the answer before was recorded after the withdrawal was made, and opened the question again.
#[test]
fn a_question_that_is_dropped_while_a_rejection_is_being_recorded_has_no_answer() {
    holds(
        r#"{"chance":6112474198358216744,"flow":{"graph":"n5 => END; (n4) => n5; n3 => n4; START => n3",
                "nodes":{"n5":{"does":[{"Remind":{"millis":1}}]}}},"commit_takes":3,
            "faults":[{"at":1,"carried_out":true,"how":"Dies"},{"at":6,"carried_out":true,"how":"Dies"}]}"#,
    );
}
