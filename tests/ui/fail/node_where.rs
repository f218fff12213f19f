//! A node has no `where`.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn echo(value: String) -> String
where
    String: Clone,
{
    value
}

fn main() {}
