//! A collecting node has no other way in.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn draw(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn print(draft: Draft) -> Draft {
    unreachable!()
}

#[node(collect)]
async fn first(draft: Draft) -> Option<Draft> {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft {
        START => (proof, draw, print);
        proof | draw => first;
        print => first;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => (proof, draw, print);
        proof | draw | print => first;
    }
}

fn main() {}
