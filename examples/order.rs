//! The first program: a chain of nodes with a route in it. `validate` decides by what it returns which of the two ways
//! an order takes, and `notify` takes whichever answer comes back.
//!
//! `cargo run --example order`

use graphweft::prelude::*;

#[value]
struct Order {
    item: String,
    cents: u32,
}

#[node]
async fn validate(order: Order) -> Result<Order, String> {
    if order.cents > 0 { Ok(order) } else { Err(format!("{} has no price", order.item)) }
}

/// Charges the card.
#[node(retry(max_attempts = 3, initial_delay = "200ms"), timeout = "10s")]
async fn charge(order: Order, ctx: &Context) -> Result<String, std::io::Error> {
    Ok(format!("charged {} cents for {}, attempt {}", order.cents, order.item, ctx.attempt()))
}

#[node]
async fn refuse(why: String) -> String {
    format!("refused: {why}")
}

#[node]
async fn notify(receipt: String) -> String {
    format!("Dear customer: {receipt}.")
}

workflow! {
    /// From the cart to the doorstep.
    checkout(Order) -> String {
        START => validate => <ok: charge, err: refuse> => notify;
    }
}

#[tokio::main]
async fn main() -> Result<(), graphweft::RunError> {
    println!("{}", checkout(Order { item: "a kettle".to_owned(), cents: 2900 }).await?);
    println!("{}", checkout(Order { item: "a gift".to_owned(), cents: 0 }).await?);
    Ok(())
}
