//! An agent has instructions.

use graphweft_agents::agent;

#[agent(model = "small")]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
