//! A join at the head of a loop has back edges only.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Redo(Draft),
    Good(Draft),
}

#[node]
async fn collect(topic: String) -> Draft {
    unreachable!()
}

#[node]
async fn notes(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn write(draft: Draft, notes: Draft) -> Review {
    unreachable!()
}

#[node]
async fn again(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(String) -> Draft {
        START => collect;
        (collect, again) => write => <redo: again, good: END>;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => head => (again, notes) => write => <redo: head, good: END>;
    }
}
#[node]
async fn head(draft: Draft) -> Draft {
    unreachable!()
}

fn main() {}
