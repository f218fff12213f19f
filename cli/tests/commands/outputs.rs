//! What reaches the terminal, and what happens where nothing can be printed.

use serde_json::{Value, json};

use super::{Ran, Runs, counting, refund, runs};

/// The id of a run of another person's file.
const HOSTILE: &str = "e\u{1b}[2J\u{1b}]0;pwn\u{7}\u{202e}\u{200b}";

#[track_caller]
fn is_safe(text: &str) {
    let is_unsafe = |char: char| (char.is_control() && char != '\n') || "\u{202e}\u{200b}".contains(char);
    assert!(!text.chars().any(is_unsafe), "{text:?}");
}

/// The output is closed before anything is written to it, as by `head -0`.
async fn with_closed_output(runs: &Runs, arguments: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = runs.command(arguments);
    command.stdout(writer);
    Runs::output(command).await
}

#[cfg(target_os = "linux")]
async fn on_a_full_disk(runs: &Runs, arguments: &[&str]) -> Ran {
    let mut command = runs.command(arguments);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    Runs::output(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_deleted_although_no_one_reads_that() {
    let runs = runs().await;
    let pruned = with_closed_output(&runs, &["prune", "--completed", "0s", "--failed", "0s"]).await;
    assert_eq!((pruned.code, pruned.err.as_str()), (0, ""));
    let left = Runs::json(&runs.ran(&["list", "--json"]).await);
    assert_eq!((left.as_array().unwrap().len(), &left[0]["id"]), (1, &"waits".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_is_that_of_the_run_although_no_one_reads() {
    let runs = runs().await;
    for command in ["show", "tail"] {
        for json in [&[][..], &["--json"]] {
            for (run, code) in [("done", 0), ("waits", 3), ("failed", 4)] {
                let ran = with_closed_output(&runs, &[&[command, run], json].concat()).await;
                assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{command} {run} {json:?}");
            }
        }
    }
    for command in ["list", "--help"] {
        let ran = with_closed_output(&runs, &[command]).await;
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_said_although_it_cannot_be_printed() {
    let runs = runs().await;
    let deleted = on_a_full_disk(&runs, &["delete", "done"]).await;
    assert_eq!(deleted.code, 7);
    assert!(deleted.err.starts_with("error: `done` is deleted; but this cannot be written"), "{}", deleted.err);
    assert_eq!(runs.ran(&["show", "done"]).await.code, 1);
    let cancelled = on_a_full_disk(&runs, &["cancel", "waits", "--json"]).await;
    assert_eq!(cancelled.code, 7);
    let error: Value = serde_json::from_str(&cancelled.err).unwrap();
    assert_eq!(error["error"]["code"], "output_failed");
    assert!(error["error"]["message"].as_str().unwrap().starts_with("cancellation of `waits` is requested; but"));
    let listed = on_a_full_disk(&runs, &["list"]).await;
    assert_eq!(listed.code, 7);
    assert!(listed.err.starts_with("error: the output cannot be written: "), "{}", listed.err);
    for asked in ["--help", "--version"] {
        let helped = on_a_full_disk(&runs, &[asked]).await;
        assert_eq!((helped.code, &helped.err), (7, &listed.err), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_others_steers_the_terminal() {
    let runs = runs().await;
    runs.engine.start::<refund>(14).id(HOSTILE).await.unwrap().outcome().await.unwrap();
    let commands: [&[&str]; 9] = [
        &["list"],
        &["show", HOSTILE],
        &["tail", HOSTILE],
        &["cancel", HOSTILE],
        &["answer", HOSTILE, "approve", "true"],
        &["answer", HOSTILE, "approve", "\u{1b}[2J\u{202e}"],
        &["show", "\u{1b}[2J\nerror: all is fine"],
        &["list", "--status", HOSTILE],
        &["list", "--tag", HOSTILE],
    ];
    for command in commands {
        for json in [&[][..], &["--json"]] {
            let ran = runs.ran(&[command, json].concat()).await;
            is_safe(&ran.out);
            is_safe(&ran.err);
            assert!(!ran.out.is_empty() || !ran.err.is_empty(), "{command:?}");
            assert!(!ran.err.contains("\nerror"), "{}", ran.err);
        }
    }
    let listed = Runs::json(&runs.ran(&["list", "--json"]).await);
    assert_eq!(listed[0]["id"], HOSTILE, "a program reads it as it is");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_json_on_standard_error_with_a_code_for_programs() {
    let runs = runs().await;
    let error = async |arguments: &[&str]| {
        let ran = runs.ran(&[arguments, &["--json"]].concat()).await;
        assert_eq!(ran.out, "", "{arguments:?}");
        let error: Value = serde_json::from_str(&ran.err).unwrap_or_else(|wrong| panic!("{wrong}: {}", ran.err));
        (ran.code, error)
    };
    let message = "there is no run `nothing`; `list` shows those that there are";
    let unknown = json!({ "error": { "code": "unknown_run", "message": message } });
    assert_eq!(error(&["show", "nothing"]).await, (1, unknown));
    let (code, invalid) = error(&["answer", "waits", "approve", "3"]).await;
    assert_eq!(
        (code, &invalid["error"]["code"], &invalid["error"]["field"]),
        (1, &json!("invalid_answer"), &json!("."))
    );
    for (arguments, expected) in [
        (&["answer", "waits", "other", "true"][..], (1, "unknown_question")),
        (&["answer", "waits", "approve", "yes"], (1, "invalid_json")),
        (&["signal", "done", "more"], (1, "run_over")),
        (&["delete", "waits"], (1, "not_over")),
        (&["fork", "nothing"], (1, "unknown_run")),
        (&["graph", "nothing"], (1, "unknown_workflow")),
        (&["list", "--tag", "acme"], (2, "usage")),
        (&["check"], (1, "not_registered")),
        (&["list", "--status", "done"], (2, "usage")),
    ] {
        let (code, error) = error(arguments).await;
        assert_eq!((code, error["error"]["code"].as_str().unwrap()), expected, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_ended_is_not_cancelled() {
    let runs = runs().await;
    for (run, how) in [("done", "completed"), ("failed", "failed")] {
        let refused = runs.ran(&["cancel", run]).await;
        let text = format!("error: run `{run}` has already ended: {how}; nothing was cancelled\n");
        assert_eq!((refused.code, refused.out.as_str(), refused.err), (1, "", text));
        assert_eq!(runs.ran(&["show", run]).await.code, if run == "done" { 0 } else { 4 });
    }
    let cancelled = Runs::json(&runs.ran(&["cancel", "waits", "--json"]).await);
    assert_eq!(cancelled, json!({ "run": "waits", "requested": true }));
    runs.engine.get_run("waits").await.unwrap().unwrap().outcome().await.unwrap();
    let again = runs.ran(&["cancel", "waits"]).await;
    assert_eq!((again.code, again.out.as_str()), (0, "`waits` has already ended: it was cancelled\n"), "{}", again.err);
    let again = Runs::json(&runs.ran(&["cancel", "waits", "--json"]).await);
    assert_eq!(again, json!({ "run": "waits", "requested": false }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_started_over_has_one_word_and_its_last_run_is_cancelled() {
    let runs = runs().await;
    runs.engine.start::<counting>(20).id("count").await.unwrap().outcome().await.unwrap();
    let listed = runs.ran(&["list", "--status", "started_over"]).await;
    assert!(listed.out.contains("count") && listed.out.contains(" started_over "), "{}{}", listed.out, listed.err);
    assert_eq!(runs.ran(&["list", "--status", "started-over"]).await.code, 0);
    assert!(runs.ran(&["show", "count"]).await.out.starts_with("count of counting: started_over after"));
    let cancelled = Runs::json(&runs.ran(&["cancel", "count", "--json"]).await);
    assert_eq!(cancelled, json!({ "run": "count~1", "requested": true }));
    runs.engine.get_run("count~1").await.unwrap().unwrap().outcome().await.unwrap();
    assert_eq!(runs.ran(&["cancel", "count"]).await.out, "`count~1` has already ended: it was cancelled\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_beginning_of_a_long_failure_and_its_events_the_whole() {
    let runs = runs().await;
    runs.engine.start::<refund>(14).id("long").await.unwrap().outcome().await.unwrap();
    let whole = "no, ".repeat(25_000);
    for arguments in [&["list"][..], &["list", "--json"]] {
        let listed = runs.ran(arguments).await;
        assert!(listed.out.len() < 20_000, "{}", listed.out.len());
        assert!(listed.out.contains("the bank says no, no, ") && listed.out.contains('…'), "{}", listed.out);
    }
    assert!(runs.ran(&["show", "long"]).await.out.contains("… (`tail` has the whole)"));
    for arguments in [&["tail", "long"][..], &["tail", "long", "--json"]] {
        assert!(runs.ran(arguments).await.out.contains(whole.trim_end()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_cut_says_so_beside_the_output() {
    let runs = runs().await;
    let all = runs.ran(&["list", "--limit", "4"]).await;
    assert_eq!((all.out.lines().count(), &*all.err), (5, ""));
    let newest = runs.ran(&["list", "--limit", "3"]).await;
    assert_eq!((newest.code, newest.out.lines().count()), (0, 4));
    assert!(
        newest.err.starts_with("3 runs are listed, and there are older ones: `--limit 20` lists more"),
        "{}",
        newest.err
    );
    let json = runs.ran(&["list", "--limit", "3", "--json"]).await;
    assert_eq!((Runs::json(&json).as_array().unwrap().len(), &json.err), (3, &newest.err));
    let asked = runs.ran(&["questions", "--limit", "0"]).await;
    assert!(asked.err.starts_with("0 questions are listed, and there are newer ones"), "{}", asked.err);
    assert_eq!(runs.ran(&["questions", "--limit", "1"]).await.err, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_that_a_run_waits_for_can_be_copied_to_a_shell() {
    let runs = runs().await;
    let hint = async |id: &str| {
        runs.engine.start::<refund>(2000).id(id).await.unwrap().outcome().await.unwrap();
        let shown = runs.ran(&["show", "--", id]).await;
        shown.out.lines().last().unwrap_or_default().trim().to_owned()
    };
    assert_eq!(hint("große/1").await, "answer große/1 refund/check/approve ..");
    assert_eq!(hint("it's a b#1").await, r"answer 'it'\''s a b#1' refund/check/approve ..");
    assert_eq!(hint("-x").await, "answer -- -x refund/check/approve ..");
    let answered = runs.ran(&["answer", "--", "-x", "refund/check/approve", "true"]).await;
    assert_eq!(answered.code, 0, "{}", answered.err);
}
