//! `ok` takes every value, so no literal is beside it.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn grade(points: u32) -> Result<u32, String> {
    unreachable!()
}

#[node]
async fn pass(points: u32) -> String {
    unreachable!()
}

#[node]
async fn fail(points: u32) -> String {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> String {
    unreachable!()
}

workflow! {
    exam(u32) -> String { START => grade => <0: fail, ok: pass, err: refuse>; }
}

fn main() {}
