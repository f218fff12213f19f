//! A workflow has any visibility.

use graphweft::prelude::*;

pub mod shop {
    use graphweft::prelude::*;

    #[node]
    pub async fn price(n: u8) -> u8 {
        n
    }

    workflow! { pub all(u8) -> u8 { START => price; } }
    workflow! { pub(crate) here(u8) -> u8 { START => price; } }
    workflow! { pub(super) above(u8) -> u8 { START => price; } }
    workflow! { pub(in crate::visibility::shop) within(u8) -> u8 { START => price; } }
    workflow! { own(u8) -> u8 { START => price => within; } }
}

workflow! { user(u8) -> u8 { START => shop::all => shop::here => shop::above; } }
