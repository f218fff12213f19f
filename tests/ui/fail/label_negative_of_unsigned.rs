//! A number below zero is no label of a type that has none.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn count(text: String) -> u32 {
    7
}

#[node]
async fn balance(text: String) -> i64 {
    7
}

#[node]
async fn few(n: u32) -> String {
    n.to_string()
}

#[node]
async fn debt(n: i64) -> String {
    n.to_string()
}

workflow! {
    counted(String) -> String { START => count => <-1: few, _: few>; }
}

workflow! {
    sound(String) -> String { START => balance => <..=-1: debt, _: debt>; }
}

fn main() {}
