//! Only an enum has labels.
#![allow(unused)]

use graphweft::prelude::*;

#[derive(Route)]
struct Verdict {
    good: bool,
}

#[derive(Route)]
enum Sound {
    Good,
    Bad,
}

fn main() {}
