//! START leads somewhere.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

workflow! {
    blog(Draft) -> Draft { START; }
}

fn main() {}
