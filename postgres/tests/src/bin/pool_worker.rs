//! A worker of the pool `gpu`, which works until it is killed.

use graphweft::prelude::*;
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::workflows::{frames, poster, scene};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("server, schema, attempts at once");
    let store = PostgresStore::builder(&next()).schema(next()).max_connections(4).connect().await?;
    let engine = Engine::builder().register::<scene>().register::<poster>().register::<frames>().build()?;
    let _worker = store.worker(engine).pool("gpu").max_concurrency(next().parse()?).start().await?;
    println!("ready");
    std::future::pending().await
}
