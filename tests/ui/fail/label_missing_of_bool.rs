//! Both truths are routed.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn is_open(day: String) -> bool {
    unreachable!()
}

#[node]
async fn enter() -> String {
    unreachable!()
}

#[node]
async fn leave() -> String {
    unreachable!()
}

workflow! {
    visit(String) -> String { START => is_open => <true: enter>; }
}

workflow! {
    sound(String) -> String { START => is_open => <true: enter, false: leave>; }
}

fn main() {}
