//! `duroxide` with its SQLite provider, which asks SQLite for `synchronous = WAL`. There is no such level, and SQLite takes
//! NORMAL for a word that it does not know.
//!
//! Its dispatchers look into the file for work, by default every 100 ms where there was none. A step goes from one to the
//! other and back, so that it would take as long as their sleep does: here it is as short as the runtime's timer allows.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime as Dispatchers, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use tokio::runtime::Runtime;

use super::{NODES, Work, add_one};

const POLL: Duration = Duration::from_millis(1);

async fn one_more(_context: ActivityContext, n: u64) -> Result<u64, String> {
    Ok(add_one(n))
}

async fn steps(context: OrchestrationContext, mut n: u64) -> Result<u64, String> {
    for _ in 0..NODES {
        n = context.schedule_activity_typed("one_more", &n).await?;
    }
    Ok(n)
}

/// Waits for an end. The client's own wait sleeps for up to 100 ms at a time.
async fn end(client: &Client, run: &str) -> u64 {
    loop {
        match client.get_orchestration_status(run).await.expect("a store that works") {
            OrchestrationStatus::Completed { output, .. } => return output.parse().expect("a number"),
            OrchestrationStatus::Failed { details, .. } => panic!("{details:?}"),
            _ => tokio::time::sleep(10 * POLL).await,
        }
    }
}

pub(super) fn durable(runtime: &Runtime, directory: &Path) -> Work {
    // Or it makes one that writes to where the answers go.
    drop(tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::default()));
    let file = directory.join("duroxide.db");
    let url = format!("sqlite:{}?mode=rwc", file.display());
    let store = Arc::new(runtime.block_on(SqliteProvider::new(&url, None)).expect("a new file"));
    let client = Client::new(store.clone());
    let mut run = 0_u64;
    Box::new(move |runtime, times| {
        runtime.block_on(async {
            // Only for as long as it has its turn, so that it does not look for work during the others'.
            let activities = ActivityRegistry::builder().register_typed("one_more", one_more).build();
            let orchestrations = OrchestrationRegistry::builder().register_typed("steps", steps).build();
            let options = RuntimeOptions {
                dispatcher_min_poll_interval: POLL,
                // There is one run at a time.
                orchestration_concurrency: 1,
                worker_concurrency: 1,
                ..RuntimeOptions::default()
            };
            let dispatchers = Dispatchers::start_with_options(store.clone(), activities, orchestrations, options).await;
            let begun = Instant::now();
            for _ in 0..times {
                run += 1;
                let run = format!("run-{run}");
                client.start_orchestration_typed(&run, "steps", 0_u64).await.expect("it starts");
                assert_eq!(end(&client, &run).await, NODES);
            }
            let took = begun.elapsed();
            dispatchers.shutdown(None).await;
            took
        })
    })
}
