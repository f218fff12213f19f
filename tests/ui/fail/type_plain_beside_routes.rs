//! Beside routes with `err` a plain edge carries the whole `Result`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> Result<Order, String> {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> String {
    unreachable!()
}

#[node]
async fn log(order: Order) {
    unreachable!()
}

#[node]
async fn log_result(checked: Result<Order, String>) {
    unreachable!()
}

workflow! {
    shop(Order) -> String {
        START => check => <ok: ship, err: refuse> => END;
        check => log;
    }
}

workflow! {
    sound(Order) -> String {
        START => check => <ok: ship, err: refuse> => END;
        check => log_result;
    }
}

fn main() {}
