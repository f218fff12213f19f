//! A private node cannot be mocked from outside of its module: rustc shows its function.
#![allow(unused)]

mod shop {
    use graphweft::prelude::*;

    #[node]
    async fn charge(n: u32) -> u32 {
        n
    }

    #[node]
    pub async fn ship(n: u32) -> u32 {
        n
    }
}

fn main() {
    let builder = graphweft::Engine::builder()
        .mock::<shop::ship>(|n, _| async move { Ok(n) })
        .mock::<shop::charge>(|n, _| async move { Ok(n) });
}
