//! Route maps stand in each other's arms, and their ends may touch.

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Size {
    Big(u8),
    Small(u8),
}

#[node]
async fn size(n: u8) -> Size {
    unreachable!()
}

#[node]
async fn price(n: u8) -> Result<u8, String> {
    unreachable!()
}

#[node]
async fn keep(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> u8 {
    unreachable!()
}

workflow! {
    shop(u8) -> u8 { START => size => <small: keep, big: price => <ok: keep, err: refuse>> => END; }
}

workflow! {
    braces(u8) -> u8 { START => size => {small: keep, big: price => {ok: keep, err: refuse}} => END; }
}
