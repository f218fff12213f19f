//! Workflows and nodes of one name live in different modules.

use graphweft::prelude::*;

mod paper {
    use graphweft::prelude::*;
    #[node]
    pub async fn price(n: u8) -> u8 {
        n
    }
    workflow! { pub shop(u8) -> u8 { START => price; } }
}

mod web {
    use graphweft::prelude::*;
    #[node]
    pub async fn price(n: u8) -> u8 {
        n
    }
    workflow! { pub shop(u8) -> u8 { START => price; } }
}

workflow! {
    both(u8) -> u8 {
        let online = web::shop();
        START => paper::shop => online;
    }
}
