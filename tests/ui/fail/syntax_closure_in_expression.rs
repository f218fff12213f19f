//! A closure is not a node: one error, in whatever form it is written, and none about the type of the workflow.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn sound(n: u32) -> u32 {
    n
}

fn main() {
    let plain = workflow! { START => |n: u32| n + 1 };
    let is_async = workflow! { START => async move |n: u32| n + 1 => END };
    let named = workflow! { let add = |n: u32| n + 1; START => add };
    let sound = workflow! { START => sound };
}
