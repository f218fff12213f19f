//! The label of a variant is its name.
use graphweft::prelude::*;

#[value]
#[derive(Route)]
pub enum Verdict {
    #[route(rename = "fine")]
    Good(String),
    Bad,
}

fn main() {}
