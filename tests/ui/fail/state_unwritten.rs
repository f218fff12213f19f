//! A node reads no key that may not have been written before it.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(n: u32, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    owner.set("Ada".to_owned());
    n
}

#[node]
async fn route(n: u32) -> Option<u32> {
    (n > 0).then_some(n)
}

#[node]
async fn skip() -> u32 {
    0
}

#[node]
async fn report(n: u32, #[state(OWNER)] owner: String) -> String {
    owner
}

workflow! {
    wrong(u32) -> String {
        START => route => <some: assign, none: skip>;
        assign => report;
        skip => report;
        report => END;
    }
}

workflow! {
    sound(u32) -> String {
        START => assign => route => <some: report, none: skip>;
        skip => report;
    }
}

fn main() {}
