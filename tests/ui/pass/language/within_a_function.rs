//! Nodes and workflows are items of a function's body as well.

use graphweft::prelude::*;

async fn run() -> u8 {
    #[node]
    async fn price(n: u8) -> u8 {
        n
    }

    workflow! {
        shop(u8) -> u8 { START => price; }
    }

    let flow = workflow! { START => price => shop };
    flow.run(shop(1).await.unwrap()).await.unwrap()
}
