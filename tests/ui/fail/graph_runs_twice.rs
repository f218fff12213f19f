//! A node runs once.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(draft: Draft) -> Draft {
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

#[node]
async fn bind(proof: Draft, pictures: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => write => (proof, illustrate);
        proof => publish;
        illustrate => publish;
    }
}

workflow! {
    sound(Draft) -> Draft { START => write => (proof, illustrate) => bind => publish; }
}

fn main() {}
