//! Durable runs: an invoice that waits for payments, for weeks. Each process is a webhook that brings one payment, and ends.
//!
//! The page to it: `docs/guide/durable.md`.
//!
//! ```sh
//! cargo run --example invoice -- invoice.db 9 open 100
//! cargo run --example invoice -- invoice.db 9 paid evt_77 60
//! cargo run --example invoice -- invoice.db 9 paid evt_77 60 # delivered twice, counted once
//! cargo run --example invoice -- invoice.db 9 paid evt_78 40
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use graphweft::Signal;
use graphweft::prelude::*;

const PAID: Signal<u32> = Signal::new("paid");

/// How long a customer may take for each payment.
const PATIENCE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

#[node]
async fn bill(cents: u32) -> u32 {
    println!("sends an invoice over {cents}");
    cents
}

#[value]
#[derive(Route)]
enum Collected {
    All(u32),
    Missing(u32),
}

/// Starts again in each process. What it has got before is returned to it.
#[node]
async fn collect(due: u32, ctx: &Context) -> Collected {
    let mut paid = 0;
    while paid < due {
        match ctx.wait(PAID).within(PATIENCE).await {
            Ok(cents) => paid += cents,
            Err(_elapsed) => return Collected::Missing(due - paid),
        }
        ctx.message(format!("{paid} of {due} are paid"));
    }
    Collected::All(paid)
}

#[node]
async fn thank(paid: u32) -> String {
    format!("thanks for {paid}")
}

#[node]
async fn remind(missing: u32) -> String {
    format!("a reminder: {missing} are missing")
}

workflow! {
    invoice(u32) -> String {
        START => bill => collect => <all: thank, missing: remind>;
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [file, number, command @ ..] = arguments.as_slice() else {
        return Err("usage: invoice FILE NUMBER [open CENTS | paid EVENT CENTS]".into());
    };
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder().store(store).register::<invoice>().build()?;
    engine.recover().await?;
    let id = format!("invoice-{number}");
    let run = match command {
        ["open", cents] => engine.start::<invoice>(cents.parse()?).id(&id).await?,
        ["paid", event, cents] => {
            let taken = engine.signal(&id, PAID, cents.parse()?).id(*event).await?;
            println!("{event}: {taken:?}");
            engine.get_run_of::<invoice>(&id).await?.ok_or("there is no such invoice")?
        }
        _ => return Err("usage: invoice FILE NUMBER [open CENTS | paid EVENT CENTS]".into()),
    };
    match run.outcome().await? {
        Outcome::Completed(text) => println!("{text}"),
        Outcome::AwaitingSignals(_) => println!("waits for a payment"),
        other => println!("{other:?}"),
    }
    engine.shutdown().await;
    Ok(())
}
