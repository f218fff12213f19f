//! A value that is made by the name of its type, or by a function of it, needs no type in a `let`.

use graphweft::prelude::*;

struct Add(u32);

impl Add {
    fn new(n: u32) -> Self {
        Add(n)
    }
}

impl Node for Add {
    type Input = u32;
    type Output = u32;
    type Error = Never;

    async fn run(&self, n: u32, _: &Context) -> Result<u32, Never> {
        Ok(n + self.0)
    }
}

struct Chunks<T> {
    size: usize,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T> Chunks<T> {
    fn new(size: usize) -> Self {
        Chunks { size, of: std::marker::PhantomData }
    }
}

impl Node for Chunks<u32> {
    type Input = Vec<u32>;
    type Output = Vec<Vec<u32>>;
    type Error = Never;

    async fn run(&self, items: Vec<u32>, _: &Context) -> Result<Vec<Vec<u32>>, Never> {
        Ok(items.chunks(self.size).map(<[u32]>::to_vec).collect())
    }
}

#[node]
async fn sum(numbers: Vec<Vec<u32>>) -> u32 {
    numbers.into_iter().flatten().sum()
}

const THREE: u32 = 3;

workflow! {
    in_an_item(Vec<u32>) -> u32 {
        let chunks = Chunks::<u32>::new(2);
        let first = Add(THREE);
        let second = Add::new(4);
        START => chunks => sum => first => second;
    }
}

#[node]
async fn halve(n: u32) -> Result<u32, u32> {
    if n.is_multiple_of(2) { Ok(n / 2) } else { Err(n) }
}

workflow! {
    /// Is a node of its own graph, next to START and END.
    odd_part(u32) -> u32 { START => halve => <ok: odd_part => END, err: END>; }
}

fn main() {
    let sound = graphweft::block_on(in_an_item(vec![1, 2, 3]));
    assert_eq!(sound.unwrap(), 13);
    let n = 5;
    let flow = workflow! { let add = Add(n); START => add };
    assert_eq!(graphweft::block_on(flow.run(1)).unwrap(), 6);
    assert_eq!(graphweft::block_on(odd_part(40)).unwrap(), 5);
}
