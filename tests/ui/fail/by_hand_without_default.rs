//! A node that is written by hand, and called like a function, is made by `Default`, as `ctx.call` makes it.
#![allow(unused, non_camel_case_types)]

use graphweft::prelude::*;

struct report {}

impl Node for report {
    type Input = u32;
    type Output = u32;
    type Error = Fault;

    async fn run(&self, n: u32, _: &Context) -> Result<u32, Fault> {
        Ok(n)
    }
}

workflow! { wrong(u32) -> u32 { START => report; } }

fn main() {}
