//! A graph names its nodes: it neither calls nor makes them.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn fetch(n: u32) -> u32 {
    n
}

#[node]
async fn publish(n: u32) -> u32 {
    n
}

struct Add {
    n: u32,
}

impl Node for Add {
    type Input = u32;
    type Output = u32;
    type Error = Never;

    async fn run(&self, n: u32, _: &Context) -> Result<u32, Never> {
        Ok(n + self.n)
    }
}

workflow! {
    called(u32) -> u32 { START => fetch(START) => publish; }
}

workflow! {
    made(u32) -> u32 { START => fetch => Add { n: 3 } => publish; }
}

workflow! {
    chained(u32) -> u32 { START.fetch().publish(); }
}

workflow! {
    sound(u32) -> u32 { let add = Add { n: 3 }; START => fetch => add => publish; }
}

fn main() {}
