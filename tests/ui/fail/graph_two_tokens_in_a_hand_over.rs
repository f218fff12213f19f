//! A loop with several ways in holds one token.
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

workflow! {
    desk(Call) -> Call {
        START => triage => <sales: sales, support: support>;
        sales => <pass: (support, sales), done: END>;
        support => <pass: sales, done: END>;
    }
}

workflow! {
    sound(Call) -> Call {
        START => triage => <sales: sales, support: support>;
        sales => <pass: support, done: END>;
        support => <pass: sales, done: END>;
    }
}

fn main() {}
