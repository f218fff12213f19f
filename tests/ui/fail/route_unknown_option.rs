//! An unknown option of `Route`.
#![allow(unused)]

use graphweft::prelude::*;

#[derive(Route)]
#[route(rename_all = "kebab-case")]
enum Answer {
    Yes,
    No,
}

fn main() {}
