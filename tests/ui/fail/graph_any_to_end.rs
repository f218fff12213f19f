//! END takes one output.
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

#[node(collect)]
async fn first(draft: Draft) -> Option<Draft> {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft {
        START => (proof, draw);
        proof | draw => END;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => (proof, draw);
        proof | draw => first => END;
    }
}

fn main() {}
