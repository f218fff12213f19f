//! A node takes a type with a name.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn echo(value: impl Into<String>) -> String {
    value.into()
}

fn main() {}
