//! `clippy::pedantic` keeps quiet about what a node may not be otherwise: it takes its input by value, returns what the
//! next node takes, and takes what the engine holds by reference. `cargo clippy --all-targets` holds this file to it.

#![deny(clippy::pedantic)]

use graphweft::prelude::*;

/// What is to be paid.
#[value]
#[derive(Debug, PartialEq)]
pub struct Order {
    text: String,
    cents: u64,
}

/// The rate of tax.
pub struct Rate(u64);

/// Reads its input, which it could also borrow.
#[node]
async fn measure(order: Order) -> usize {
    order.text.len()
}

/// Is async and awaits nothing.
#[node]
async fn double(length: usize) -> u64 {
    2 * length as u64
}

/// Returns a `Result`, and never fails.
#[node]
fn check(cents: u64) -> Result<u64, String> {
    Ok(cents)
}

/// Takes resources by reference, whatever they are.
#[node]
async fn add_tax(cents: u64, #[resource] rate: &Rate, #[resource] least: &u8, #[resource] names: &Vec<String>) -> u64 {
    cents + rate.0 + u64::from(*least) + names.len() as u64
}

workflow! {
    /// Adds it up.
    pay(Order) -> u64 { START => measure => double => check => add_tax; }
}

#[test]
fn nodes_of_a_pedantic_program_run() {
    let sum = graphweft::block_on(async {
        let engine = Engine::builder().resource(Rate(7)).resource(1_u8).resource(vec!["a".to_owned()]).build()?;
        let order = Order { text: "four".to_owned(), cents: 4 };
        assert_eq!(order.cents, 4);
        let run = engine.start::<pay>(order).await?;
        Ok::<u64, Box<dyn std::error::Error>>(run.result().await?)
    });
    assert_eq!(sum.ok(), Some(17));
}
