//! What a node writes is not marked as what it reads.

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(order: u32, #[state(OWNER)] owner: StateWriter<String>) -> u32 {
    owner.set("Ada".to_owned());
    order
}

workflow! {
    pub shop(u32) -> u32 { START => assign; }
}

fn main() {}
