use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Verdict {
    Redo(u32),
    Good(u32),
}

#[node]
async fn draft(n: u32) -> u32 {
    n
}

#[node]
async fn review(n: u32) -> Verdict {
    Verdict::Good(n)
}

workflow! {
    writing(u32) -> u32 {
        START => draft => review => <redo (at most 5): draft, good: draft, spent: draft>;
    }
}

fn main() {}
