//! Every variant has a label of its own.
#![allow(unused)]

use graphweft::prelude::*;

#[derive(Route)]
enum Answer {
    HttpError,
    HTTPError,
}

fn main() {}
