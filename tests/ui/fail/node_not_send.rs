//! A node can move between threads at every `.await`.
#![allow(unused)]

use graphweft::prelude::*;

use std::rc::Rc;

#[node]
async fn ship(order: String) -> String {
    let shared = Rc::new(order);
    std::future::ready(()).await;
    shared.to_string()
}

#[node]
async fn sound(order: String) -> String {
    let length = Rc::new(order.clone()).len();
    std::future::ready(length).await;
    order
}

fn main() {}
