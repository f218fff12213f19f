//! A value in a `let` may be made by any expression.

use graphweft::prelude::*;

struct Discount {
    percents: Vec<u64>,
}

impl Discount {
    const ALL: &'static [u64] = &[1, 2];
}

impl Node for Discount {
    type Input = u64;
    type Output = u64;
    type Error = Never;

    async fn run(&self, price: u64, _: &Context) -> Result<u64, Never> {
        Ok(price - self.percents.len() as u64)
    }
}

workflow! {
    shop(u64) -> u64 {
        let fixed = Discount { percents: vec![1, 2, 3] };
        let computed: Discount = { let all = Discount::ALL.to_vec(); Discount { percents: all } };
        let closed: Discount = (|| Discount { percents: vec![] })();
        START => fixed => computed => closed;
    }
}

fn captured(most: u64) {
    let _flow = workflow! {
        let captured = Discount { percents: vec![most; 3] };
        START => captured
    };
}
