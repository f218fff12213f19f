//! A node that cannot fail has no label `ok`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(topic: String) -> Draft {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> String {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> String {
    unreachable!()
}

workflow! {
    blog(String) -> String { START => write => <ok: publish, err: refuse>; }
}

workflow! {
    sound(String) -> String { START => write => publish; }
}

fn main() {}
