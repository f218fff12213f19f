//! The members of `|` share one turn.
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
async fn log(draft: Draft) -> Draft {
    unreachable!()
}

#[node(collect)]
async fn first(draft: Draft) -> Option<Draft> {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => write => review => <redo: write, good: publish>;
        write => log;
        log | publish => first;
    }
}

fn main() {}
