//! END is reached by a node that START reaches.
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

workflow! {
    blog(Draft) -> Draft {
        START => write;
        publish => END;
    }
}

fn main() {}
