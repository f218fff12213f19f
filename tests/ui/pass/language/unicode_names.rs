//! Names may be of any script.

use graphweft::prelude::*;

#[node]
async fn prüfen(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn 出荷(n: u8) -> u8 {
    unreachable!()
}

workflow! {
    größe(u8) -> u8 { START => prüfen => 出荷; }
}
