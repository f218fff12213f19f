//! A node runs once, whatever the route.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Big(Draft),
    Small(Draft),
}

#[node]
async fn review(draft: Draft) -> Review {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn illustrate(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => review => <big: (proof, illustrate), small: proof>;
        proof => publish;
        illustrate => publish;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => review => <big: illustrate, small: proof>;
        proof => publish;
        illustrate => publish;
    }
}

fn main() {}
