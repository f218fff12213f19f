//! A resource is shared by all threads, and has a size.
#![allow(unused)]

use graphweft::prelude::*;

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

trait Mail {}

#[node]
async fn count(order: String, #[resource] counter: &RefCell<u32>) -> String {
    order
}

#[node]
async fn send(order: String, #[resource] mail: &dyn Mail) -> String {
    order
}

#[node]
async fn greet(order: String, #[resource] greeting: &str) -> String {
    order
}

#[node]
async fn sound(
    order: String,
    #[resource] counter: &Mutex<u32>,
    #[resource] mail: &Arc<dyn Mail + Send + Sync>,
) -> String {
    order
}

fn main() {}
