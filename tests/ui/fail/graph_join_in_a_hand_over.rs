//! No join takes an edge from inside a loop with several ways in.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Call;

#[value]
#[derive(Route)]
enum Talk {
    Pass(Call),
    Done(Call),
}

#[value]
#[derive(Route)]
enum Choice {
    Sales(Call),
    Support(Call),
}

#[node]
async fn triage(call: Call) -> Choice {
    unreachable!()
}

#[node]
async fn sales(call: Call) -> Talk {
    unreachable!()
}

#[node]
async fn support(call: Call) -> Talk {
    unreachable!()
}

#[node]
async fn record(call: Call) -> Call {
    unreachable!()
}

#[node]
async fn desk_log(call: Call, recorded: Call) -> Talk {
    unreachable!()
}

workflow! {
    desk(Call) -> Call {
        START => (triage, record);
        triage => <sales: sales, support: support>;
        sales => <pass: support, done: END>;
        support => <pass: note, done: END>;
        (note, record) => sales;
    }
}
#[node]
async fn note(call: Call) -> Call {
    unreachable!()
}

fn main() {}
