//! Lists that are longer than what is read at once.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use graphweft::QuestionFilter;
use graphweft::prelude::*;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{Runs, refund, runs};

/// Those of [`runs`] and 3,000 more, every tenth of which waits.
async fn many() -> Runs {
    let runs = runs().await;
    for batch in 0..30 {
        let mut starts = JoinSet::new();
        for number in batch * 100..(batch + 1) * 100 {
            let engine = runs.engine.clone();
            let cents = if number % 10 == 0 { 2000 } else { 7 };
            let start = async move { engine.start::<refund>(cents).id(format!("many-{number}")).await };
            starts.spawn(async move { start.await.unwrap().outcome().await.unwrap() });
        }
        starts.join_all().await;
    }
    runs
}

fn ids(runs: &Value, field: &str) -> Vec<String> {
    runs.as_array().unwrap().iter().map(|run| run[field].as_str().unwrap().to_owned()).collect()
}

/// The most memory that a command has used when it begins to print, in kB.
async fn memory_of(runs: &Runs, arguments: &[&str]) -> u64 {
    let mut command = runs.command(arguments);
    let read = move || {
        // It prints more than a pipe takes, so it is there until all was read.
        let mut listing = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = listing.stdout.take().unwrap();
        output.read_exact(&mut [0]).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", listing.id())).unwrap();
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(listing.wait().unwrap().success());
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    };
    tokio::task::spawn_blocking(read).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_whole_and_takes_little_more_memory_than_its_text() {
    let runs = many().await;

    let all = Runs::json(&runs.ran(&["list", "--json", "--limit", "10000"]).await);
    let listed = runs.engine.list_runs(RunFilter::default().limit(10_000)).await.unwrap();
    assert_eq!(ids(&all, "id"), listed.iter().map(|run| run.id.clone()).collect::<Vec<_>>());
    let some = runs.ran(&["list", "--limit", "700"]).await;
    assert_eq!((some.out.lines().count(), some.err.contains("there are older ones")), (701, true), "{}", some.err);
    let whole = runs.ran(&["list", "--limit", "3004"]).await;
    assert_eq!((whole.out.lines().count(), whole.err.as_str()), (3005, ""));
    let asked = Runs::json(&runs.ran(&["questions", "--json", "--limit", "301"]).await);
    let open = runs.engine.questions(QuestionFilter::default().limit(10_000)).await.unwrap();
    assert_eq!(ids(&asked, "run"), open.iter().map(|open| open.run.clone()).collect::<Vec<_>>());
    assert_eq!(runs.ran(&["list", "--json", "--status", "running"]).await.out, "[]\n");

    let (few, many) = (["list", "--json", "--limit", "300"], ["list", "--json", "--limit", "3000"]);
    let more = memory_of(&runs, &many).await.saturating_sub(memory_of(&runs, &few).await);
    assert!(more < 12_000, "{more} kB for 2,700 runs more");
}
