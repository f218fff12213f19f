//! The other labels are all that there are: the node behind the default would never run. A warning, unless it is denied.
#![allow(unused)]
#![deny(unreachable_patterns)]

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Verdict {
    Good(u32),
    Bad(u32),
}

#[node]
async fn judge(draft: u32) -> Verdict {
    unreachable!()
}

#[node]
async fn store(draft: u32) -> Result<u32, String> {
    unreachable!()
}

#[node]
async fn is_short(draft: u32) -> bool {
    unreachable!()
}

#[node]
async fn publish(draft: u32) -> u32 {
    unreachable!()
}

#[node]
async fn refuse(draft: u32) -> u32 {
    unreachable!()
}

#[node]
async fn look(verdict: Verdict) -> u32 {
    unreachable!()
}

#[node]
async fn tell(why: String) -> u32 {
    unreachable!()
}

#[node]
async fn see(stored: Result<u32, String>) -> u32 {
    unreachable!()
}

#[node]
async fn short(is_short: bool) -> u32 {
    unreachable!()
}

#[node]
async fn long(is_short: bool) -> u32 {
    unreachable!()
}

#[node]
async fn neither(is_short: bool) -> u32 {
    unreachable!()
}

workflow! {
    of_enum(u32) -> u32 { START => judge => <good: publish, bad: refuse, _: look>; (publish, refuse, look) => END; }
}

workflow! {
    of_result(u32) -> u32 { START => store => <ok: publish, err: tell, _: see>; (publish, tell, see) => END; }
}

workflow! {
    of_bool(u32) -> u32 { START => is_short => <true: short, false: long, _: neither>; (short, long, neither) => END; }
}

fn main() {}
