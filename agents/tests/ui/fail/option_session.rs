//! A session is a memory, and no option of its own.

use graphweft_agents::agent;

/// You chat.
#[agent(session = "chat")]
async fn chats(text: String) -> String {
    text
}

/// You chat.
#[agent(memory)]
async fn also_chats(text: String) -> String {
    text
}

fn main() {}
