//! What is written in a loop is not there in its first turn.
#![allow(unused)]

use graphweft::prelude::*;

const NOTES: StateKey<String> = StateKey::new("notes");

#[node]
async fn draft(n: u32, #[state(NOTES)] notes: String) -> u32 {
    n
}

#[node]
async fn draft_again(n: u32, #[state(NOTES)] notes: Option<String>) -> u32 {
    n
}

#[node]
async fn review(n: u32, #[writes(NOTES)] notes: StateWriter<String>) -> Result<u32, u32> {
    notes.set("longer".to_owned());
    Ok(n)
}

workflow! { wrong(u32) -> u32 { START => draft => review => <err (at most 3): draft, ok: END, spent: END>; } }

workflow! {
    sound(u32) -> u32 { START => draft_again => review => <err (at most 3): draft_again, ok: END, spent: END>; }
}

fn main() {}
