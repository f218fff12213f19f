//! A long chain is a workflow as well.

use graphweft::prelude::*;

#[node]
async fn step(n: u8) -> u8 {
    unreachable!()
}

workflow! {
    chain(u8) -> u8 {
        let a = step(); let b = step(); let c = step(); let d = step(); let e = step(); let f = step();
        let g = step(); let h = step(); let i = step(); let j = step(); let k = step(); let l = step();
        let m = step(); let n = step(); let o = step(); let p = step(); let q = step(); let r = step();
        START => a => b => c => d => e => f => g => h => i => j => k => l => m => n => o => p => q => r => step;
    }
}
