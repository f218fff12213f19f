//! The first program: a chain of nodes with a route in it. `validate` decides by what it returns which of the two ways
//! an order takes, and `notify` takes whichever answer comes back.
//!
//! The page to it: `docs/guide/first.md`. `cargo run --example order`

use graphweft::{block_on, prelude::*};

#[value]
struct Order {
    cents: u32,
}

#[node]
async fn validate(order: Order) -> Result<Order, String> {
    if order.cents > 0 { Ok(order) } else { Err("it has no price".to_owned()) }
}

/// Charges the card.
#[node(retry(max_attempts = 3, initial_delay = "200ms"), timeout = "10s")]
async fn charge(order: Order, ctx: &Context) -> Result<String, std::io::Error> {
    Ok(format!("charged {} cents at attempt {}", order.cents, ctx.attempt()))
}

#[node]
async fn refuse(why: String) -> String {
    format!("refused, because {why}")
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

fn main() -> Result<(), graphweft::RunError> {
    println!("{}\n{}", block_on(checkout(Order { cents: 2900 }))?, block_on(checkout(Order { cents: 0 }))?);
    Ok(())
}
