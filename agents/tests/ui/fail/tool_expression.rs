//! An expression in `tools(..)` makes a tool.

use graphweft_agents::agent;

/// You decide on refunds.
#[agent(tools("orders"))]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
