//! A branch on the side of a loop does not lead back into it.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Redo(Draft),
    Good(Draft),
}

#[node]
async fn write(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn review(draft: Draft) -> Review {
    unreachable!()
}

#[node]
async fn log(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => write => review => <redo: write, good: END>;
        write => log => write;
    }
}

fn main() {}
