//! Paths of options are no texts.

use graphweft_agents::agent;

/// You decide on refunds.
#[agent(graphweft = "::graphweft", tools(5 +))]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
