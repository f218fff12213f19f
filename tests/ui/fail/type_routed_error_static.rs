//! A routed error is recorded, so that it borrows nothing, not even a literal.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn find(n: u32) -> Result<u32, &'static str> {
    Err("none")
}

#[node]
async fn show(n: u32) -> String {
    n.to_string()
}

#[node]
async fn tell(error: String) -> String {
    error
}

workflow! {
    routed(u32) -> String { START => find => <ok: show, err: tell>; }
}

workflow! {
    sound(u32) -> String { START => find => show; }
}

fn main() {}
