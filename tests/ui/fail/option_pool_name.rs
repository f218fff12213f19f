//! A pool has a name, in quotes.
#![allow(unused)]

use graphweft::prelude::*;

#[node(pool)]
async fn none(n: u32) -> u32 {
    n
}

#[node(pool = "")]
async fn empty(n: u32) -> u32 {
    n
}

#[node(pool = gpu)]
async fn bare(n: u32) -> u32 {
    n
}

#[node(pool("gpu"))]
async fn called(n: u32) -> u32 {
    n
}

#[node(pool = "gpu ")]
async fn spaced(n: u32) -> u32 {
    n
}

#[node(pool = "gpu")]
async fn sound(n: u32) -> u32 {
    n
}

fn main() {}
