//! A join of values has at most 16 places.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn day(month: u8) -> u8 {
    unreachable!()
}

#[node]
async fn advent(sum: u8, one: u8) -> u8 {
    unreachable!()
}

workflow! {
    calendar(u8) -> u8 {
        let d02 = day(); let d03 = day(); let d04 = day(); let d05 = day(); let d06 = day();
        let d07 = day(); let d08 = day(); let d09 = day(); let d10 = day(); let d11 = day();
        let d12 = day(); let d13 = day(); let d14 = day(); let d15 = day(); let d16 = day();
        let d17 = day();
        START => (day, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, d12, d13, d14, d15, d16, d17) => advent;
    }
}

fn main() {}
