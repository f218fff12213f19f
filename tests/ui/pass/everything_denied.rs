//! The expansions keep quiet under strict lints.

#![deny(warnings, missing_docs, unreachable_pub, unused, nonstandard_style, future_incompatible)]
#![deny(rust_2018_idioms, unused_qualifications, single_use_lifetimes, trivial_casts, let_underscore_drop)]
#![deny(missing_debug_implementations, missing_copy_implementations, unused_lifetimes, unused_results)]
#![forbid(unsafe_code)]

use graphweft::prelude::*;

/// An order.
#[value]
#[derive(Debug, Copy)]
pub struct Order {
    /// Its number.
    pub id: u32,
}

/// What was found.
#[value]
#[derive(Route, Debug, Copy)]
pub enum Verdict {
    /// It is good.
    Good(Order),
    /// It is not.
    Bad,
}

/// Looks at it.
#[node(retry(max_attempts = 3), timeout = "10s")]
pub async fn look(order: Order, ctx: &Context) -> Result<Verdict, String> {
    let _attempt = ctx.attempt();
    Ok(if order.id > 3 { Verdict::Good(order) } else { Verdict::Bad })
}

/// Ships it.
#[node]
pub async fn ship(order: Order) -> String {
    order.id.to_string()
}

/// Files it away.
#[node]
pub async fn file(order: Order) -> String {
    order.id.to_string()
}

/// Is sorry.
#[node]
pub async fn refuse() -> String {
    String::new()
}

/// Takes lines.
#[node]
pub async fn lines(text: String) -> Vec<String> {
    vec![text]
}

/// Joins.
#[node]
pub async fn join(one: Vec<String>, other: Option<String>) -> String {
    one.join(&other.unwrap_or_default())
}

/// Hashes.
#[node(blocking)]
pub fn hash(text: String) -> String {
    text
}

/// Takes the first.
#[node(collect)]
pub async fn first(text: String) -> Option<String> {
    Some(text)
}

workflow! {
    /// The whole of it.
    pub shop(Order) -> String {
        let again = look(timeout = "5s");
        START => look => <good: again, bad: refuse, err: hash>;
        again => <ok: sort, err: hash>;
        sort => <good: (ship, file), bad: refuse>;
        (ship, file) => pack;
    }
}

workflow! {
    /// Each, and the first of them.
    pub market(String) -> String {
        START => (hash, lines => [trim] => glue);
        hash | glue => first;
    }
}

/// Sorts.
#[node]
pub async fn sort(verdict: Verdict) -> Verdict {
    verdict
}

/// Packs.
#[node]
pub async fn pack(one: String, other: String) -> String {
    one + &other
}

/// Trims.
#[node]
pub async fn trim(text: String) -> String {
    text
}

/// Glues.
#[node]
pub async fn glue(texts: Vec<String>) -> String {
    texts.concat()
}

/// Runs nothing.
fn main() {}
