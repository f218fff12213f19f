//! `duroxide`: an orchestration of a hundred activities. Its store writes with synchronous=NORMAL.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime as Orchestrator;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use tokio::runtime::Runtime;

use super::{NODES, Synchronous, Work, add_one, file};

pub(super) fn durable(runtime: &Runtime, directory: &Path) -> Work {
    let file = file(directory, "duroxide", Synchronous::Normal);
    std::fs::File::create(&file).expect("a new file");
    let (client, orchestrator) = runtime.block_on(async {
        let store = SqliteProvider::new(&format!("sqlite:{}", file.display()), None).await.expect("a new file");
        let store = Arc::new(store);
        let activities = ActivityRegistry::builder()
            .register("AddOne", |_: ActivityContext, n: String| async move {
                Ok(add_one(n.parse().map_err(|_| "not a number".to_owned())?).to_string())
            })
            .build();
        let chain = |context: OrchestrationContext, mut n: String| async move {
            for _ in 0..NODES {
                n = context.schedule_activity("AddOne", n).await?;
            }
            Ok(n)
        };
        let orchestrations = OrchestrationRegistry::builder().register("Chain", chain).build();
        let orchestrator = Orchestrator::start_with_store(store.clone(), activities, orchestrations).await;
        (Arc::new(Client::new(store)), orchestrator)
    });
    let mut run = 0_u64;
    super::again(move || {
        run += 1;
        let (client, orchestrator, id) = (client.clone(), orchestrator.clone(), format!("run-{run}"));
        async move {
            client.start_orchestration(&id, "Chain", "0").await.expect("it starts");
            let status = client.wait_for_orchestration(&id, Duration::from_secs(600)).await.expect("it runs");
            assert!(matches!(status, OrchestrationStatus::Completed { .. }), "it ends well");
            drop(orchestrator);
        }
    })
}
