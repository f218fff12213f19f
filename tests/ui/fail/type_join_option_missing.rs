//! A join sees an `Option` of a branch that a route may skip.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Size {
    Big(Draft),
    Small(Draft),
}

#[node]
async fn size(draft: Draft) -> Size {
    unreachable!()
}

#[node]
async fn draw(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(proof: Draft, picture: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind_some(proof: Draft, picture: Option<Draft>) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft {
        START => (proof, size);
        size => <big: draw, small: forget>;
        (proof, draw) => bind => END;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => (proof, size);
        size => <big: draw, small: forget>;
        (proof, draw) => bind_some => END;
    }
}
#[node]
async fn forget() {
    unreachable!()
}

fn main() {}
