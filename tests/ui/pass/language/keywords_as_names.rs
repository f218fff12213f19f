//! Raw identifiers are names of nodes, and labels may be keywords.

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Kind {
    Loop(u8),
    Type(u8),
    Match,
    SelfMade(u8),
}

#[node]
async fn r#loop(n: u8) -> Kind {
    unreachable!()
}

#[node]
async fn r#type(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn r#async() -> u8 {
    unreachable!()
}

#[node]
async fn r#fn(n: u8) -> u8 {
    unreachable!()
}

workflow! {
    r#match(u8) -> u8 { START => r#loop => <loop: r#type, type: r#fn, match: r#async, self_made: r#type>; }
}

workflow! {
    r#raw_labels(u8) -> u8 { START => r#loop => <r#loop: r#type, Type: r#fn, r#match: r#async, SelfMade: r#type>; }
}
