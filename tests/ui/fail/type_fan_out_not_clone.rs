//! What goes to several nodes can be copied.
#![allow(unused)]

use graphweft::prelude::*;

#[derive(graphweft::__::serde::Serialize, graphweft::__::serde::Deserialize, graphweft::__::schemars::JsonSchema)]
#[serde(crate = "graphweft::__::serde")]
#[schemars(crate = "graphweft::__::schemars")]
struct Ticket;

#[node]
async fn issue(name: String) -> Ticket {
    unreachable!()
}

#[node]
async fn admit(ticket: Ticket) -> String {
    unreachable!()
}

#[node]
async fn file(ticket: Ticket) -> String {
    unreachable!()
}

#[node]
async fn both(admitted: String, filed: String) -> String {
    unreachable!()
}

workflow! {
    gate(String) -> String { START => issue => (admit, file) => both; }
}

workflow! {
    sound(String) -> String { START => issue => admit; }
}

fn main() {}
