//! A node is not in an `impl`, where it could name `Self`.
#![allow(unused)]

use graphweft::prelude::*;

struct Shop;

impl Shop {
    #[node]
    async fn open(name: String) -> Self {
        Shop
    }
}

fn main() {
    let _ = Shop::open(String::new());
}
