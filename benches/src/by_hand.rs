//! The same work, written by hand on tokio and futures: what a graph costs is what it takes beyond these.

use std::hint::black_box;

use futures::future::{BoxFuture, join_all};

/// How many nodes a chain and a fan-out have.
pub const NODES: u64 = 100;

async fn add_one(n: u64) -> u64 {
    black_box(n) + 1
}

fn add_one_boxed(n: u64) -> BoxFuture<'static, u64> {
    Box::pin(add_one(n))
}

/// One `.await` after the other.
pub async fn chain(mut n: u64) -> u64 {
    for _ in 0..NODES {
        n = add_one(n).await;
    }
    n
}

/// The same, through functions that are not known before: what a table of nodes cannot do without.
pub async fn chain_of_boxes(mut n: u64) -> u64 {
    let nodes = black_box([add_one_boxed as fn(u64) -> BoxFuture<'static, u64>; NODES as usize]);
    for node in nodes {
        n = node(n).await;
    }
    n
}

/// All at once in the caller's task.
pub async fn fan_out(n: u64) -> u64 {
    join_all((0..NODES).map(|_| add_one_boxed(n))).await.into_iter().sum()
}

/// All at once, a task for each.
pub async fn fan_out_to_tasks(n: u64) -> u64 {
    let tasks: Vec<_> = (0..NODES).map(|_| tokio::spawn(add_one(n))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.expect("it adds one");
    }
    sum
}

enum Turn {
    Again(u64),
    Done(u64),
}

async fn turn(left: u64) -> Turn {
    match black_box(left) {
        0 => Turn::Done(0),
        left => Turn::Again(left - 1),
    }
}

fn turn_boxed(left: u64) -> BoxFuture<'static, Turn> {
    Box::pin(turn(left))
}

/// Goes round so many times, through a function that is not known before.
pub async fn rounds_of_boxes(mut left: u64) -> u64 {
    let turn = black_box(turn_boxed as fn(u64) -> BoxFuture<'static, Turn>);
    loop {
        match turn(left).await {
            Turn::Again(next) => left = next,
            Turn::Done(end) => return end,
        }
    }
}

/// Goes round so many times.
pub async fn rounds(mut left: u64) -> u64 {
    loop {
        match turn(left).await {
            Turn::Again(next) => left = next,
            Turn::Done(end) => return end,
        }
    }
}
