//! What a label carries to several nodes can be copied.
#![allow(unused)]

use graphweft::prelude::*;

#[derive(graphweft::__::serde::Serialize, graphweft::__::serde::Deserialize, graphweft::__::schemars::JsonSchema)]
#[serde(crate = "graphweft::__::serde")]
#[schemars(crate = "graphweft::__::schemars")]
struct Ticket;

#[node]
async fn issue(name: String) -> Option<Ticket> {
    unreachable!()
}

#[node]
async fn admit(ticket: Ticket) -> String {
    unreachable!()
}

#[node]
async fn file(ticket: Ticket) {
    unreachable!()
}

#[node]
async fn refuse() -> String {
    unreachable!()
}

workflow! {
    gate(String) -> String {
        START => issue => <some: (admit, file), none: refuse>;
        (admit, refuse) => END;
    }
}

fn main() {}
