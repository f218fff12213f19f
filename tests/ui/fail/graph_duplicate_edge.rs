//! An edge is written once.
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
        START => write => publish;
        write => publish;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => write => publish;
    }
}

fn main() {}
