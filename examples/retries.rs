//! Errors: which are retried, which take the arm `err`, which end the run, and how a failed run is retried.
//!
//! The page to it: `docs/guide/errors.md`. `cargo run --example retries`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphweft::prelude::*;

#[value]
#[derive(Debug)]
enum BankError {
    /// It may work in a moment.
    Busy,
    /// It will never work.
    Declined { order: u32 },
    /// The bank did not do what it should: a panic, a time limit.
    Broken { why: String },
}

impl From<Fault> for BankError {
    fn from(fault: Fault) -> Self {
        BankError::Broken { why: fault.to_string() }
    }
}

fn may_pass(error: &BankError) -> bool {
    matches!(error, BankError::Busy)
}

/// Busy at the first attempt of every order, with a bug for order 3, and no money for order 2.
#[node(retry(max_attempts = 3, initial_delay = "10ms", when = may_pass), timeout = "5s")]
async fn charge(order: u32, ctx: &Context) -> Result<String, BankError> {
    println!("{} attempt {}", ctx.path(), ctx.attempt());
    match (ctx.attempt(), order) {
        (1, _) => Err(BankError::Busy),
        (_, 2) => Err(BankError::Declined { order }),
        (_, 3) => panic!("order 3 has no currency"),
        _ => Ok(format!("order {order} is paid")),
    }
}

#[node]
async fn explain(error: BankError) -> String {
    match error {
        BankError::Busy => "the bank is always busy".to_owned(),
        BankError::Declined { order } => format!("order {order} needs another card"),
        BankError::Broken { why } => format!("a mistake of ours: {why}"),
    }
}

/// The post, which has no arm `err`: without it, the run fails.
#[derive(Clone, Default)]
struct Post {
    is_open: Arc<AtomicBool>,
}

#[node]
async fn send(text: String, #[resource] post: &Post) -> Result<String, std::io::Error> {
    if post.is_open.load(Ordering::Relaxed) {
        Ok(format!("Sent: {text}."))
    } else {
        Err(std::io::Error::other("closed"))
    }
}

workflow! {
    checkout(u32) -> String {
        START => charge => <ok: send, err: explain>;
        explain => send;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let post = Post::default();
    let engine = Engine::builder().resource(post.clone()).register::<checkout>().build()?;
    let first = engine.start::<checkout>(1).id("order-1").await?;
    match first.result().await {
        Err(RunError::Failed(failure)) => println!("{failure}"),
        other => println!("{other:?}"),
    }

    post.is_open.store(true, Ordering::Relaxed);
    // The charge is not repeated: it is recorded.
    println!("{}", engine.retry("order-1").await?.result().await?);
    for order in [2, 3] {
        println!("{}", engine.start::<checkout>(order).await?.result().await?);
    }
    Ok(())
}
