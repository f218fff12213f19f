//! Nodes may be called like types and traits of the prelude.

use graphweft::prelude::*;

#[node]
async fn String(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn Vec(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn Option(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn Send(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn Result(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn drop(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn std(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn core(n: u8) -> u8 {
    unreachable!()
}

workflow! {
    shop(u8) -> u8 { START => Vec => String => Option => Send => Result => drop => std => core; }
}
