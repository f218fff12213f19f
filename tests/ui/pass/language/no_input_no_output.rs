//! A workflow may take nothing and give nothing.

use graphweft::prelude::*;

#[node]
async fn tick() {
    unreachable!()
}

#[node]
async fn tock(_n: ()) {
    unreachable!()
}

#[node]
async fn number() -> u8 {
    unreachable!()
}

workflow! { nothing() { START => tick => tock; } }
workflow! { unit() -> () { START => tick; } }
workflow! { gives() -> u8 { START => number; } }
workflow! { ignores(u8, String) { START => (tick, number) => tock_both; } }
#[node]
async fn tock_both(_: (), _: u8) {
    unreachable!()
}
