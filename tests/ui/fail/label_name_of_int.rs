//! A number has no labels with names, and a constant is none either.

use graphweft::prelude::*;

pub const LIMIT: u8 = 9;

#[node]
async fn count(text: String) -> u8 {
    text.len() as u8
}

#[node]
async fn few() -> String {
    String::new()
}

#[node]
async fn many() -> String {
    String::new()
}

workflow! {
    shop(String) -> String { START => count => <few: few, many: many>; }
}

workflow! {
    limited(String) -> String { START => count => <LIMIT: few, _: many>; }
}

workflow! {
    sound(String) -> String { START => count => <0..=9: few, _: many>; }
}

fn main() {}
