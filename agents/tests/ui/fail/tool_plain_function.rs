//! A tool is a node: a plain function has no record.

use graphweft_agents::agent;

async fn orders(customer: String) -> Vec<String> {
    vec![customer]
}

/// You decide on refunds.
#[agent(tools(orders))]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
