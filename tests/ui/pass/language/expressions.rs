//! A workflow is an expression as well.

use graphweft::prelude::*;

#[node]
async fn price(n: u8) -> Result<u8, String> {
    unreachable!()
}

#[node]
async fn keep(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> u8 {
    unreachable!()
}

#[node]
async fn lines(n: u8) -> Vec<u8> {
    unreachable!()
}

fn run() {
    let _bare = workflow! { START => keep };
    let _semicolon = workflow! { START => keep; };
    let _routes = workflow! { START => price => <ok: keep, err: refuse> };
    let _signature = workflow! { (u8) -> u8 { START => keep; } };
    let _unit = workflow! { (u8) { START => keep; } };
    let _routed = workflow! { (u8) -> u8 { START => <0: keep, _: keep>; } };
    let _each = workflow! { START => lines => [keep] };
    let _lets = workflow! { let twice = keep(); START => keep => twice };
    let _list = [workflow! { START => keep }, workflow!(START => keep), workflow![START => keep]];
    takes(workflow! { START => keep });
}

fn takes(_: graphweft::Flow<u8, u8>) {}
