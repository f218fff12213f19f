//! Attributes of a node's function stay.

use graphweft::prelude::*;

#[allow(clippy::unused_async)]
#[node]
async fn before(n: u8) -> u8 {
    n
}

#[node]
#[allow(clippy::unused_async)]
#[must_use]
#[inline]
async fn behind(n: u8) -> u8 {
    n
}

#[cfg(not(any()))]
#[node]
async fn there(n: u8) -> u8 {
    n
}

#[cfg(any())]
#[node]
async fn there(n: u16) -> u16 {
    n
}

#[node]
#[cfg(any())]
async fn there(n: u32) -> u32 {
    n
}

workflow! {
    #[allow(clippy::all)]
    #[cfg(all())]
    shop(u8) -> u8 { START => before => behind => there; }
}

workflow! {
    #[cfg(any())]
    shop(u8) -> u8 { START => nobody; }
}
