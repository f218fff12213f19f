//! A node may be called like a primitive type.

use graphweft::prelude::*;

#[node]
async fn u8(n: u16) -> u16 {
    unreachable!()
}

#[node]
async fn str(n: u16) -> u16 {
    unreachable!()
}

workflow! {
    shop(u16) -> u16 { START => u8 => str; }
}
