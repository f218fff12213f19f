//! A worker that works until it is killed: drives runs, or, with a number behind its port, executes as many nodes of a pool at once.

use graphweft_restate::Worker;
use graphweft_restate_tests::workflows::{approval, batch, fan, frames, long, once};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    graphweft_restate_tests::attempts::leave_in_ledger();
    let port: u16 = std::env::args().nth(1).ok_or("the port")?.parse()?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let worker = Worker::builder().register::<batch>().register::<approval>().register::<long>();
    let mut worker = worker.register::<fan>().register::<frames>().register::<once>();
    if let Some(at_once) = std::env::args().nth(2) {
        worker = worker.pool("far").only_pools().max_concurrency(at_once.parse::<usize>()?);
    }
    worker.build()?.serve(listener).await?;
    Ok(())
}
