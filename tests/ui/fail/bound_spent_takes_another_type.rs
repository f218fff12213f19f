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
async fn give_up(why: String) -> u32 {
    why.len() as u32
}

workflow! {
    writing(u32) -> u32 {
        START => draft => review => <redo (at most 5): draft, good: END, spent: give_up>; give_up => END;
    }
}

fn main() {}
