//! The types of a signature may be any types with a name.

use graphweft::prelude::*;

#[node]
async fn pair(n: (u8, [u16; 2])) -> std::collections::BTreeMap<std::string::String, Vec<Option<u8>>> {
    unreachable!()
}

workflow! {
    shop((u8, [u16; 2])) -> std::collections::BTreeMap<String, Vec<Option<u8>>> { START => pair; }
}

workflow! {
    apart(u8, [u16; 2]) -> std::collections::BTreeMap<String, Vec<Option<u8>>> { START => pair; }
}
