//! What the model has to give is recorded, so it is a payload.

use graphweft_agents::agent;

struct Refund {
    cents: u32,
}

/// You decide on refunds.
#[agent]
async fn refunds(mail: String) -> Refund {
    mail
}

fn main() {}
