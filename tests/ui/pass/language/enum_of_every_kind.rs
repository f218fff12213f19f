//! An enum's variants are labels, whatever they hold.

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Answer {
    Unit,
    One(u8),
    Two(u8, String),
    Named { only: u8 },
    Both { one: u8, two: String },
    HTTPError(u16),
    R2D2,
}

#[node]
async fn answer(n: u8) -> Answer {
    unreachable!()
}

#[node]
async fn unit() -> u8 {
    unreachable!()
}

#[node]
async fn one(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn two(n: u8, text: String) -> u8 {
    unreachable!()
}

#[node]
async fn http(n: u16) -> u8 {
    unreachable!()
}

workflow! {
    ask(u8) -> u8 {
        START => answer => <unit: unit, one: one, two: two, named: one, both: two, http_error: http, R2D2: unit>;
    }
}
