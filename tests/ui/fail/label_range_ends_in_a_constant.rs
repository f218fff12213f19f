//! The ends of a range are literals.

use graphweft::prelude::*;

pub const LIMIT: i32 = 9;

#[node]
async fn count(text: String) -> i32 {
    text.len() as i32
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
    limited(String) -> String { START => count => <..=LIMIT: few, _: many>; }
}

workflow! {
    from_zero(String) -> String { START => count => <0..=LIMIT: few, _: many>; }
}

workflow! {
    low(String) -> String { START => count => <i32::MIN..=0: few, _: many>; }
}

workflow! {
    high(String) -> String { START => count => <0..=i32::MAX: few, _: many>; }
}

workflow! {
    sound(String) -> String { START => count => <..=0: few, 1..=9: many, _: few>; }
}

fn main() {}
