//! An agent says what its model has to give.

use graphweft_agents::agent;

/// You decide on refunds.
#[agent]
async fn refunds(mail: String) {
    mail
}

fn main() {}
