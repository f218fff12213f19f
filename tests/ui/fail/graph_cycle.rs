//! A cycle has a label that leads out of it.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn read(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn polish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => write => read => polish => write; }
}

workflow! {
    sound(Draft) -> Draft { START => write => read => polish; }
}

fn main() {}
