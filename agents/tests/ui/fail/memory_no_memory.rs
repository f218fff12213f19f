//! The memory of an agent is a `Memory`.

use graphweft_agents::agent;

/// You chat.
#[agent(memory = "chat")]
async fn chats(text: String) -> String {
    text
}

fn main() {}
