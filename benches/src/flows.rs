//! The work as workflows.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

use graphweft::prelude::*;
use tokio::sync::Semaphore;

use crate::by_hand::NODES;

#[node]
async fn add_one(n: u64) -> u64 {
    black_box(n) + 1
}

#[node]
async fn await_one(n: u64) -> u64 {
    std::future::ready(black_box(n)).await + 1
}

/// Calls a macro with a hundred names.
#[macro_export]
macro_rules! with_a_hundred_names {
    ($macro:ident! { $($before:tt)* }) => {
        $macro! { $($before)*
            a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9
            d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9
            g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 i0 i1 i2 i3 i4 i5 i6 i7 i8 i9
            j0 j1 j2 j3 j4 j5 j6 j7 j8 j9
        }
    };
}

macro_rules! chain {
    ($name:ident of $node:ident: $($at:ident)*) => {
        workflow! {
            /// A hundred nodes, one after the other.
            pub $name(u64) -> u64 {
                $(let $at = $node();)*
                START $(=> $at)*;
            }
        }
    };
}

with_a_hundred_names! { chain! { chain of add_one: } }
with_a_hundred_names! { chain! { chain_with_awaits of await_one: } }

#[node]
async fn nothing_left() -> u64 {
    NODES
}

workflow! {
    /// A short run: three nodes, one after the other.
    pub short(u64) -> u64 {
        let two = add_one();
        let three = add_one();
        START => add_one => two => three;
    }
}

macro_rules! fan_out {
    ($name:ident: $($at:ident)*) => {
        workflow! {
            /// A hundred branches and a join. A join of so many takes none of their values.
            pub $name(u64) -> u64 {
                $(let $at = add_one();)*
                START => ($($at),*) => nothing_left;
            }
        }
    };
}

with_a_hundred_names! { fan_out! { fan_out: } }

#[node]
async fn hundred(n: u64) -> Vec<u64> {
    vec![n; NODES as usize]
}

#[node]
async fn sum(all: Vec<u64>) -> u64 {
    all.into_iter().sum()
}

workflow! {
    /// A node for each of a hundred items.
    pub each(u64) -> u64 { START => hundred => [add_one] => sum; }
}

/// Where a loop goes.
#[value]
#[derive(Route)]
pub enum Turn {
    /// So many turns are left.
    Again(u64),
    /// None is.
    Done(u64),
}

/// Counts down.
#[node]
pub async fn turn(left: u64) -> Turn {
    match black_box(left) {
        0 => Turn::Done(0),
        left => Turn::Again(left - 1),
    }
}

workflow! {
    /// Goes round so many times.
    pub rounds(u64) -> u64 { START => turn => <again: turn, done: END>; }
}

/// What holds runs of [`gated_rounds`] back, so that none is ahead when the clock starts.
pub static GATE: Semaphore = Semaphore::const_new(0);

#[node]
async fn gate(left: u64) -> u64 {
    GATE.acquire().await.expect("nobody closes it").forget();
    left
}

workflow! {
    /// Goes round so many times, after a gate.
    pub gated_rounds(u64) -> u64 { START => gate => turn => <again: turn, done: END>; }
}

/// When each thousandth turn of [`timed_rounds`] came.
pub static THOUSANDS: Mutex<Vec<Instant>> = Mutex::new(Vec::new());

#[node]
async fn timed_turn(left: u64) -> Turn {
    if left.is_multiple_of(1000) {
        THOUSANDS.lock().expect("nobody panics with it").push(Instant::now());
    }
    match left {
        0 => Turn::Done(0),
        left => Turn::Again(left - 1),
    }
}

workflow! {
    /// Goes round so many times, and says how fast in [`THOUSANDS`].
    pub timed_rounds(u64) -> u64 { START => timed_turn => <again: timed_turn, done: END>; }
}
