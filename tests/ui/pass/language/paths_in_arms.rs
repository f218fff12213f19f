//! A path may begin with `::` behind a label's colon.

use graphweft::prelude::*;

#[node]
async fn price(n: u8) -> Result<u8, String> {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> u8 {
    unreachable!()
}

workflow! {
    shop(u8) -> u8 { START => price => <ok: self::keep, err: crate::paths_in_arms::refuse>; }
}

#[node]
async fn keep(n: u8) -> u8 {
    unreachable!()
}
