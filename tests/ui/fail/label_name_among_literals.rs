//! A constant is no label beside literals, in one map or two.
#![allow(unused)]

use graphweft::prelude::*;

const LIMIT: u32 = 4;

#[node]
async fn grade(points: u32) -> u32 {
    points
}

#[node]
async fn pass(points: u32) -> String {
    unreachable!()
}

#[node]
async fn fail(points: u32) -> String {
    unreachable!()
}

workflow! {
    exam(u32) -> String { START => grade => <0: fail, LIMIT: pass, _: fail>; }
}

workflow! {
    exams(u32) -> String {
        START => grade => <0: fail>;
        grade => <other: pass, _: fail>;
    }
}

fn main() {}
