//! An error of a node is sent to other threads: one error, without the source of graphweft.
#![allow(unused)]

use graphweft::prelude::*;

use std::error::Error;
use std::rc::Rc;

type Fallible<T> = Result<T, Box<dyn Error>>;

#[node]
async fn boxed(order: String) -> Result<String, Box<dyn Error>> {
    Ok(order)
}

#[node]
async fn aliased(order: String) -> Fallible<String> {
    Ok(order)
}

#[node(blocking)]
fn blocking(order: String) -> Result<String, Rc<str>> {
    Ok(order)
}

#[node]
async fn sound(order: String) -> Result<String, Box<dyn Error + Send + Sync>> {
    Ok(order)
}

workflow! {
    shop(String) -> String { START => boxed => aliased => <ok: sound, err: sound>; }
}

fn main() {}
