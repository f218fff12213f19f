//! What a failed run says: which node, after how many attempts, and why.

use graphweft::prelude::*;
use graphweft::{EventKind, RunError};
use graphweft_tests::{Journal, failure, records_of, started};
use tokio::sync::Notify;

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[derive(Debug, thiserror::Error)]
#[error("cannot write {file}")]
struct CannotWrite {
    file: String,
    #[source]
    why: DiskFull,
}

#[derive(Debug, thiserror::Error)]
#[error("the report was not saved")]
struct NotSaved(#[from] CannotWrite);

#[node(retry(max_attempts = 2, initial_delay = "0s"))]
async fn save(n: u32) -> Result<u32, NotSaved> {
    Err(CannotWrite { file: format!("{n}.txt"), why: DiskFull }.into())
}

#[node]
async fn number(n: u32) -> u32 {
    n
}

#[node]
async fn sum(a: u32, b: u32) -> u32 {
    a + b
}

workflow! {
    reports(u32) -> u32 { START => number => save => after; let after = number(); }
}

#[tokio::test]
async fn the_failure_names_the_node_by_its_path() {
    assert_eq!(failure(reports(1).await).path, "reports/save");
}

#[tokio::test]
async fn the_failure_counts_the_attempts() {
    assert_eq!(failure(reports(1).await).attempts, 2);
}

#[tokio::test]
async fn the_cause_is_the_whole_chain_outermost_first() {
    assert_eq!(
        failure(reports(1).await).cause.chain,
        ["the report was not saved", "cannot write 1.txt", "the disk is full"]
    );
}

#[tokio::test]
async fn the_text_of_the_error_says_it_all() {
    assert_eq!(
        reports(1).await.unwrap_err().to_string(),
        "node `reports/save` failed after 2 attempts: the report was not saved: cannot write 1.txt: the disk is full"
    );
}

#[tokio::test]
async fn one_attempt_is_told_in_the_singular() {
    #[node]
    async fn fails(_n: u32) -> Result<u32, String> {
        Err("broken".to_owned())
    }
    workflow! { failing(u32) -> u32 { START => fails; } }
    assert_eq!(failing(1).await.unwrap_err().to_string(), "node `failing/fails` failed after 1 attempt: broken");
}

#[tokio::test]
async fn an_error_may_be_a_text() {
    #[node]
    async fn fails(_n: u32) -> Result<u32, &'static str> {
        Err("broken")
    }
    let flow = workflow! { START => fails };
    assert_eq!(failure(flow.run(1).await).cause.chain, ["broken"]);
}

#[tokio::test]
async fn an_error_may_be_boxed() {
    #[node]
    async fn fails(n: u32) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        Err(CannotWrite { file: n.to_string(), why: DiskFull })?
    }
    let flow = workflow! { START => fails };
    assert_eq!(failure(flow.run(1).await).cause.chain, ["cannot write 1", "the disk is full"]);
}

#[tokio::test]
async fn nothing_runs_after_the_node_that_failed() {
    let events = records_of::<reports>(1).await;
    assert!(!started(&events).contains(&"reports/after".to_owned()));
}

#[tokio::test]
async fn the_last_record_is_the_failure() {
    let events = records_of::<reports>(1).await;
    let Some(EventKind::RunFailed { failure, .. }) = events.last().map(|event| &event.kind) else {
        panic!("no failure at the end of {events:?}")
    };
    assert_eq!(failure.path, "reports/save");
}

#[tokio::test]
async fn the_outcome_holds_the_failure() {
    let engine = Engine::builder().build().unwrap();
    let outcome = engine.start::<reports>(1).await.unwrap().outcome().await.unwrap();
    assert!(matches!(outcome, Outcome::Failed(failure) if failure.path == "reports/save"));
}

#[tokio::test]
async fn a_failing_node_cancels_its_siblings() {
    #[node]
    async fn parked(_n: u32, #[resource] journal: &Journal, #[resource] ready: &Notify) -> u32 {
        let _told = journal.when_dropped("stopped");
        ready.notify_one();
        std::future::pending().await
    }
    #[node]
    async fn fails(_n: u32, #[resource] ready: &Notify) -> Result<u32, String> {
        ready.notified().await;
        Err("down".to_owned())
    }
    workflow! { both(u32) -> u32 { START => (parked, fails) => sum; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).resource(Notify::new()).build().unwrap();
    engine.start::<both>(1).await.unwrap().result().await.unwrap_err();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test]
async fn what_was_done_before_the_failure_stays_on_record() {
    let events = records_of::<reports>(1).await;
    let done = graphweft_tests::paths(&events, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    assert_eq!(done, ["reports/number"]);
}

#[tokio::test]
async fn a_routed_error_does_not_fail_the_run() {
    #[node]
    async fn fails(n: u32) -> Result<u32, String> {
        Err(n.to_string())
    }
    #[node]
    async fn mend(error: String) -> u32 {
        error.len() as u32
    }
    let flow = workflow! { START => fails => <ok: number, err: mend> => END };
    assert_eq!(flow.run(100).await.unwrap(), 3);
}

#[tokio::test]
async fn a_failure_in_the_arm_of_an_error_fails_the_run() {
    #[node]
    async fn fails(n: u32) -> Result<u32, String> {
        Err(n.to_string())
    }
    #[node]
    async fn fails_too(error: String) -> Result<u32, String> {
        Err(format!("again {error}"))
    }
    workflow! { twice(u32) -> u32 { START => fails => <ok: number, err: fails_too>; } }
    assert_eq!(failure(twice(7).await).path, "twice/fails_too");
}

#[tokio::test]
async fn a_failed_run_may_be_asked_for_its_outcome_again() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<reports>(1).await.unwrap();
    let first = run.outcome().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), first);
}

#[tokio::test]
async fn a_node_without_a_runtime_resource_is_refused_by_the_short_form() {
    #[node]
    async fn needs(n: u32, #[resource] _journal: &Journal) -> u32 {
        n
    }
    workflow! { needing(u32) -> u32 { START => needs; } }
    assert!(matches!(needing(1).await, Err(RunError::MissingResources(_))));
}

#[tokio::test]
async fn an_output_that_is_no_json_fails_its_node() {
    #[node]
    async fn unwritable(_n: u32) -> Unwritable {
        Unwritable
    }
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    struct Unwritable;
    impl serde::Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not on paper"))
        }
    }
    workflow! { writing(u32) -> Unwritable { START => number => unwritable; } }
    let engine = Engine::builder().build().unwrap();
    let failed = failure(engine.start::<writing>(1).await.unwrap().result().await);
    assert!(
        failed.to_string().contains("writing/unwritable") && failed.to_string().contains("not on paper"),
        "{failed}"
    );
}
