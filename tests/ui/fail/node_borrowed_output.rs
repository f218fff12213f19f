//! A node gives what it owns.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn name(ctx: &Context) -> &str {
    "name"
}

#[node]
async fn sound() -> String {
    "name".to_owned()
}

fn main() {}
