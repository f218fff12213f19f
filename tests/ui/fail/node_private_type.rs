//! The types of a `pub` node are `pub`.
#![allow(unused)]

use graphweft::prelude::*;

pub mod shop {
    use graphweft::prelude::*;

    #[value]
    struct Order;

    #[value]
    pub struct Parcel;

    #[node]
    pub async fn ship(order: Order) -> Parcel {
        Parcel
    }

    #[node]
    pub async fn send(parcel: Parcel) -> Parcel {
        parcel
    }
}

fn main() {}
