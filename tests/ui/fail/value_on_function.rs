//! `#[value]` stands on a type.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
fn order() {}

#[value]
struct Order;

fn main() {}
