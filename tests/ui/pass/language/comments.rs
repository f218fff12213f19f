//! Comments may stand anywhere.

use graphweft::prelude::*;

#[node]
async fn price(n: u8) -> Result<u8, String> {
    unreachable!()
}

#[node]
async fn keep(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> u8 {
    unreachable!()
}

workflow! {
    // first
    /// A shop.
    /* second */
    pub(crate) shop(/* third */ u8) -> u8 /* fourth */ {
        START /* fifth */ => // sixth
            price => < /* seventh */ ok /* eighth */ : keep, // ninth
                err: refuse, /* tenth */
            >
            ;
        // eleventh
    }
    // twelfth
}
