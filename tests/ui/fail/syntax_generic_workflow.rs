//! A workflow has no generics, and nothing more is said of a parameter that there can be none of.

use graphweft::prelude::*;

#[node]
async fn echo(text: String) -> String {
    text
}

workflow! {
    twice<T>(T) -> Vec<T> { START => echo; }
}

workflow! {
    sound(String) -> String { START => echo; }
}

fn main() {}
