//! END is reached once.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn file(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => (publish, file);
        publish => END;
        file => END;
    }
}

fn main() {}
