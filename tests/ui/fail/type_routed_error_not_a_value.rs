//! A routed error is a value.
#![allow(unused)]

use graphweft::prelude::*;

struct Problem;

#[value]
struct Fault;

#[node]
async fn check(order: String) -> Result<String, Problem> {
    unreachable!()
}

#[node]
async fn test(order: String) -> Result<String, Fault> {
    unreachable!()
}

#[node]
async fn refuse(why: Fault) -> String {
    unreachable!()
}

#[node]
async fn shrug() -> String {
    unreachable!()
}

#[node]
async fn ship(order: String) -> String {
    unreachable!()
}

workflow! {
    shop(String) -> String { START => check => <ok: ship, err: shrug>; }
}

workflow! {
    sound(String) -> String { START => test => <ok: ship, err: refuse>; }
}

workflow! {
    unrouted(String) -> String { START => check => ship; }
}

fn main() {}
