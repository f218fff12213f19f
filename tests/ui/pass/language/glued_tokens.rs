//! Spaces are of no matter.

use graphweft::prelude::*;

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

#[node]
async fn size(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn lines(n: u8) -> Vec<u8> {
    unreachable!()
}

#[node]
async fn sum(n: Vec<u8>) -> u8 {
    unreachable!()
}

workflow! {shop(u8)->u8{START=>price=><ok:keep,err:refuse>=>size=><0..=9:keep2,10..:keep3>=>lines=>[keep4]=>sum;}}

#[node]
async fn keep2(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn keep3(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn keep4(n: u8) -> u8 {
    unreachable!()
}
