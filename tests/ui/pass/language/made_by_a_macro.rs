//! A `macro_rules!` may make nodes and workflows.

use graphweft::prelude::*;

macro_rules! shop {
    ($name:ident, $node:ident, $path:path, $ty:ty) => {
        #[node]
        async fn $node(n: $ty) -> $ty {
            n
        }

        workflow! {
            $name($ty) -> $ty { START => $node => $path => <0..=9: low, _: high>; }
        }
    };
}

#[node]
async fn keep(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn low(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn high(n: u8) -> u8 {
    unreachable!()
}

shop!(store, price, keep, u8);
