//! A key that nothing writes is given at the start, or read as an `Option`.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn report(#[state] owner: String) -> String {
    owner
}

#[node]
async fn report_if_any(#[state] owner: Option<String>) -> Option<String> {
    owner
}

workflow! { wrong() -> String { START => report; } }

workflow! {
    #[given(OWNER)]
    given() -> String { START => report; }
}

workflow! { optional() -> Option<String> { START => report_if_any; } }

fn main() {
    let wrong_flow = workflow! { START => report };
}
