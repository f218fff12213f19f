//! Every mistake of a graph is told at once.
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
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn lost(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        let spare = write();
        START => write => review => <redo: write, good: publish>;
        write => review;
        lost => publish;
    }
}

fn main() {}
