//! Limits of a run that cannot be.

use graphweft::prelude::*;

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

workflow! {
    #[timeout = "0s"]
    #[max_parallel = 0]
    never(u32) -> u32 { START => double; }
}

workflow! {
    #[timeout("1h")]
    #[max_parallel]
    unfinished(u32) -> u32 { START => double; }
}

workflow! {
    #[timeout = "1h"]
    #[timeout = "2h"]
    twice(u32) -> u32 { START => double; }
}

fn main() {}
