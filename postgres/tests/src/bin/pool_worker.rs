//! A worker of the pool `gpu`, which works until it is killed.

use graphweft::prelude::*;
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::workflows::{poster, scene};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("server, schema");
    let store = PostgresStore::builder(&next()).schema(next()).max_connections(4).connect().await?;
    let engine = Engine::builder().register::<scene>().register::<poster>().build()?;
    let _worker = store.worker(engine).pool("gpu").max_concurrency(2.try_into()?).start().await?;
    std::future::pending().await
}
