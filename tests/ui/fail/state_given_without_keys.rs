//! What is given at the start is a list of keys.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn who(#[state(OWNER)] owner: String) -> String {
    owner
}

workflow! {
    #[given]
    nothing() -> String { START => who; }
}

workflow! {
    #[given(OWNER)]
    sound() -> String { START => who; }
}

fn main() {}
