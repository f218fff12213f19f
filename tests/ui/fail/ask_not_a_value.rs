//! What a question is answered with is a value: one error, at the type.
#![allow(unused)]

use graphweft::prelude::*;

struct Licence;

#[value]
struct Approval;

#[node]
async fn review(n: u32, ctx: &Context) -> u32 {
    let licence = ctx.ask::<Licence>("licence", "Which one?").await;
    let sound = ctx.ask::<Approval>("approval", "Ship it?").await;
    n
}

fn main() {}
