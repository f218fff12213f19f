//! An attempt leaves its process as data: what a node of a pool takes and gives is owned, and can be written.
#![allow(unused)]

use graphweft::prelude::*;

struct Tensor(Vec<f32>);

#[node(pool = "gpu")]
async fn borrow(text: &str) -> usize {
    text.len()
}

#[node(pool = "gpu")]
async fn embed(text: String) -> Tensor {
    Tensor(vec![text.len() as f32])
}

#[node(pool = "gpu")]
async fn sound(text: String) -> Vec<f32> {
    vec![text.len() as f32]
}

fn main() {}
