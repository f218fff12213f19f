//! A program as its author has it before them while writing.

use graphweft::prelude::*;

#[value]
pub struct Order {
    price: u32,
}

#[value]
#[derive(Route)]
pub enum Verdict {
    Good(Order),
    Redo(Order),
}

/// Checks the price.
#[node]
async fn validate(order: Order) -> Verdict {
    Verdict::Good(order)
}

/// Charges the card.
#[node(retry(max_attempts = 3), timeout = "10s")]
async fn charge(order: Order) -> Result<String, std::io::Error> {
    Ok(order.price.to_string())
}

#[node]
async fn charity(order: Order) -> String {
    order.price.to_string()
}

workflow! {
    /// From the cart to the doorstep.
    pub checkout(Order) -> String {
        START => validate => <good: charge, redo: charity>;
    }
}

fn main() {
    let _ = graphweft::block_on(checkout(Order { price: 4 }));
}
