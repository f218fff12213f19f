//! A nested workflow hands up what it is given and what it is sure to write.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn route(n: u32) -> Option<u32> {
    (n > 0).then_some(n)
}

#[node]
async fn assign(n: u32, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    owner.set("Ada".to_owned());
    n
}

#[node]
async fn skip() -> u32 {
    0
}

#[node]
async fn join(a: u32) -> u32 {
    a
}

#[node]
async fn report(n: u32, #[state(OWNER)] owner: String) -> String {
    owner
}

workflow! {
    sometimes(u32) -> u32 { START => route => <some: assign, none: skip>; assign => join; skip => join; }
}

workflow! { always(u32) -> u32 { START => assign; } }

workflow! {
    #[given(OWNER)]
    nested(u32) -> String { START => report; }
}

workflow! { wrong(u32) -> String { START => sometimes => report; } }

workflow! { not_given(u32) -> String { START => sometimes => nested; } }

workflow! { sound(u32) -> String { START => always => nested; } }

fn main() {}
