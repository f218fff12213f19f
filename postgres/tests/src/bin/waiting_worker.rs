//! An engine that executes at most eight nodes at a time, and whose nodes wait. It begins when it is sent a line, and prints how far it is.

use std::io::{Read, stdin};

use graphweft::prelude::*;
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::workflows::waits;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("server, schema, name, runs, milliseconds");
    let (server, schema, name) = (next(), next(), next());
    let (runs, millis) = (next().parse::<u64>()?, next().parse::<u64>()?);
    let store = PostgresStore::builder(&server).schema(schema).connect().await?;
    let engine = Engine::builder().store(store).max_concurrency(8).register::<waits>().build()?;
    engine.recover().await?;
    println!("ready");
    stdin().read_exact(&mut [0])?;
    let mut started = Vec::new();
    for n in 0..runs {
        started.push(engine.start::<waits>(millis).id(format!("{name}-{n}")).await?);
    }
    println!("started");
    for run in started {
        run.result().await?;
    }
    println!("over");
    std::future::pending().await
}
