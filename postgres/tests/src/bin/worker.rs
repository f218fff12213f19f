//! An engine that starts its share of runs, once however often it is started, and takes over those of others until it is killed.

use graphweft::prelude::*;
use graphweft_postgres::tokio_postgres::NoTls;
use graphweft_postgres::{PostgresStart, PostgresStore};
use graphweft_postgres_tests::workflows::{approval, bank, batch};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("server, schema, name, runs");
    let (server, schema, name, runs) = (next(), next(), next(), next().parse::<u64>()?);
    let store = PostgresStore::builder(&server).schema(&schema).max_connections(4).connect().await?;
    let engine =
        Engine::builder().store(store).register::<batch>().register::<approval>().register::<bank>().build()?;
    engine.recover().await?;
    for n in 0..runs {
        // The server may be away, and what was started before is found again.
        while engine.start::<batch>(n).id(format!("{name}-batch-{n}")).await.is_err()
            || engine.start::<approval>(n).id(format!("{name}-approval-{n}")).await.is_err()
            || order(&engine, &server, &format!("{schema}_bank"), &format!("{name}-bank-{n}"), n).await.is_err()
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    std::future::pending().await
}

/// Starts a run if and only if its order is there.
async fn order(
    engine: &Engine,
    server: &str,
    schema: &str,
    run: &str,
    n: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut client, connection) = graphweft_postgres::tokio_postgres::connect(server, NoTls).await?;
    let connection = tokio::spawn(connection);
    let tx = client.transaction().await?;
    let insert = format!("insert into {schema}.orders values ($1) on conflict do nothing");
    tx.execute(&insert, &[&run]).await?;
    engine.start::<bank>((schema.to_owned(), n)).id(run).within(&tx).await?;
    tx.commit().await?;
    connection.abort();
    Ok(())
}
