//! Every string is routed.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn answer(text: String) -> String {
    unreachable!()
}

#[node]
async fn go() -> String {
    unreachable!()
}

#[node]
async fn stay() -> String {
    unreachable!()
}

workflow! {
    ask(String) -> String { START => answer => <"yes": go, "no": stay>; }
}

workflow! {
    sound(String) -> String { START => answer => <"yes": go, _: stay>; }
}

fn main() {}
