//! A workflow has statements.
#![allow(unused)]

use graphweft::prelude::*;

workflow! {}

fn main() {}
