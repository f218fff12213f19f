//! Nodes may be called like what the macros use themselves.

use graphweft::prelude::*;

#[node]
async fn input(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn context(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn out(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn value(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn payload(n: u8) -> Result<u8, String> {
    unreachable!()
}

#[node]
async fn error(why: String) -> u8 {
    unreachable!()
}

#[node]
async fn node(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn run(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn Node(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn edge(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn Context(n: u8, _context: &graphweft::Context) -> u8 {
    unreachable!()
}

workflow! {
    flow(u8) -> u8 {
        START => input => context => out => value => payload => <ok: node, err: error> => run => self::Node => edge => Context;
    }
}
