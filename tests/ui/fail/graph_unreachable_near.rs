//! A node that nothing leads to is told, with the name that was meant.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn write(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn wrote(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        START => write => END;
        wrote => publish;
    }
}

workflow! {
    sound(Draft) -> Draft {
        START => write => END;
        write => publish;
    }
}

fn main() {}
