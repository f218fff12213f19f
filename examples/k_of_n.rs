//! A k-of-n join: ask several, continue with the first k answers, cancel the others.
//!
//! `a | b | c => d` gives `d` one arrival after another until it has an output. `FirstN` has one after k arrivals,
//! `First` after the first; a collecting node of your own is a function marked `#[node(collect)]` that returns an
//! `Option`.
//!
//! The page to it: `docs/guide/shapes.md`. `cargo run --example k_of_n`

use graphweft::FirstN;
use graphweft::prelude::*;

#[node]
async fn lisbon(city: String) -> u32 {
    quote(&city, 310)
}

#[node]
async fn oslo(city: String) -> u32 {
    quote(&city, 290)
}

/// An agency that never answers. It is cancelled when its answer is not needed any more.
#[node]
async fn atlantis(ctx: &Context) -> u32 {
    ctx.cancelled().await;
    println!("{}: not needed any more", ctx.path());
    0
}

fn quote(city: &str, price: u32) -> u32 {
    println!("a flight to {city} for {price}");
    price
}

#[node]
async fn cheapest(quotes: Vec<u32>) -> String {
    let lowest = quotes.iter().min().map_or("nothing".to_owned(), u32::to_string);
    format!("{} quotes, the cheapest at {lowest}", quotes.len())
}

workflow! {
    /// Two quotes are enough.
    compare(String) -> String {
        let two: FirstN<u32> = FirstN::new(2);
        START => (lisbon, oslo, atlantis);
        lisbon | oslo | atlantis => two => cheapest;
    }
}

#[tokio::main]
async fn main() -> Result<(), graphweft::RunError> {
    println!("{}", compare("Rome".to_owned()).await?);
    Ok(())
}
