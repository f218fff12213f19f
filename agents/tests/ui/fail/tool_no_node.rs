//! A tool is a node, and no other type.

use graphweft_agents::agent;

#[derive(Default)]
struct Orders {}

/// You decide on refunds.
#[agent(tools(Orders))]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
