//! A node that is written by hand states its keys, whatever it is called.
#![allow(unused, non_camel_case_types)]

use graphweft::prelude::*;
use graphweft::state::{StateFacts, StateKeyFact};

#[derive(Default)]
struct report {}

impl Node for report {
    type Input = u32;
    type Output = u32;
    type Error = Fault;

    const STATE: StateFacts = StateFacts { reads: &[StateKeyFact::overwrite("owner")], ..StateFacts::NONE };

    async fn run(&self, n: u32, _: &Context) -> Result<u32, Fault> {
        Ok(n)
    }
}

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(n: u32, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    owner.set("Ada".to_owned());
    n
}

workflow! { wrong(u32) -> u32 { START => report; } }

workflow! { sound(u32) -> u32 { START => assign => report; } }

fn main() {}
