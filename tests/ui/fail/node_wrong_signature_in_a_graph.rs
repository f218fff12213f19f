//! A node whose signature is wrong is an error at that signature, and none at the graphs that use it.

use graphweft::prelude::*;

struct Pool;

#[node]
async fn numbers() -> impl Iterator<Item = usize> {
    0..3
}

#[node]
async fn measure(_text: &str) -> usize {
    0
}

#[node]
async fn count<T>(_items: Vec<T>) -> usize {
    0
}

#[node]
async fn look_up(_id: usize, #[resource] _pool: Pool) -> usize {
    0
}

workflow! {
    first() -> usize { START => numbers; }
}

workflow! {
    second(String) -> usize { START => measure; }
}

workflow! {
    third(String) -> usize { START => count => look_up; }
}

workflow! {
    fourth(String) -> usize { START => numbers => <0: measure, _: look_up>; }
}

fn main() {}
