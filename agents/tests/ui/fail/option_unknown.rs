//! The options of an agent.

use graphweft_agents::agent;

/// You decide on refunds.
#[agent(max_turn = 6, at_most_once, flavour = "mild", max_attempts = 3, max_tokens = 0, timeout = 5)]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
