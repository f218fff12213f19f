//! A program with workflows, for the tests with an MCP client. What its nodes do to the world is a line in a file.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft_inspector::Inspector;

/// What is ordered.
#[value]
struct Order {
    /// The thing.
    item: String,
    /// Its price.
    cents: u32,
}

#[value]
struct Receipt {
    item: String,
    cents: u32,
    note: Option<String>,
}

/// A decision of a person.
#[value]
struct Approval {
    /// Whether to order it.
    fine: bool,
    /// What the supplier should know.
    note: Option<String>,
}

fn variable(name: &str) -> Result<String, std::io::Error> {
    std::env::var(name).map_err(|error| std::io::Error::other(format!("{name}: {error}")))
}

/// The effect of a node.
fn write(line: &str) -> Result<(), std::io::Error> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(variable("JOURNAL")?)?;
    writeln!(file, "{line}")
}

/// Reserves the money.
#[node]
async fn reserve(order: Order, ctx: &Context) -> Result<Order, std::io::Error> {
    ctx.message(format!("reserving {}", order.cents));
    write(&format!("reserve {}", order.item))?;
    Ok(order)
}

/// Asks a person whether a dear thing is ordered.
#[node]
async fn approve(order: Order, ctx: &Context) -> Receipt {
    let Order { item, cents } = order;
    let note = if cents > 1000 {
        let approval = ctx.ask::<Approval>("approve", format!("Order {item}?")).payload(cents).await;
        if approval.fine { approval.note } else { Some("declined".to_owned()) }
    } else {
        None
    };
    Receipt { item, cents, note }
}

#[node]
async fn book(receipt: Receipt) -> Result<Receipt, std::io::Error> {
    if receipt.item == "unicorn" {
        return Err(std::io::Error::other("the supplier has no unicorns"));
    }
    write(&format!("book {}", receipt.item))?;
    Ok(receipt)
}

workflow! {
    /// Orders a thing. What costs more than 1000 cents is approved by a person.
    order(Order) -> Receipt { START => reserve => approve => book; }
}

/// Waits until a file is there.
#[node]
async fn hold(name: String, ctx: &Context) -> Result<String, std::io::Error> {
    write(&format!("hold {name}"))?;
    let gate = variable("GATE")?;
    while !tokio::fs::try_exists(&gate).await? {
        ctx.progress("waits for the gate");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(format!("{name} passed"))
}

workflow! {
    /// Takes its time.
    slow(String) -> String { START => hold; }
}

#[node]
async fn twice(n: u32) -> u32 {
    n * 2
}

workflow! {
    /// Doubles a number.
    double(u32) -> u32 { START => twice; }
}

/// `mcp-server http` prints the address and the token of an inspector with `/mcp`. Other arguments are those of `graphweft_cli`: `mcp`
/// serves the standard streams.
#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let store = SqliteStore::open(variable("RUNS")?).await?;
    let engine = Engine::builder().store(store).register::<order>().register::<slow>().register::<double>().build()?;
    if std::env::args().nth(1).as_deref() != Some("http") {
        return Ok(graphweft_cli::main(engine).await);
    }
    engine.recover().await?;
    let serving = Inspector::new(engine).with_mcp().bind(0).await?;
    println!("{}mcp {}", serving.url(), serving.token());
    serving.run().await?;
    Ok(ExitCode::SUCCESS)
}
