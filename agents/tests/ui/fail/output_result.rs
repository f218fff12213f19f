//! The error of an agent is known, so its function returns no `Result`.

use graphweft_agents::{AgentError, agent};

/// You decide on refunds.
#[agent]
async fn refunds(mail: String) -> Result<String, AgentError> {
    mail
}

fn main() {}
