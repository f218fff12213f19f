//! A prompt is checked like any code.

use graphweft::prelude::*;
use graphweft_agents::agent;

#[value]
struct Mail {
    text: String,
}

/// You decide on refunds.
#[agent]
fn refunds(mail: Mail) -> String {
    format!("A customer writes: {}", mail.txt)
}

fn main() {}
