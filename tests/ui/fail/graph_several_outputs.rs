//! A workflow has one output.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn file(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => write => (publish, file); }
}

workflow! {
    sound(Draft) -> (Draft, Draft) { START => write => (publish, file) => END; }
}

fn main() {}
