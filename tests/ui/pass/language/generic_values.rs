//! A value in a `let` may have a generic type.

use graphweft::prelude::*;

use std::marker::PhantomData;

struct Keep<T>(PhantomData<fn() -> T>);

impl<T: graphweft::Payload + Sync> Node for Keep<T> {
    type Input = T;
    type Output = T;
    type Error = Never;

    async fn run(&self, value: T, _: &Context) -> Result<T, Never> {
        Ok(value)
    }
}

workflow! {
    shop(u8) -> u8 {
        let keep: Keep<u8> = Keep(PhantomData);
        START => keep;
    }
}
