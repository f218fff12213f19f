//! A worker that drives runs until it is killed.

use graphweft_restate::Worker;
use graphweft_restate_tests::workflows::{approval, batch, long};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("the port")?.parse()?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let worker = Worker::builder().register::<batch>().register::<approval>().register::<long>().build()?;
    worker.serve(listener).await?;
    Ok(())
}
