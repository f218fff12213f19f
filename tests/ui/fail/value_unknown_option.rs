//! An unknown option of `#[value]`.
#![allow(unused)]

use graphweft::prelude::*;

#[value(no_clone)]
struct Order;

fn main() {}
