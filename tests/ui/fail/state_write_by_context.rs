//! The context reads the state; what a node writes is a parameter.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(name: String, ctx: &Context) {
    ctx.state().set(OWNER, name);
}

#[node]
async fn sound(name: String, #[writes(OWNER)] owner: StateWriter<String>) {
    owner.set(name);
}

fn main() {}
