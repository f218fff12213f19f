//! The head of a workflow is a name and types, and not that of an item of Rust.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn fetch(n: u32) -> u32 {
    n
}

#[node]
async fn publish(n: u32) -> u32 {
    n
}

workflow! {
    public other_visibility(u32) -> u32 { START => fetch => publish; }
}

workflow! {
    pub struct structure(u32) -> u32 { START => fetch => publish; }
}

workflow! {
    pub async fn function(n: u32) -> u32 { START => fetch => publish; }
}

workflow! {
    pub sound(u32) -> u32 { START => fetch => publish; }
}

fn main() {}
