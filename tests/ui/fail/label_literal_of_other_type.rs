//! A literal label is of the type that the node gives.

use graphweft::prelude::*;

#[node]
async fn count(text: String) -> u8 {
    text.len() as u8
}

#[node]
async fn word(text: String) -> String {
    text
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
    shop(String) -> String { START => count => <"few": few, _: many>; }
}

workflow! {
    spell(String) -> String { START => word => <true: few, false: many>; }
}

workflow! {
    sound(String) -> String { START => word => <"few": few, _: many>; }
}

fn main() {}
