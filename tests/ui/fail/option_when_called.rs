//! `when` is told a function.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(when = is_transient()))]
async fn ship(order: String) -> Result<String, String> {
    Ok(order)
}

fn is_transient(_: &String) -> bool {
    true
}

#[node(retry(when = is_transient))]
async fn sound(order: String) -> Result<String, String> {
    Ok(order)
}

fn main() {}
