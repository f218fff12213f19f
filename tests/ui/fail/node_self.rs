//! A node is a free function.
#![allow(unused)]

use graphweft::prelude::*;

struct Shop;

impl Shop {
    #[node]
    async fn ship(&self, order: String) -> String {
        order
    }
}

fn main() {}
