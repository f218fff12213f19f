//! A node that only leads to itself goes round for ever.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn polish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => polish => polish; }
}

workflow! {
    sound(Draft) -> Draft { START => polish => END; }
}

fn main() {}
