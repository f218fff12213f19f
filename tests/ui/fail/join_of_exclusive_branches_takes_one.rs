//! Branches that exclude each other give a join the one value that comes.
use graphweft::prelude::*;

#[node]
async fn is_express(city: String) -> bool {
    city == "Oslo"
}

#[node]
async fn by_plane() -> u32 {
    40
}

#[node]
async fn by_ship() -> u32 {
    10
}

#[node]
async fn both(plane: u32, ship: u32) -> u32 {
    plane + ship
}

#[node]
async fn one(price: u32) -> u32 {
    price
}

workflow! {
    sound(String) -> u32 {
        START => is_express => <true: by_plane, false: by_ship>;
        (by_plane, by_ship) => one;
    }
}

workflow! {
    wrong(String) -> u32 {
        START => is_express => <true: by_plane, false: by_ship>;
        (by_plane, by_ship) => both;
    }
}

fn main() {}
