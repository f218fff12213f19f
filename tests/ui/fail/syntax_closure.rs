//! A node has a name, and a closure has none.

use graphweft::prelude::*;

#[node]
async fn echo(text: String) -> String {
    text
}

workflow! {
    alone(String) -> String { START => |text| text => echo; }
}

workflow! {
    grouped(String) -> String { START => (|text| text) => echo; }
}

workflow! {
    named(String) -> String { let trim = |text: String| text; START => trim => echo; }
}

workflow! {
    sound(String) -> String { START => echo; }
}

fn main() {}
