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

#[node]
async fn tell(n: u32) -> Verdict {
    Verdict::Good(n)
}

#[node]
async fn check(n: u32) -> Verdict {
    Verdict::Good(n)
}

workflow! {
    writing(u32) -> u32 {
        START => review => <redo: draft, good: check>; draft => tell => <redo (at most 5): check, good: END, spent: END>; check => <redo: draft, good: END>;
    }
}

fn main() {}
