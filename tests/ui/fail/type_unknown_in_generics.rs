//! A type that does not exist is reported once, also as an argument of another.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Receipt;

#[node]
async fn total(receipts: Vec<Reciept>) -> u32 {
    unreachable!()
}

#[node]
async fn find(number: u32) -> Result<Option<Reciept>, String> {
    unreachable!()
}

#[node]
async fn sound(receipts: Vec<Receipt>) -> Vec<Receipt> {
    receipts
}

workflow! {
    listed(Vec<Reciept>) -> Vec<Receipt> { START => sound; }
}

fn main() {}
