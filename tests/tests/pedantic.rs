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

/// Who ordered it.
pub const OWNER: StateKey<String> = StateKey::new("owner");

/// What became of a draft.
#[value]
#[derive(Route)]
pub enum Verdict {
    /// Once more.
    Redo(u64),
    /// Done.
    Good(u64),
}

/// Something that adds a number.
pub struct Add {
    number: u64,
}

impl Node for Add {
    type Input = u64;
    type Output = u64;
    type Error = Never;

    async fn run(&self, cents: u64, _: &Context) -> Result<u64, Never> {
        Ok(cents + self.number)
    }
}

/// Writes the state, and awaits nothing.
#[node]
async fn own(
    cents: u64,
    #[writes(OWNER)] owner: StateWriter<String>,
    #[may_write(OWNER)] _other: StateWriter<String>,
) -> u64 {
    owner.set("Ada".to_owned());
    cents
}

/// Reads the state, which it could also borrow.
#[node]
async fn greet(cents: u64, #[state(OWNER)] name: String, #[state] missing: Option<String>, ctx: &Context) -> Verdict {
    ctx.message(format!("{name} {missing:?}"));
    if cents < 100 { Verdict::Redo(cents) } else { Verdict::Good(cents) }
}

/// Takes nothing, by every item.
#[node(timeout = "1s", retry(max_attempts = 2, when = is_transient))]
async fn each(cents: u64) -> Result<u64, String> {
    Ok(cents)
}

fn is_transient(error: &str) -> bool {
    error.is_empty()
}

/// Is blocking.
#[node(blocking)]
fn split(cents: u64, #[resource] rate: &Rate) -> Vec<u64> {
    vec![cents, rate.0]
}

/// Collects.
#[node(collect)]
async fn first(cents: u64) -> Option<u64> {
    Some(cents)
}

/// Takes all.
#[node]
async fn total(all: Vec<u64>) -> u64 {
    all.iter().sum()
}

/// Takes two.
#[node]
async fn both(first: u64, second: u64) -> Result<u64, String> {
    first.checked_sub(second).ok_or_else(|| second.to_string())
}

/// Says so.
#[node]
async fn say(error: String) -> u64 {
    error.len() as u64
}

workflow! {
    /// Has everything in it.
    #[timeout = "1h"]
    #[max_parallel = 4]
    everything(u64) -> u64 {
        let again = each(timeout = "5s");
        let add = Add { number: 100 };
        let more: Add = Add { number: 1 };
        START => own => add => greet => <redo (at most 5): add, good: split, spent: split>;
        split => [each] => total => (again, more) => both => <ok: first_of, err: say>;
        first_of => END;
        say => END;
    }
}

workflow! {
    /// Is nested, and has arrivals.
    first_of(u64) -> u64 {
        let other = each();
        START => (each, other);
        each | other => first;
    }
}

workflow! {
    /// Is given a key.
    #[given(OWNER)]
    given(u64) -> u64 { START => greet => <redo | good: END>; }
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

#[test]
fn a_flow_in_a_pedantic_program_runs() {
    let number = 4;
    let flow = workflow! {
        let add = Add { number };
        START => add => <0: say_zero => END, _: END>
    };
    assert_eq!(graphweft::block_on(flow.run(3)).ok(), Some(7));
}

/// Takes what it ignores.
#[node]
async fn say_zero(_cents: u64) -> u64 {
    0
}

#[test]
fn everything_in_a_pedantic_program_runs() {
    let sum = graphweft::block_on(async {
        let engine = Engine::builder().resource(Rate(7)).build()?;
        let run = engine.start::<everything>(4).await?;
        Ok::<u64, Box<dyn std::error::Error>>(run.result().await?)
    });
    assert_eq!(sum.ok(), Some(3));
}

/// In code that a macro of the user's writes, lints see what the macros here have made.
pub mod by_a_macro {
    #![deny(missing_copy_implementations, missing_debug_implementations, missing_docs, unreachable_pub)]

    use graphweft::prelude::*;

    macro_rules! through {
        ($name:ident, $node:ident) => {
            /// Returns what it gets.
            #[node]
            pub async fn $node(n: u32) -> u32 {
                n
            }

            workflow! {
                /// Returns what it gets.
                pub $name(u32) -> u32 { START => $node; }
            }
        };
    }

    through!(unchanged, returned);
}
