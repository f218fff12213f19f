//! The body of an agent ends in its prompt.

use graphweft::prelude::*;
use graphweft_agents::agent;

#[value]
struct Mail {
    text: String,
}

/// You decide on refunds.
#[agent]
async fn refunds(mail: Mail) -> String {
    let mail = Mail { text: mail.text.to_uppercase() };
    mail
}

fn main() {}
