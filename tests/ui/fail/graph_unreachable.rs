//! A node that nothing leads to is told.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn log(draft: Draft) {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => write => publish => END;
        log => log_size;
    }
}
#[node]
async fn log_size() {
    unreachable!()
}

fn main() {}
