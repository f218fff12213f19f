//! An agent is a function.

use graphweft_agents::agent;

/// You decide on refunds.
#[agent]
struct Refunds;

fn main() {}
