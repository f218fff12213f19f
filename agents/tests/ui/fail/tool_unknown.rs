//! A tool is named by a node that there is.

use graphweft::prelude::*;
use graphweft_agents::agent;

#[node]
async fn orders(customer: String) -> Vec<String> {
    vec![customer]
}

/// You decide on refunds.
#[agent(tools(order))]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
