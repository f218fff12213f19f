//! Nodes are named by paths.

use graphweft::prelude::*;

#[node]
async fn top(n: u8) -> u8 {
    unreachable!()
}

pub mod shop {
    use graphweft::prelude::*;

    #[node]
    pub async fn price(n: u8) -> u8 {
        n
    }

    pub mod back {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn pack(n: u8) -> u8 {
            n
        }

        workflow! {
            pub within(u8) -> u8 { START => pack => super::price => self::pack_again => super::super::top; }
        }

        #[node]
        async fn pack_again(n: u8) -> u8 {
            n
        }
    }
}

use shop as store;

workflow! {
    outside(u8) -> u8 { START => crate::paths::shop::price => self::top => store::back::pack => shop::back::within; }
}
