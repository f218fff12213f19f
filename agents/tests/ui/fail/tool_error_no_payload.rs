//! The error of a tool is recorded, so it is a payload.

use graphweft::prelude::*;
use graphweft_agents::agent;

#[node]
async fn orders(customer: String) -> Result<Vec<String>, std::io::Error> {
    Ok(vec![customer])
}

/// You decide on refunds.
#[agent(tools(orders))]
async fn refunds(mail: String) -> String {
    mail
}

fn main() {}
