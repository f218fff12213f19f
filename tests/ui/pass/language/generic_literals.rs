//! A struct literal with type arguments, with and without the `::` that Rust wants before them.

use graphweft::prelude::*;

struct Batch<T> {
    size: T,
}

impl Node for Batch<u32> {
    type Input = u32;
    type Output = u32;
    type Error = Never;

    async fn run(&self, n: u32, _: &Context) -> Result<u32, Never> {
        Ok(n + self.size)
    }
}

workflow! {
    batches(u32) -> u32 {
        let plain = Batch<u32> { size: 1 };
        let in_rust = Batch::<u32> { size: 2 };
        let with_type: Batch<u32> = Batch { size: 3 };
        START => plain => in_rust => with_type;
    }
}
