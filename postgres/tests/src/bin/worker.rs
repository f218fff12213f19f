//! An engine that starts its share of runs, once however often it is started, and takes over those of others until it is killed.

use graphweft::prelude::*;
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::workflows::{approval, batch};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("server, schema, name, runs");
    let (server, schema, name, runs) = (next(), next(), next(), next().parse::<u64>()?);
    let store = PostgresStore::builder(&server).schema(schema).max_connections(4).connect().await?;
    let engine = Engine::builder().store(store).register::<batch>().register::<approval>().build()?;
    engine.recover().await?;
    for n in 0..runs {
        // The server may be away, and what was started before is found again.
        while engine.start::<batch>(n).id(format!("{name}-batch-{n}")).await.is_err()
            || engine.start::<approval>(n).id(format!("{name}-approval-{n}")).await.is_err()
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    std::future::pending().await
}
