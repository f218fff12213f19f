//! Two nodes of a workflow have two names.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

mod paper {
    use super::*;
    #[node]
    pub(crate) async fn publish(draft: Draft) -> Draft {
        draft
    }
}

mod web {
    use super::*;
    #[node]
    pub(crate) async fn publish(draft: Draft) -> Draft {
        draft
    }
}

workflow! {
    blog(Draft) -> Draft { START => paper::publish => web::publish; }
}

workflow! {
    sound(Draft) -> Draft {
        let online = web::publish();
        START => paper::publish => online;
    }
}

fn main() {}
