//! A struct has no literal labels.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(topic: String) -> Draft {
    unreachable!()
}

#[node]
async fn few() -> String {
    unreachable!()
}

#[node]
async fn many() -> String {
    unreachable!()
}

workflow! {
    blog(String) -> String { START => write => <0: few, _: many>; }
}

fn main() {}
