//! A node gives a type with a name all the way down.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn numbers() -> Result<impl Iterator<Item = u8>, String> {
    Ok(0..3)
}

fn main() {}
