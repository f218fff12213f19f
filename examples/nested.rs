//! A workflow is a node: it nests in another one, runs for each item of a list, and stays callable by itself.
//!
//! The page to it: `docs/guide/shapes.md`. `cargo run --example nested`

use graphweft::prelude::*;

#[value]
struct Line {
    item: String,
    in_stock: bool,
}

impl Line {
    fn new(item: &str, in_stock: bool) -> Self {
        Line { item: item.to_owned(), in_stock }
    }
}

#[value]
#[derive(Route)]
enum Stock {
    There(String),
    Gone(String),
}

#[node]
async fn look_up(line: Line) -> Stock {
    if line.in_stock { Stock::There(line.item) } else { Stock::Gone(line.item) }
}

#[node]
async fn pack(item: String, ctx: &Context) -> String {
    format!("{item}: packed by {}", ctx.path())
}

#[node]
async fn reorder(item: String, ctx: &Context) -> String {
    format!("{item}: ordered by {}", ctx.path())
}

workflow! {
    /// One line of an order.
    fulfil(Line) -> String {
        START => look_up => <there: pack, gone: reorder>;
    }
}

#[node]
async fn split(lines: Vec<Line>) -> Vec<Line> {
    lines
}

#[node]
async fn label(parcels: Vec<String>) -> String {
    parcels.join("\n")
}

workflow! {
    /// All lines of an order, at once.
    ship(Vec<Line>) -> String {
        START => split => [fulfil] => label;
    }
}

#[tokio::main]
async fn main() -> Result<(), graphweft::RunError> {
    println!("{}\n", fulfil(Line::new("a cup", true)).await?);
    println!("{}", ship(vec![Line::new("a kettle", true), Line::new("tea", false)]).await?);
    Ok(())
}
