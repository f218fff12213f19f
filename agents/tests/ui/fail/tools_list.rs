//! The tools are in parentheses.

use graphweft::prelude::*;
use graphweft_agents::agent;

#[node]
async fn orders(customer: String) -> Vec<String> {
    vec![customer]
}

/// You decide on refunds.
#[agent(tools = [orders])]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
